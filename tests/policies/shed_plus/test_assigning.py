"""Do spare slots go to the stragglers that Algorithm 1 names, and by gain to those that they help most?"""

from itertools import product
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.policies.shed_plus.assigning import (
    AS_PRINTED,
    LEAST_FIRST,
    SPARE_SLOTS,
    STRAGGLER,
    assign,
    pocd_with,
    utility,
)
from controlplane.policies.shed_plus.forecast import log_of
from controlplane.policies.shed_plus.pocd import attempts_pocd
from tests.seen import records

pytestmark = pytest.mark.unit


def stragglers(job, miss, copy_miss=None):
    columns = {"job": job, "miss": miss, "copy_miss": miss if copy_miss is None else copy_miss}
    return records(STRAGGLER, len(job), columns)


def idle(*slots):
    """Idle slots of each pool, and no executors to come."""
    return records(SPARE_SLOTS, len(slots), {"idle": slots})


def shares(asked, others, spare, most, fairness=AS_PRINTED, *, one_each=False):
    asked["most"] = most
    return assign(asked, np.log(others), idle(spare), 0, fairness, one_each).tolist()


@pytest.mark.parametrize(
    ("job", "miss", "others", "spare", "most", "want"),
    [
        ([0, 1], [0.5, 0.4], [1.0, 1.0], 1, 4, [1, 0]),  # the job less likely to be in time
        ([0, 1], [0.5, 0.4], [1.0, 1.0], 2, 4, [1, 1]),  # .75 by then, so the other one, at .6
        ([0, 1], [0.5, 0.4], [1.0, 0.5], 1, 4, [0, 1]),  # its other tasks count
        ([0, 0], [0.5, 0.4], [1.0], 1, 4, [1, 0]),  # of one job, the straggler less likely to be in time
        ([0, 1], [0.5, 0.5], [1.0, 1.0], 1, 4, [1, 0]),  # the first of equal ones
        ([1, 0], [0.5, 0.5], [1.0, 1.0], 1, 4, [1, 0]),  # the first straggler, not the first job
        ([0, 1], [0.5, 0.4], [1.0, 1.0], 9, 2, [2, 2]),  # no more than the most, though slots are left
        ([0, 1], [0.5, 0.4], [1.0, 1.0], 0, 4, [0, 0]),
        ([0, 1], [0.5, 0.4], [1.0, 1.0], 3, 0, [0, 0]),
        ([0, 1, 0], [0.3, 0.5, 0.4], [1.0, 1.0], 1, 4, [0, 0, 1]),  # a job's stragglers need not stand together
    ],
)
def test_algorithm_1_by_hand(job, miss, others, spare, most, want):
    """Job of least PoCD first, and there the straggler of least PoCD."""
    assert shares(stragglers(job, miss), others, spare, most) == want


def test_a_hopeless_job_takes_nothing_from_the_others():
    """As printed, the least likely job would get every slot, and would still be late."""
    hopeless = stragglers([0, 0, 1], [1.0, 0.4, 0.4])
    for fairness in (AS_PRINTED, 0.0, 1.0, LEAST_FIRST):
        assert shares(hopeless, np.ones(2), 3, 4, fairness) == [0, 0, 3]


@pytest.mark.parametrize("fairness", [AS_PRINTED, 0.0, 1.0, LEAST_FIRST])
def test_a_straggler_that_no_copy_helps_takes_nothing(fairness):
    """It is the least likely one, and copies of it would all be too late."""
    assert shares(stragglers([0, 1], [0.9, 0.8], [1.0, 0.3]), np.ones(2), 5, 5, fairness) == [0, 5]
    assert shares(stragglers([0, 0], [0.9, 0.8], [1.0, 0.3]), np.ones(1), 5, 5, fairness) == [0, 5]


def test_what_one_straggler_may_not_have_goes_to_another():
    """Its host allows it one more attempt."""
    both = stragglers([0, 1], [0.5, 0.4])
    both["most"] = [1, 9]
    for fairness in (AS_PRINTED, 0.0, LEAST_FIRST):
        assert assign(both, np.zeros(2), idle(4), 0, fairness, False).tolist() == [1, 3]


def test_by_gain_and_as_printed_differ():
    """One job is at .02 and gains .02 by a copy, the other one at .5 gains .25 (E11)."""
    both = stragglers([0, 1], [0.98, 0.5])
    assert shares(both, np.ones(2), 1, 4) == [1, 0]
    assert shares(both, np.ones(2), 1, 4, 0.0) == [0, 1]
    assert shares(both, np.ones(2), 1, 4, LEAST_FIRST) == [1, 0]


@pytest.mark.parametrize("fairness", [AS_PRINTED, 0.0, LEAST_FIRST])
def test_each_straggler_gets_one_before_any_gets_two(fairness):
    """The first job gains most by every further attempt, and is the least likely one."""
    both = stragglers([0, 1], [0.95, 0.05], [0.8, 0.8])
    assert shares(both, np.ones(2), 2, 4, fairness) == [2, 0]
    assert shares(both, np.ones(2), 2, 4, fairness, one_each=True) == [1, 1]
    assert shares(both, np.ones(2), 3, 4, fairness, one_each=True) == [2, 1]


