"""Do copies at the start and relaunches become orders that keep the laws?"""

from dataclasses import replace
from math import exp

import numpy as np
import pytest

from controlplane.model import facts as f
from controlplane.model.orders import KillAttempt, LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason
from controlplane.policies.redundancy.theory.relaunch import latency_optimal_factor
from controlplane.policies.redundancy.theory.relaunch import relaunched as relaunched_run
from controlplane.policies.redundancy.theory.replication import replication_threshold_s
from controlplane.policies.redundancy.thresholds import best_factor
from controlplane.policies.registry import speculator
from controlplane.policies.seen import Load
from tests.scenario import SOURCE, Scenario, orders

pytestmark = pytest.mark.unit
CONTROL = EngineSettings(mode=f.Mode.CONTROL, allocator="fair", pool_copy_share=1.0, job_copy_share=1.0)


def earlier_run(scenario: Scenario, took_s: float) -> None:
    """The stage's two tasks ran before, in another job, so that it is known what one takes."""
    scenario.stage(2, stage=9, job="earlier", name="map")
    scenario.tell([scenario.started(98 + index, index, index=index, stage=9) for index in range(2)])
    scenario.now_s += took_s
    over = [f.StageEnded(stage=9, stage_attempt=0), f.JobEnded(job="earlier")]
    scenario.tell([*(scenario.ended(98 + index, took_s, index=index, stage=9) for index in range(2)), *over])


def busy(scenario: Scenario, offered_load: float) -> None:
    """The pool has this load, and a light tail, for which the moments exist."""
    cluster = scenario.scheduler.cluster
    row = cluster.sources[SOURCE].row
    scenario.scheduler.learning.review_tails = lambda *_: cluster.pools.tail_index.__setitem__(row, 3.0)
    cluster.pools.offered_load[row] = cluster.pools.busy_share[row] = offered_load
    cluster.pools.load_seen_s[row] = scenario.now_s


def relaunching(factor: float = 3.0) -> Scenario:
    """Two tasks that are expected to take a second each, the second one late by far."""
    scenario = Scenario(replace(CONTROL, speculator="relaunch", speculator_settings={"relaunch_factor": factor}))
    earlier_run(scenario, 1.0)
    scenario.stage(2, name="map", input_bytes=1000)
    scenario.tell([scenario.started(0, 0), scenario.started(1, 1)])
    scenario.now_s += 0.9
    scenario.tell([scenario.ended(0, 0.9, bytes_read=1000)], progress={1: 100})
    return scenario


def relaunched(scenario: Scenario) -> LaunchCopy:
    """The order for the late task's new attempt, once it is given."""
    for _ in range(200):
        scenario.now_s += 0.1
        given = orders(scenario.tell(progress={1: 100}))
        assert not any(isinstance(order, KillAttempt) for order in given)
        if given:
            return given[0]
    raise AssertionError(scenario.records())


def test_copies_start_with_the_tasks_of_a_job_whose_demand_is_known_and_small():
    """At no load every demand is small; a stage that nobody has seen before waits until its first task has ended."""
    scenario = Scenario(replace(CONTROL, speculator="redundant-small"))
    scenario.stage(2, stage=1)
    assert len(orders(scenario.tell([scenario.started(0, 0), scenario.started(1, 1)]))) == 2
    reasons = {record.reason for record in scenario.records() if record.action is Action.LAUNCH_COPY}
    assert reasons == {Reason.STARTS_WITH_COPIES}


@pytest.mark.parametrize(("took_s", "reason"), [(None, "UNKNOWN_DEMAND"), (10.0, None), (300.0, "NOT_SMALL")])
def test_under_load_only_small_demand_has_copies_at_the_start(took_s, reason):
    """At a load of 0.3 eight slots have a finite limit: two tasks of 10 s are below it, two of five minutes not."""
    scenario = Scenario(replace(CONTROL, speculator="redundant-small"))
    if took_s is not None:
        earlier_run(scenario, took_s)
    busy(scenario, 0.3)
    scenario.stage(2, name="map")
    given = orders(scenario.tell([scenario.started(0, 0), scenario.started(1, 1)]))
    assert len(given) == (0 if reason else 2)
    refused = {record.reason.name for record in scenario.records() if record.action is Action.REFUSE_COPY}
    assert refused == ({reason} if reason else set())


@pytest.mark.parametrize(("share_of_limit", "n_copies"), [(0.95, 2), (1.05, 0)])
def test_demand_is_in_the_unit_of_its_threshold(share_of_limit, n_copies):
    """Both are tasks times the least time of one, k b. Mean times are half as long again at a tail index of 3."""
    scenario = Scenario(replace(CONTROL, speculator="redundant-small"))
    policy = speculator("redundant-small")
    (small_s,) = policy.prepared(Load(8, 0.3, 3.0), np.array([2]), {})
    earlier_run(scenario, share_of_limit * small_s / 2 * exp(1 / 3))
    busy(scenario, 0.3)
    scenario.stage(2, name="map")
    assert len(orders(scenario.tell([scenario.started(0, 0), scenario.started(1, 1)]))) == n_copies


