"""Are the best copies tried first, and is another one given up only if the same reason holds for it?"""

from types import SimpleNamespace

import numpy as np
import pytest

from controlplane.engine.candidates import Candidates
from controlplane.model.columns import Attempts, Jobs, Tasks
from controlplane.model.reasons import Reason
from controlplane.policies.answer import SPECULATION

pytestmark = pytest.mark.unit

JOBS, POOLS, HOSTS, SCORES = [0, 0, 1, 2], [0, 0, 0, 1], [7, 8, 8, 8], [5.0, 9.0, 4.0, 3.0]


def wanted(is_shadow=(False, False, False), room=9):
    """Copies of tasks of three jobs, the first two in one pool, and the reasons that the tasks have at first."""
    tasks, attempts, jobs = Tasks(), Attempts(), Jobs()
    for pool in (0, 0, 1):
        jobs.add(pool=pool)
    for row, (job, pool, host) in enumerate(zip(JOBS, POOLS, HOSTS, strict=True)):
        tasks.add(job=job, pool=pool, n_live=1, newest=attempts.add(task=row, host=host))
    answer = np.zeros(len(JOBS), dtype=SPECULATION)
    answer["score"], answer["reason"], answer["copies"] = SCORES, Reason.SAVES_SLOT_TIME, 1
    view = SimpleNamespace(rows=np.arange(len(JOBS)), answer=answer)
    cluster = SimpleNamespace(tasks=tasks, attempts=attempts, jobs=jobs)
    full = np.full(3, int(Reason.NO_SLOT_IN_TARGET))
    return Candidates(view, cluster, np.full((2, 3), room), full, np.array(is_shadow)), answer


def walk(candidates, refused):
    """Places in the order in which they are tried; one is refused, with its reason, and the others are ordered."""
    seen = []
    for place in candidates.best_first(10, 10):
        if place in refused:
            candidates.refuse(place, **refused[place])
        else:
            candidates.order(place, is_new=True)
        seen.append(place)
    return seen


@pytest.mark.parametrize(
    ("why", "is_shadow", "tried"),
    [
        (Reason.NO_OTHER_HOST, [False] * 3, [1, 0, 3]),
        (Reason.NO_BUDGET_JOB, [False] * 3, [1, 2, 3]),
        (Reason.NO_BUDGET_POOL, [False] * 3, [1, 3]),
        (Reason.NO_BUDGET_POOL, [True, False, False], [1, 2, 3]),
        (Reason.NO_BUDGET_CLUSTER, [True, True, False], [1, 3]),
        (Reason.NO_BUDGET_WASTE, [True, False, False], [1, 3]),
    ],
)
def test_a_refusal_speaks_for_all_that_it_holds_for(why, is_shadow, tried):
    """The best one is refused. Shadow copies count against one another alone, but for what losing ones have cost.

    A task without another host has that in common with those of its pool that run where it runs.
    """
    candidates, answer = wanted(is_shadow)
    assert walk(candidates, {1: {"why": why, "beyond_target": False}}) == tried
    assert np.flatnonzero(answer["reason"] == why).tolist() == sorted({*range(4)} - {*tried[1:]})


def test_the_next_of_a_job_takes_the_room_of_one_that_is_refused():
    """Each job has room for one copy; the best of the first job has nowhere to go."""
    candidates, _ = wanted(room=1)
    assert walk(candidates, {1: {"why": Reason.NO_OTHER_HOST, "beyond_target": False}}) == [1, 0, 3]


def test_a_task_that_runs_twice_speaks_for_itself_alone():
    """Its attempts may be on all hosts that another task could use."""
    candidates, answer = wanted()
    candidates._cluster.tasks.n_live[1] = 2
    first = next(places := candidates.best_first(10, 10))
    candidates.refuse(first, Reason.NO_OTHER_HOST, beyond_target=False)
    assert (first, next(places)) == (1, 0)
    assert np.flatnonzero(answer["reason"] == Reason.NO_OTHER_HOST).tolist() == [1]


def test_no_executor_to_come_leaves_room_for_restarts():
    """A job beyond its target is refused copies; a restart gives a slot back."""
    candidates, answer = wanted()
    answer["kill"][0] = True
    assert walk(candidates, {1: {"why": Reason.NO_ROOM_IN_QUEUE, "beyond_target": True}}) == [1, 0, 2, 3]
    assert answer["reason"][1] == Reason.NO_ROOM_IN_QUEUE


def test_what_is_not_reached_says_so_unless_a_copy_of_it_is_ordered():
    """Two of four are tried."""
    candidates, answer = wanted()
    for place in candidates.best_first(9, 2):
        candidates.order(place, is_new=True)
    assert answer["reason"].tolist() == [*[Reason.SAVES_SLOT_TIME] * 2, *[Reason.NOT_TRIED] * 2]


def test_shadow_copies_that_stand_use_up_no_new_orders():
    """One new order is allowed: the standing ones before it cost tries alone."""
    candidates, answer = wanted()
    seen = []
    for place in candidates.best_first(1, 10):
        candidates.order(place, is_new=place == 2)
        seen.append(place)
    assert seen == [1, 0, 2]
    assert answer["reason"][3] == Reason.NOT_TRIED
