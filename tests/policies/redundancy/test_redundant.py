"""Do tasks start with copies exactly where that pays, and never on a guess?"""

from math import inf, nan

import numpy as np
import pytest

from controlplane.model.reasons import Reason
from controlplane.policies.redundancy.theory.execution import small_and_large
from controlplane.policies.redundancy.theory.queue import response_time_s
from controlplane.policies.redundancy.theory.redundant_small import unexpanded
from controlplane.policies.redundancy.theory.replication import replicated
from controlplane.policies.redundancy.theory.system import System
from controlplane.policies.redundancy.thresholds import small_demand_s
from controlplane.policies.registry import speculator
from controlplane.policies.seen import Load

pytestmark = pytest.mark.unit

small, everyone = speculator("redundant-small"), speculator("redundant-all")


def reasons(policy, running, settings=None, **columns):
    """What is said of tasks that need 10 s each, every one in a stage and job of its own."""
    n = len(next(iter(columns.values())))
    own = {"job": range(n), "stage": range(n)}
    groups = {name: columns.pop(name, {}) for name in ("jobs", "stages")}
    answer = policy.speculate(running([10.0] * n, [10.0] * n, **own, **groups, **columns), settings or {})
    assert not answer["kill"].any()
    return [Reason(code) for code in answer["reason"]]


def test_demand_up_to_the_threshold_is_small(running):
    """D = k b: four tasks of 10 s are 40 slot-seconds, and "up to d" includes d itself."""
    columns = {"service_s": [10.0, 10.0], "jobs": {"tasks": 4}, "stages": {"prepared": [40.0, 39.0]}}
    assert reasons(small, running, **columns) == [Reason.STARTS_WITH_COPIES, Reason.NOT_SMALL]


def test_what_nobody_knows_is_not_promised_but_where_every_demand_is_small(running):
    """Without a finished sibling or an earlier run the demand is a guess; an infinite threshold does not ask."""
    columns = {"service_s": [nan, nan], "jobs": {"tasks": 1}, "stages": {"prepared": [1e6, inf]}}
    assert reasons(small, running, **columns) == [Reason.UNKNOWN_DEMAND, Reason.STARTS_WITH_COPIES]
    assert reasons(everyone, running, **columns) == [Reason.STARTS_WITH_COPIES] * 2


def test_more_tasks_than_the_usual_job_has_are_large(running):
    """The threshold was found for jobs of up to max_tasks tasks; of others it says nothing."""
    columns = {"service_s": [0.1, 0.1], "jobs": {"tasks": 11}, "stages": {"prepared": [40.0, inf]}}
    assert reasons(small, running, **columns) == [Reason.NOT_SMALL, Reason.STARTS_WITH_COPIES]


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_a_task_starts_with_so_many_attempts_and_no_more(running, attempts):
    """The original counts as one of them."""
    given = reasons(everyone, running, {"attempts_at_start": attempts}, running_attempts=[1, 2, 3])
    assert given == [Reason.STARTS_WITH_COPIES] * (attempts - 1) + [Reason.ALREADY_COPIED] * (4 - attempts)


def test_the_task_with_fewest_attempts_goes_first(running):
    """Second copies wait until every task has its first."""
    answer = everyone.speculate(running([9.0, 9.0], [9.0, 9.0], running_attempts=[2, 1]), {"attempts_at_start": 3})
    assert answer["score"].argmax() == 1


@pytest.mark.parametrize("load", [0.2, 0.6, 0.7, 0.8, 0.95])
def test_the_limit_is_the_best_one_of_the_pool_as_a_queue(load):
    """No demand on a fine grid gives a shorter response time by (11) with the least of two copies."""
    settings = {"attempts_at_start": 2, "max_tasks": 10, "min_service_s": 10.0, "service_tail_index": 3.0}
    system = System()
    copied = tuple(replicated(tasks, 2, system.slowdown_tail_index) for tasks in range(1, 11))

    def response_s(threshold_s):
        return response_time_s(system, load, small_and_large(system, threshold_s, copied, unexpanded(system)))

    best_s = small_demand_s(settings, system.slots, load, system.slowdown_tail_index)
    assert response_s(best_s) <= min(response_s(float(other)) for other in (0.0, inf, *range(1, 1000, 7))) * (1 + 1e-6)


def test_who_starts_every_task_with_copies_prepares_nothing():
    """A search takes 50 ms; only one speculator has a use for what it finds."""
    assert np.isnan(everyone.prepared(Load(200, 0.2, 3.0), np.array([1, 2]), {})).all()
