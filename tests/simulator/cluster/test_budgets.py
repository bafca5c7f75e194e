"""Do simulated copies keep to the engine's budgets where a scenario has them?"""

from dataclasses import dataclass
from math import inf

import numpy as np
import pytest

from controlplane.deciding.budgets import Limits
from controlplane.model.errors import BadSetting
from controlplane.model.parameters import EngineSettings
from controlplane.simulator.cluster import events
from controlplane.simulator.cluster import scenario as scenarios
from controlplane.simulator.cluster.inputs import with_inputs
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.state import empty_state
from controlplane.simulator.cluster.turns import is_over_budget
from controlplane.simulator.cluster.workloads import Listed, Synthetic, workload
from controlplane.simulator.cluster.world import Workload
from tests.simulator.cluster.replacing import replaced
from tests.simulator.cluster.test_scenario import Later

pytestmark = pytest.mark.unit

STILL = {"slowdown_tail_index": inf, "launch_s": 0.0, "detect_s": 0.0}
"""Nothing varies, nothing takes time but the work itself."""
WIDE = {"job_copy_share": 1.0, "pool_copy_share": 1.0, "cluster_copy_share": 1.0, "losing_allowance_tasks": 1e6}
"""Limits that no copy comes up to."""


@dataclass(frozen=True)
class Successive:
    """One job of so many phases with one task of 1 s each."""

    phases: int

    def workload(self, seed: int, jobs: int) -> Workload:
        ones = np.ones(self.phases, dtype=np.int64)
        return workload(np.zeros(1), np.ones(1), np.array([self.phases]), ones)


class Watch:
    """Counts of its own beside the simulation's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.most = self.most_of_job = 0
        self.core_s = {"total_core_s": 0.0, "losing_core_s": 0.0}
        self.plain = replaced(monkeypatch, {"start_beside": self.start_beside, "end_attempt": self.end_attempt})
        monkeypatch.setattr(scenarios, "play", getattr(events.play, "py_func", events.play))
        monkeypatch.setattr(scenarios, "with_inputs", self.with_inputs)
        self.live: dict[int, int] = {}
        """Job of each copy that runs, by slot."""

    def with_inputs(self, *given):
        self.state = with_inputs(*given)
        return self.state

    def start_beside(self, work, world, policy, state, at, resumes_s):
        self.plain["start_beside"](work, world, policy, state, at, resumes_s)
        self.live[int(state.slots[at]["newest"])] = int(state.slots[at]["job"])
        of_jobs = list(self.live.values())
        self.most = max(self.most, len(of_jobs))
        self.most_of_job = max(self.most_of_job, *map(of_jobs.count, of_jobs))

    def end_attempt(self, world, state, job, slot, is_killed):
        age_s = float(state.counts[0]["now_s"] - state.slots[slot]["started_s"])
        self.core_s["total_core_s"] += age_s
        if self.live.pop(slot, None) is not None and is_killed:
            self.core_s["losing_core_s"] += age_s
        self.plain["end_attempt"](world, state, job, slot, is_killed)


def watched(monkeypatch: pytest.MonkeyPatch, policy: str, **fields) -> Watch:
    """What a small busy cluster of twelve slots comes to, where every job ends."""
    watch = Watch(monkeypatch)
    scenario = ClusterScenario(
        policy=policy, workload=Synthetic(least_tasks=2, most_tasks=30), offered_load=0.5, jobs=40, machines=6,
        slots_per_machine=2, noise=0.3, **fields,
    )  # fmt: skip
    with np.errstate(over="ignore"):
        assert not np.isnan(scenario.run(1)[1].response_s).any()
    return watch


COPYING = [
    ("fair+redundant-all", {}),
    ("hopper+ras", {}),
    ("fair+relaunch", {"relaunch_factor": 0.3}),
    ("fair+mantri", {"kill_margin_s": 0.1}),
]


@pytest.mark.parametrize(("policy", "settings"), COPYING)
@pytest.mark.parametrize("name", ["job_copy_share", "pool_copy_share", "cluster_copy_share"])
def test_as_many_copies_run_as_a_limit_allows_and_no_more(policy, settings, name, monkeypatch):
    """Two, a sixth of the slots. An attempt that takes another's place is one, too."""
    watch = watched(monkeypatch, policy, speculator_settings=settings, budgets=True, **WIDE | {name: 1 / 6})
    assert (watch.most_of_job if name == "job_copy_share" else watch.most) == 2
    assert watch.most > 2 or name != "job_copy_share"


@pytest.mark.parametrize(("budgets", "copies"), [(True, 2), (False, 3)])
def test_without_budgets_not_even_the_engines_limits_bound_copies(budgets, copies):
    """One task wants the three slots beside it, and half of the four is what the engine allows."""
    scenario = ClusterScenario(
        policy="fair+redundant-all", speculator_settings={"attempts_at_start": 4.0}, max_copies=3, jobs=1, machines=4,
        workload=Successive(phases=1), slots_per_machine=1, budgets=budgets, cycle_s=0.0, **STILL,
    )  # fmt: skip
    assert scenario.simulate(1).copies_per_task == copies


