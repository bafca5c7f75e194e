"""What does a partial result say, and what does it refuse to say?"""

from decimal import Decimal

import pytest

from spark_listener.approximation.estimates import LEAST_SAMPLE, Withheld
from spark_listener.approximation.partial import Partial

pytestmark = pytest.mark.unit
ANSWERS = {2: (10, ((8, 4.0), (10, 7))), 0: (20, ((0, None), (20, 5))), 1: (30, ((30, 0.1), (30, 1)))}


def partial(answers=ANSWERS, partitions=4, sample=(), columns=("x", "n"), **more):
    return Partial(partitions=partitions, columns=columns, answers=answers, sample=sample, **more)


def test_it_says_first_that_it_is_partial_and_how_much_was_seen():
    assert repr(partial()) == "<partial: 3 of 4 partitions>"
    assert repr(partial(partitions=3)) == "<complete: 3 of 3 partitions>"
    assert (partial().partitions_seen, partial().seen_share, partial().is_complete) == (3, 0.75, False)


@pytest.mark.parametrize("turned", [int, float, bytes, len, iter])
def test_neither_it_nor_an_estimate_turns_into_a_number(turned):
    for each in (partial(), partial().count):
        with pytest.raises(TypeError):
            turned(each)


def test_complete_it_is_exact_as_sql_has_it():
    """Sums add in the order of partitions, and null values count nowhere."""
    whole = partial(partitions=3)
    assert (whole.count.value, whole.sum("n").value, whole.mean("n").value) == (60, 13, 13 / 60)
    assert (whole.sum("x").value, whole.mean("x").value) == (0.1 + 4.0, (0.1 + 4.0) / 38)
    for found in (whole.count, whole.sum("n"), whole.mean("x")):
        assert (found.low, found.high, found.seen, found.withheld) == (found.value, found.value, found.value, None)
    nulls = partial({0: (5, ((0, None),))}, partitions=1, columns=("x",))
    assert (nulls.sum().value, nulls.mean().value, nulls.count.value) == (None, None, 5)
    assert nulls.sum().withheld is None


def test_floats_are_added_in_the_order_of_partitions_whichever_ended_first():
    """The same query gives the same bits again."""
    answers = {2: (1, ((1, 1.0),)), 0: (1, ((1, 1e16),)), 1: (1, ((1, -1e16),))}
    assert partial(answers, partitions=3, columns=("x",)).sum().value == 1.0


def test_decimals_are_not_rounded_and_large_integers_do_not_overflow():
    large = 9_223_372_036_854_775_807
    answers = {0: (1, ((1, Decimal("1e30")), (1, large))), 1: (1, ((1, Decimal("0.01")), (1, large)))}
    whole = partial(answers, partitions=2)
    assert whole.sum("x").value == Decimal("1000000000000000000000000000000.01")
    assert whole.sum("n").value == 2 * large


def test_without_a_sample_it_guesses_and_withholds_the_interval():
    for found, seen, value in (
        (partial().count, 60, 80.0),
        (partial().sum("n"), 13, 4 / 3 * 13),
        (partial().mean("n"), 13 / 60, 13 / 60),
    ):
        assert (found.seen, found.value, found.low, found.high) == (seen, pytest.approx(value), None, None)
        assert found.withheld is Withheld.NOT_A_SAMPLE
        assert found.withheld == "not_a_sample"


def test_with_a_sample_it_estimates_from_that_alone():
    """Partition 77 was seen, too, but is not in the sample."""
    answers = {n: (10, ((8, 4.0 + n), (10, 5 + 2 * (n % 2)))) for n in range(LEAST_SAMPLE)}
    found = partial(answers | {77: ANSWERS[1]}, 100, sample=tuple(answers))
    assert (found.count.seen, found.count.value, found.count.withheld) == (10 * LEAST_SAMPLE + 30, 1000.0, None)
    assert found.sum("n").value == pytest.approx(100 * 6)
    assert found.mean("n").value == pytest.approx(0.6)
    for each in (found.sum("n"), found.mean("n"), found.sum("x")):
        assert each.low < each.value < each.high


def test_few_partitions_give_no_interval_and_none_no_value():
    few = partial(sample=(2, 0)).count
    assert (few.value, few.low, few.withheld) == (60.0, None, Withheld.TOO_FEW_PARTITIONS)
    nothing = partial({})
    for found in (nothing.count, nothing.sum("x"), nothing.mean("x")):
        assert (found.value, found.low, found.withheld) == (None, None, Withheld.NOTHING_SEEN)
    assert nothing.seen_share == 0.0


def test_a_sample_without_values_says_nothing_of_a_column():
    """An interval from nothing would be [0, 0]."""
    answers = {0: (5, ((0, None), (5, 1))), 1: (5, ((0, None), (5, 1))), 2: (5, ((5, 3.0), (5, 1)))}
    found = partial(answers, partitions=9, sample=(0, 1))
    assert found.sum("x").withheld is found.mean("x").withheld is Withheld.NOTHING_SEEN
    assert found.count.withheld is Withheld.TOO_FEW_PARTITIONS


def test_a_column_that_is_none_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="column: got 'y', want one of x, n"):
        partial().sum("y")
    with pytest.raises(ValueError, match="column: got None"):
        partial().mean()
    with pytest.raises(ValueError, match="no numeric one"):
        partial({0: (5, ())}, columns=()).sum("x")


def test_an_rdd_without_numbers_has_a_count_only():
    words = partial({0: (3, ()), 1: (0, ((0, 0),))}, partitions=2, columns=("value",))
    assert words.count.value == 3
    with pytest.raises(TypeError, match="not numbers"):
        words.sum()


def test_rows_are_those_of_the_partitions_seen_and_a_data_frame_has_none():
    asked = partial(prune=lambda partitions: f"rdd of {partitions}")
    assert asked.rows() == "rdd of [0, 1, 2]"
    with pytest.raises(TypeError, match=r"df\.rdd"):
        partial().rows()


def test_no_partitions_at_all_are_complete():
    """As of an empty DataFrame."""
    empty = partial({}, partitions=0)
    assert (empty.is_complete, empty.seen_share, empty.count.value, empty.sum("x").value) == (True, 1.0, 0, None)