def total(asked, others, further, fairness):
    """The utility of all jobs."""
    pocd = np.array(others, dtype=float)
    for one, n in zip(asked, further, strict=True):
        pocd[one["job"]] *= 1 - one["miss"] * one["copy_miss"] ** n
    return sum(log(each) if fairness == 1 else each for each in pocd)


def test_by_gain_is_nearly_the_best_of_all_assignments():
    """Exhaustively, on 100 small cases: greedy misses the best where two stragglers of a job help only together."""
    chance, short, printed = np.random.default_rng(3), [], []
    for _ in range(100):
        asked, others = stragglers(chance.integers(0, 3, 4), chance.uniform(0.1, 0.9, 4)), chance.uniform(0.5, 1.0, 3)
        every = (n for n in product(range(4), repeat=4) if sum(n) <= 4)
        best = max(total(asked, others, n, 0.0) for n in every)
        short.append(best - total(asked, others, shares(asked, others, 4, 3, 0.0), 0.0))
        printed.append(best - total(asked, others, shares(asked, others, 4, 3), 0.0))
    assert min(short) >= -1e-9
    assert np.mean(short) < 0.01 < np.mean(printed)


def pocds(asked, others, further):
    """Each job's PoCD."""
    pocd = np.array(others, dtype=float)
    for one, n in zip(asked, further, strict=True):
        pocd[one["job"]] *= pocd_with(one, n)
    return pocd


def utility_of_all(pocd, fairness):
    """Of all jobs: the sum of PoCD, of its logarithm, or the least one."""
    if fairness == LEAST_FIRST:
        return pocd.min()
    return sum(utility(log_of(each), fairness) for each in pocd)


@st.composite
def pools_of_jobs(draw):
    """Stragglers of up to four jobs, some of them lost, and the PoCD of each job's other tasks."""
    chances, n = st.floats(0.0, 1.0), draw(st.integers(1, 10))
    job, miss, copy_miss = (
        draw(st.lists(each, min_size=n, max_size=n)) for each in (st.integers(0, 3), chances, chances)
    )
    asked = stragglers(job, miss, copy_miss)
    asked["most"] = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    return asked, np.array(draw(st.lists(st.floats(0.1, 1.0), min_size=4, max_size=4)))


@pytest.mark.parametrize("fairness", [AS_PRINTED, 0.0, 1.0, LEAST_FIRST])
@settings(max_examples=100, deadline=None)
@given(pool=pools_of_jobs(), one_each=st.booleans())
def test_neither_utility_nor_any_pocd_falls_when_a_slot_is_added(fairness, pool, one_each):
    """Nor does any straggler lose a slot that it had; by the text, utility is that of the fairness which was chosen."""
    asked, others = pool
    before = None
    for spare in range(12):
        further = assign(asked, np.log(others), idle(spare), 0, fairness, one_each)
        assert further.sum() <= spare
        found = pocds(asked, others, further)
        if before is not None:
            assert (further >= before[0]).all()
            assert (found >= before[1] - 1e-12).all()
            mine, earlier = (utility_of_all(each, max(fairness, 0.0)) for each in (found, before[1]))
            assert mine >= earlier - 1e-9 or mine == earlier
        before = further, found


@settings(max_examples=300, deadline=None)
@given(
    least_left_s=st.floats(0.0, 1e4, allow_subnormal=False), time_left_s=st.floats(-10.0, 1e4),
    tail_index=st.floats(0.1, 10.0), tasks=st.integers(1, 50),
)  # fmt: skip
def test_pocd_never_falls_when_r_grows(least_left_s, time_left_s, tail_index, tasks):
    """Of a task, and of a job of such tasks, with 1 to 6 attempts each."""
    found = [attempts_pocd(least_left_s, time_left_s, tail_index, r) for r in range(1, 7)]
    assert found == sorted(found)
    assert 0.0 <= found[0] <= found[-1] <= 1.0
    of_job = [each**tasks for each in found]
    assert of_job == sorted(of_job)


@pytest.mark.parametrize(
    ("spare", "executors", "want"),
    [
        ({"idle": [1, 0], "to_come": [0, 0]}, 5, [1, 0]),  # a slot is its own pool's
        ({"idle": [0, 0], "to_come": [1, 1]}, 1, [0, 1]),  # of one executor, the pool that it helps most has it
        ({"idle": [0, 0], "to_come": [1, 1]}, 2, [1, 1]),
        ({"idle": [1, 1], "to_come": [1, 1]}, 1, [1, 2]),  # slots that are there first
        ({"idle": [0, 0], "to_come": [2, 2], "each": [2, 2]}, 1, [0, 2]),  # its second slot is the same pool's
        ({"idle": [0, 0], "to_come": [2, 1], "each": [2, 2]}, 1, [0, 1]),  # no more than come
        ({"idle": [0, 0], "to_come": [0, 0]}, 5, [0, 0]),
    ],
)
def test_pools_of_a_queue_share_the_executors_that_may_start(spare, executors, want):
    """Two pools with a straggler each, the second of which gains more by every attempt."""
    asked = stragglers([0, 1], [0.3, 0.6], [0.5, 0.5])
    asked["pool"], asked["most"] = [0, 1], 4
    slots = records(SPARE_SLOTS, 2, {"each": [1, 1]} | spare)
    assert assign(asked, np.zeros(2), slots, executors, 0.0, False).tolist() == want
