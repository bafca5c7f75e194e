"""When does a bounded action stop, what does it run, and what do speculators hear of its bound?"""

import math
from datetime import timedelta

import pytest

from controlplane.deciding.bounds import needed_tasks
from spark_listener.approximation.stopping import Bound, bound, needed, sampled

pytestmark = pytest.mark.unit
ASKED = {"deadline": None, "error": None, "sample": False, "seed": None}


@pytest.mark.parametrize("error", [0.0, 0.01, 0.05, 0.1, 0.3, 0.4, 0.999999])
@pytest.mark.parametrize("partitions", [0, 1, 3, 6, 10, 100, 1000])
def test_as_many_partitions_are_needed_as_the_speculators_think(partitions, error):
    """The driver stops when the control plane believes that the bound is met; and at no greater error."""
    assert needed(partitions, error) == needed_tasks(partitions, 0, error_bound=error)
    assert partitions - needed(partitions, error) <= error * partitions + 1e-9


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({}, "want exactly one of them"),
        ({"deadline": "90s", "error": 0.1}, "want exactly one of them"),
        ({"deadline": "soon"}, "deadline: got 'soon'"),
        ({"error": 1.5}, "error: got 1.5"),
        ({"error": True}, "error: got True"),
        ({"error": 0.1, "seed": 3}, "seed: got 3"),
    ],
)
def test_a_bound_that_is_none_is_refused_by_the_name_of_its_argument(asked, what):
    with pytest.raises(ValueError, match=what):
        bound(**ASKED | asked)


def test_a_deadline_is_what_deadline_takes_and_an_error_what_error_bound_takes():
    assert bound(**ASKED | {"deadline": "1min"}).within_s == 60.0
    assert bound(**ASKED | {"deadline": timedelta(seconds=1.5)}).within_s == 1.5
    assert bound(**ASKED | {"error": 0}).error == 0.0


def test_an_error_bound_stops_the_job_once_the_share_is_there_and_never_for_time():
    asked = Bound(error=0.1)
    assert [asked.is_met(seen=seen, partitions=10, elapsed_s=1e9) for seen in (8, 9, 10)] == [False, True, False]
    assert not Bound().is_met(seen=10, partitions=10, elapsed_s=1e9)


def test_a_deadline_stops_the_job_whatever_it_has_seen():
    asked = Bound(within_s=5.0)
    assert [asked.is_met(seen=3, partitions=10, elapsed_s=at_s) for at_s in (4.9, 5.0)] == [False, True]


def test_a_sample_by_error_runs_what_was_drawn_and_all_of_it():
    """If it stopped at a count, it would stop without the slowest."""
    asked = Bound(error=0.4, is_random=True, seed=1)
    order = asked.order(10)
    assert len(set(order)) == 6 <= len(order)
    assert not any(asked.is_met(seen=seen, partitions=10, elapsed_s=1e9) for seen in range(7))
    assert asked.draws_at_s() == math.inf


def test_a_sample_by_deadline_is_settled_at_half_of_it_and_counts_only_if_all_of_it_ended():
    assert Bound(within_s=8.0, is_random=True).draws_at_s() == 4.0
    assert Bound(within_s=8.0).draws_at_s() == math.inf
    assert sampled((3, 1, 2, 0), 3, {1, 2, 3}) == (3, 1, 2)
    assert sampled((3, 1, 2, 0), 3, {0, 1, 3}) == ()


def test_speculators_hear_of_the_one_bound_and_of_none_that_an_outer_with_has_set():
    names = ("spark.grasshopper.deadline", "spark.grasshopper.error.bound")
    assert Bound(within_s=9.0).properties(elapsed_s=1.5) == dict(zip(names, ("7500ms", None), strict=True))
    assert Bound(error=0.1).properties(elapsed_s=1.5) == dict(zip(names, (None, "0.100000"), strict=True))
    assert Bound(error=0.0).properties(elapsed_s=1.5) == dict(zip(names, (None, None), strict=True))


def test_a_random_order_is_left_alone_by_speculators_that_go_by_bounds():
    """They would start the shortest or the longest first."""
    for asked in (Bound(within_s=9.0, is_random=True), Bound(error=0.1, is_random=True)):
        assert set(asked.properties(elapsed_s=0.0).values()) == {None}