@pytest.mark.parametrize("kill_s", [0.0, 0.5])
@pytest.mark.parametrize(("policy", "settings"), COPYING)
def test_all_attempts_count_and_copies_that_were_killed_are_what_was_lost(policy, settings, kill_s, monkeypatch):
    """By their ages when they end, without the slots' clean-up. Those of `relaunch` win; in the end none runs."""
    watch = watched(monkeypatch, policy, speculator_settings=settings, kill_s=kill_s)
    counts = watch.state.counts[0]
    assert {name: counts[name] for name in watch.core_s} == pytest.approx(watch.core_s)
    assert (watch.core_s["losing_core_s"] > 0) == (policy != "fair+relaunch")
    assert counts["copies_started_s"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("losing_share", "losing_allowance_tasks", "copies"),
    [(0.0, 0.0, 1), (0.0, 0.5, 2), (0.0, 1.0, 3), (0.5, 0.0, 20), (0.25, 0.0, 7)],
)
def test_copies_stop_while_those_that_lost_have_cost_more_than_is_allowed(losing_share, losing_allowance_tasks, copies):
    """Each runs beside a task of a second, and loses: half of all time, if every task has one. The first one is free,
    as are those that lose no more than so many tasks for each of two slots. A quarter is lost if every third has one.
    """
    scenario = ClusterScenario(
        policy="fair+redundant-all", workload=Successive(phases=20), jobs=1, machines=2, slots_per_machine=1,
        budgets=True, losing_share=losing_share, losing_allowance_tasks=losing_allowance_tasks, cycle_s=0.0, **STILL,
    )  # fmt: skip
    assert scenario.simulate(1).copies_per_task == copies / 20


@pytest.mark.parametrize(("losing_share", "is_over"), [(0.25, False), (0.24, True)])
def test_half_of_what_running_copies_have_cost_counts_as_lost(losing_share, is_over):
    """At 10 s: two copies, from 6 s and 8 s on, have run for 6 s together; with 2 s lost that is 5 s of 20."""
    state = empty_state(8, 1)
    state.jobs["most_copies"] = -1
    counts = {"now_s": 10.0, "copies": 2, "copies_started_s": 14.0, "losing_core_s": 2.0, "total_core_s": 20.0}
    for name, value in counts.items():
        state.counts[name] = value
    limits = {"losing_share": losing_share, "losing_allowance_tasks": 0.0}
    scenario = ClusterScenario(policy="fair+late", budgets=True, **limits)
    policy = scenario._policy(np.ones(1, dtype=np.int64))
    assert is_over_budget(policy, state, state.jobs[0]) == is_over


def test_room_that_one_jobs_copy_leaves_is_another_jobs_at_once():
    """One copy may run in the pool, and slots are free. The first starts at the review at 5 s and ends at 6, the second
    starts then, not at the review after its job's own end at 9.
    """
    scenario = ClusterScenario(
        policy="fair+redundant-all", workload=Listed(original_s=((9.0,), (9.0,)), copy_s=1.0), jobs=2, machines=4,
        slots_per_machine=1, budgets=True, pool_copy_share=0.25, cycle_s=5.0, **STILL,
    )  # fmt: skip
    assert scenario.run(1)[1].response_s.tolist() == [6.0, 7.0]


def test_a_restart_that_is_over_budget_waits_and_keeps_nobody_else_waiting():
    """Both tasks of the first job are to start anew, and it may have one new attempt at a time: from 0.5 s on, and from
    3.5 s on. That of the second job, which comes at 1 s, starts meanwhile, at 1.5 s. Each takes 3 s. The slot that is
    free first is still being cleaned up at 1 s, so the second job's is looked at after the one that waits.
    """
    scenario = ClusterScenario(
        policy="fifo+relaunch", speculator_settings={"relaunch_factor": 0.1}, jobs=2, machines=8, slots_per_machine=1,
        workload=Later(original_s=((20.0, 20.0), (20.0,)), copy_s=3.0), offered_load=7.5, budgets=True,
        job_copy_share=1 / 8, cycle_s=0.5, kill_s=1.0, **STILL,
    )  # fmt: skip
    assert scenario.run(1)[1].response_s.tolist() == [6.5, 3.5]


def test_the_limits_are_the_engines_unless_set():
    """Of the same names, in the same ranges."""
    policy = ClusterScenario(policy="fair+late", budgets=True)._policy(np.ones(1, dtype=np.int64))
    assert (policy.budgets, policy.limits) == (True, Limits.of(EngineSettings()))
    with pytest.raises(BadSetting, match="pool_copy_share"):
        ClusterScenario(policy="fair+late", budgets=True, pool_copy_share=1.1)


def test_a_limit_without_budgets_is_refused():
    """It would bound nothing."""
    with pytest.raises(BadSetting, match="budgets"):
        ClusterScenario(policy="fair+late", losing_share=0.1)