@pytest.mark.parametrize("speculator", ["redundant-small", "relaunch"])
def test_a_cluster_that_hangs_stops_no_cycle(speculator):
    """Hundreds of tasks run on, far beyond the few that have ended: a tail index of almost nought is no error."""
    scenario = Scenario(replace(CONTROL, speculator=speculator))
    cluster = scenario.scheduler.cluster
    row = cluster.sources[SOURCE].row
    scenario.scheduler.learning.review_tails = lambda *_: cluster.pools.tail_index.__setitem__(row, 0.005)
    scenario.stage(2)
    scenario.tell([scenario.started(0, 0), scenario.started(1, 1)])


def test_the_old_attempt_is_killed_when_the_new_one_runs_and_not_before():
    """Law 3: first the copy, then the kill; a task is never without an attempt."""
    scenario = relaunching()
    launch = relaunched(scenario)
    assert launch.index == 1
    host = int(launch.host[1:])
    new = scenario.started(2, host, index=1, speculative=True, order=launch.order, attempt_number=1)
    (kill,) = orders(scenario.tell([new], progress={1: 100}))
    assert (kill.attempt, kill.index) == (1, 1)
    assert [r.reason for r in scenario.records() if r.action is Action.KILL_ATTEMPT] == [Reason.REPLACED]
    scenario.now_s += 1.0
    scenario.tell([scenario.ended(1, 5.0, outcome=f.Outcome.KILLED)])
    for _ in range(100):
        scenario.now_s += 0.1
        assert orders(scenario.tell()) == []


def test_a_task_is_late_by_its_siblings_even_if_a_copy_keeps_its_slowness():
    """The expected duration is that of finished tasks; this one's own slowness would make it look less late."""
    plain, alike = relaunching(), relaunching()
    (habits,) = alike.scheduler.learning._habits.values()
    habits.shared.observe(100.0, 100.0)
    relaunched(plain), relaunched(alike)
    assert alike.now_s == plain.now_s


def test_a_copy_that_somebody_else_asked_for_kills_nothing():
    """Only the launch that a relaunch ordered takes the old attempt's place."""
    scenario = relaunching()
    relaunched(scenario)
    other = scenario.started(2, 3, index=1, speculative=True, attempt_number=1)
    assert [order for order in orders(scenario.tell([other])) if isinstance(order, KillAttempt)] == []


def test_an_old_attempt_that_ends_first_is_not_killed():
    """The order may come too late: what has ended stays ended."""
    scenario = relaunching()
    launch = relaunched(scenario)
    new = scenario.started(2, int(launch.host[1:]), index=1, speculative=True, order=launch.order, attempt_number=1)
    assert orders(scenario.tell([scenario.ended(1, 4.0, bytes_read=1000), new])) == []


@pytest.mark.parametrize("tail_index", [1.2, 1.5, 2.0, 3.0, 5.0])
def test_a_rounded_number_of_tasks_lengthens_no_stage_by_a_thousandth(tail_index):
    """Stages of up to 64 tasks have their own factor, larger ones share theirs with those of nearly as many."""
    policy = speculator("relaunch")
    for tasks in [1, 10, 63, *(65 * 2**doubled for doubled in range(18))]:
        own = latency_optimal_factor(tasks, tail_index)
        (given,) = policy.prepared(Load(1, 0.5, tail_index), np.array([tasks]), {})
        shared = given * tail_index / (tail_index - 1.0)
        assert (shared == pytest.approx(own)) or tasks > 64
        longer = relaunched_run(tasks, shared, tail_index).latency / relaunched_run(tasks, own, tail_index).latency
        assert longer < 1.001


def test_however_many_sizes_stages_have_searches_are_few():
    """A search takes milliseconds, and a pool may bring a new size with every stage."""
    policy, before = speculator("relaunch"), best_factor.cache_info().misses
    for tasks in range(1, 10**7, 4001):
        policy.prepared(Load(1, 0.5, 3.0), np.array([tasks]), {})
    assert best_factor.cache_info().misses - before < 650


def test_however_many_slots_pools_have_searches_are_few():
    """A search takes 50 ms, in which no driver is answered, and executors come and go all the time."""
    policy, before = speculator("redundant-small"), replication_threshold_s.cache_info().misses
    for slots in range(4096, 4352):
        policy.prepared(Load(slots, 0.37, 3.0), np.array([1]), {})
    assert replication_threshold_s.cache_info().misses - before < 4
