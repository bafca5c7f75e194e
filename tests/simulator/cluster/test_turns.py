"""Does whoever gets a free slot get it as if all jobs were asked, though only what has changed is looked at?"""

from types import SimpleNamespace

import numpy as np
import pytest

from controlplane.simulator.cluster import events
from controlplane.simulator.cluster.bounds import Bounds
from controlplane.simulator.cluster.events import ANY_JOB
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.state import empty_state
from controlplane.simulator.cluster.turns import NO_JOB, wants_copy, whose_turn
from controlplane.simulator.cluster.workloads import Synthetic

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("kill_s", [0.0, 0.2])
@pytest.mark.parametrize(
    ("policy", "more"),
    [
        ("hopper+late", {}),
        ("hopper+ras", {"allocator_settings": {"hold_slots": 1.0}}),
        ("hopper+late", {"max_copies": 2, "noise": 0.5}),
        ("srpt+late", {"speculator_settings": {"copy_priority": 1.0}}),
        ("budgeted+mantri", {}),
        ("fair+mantri", {"speculator_settings": {"kill_margin_s": 0.1}}),
        ("hopper+late", {"replicas": 2}),
        ("fair+none", {"workload": Synthetic(least_tasks=2, most_tasks=30, phases=2, transfer_ratio=0.3)}),
    ],
)
def test_looking_at_the_changed_job_alone_is_as_good_as_at_all(policy, more, kill_s, seed, monkeypatch):
    """Incremental equals full: nobody else ever has a turn, and some looks are spared."""
    plain, spared = events.hand_out, []

    def hand_out(work, world, policy, state, changed):
        if changed != ANY_JOB and state.counts[0]["none_in_turn"] and state.counts[0]["n_free"]:
            assert whose_turn(work, policy, state) in (NO_JOB, changed)
            spared.append(changed)
        plain(work, world, policy, state, changed)

    monkeypatch.setattr(events, "hand_out", hand_out)
    monkeypatch.setattr("controlplane.simulator.cluster.scenario.play", getattr(events.play, "py_func", events.play))
    given = {"workload": Synthetic(least_tasks=2, most_tasks=30), **more}
    scenario = ClusterScenario(
        policy=policy, offered_load=0.7, jobs=40, machines=6, slots_per_machine=2, kill_s=kill_s, **given
    )
    with np.errstate(over="ignore"):
        scenario.run(seed)
    assert len(spared) > 10


@pytest.mark.parametrize("speculator", ["shed", "shed-plus"])
def test_copies_of_who_shares_spare_slots_start_beyond_their_jobs_targets(speculator, monkeypatch):
    """Targets count copies that a job's tasks may have, as the engine's do, and not those that are wanted."""
    plain, beyond = events.start_copy, []

    def start_copy(work, world, policy, state, row):
        beyond.append(state.jobs[row]["running"] >= state.jobs[row]["target"])
        plain(work, world, policy, state, row)

    monkeypatch.setattr(events, "start_copy", start_copy)
    monkeypatch.setattr("controlplane.simulator.cluster.scenario.play", getattr(events.play, "py_func", events.play))
    scenario = ClusterScenario(
        policy=f"fair+{speculator}",
        workload=Synthetic(least_tasks=2, most_tasks=30),
        offered_load=0.7,
        jobs=40,
        machines=6,
        slots_per_machine=2,
        max_copies=5,
        wanted_only=False,
        bounds=Bounds(deadline_s=4.0),
    )
    with np.errstate(over="ignore"):
        scenario.run(1)
    assert sum(beyond) > 10


def two_full_jobs(*, waiting=0, capped=False):
    """Two slots are free, and the second of two jobs wants a copy; both hold their targets."""
    state = empty_state(8, 2)
    state.counts["n_free"], state.counts["n_waiting"], state.counts["n_wanted"] = 2, waiting, 1
    state.counts["none_in_turn"] = True
    state.asking[:], state.counts["n_asking"] = [0, 1], 2
    for job in state.jobs:
        job["target"] = job["running"] = job["n_tasks"] = job["n_started"] = 3
        job["originals"] = job["most_copies"] = -1
        job["capped"] = capped
    state.jobs[1]["n_wanted"] = 1
    return state


def lends(shares_spare):
    """What `hand_out` asks of a policy pair."""
    return SimpleNamespace(before_waiting=False, shares_spare=shares_spare, budgets=False)


@pytest.mark.parametrize(
    ("shares_spare", "waiting", "capped", "wants"),
    [(True, 1, False, True), (False, 1, False, False), (True, 2, False, False), (True, 1, True, False)],
)
def test_a_copy_beyond_the_target_takes_an_idle_slot_that_no_original_waits_for(shares_spare, waiting, capped, wants):
    """A cap holds, and so do targets under a speculator that shares nothing out."""
    state = two_full_jobs(waiting=waiting, capped=capped)
    assert wants_copy(lends(shares_spare), state, state.jobs[1]) == wants


def test_a_slot_that_comes_free_is_lent_to_a_job_that_has_not_changed(monkeypatch):
    """Another job's attempt has ended; its slot is idle for all."""
    state, copied = two_full_jobs(), []

    def start_copy(work, world, policy, state, row):
        copied.append(row)
        state.jobs[row]["n_wanted"] = state.counts["n_wanted"] = 0

    monkeypatch.setattr(events, "start_copy", start_copy)
    events.hand_out(SimpleNamespace(weight=np.ones(2)), None, lends(True), state, 0)
    assert copied == [1]


@pytest.mark.parametrize("policy", ["hopper+ras", "budgeted+ras", "fair+late"])
def test_nothing_of_a_phase_starts_before_the_allocator_has_been_asked(policy, monkeypatch):
    """Also where a job takes the row of one that has just ended, and reviews are rare."""
    asked, plain = set(), {name: getattr(events, name) for name in ("run_cycle", "start_original")}

    def run_cycle(work, world, policy, state):
        plain["run_cycle"](work, world, policy, state)
        jobs = state.jobs[state.active[: state.counts[0]["n_active"]]]
        asked.update(zip(jobs["id"].tolist(), jobs["phase"].tolist(), strict=True))

    def start_original(work, world, policy, state, row):
        assert (int(state.jobs[row]["id"]), int(state.jobs[row]["phase"])) in asked
        plain["start_original"](work, world, policy, state, row)

    monkeypatch.setattr(events, "run_cycle", run_cycle)
    monkeypatch.setattr(events, "start_original", start_original)
    monkeypatch.setattr("controlplane.simulator.cluster.scenario.play", getattr(events.play, "py_func", events.play))
    workload = Synthetic(least_tasks=1, most_tasks=6, phases=2)
    scenario = ClusterScenario(
        policy=policy, workload=workload, offered_load=0.8, jobs=120, machines=6, slots_per_machine=2, cycle_s=5.0
    )
    with np.errstate(over="ignore"):
        scenario.run(3)
    assert asked


def test_slots_beyond_the_targets_go_by_attempts_over_weight():
    """Two attempts of weight 1 are more than three of weight 3."""
    state, work = empty_state(8, 2), SimpleNamespace(weight=np.array([1.0, 3.0]))
    for row, running in enumerate((2, 3)):
        job = state.jobs[row]
        job["id"], job["n_tasks"], job["running"], job["originals"] = row, 9, running, -1
    state.asking[:], state.counts["n_asking"] = [0, 1], 2
    assert whose_turn(work, lends(False), state) == 1
