"""Does the cluster simulator agree with plain reasoning, with plain simulations, and with queueing theory?"""

import heapq
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from math import factorial, inf, isnan
from pathlib import Path

import numpy as np
import pytest

from controlplane.model.errors import BadSetting
from controlplane.policies.redundancy.thresholds import best_factor
from controlplane.simulator.cluster import scenario as scenarios
from controlplane.simulator.cluster import world
from controlplane.simulator.cluster.decisions import view_claimants, view_groups
from controlplane.simulator.cluster.events import play
from controlplane.simulator.cluster.inputs import with_inputs
from controlplane.simulator.cluster.record import means
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.state import CLEANING, FREE, empty_state
from controlplane.simulator.cluster.summary import tasks_of
from controlplane.simulator.cluster.workloads import Listed, Synthetic, workload
from controlplane.simulator.cluster.world import (
    FIRST_HOME,
    FIRST_NOISE,
    Workload,
    attempt_factor,
    mean_factor,
    noise_factor,
    typical_factor,
)
from controlplane.simulator.draws import job_key

pytestmark = pytest.mark.unit

STILL = {"slowdown_tail_index": inf, "launch_s": 0.0, "detect_s": 0.0, "cycle_s": 0.0}
"""Nothing varies, nothing takes time but the work itself."""
SMALL = Synthetic(least_tasks=2, most_tasks=60)


@dataclass(frozen=True)
class Single:
    """Poisson arrivals of jobs with one task, whose exponential durations have mean 1."""

    def workload(self, seed: int, jobs: int) -> Workload:
        rng = np.random.default_rng(seed)
        ones = np.ones(jobs, dtype=np.int64)
        work = workload(np.cumsum(rng.exponential(1.0, jobs)), ones, ones, ones)
        return work._replace(original_s=rng.exponential(1.0, jobs), first_original=np.arange(jobs + 1))


@dataclass(frozen=True)
class Later(Listed):
    """The jobs of `Listed`, the second of them after the first has ended."""

    def workload(self, seed: int, jobs: int) -> Workload:
        return super().workload(seed, jobs)._replace(arrival_s=np.array([0.0, 1.0]))


@dataclass(frozen=True)
class Spaced:
    """Jobs of these numbers of tasks in turn, one long after the other; a task takes 1 s, the very last one 1000."""

    sizes: tuple[int, ...]

    def workload(self, seed: int, jobs: int) -> Workload:
        tasks = np.resize(self.sizes, jobs)
        original_s = np.ones(tasks.sum())
        original_s[-1] = 1000.0
        work = workload(np.arange(jobs, dtype=float), np.ones(jobs), np.ones(jobs, dtype=np.int64), tasks)
        return work._replace(original_s=original_s, first_original=np.concatenate([[0], np.cumsum(tasks)]))


@dataclass(frozen=True)
class Chain:
    """One job of these phases, with tasks of 1 s."""

    phase_tasks: tuple[int, ...]
    transfer_ratio: float

    def workload(self, seed: int, jobs: int) -> Workload:
        phases = np.array([len(self.phase_tasks)])
        return workload(np.zeros(1), np.ones(1), phases, np.array(self.phase_tasks), self.transfer_ratio)


def response_s(scenario: ClusterScenario, seed: int = 1) -> np.ndarray:
    return scenario.run(seed)[1].response_s


ROOT = Path(__file__).parents[3]
VARIED = {
    policy: ClusterScenario(
        policy=policy,
        workload=Synthetic(least_tasks=2, most_tasks=60, phases=2, transfer_ratio=0.5, weights=(1.0, 2.0)),
        offered_load=0.8,
        jobs=60,
        machines=10,
        shared_share=0.25,
        noise=0.3,
        replicas=2,
        kill_s=0.1,
    )
    for policy in ("hopper+late", "fair+mantri")
}
VARIED["fair+redundant-all within budgets"] = replace(
    VARIED["hopper+late"], policy="fair+redundant-all", offered_load=0.5, budgets=True, losing_share=0.1
)
GOLDEN = ROOT / "tests/golden/simulated_cluster.json"


def figures(scenario: ClusterScenario) -> dict[str, float]:
    """The numbers of a run's summary that are known, those of its tables by their place."""
    summary = asdict(scenario.simulate(seed=1))
    rows = [row.values() for row in summary.pop("bins")]
    tables = {"bins": [number for row in rows for number in row], "quantiles": summary.pop("slowdown_quantiles")}
    summary |= {f"{name} {place}": each for name, table in tables.items() for place, each in enumerate(table)}
    return {name: number for name, number in summary.items() if not isnan(number)}


def test_compiled_and_plain_python_give_the_same():
    """The plain functions are what a reader checks."""
    program = (
        "import json; from tests.simulator.cluster.test_scenario import VARIED, response_s\n"
        "print(json.dumps({name: response_s(one).tolist() for name, one in VARIED.items()}))"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
    plain = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment, cwd=ROOT
    )
    for name, theirs_s in json.loads(plain.stdout).items():
        assert response_s(VARIED[name]) == pytest.approx(theirs_s)


@pytest.mark.parametrize("name", VARIED)
def test_a_run_comes_to_what_it_came_to_before(name):
    """Where a rule changes on purpose, `python -m tests.simulator.cluster.test_scenario` rewrites the golden file."""
    assert figures(VARIED[name]) == pytest.approx(json.loads(GOLDEN.read_text())[name], rel=1e-9)


def test_one_compiled_loop_plays_every_policy():
    """Policies are dispatched by number: a new pair costs no minute of compiling."""
    for scenario in VARIED.values():
        scenario.simulate(1)
    assert len(getattr(play, "signatures", ["plain"])) == 1


@pytest.mark.parametrize(("tasks", "waves"), [(7, 2), (8, 2), (9, 3)])
def test_a_job_runs_in_waves(tasks, waves):
    """With 4 slots, 9 equal tasks take three rounds."""
    source = Listed(original_s=((1.0,) * tasks,), copy_s=1.0)
    scenario = ClusterScenario(policy="fifo+none", workload=source, jobs=1, machines=2, slots_per_machine=2, **STILL)
    assert response_s(scenario).tolist() == [waves]


def test_slowdown_is_over_what_a_job_takes_with_room_for_all_and_no_straggler():
    """Twenty jobs queue, each as wide as the cluster: the n-th takes n times its ideal time; the middle 18 count."""
    source = Listed(original_s=((1.0, 1.0),) * 20, copy_s=1.0)
    scenario = ClusterScenario(policy="fifo+none", workload=source, jobs=20, machines=2, slots_per_machine=1, **STILL)
    found = scenario.simulate(1)
    assert found.slowdown == pytest.approx(np.mean(range(2, 20)))
    assert found.slowdown_quantiles == pytest.approx(np.quantile(range(2, 20), [0.5, 0.9, 0.99, 0.999]))


def test_each_job_runs_the_tasks_of_its_own_phases():
    """Where each takes a second, its slot time is their number, whatever its neighbours have."""
    source = Synthetic(least_tasks=2, most_tasks=20, phases=2)
    scenario = ClusterScenario(policy="fifo+none", workload=source, jobs=5, machines=2, **STILL)
    assert scenario.run(1)[1].cost_s == pytest.approx(tasks_of(source.workload(1, 5)))


@pytest.mark.parametrize(("room", "finished"), [(2, True), (1, False)])
def test_a_run_ends_early_where_there_is_no_room_for_one_more_job(room, finished, monkeypatch):
    """And says so; two jobs arrive at once."""
    monkeypatch.setattr(scenarios, "MOST_LIVE_JOBS", room)
    source = Listed(original_s=((1.0,),) * 2, copy_s=1.0)
    scenario = ClusterScenario(policy="fifo+none", workload=source, jobs=2, machines=1, **STILL)
    assert scenario.simulate(1).finished == finished


@pytest.mark.parametrize(("policy", "percent", "wanted_only"), [("hopper+late", 3.0, False), ("fair+late", 0.0, True)])
def test_an_allocators_row_says_how_copies_and_locality_count_unless_the_scenario_does(policy, percent, wanted_only):
    phases = np.ones(1, dtype=np.int64)
    usual = ClusterScenario(policy=policy)._policy(phases)
    assert (usual.locality_percent, usual.wanted_only) == (percent, wanted_only)
    given = ClusterScenario(policy=policy, locality_percent=7.0, wanted_only=not wanted_only)._policy(phases)
    assert (given.locality_percent, given.wanted_only) == (7.0, not wanted_only)


def test_what_is_left_out_is_the_usual_cluster():
    """Two thousand jobs on 400 slots, and each attempt of a task draws a factor of its own."""
    usual = ClusterScenario(policy="fifo+none")
    with np.errstate(over="ignore"):
        factors = {attempt_factor(usual.world(1), job_key(1, 0), 0, attempt) for attempt in range(4)}
    assert (usual.jobs, usual.slots, len(factors)) == (2000, 400, 4)


def test_a_chain_of_phases_alone_is_not_slowed_down():
    """Its ideal time counts every phase, and what it takes to launch their tasks."""
    world = STILL | {"launch_s": 0.5}
    chain = Chain(phase_tasks=(2, 1, 2), transfer_ratio=0.0)
    assert ClusterScenario(policy="fifo+none", workload=chain, jobs=1, machines=2, **world).simulate(1).slowdown == 1.0


def test_both_bounds_of_a_bin_belong_to_it():
    """A job is in one of four bins alone, and in the fifth if it has several tasks. The last job is not counted."""
    source = Spaced(sizes=(50, 51, 150, 151, 500, 501, 1))
    scenario = ClusterScenario(policy="fifo+none", workload=source, jobs=7, machines=1, **STILL)
    bins = [(one.from_tasks, one.to_tasks, one.jobs) for one in scenario.simulate(1).bins]
    assert bins == [(1, 50, 1), (51, 150, 2), (151, 500, 2), (501, 10**9, 1), (2, 10**9, 6)]


def test_a_bin_is_named_by_its_bounds():
    """The last two have no upper one."""
    source = Listed(original_s=((1.0,),), copy_s=1.0)
    scenario = ClusterScenario(policy="fifo+none", workload=source, jobs=1, machines=1, **STILL)
    named = [name for name in means([scenario.simulate(1)]) if name.startswith("response time, s,")]
    assert named == [
        f"response time, s, {size} tasks" for size in ("1-50", "51-150", "151-500", "501 or more", "2 or more")
    ]


@pytest.mark.parametrize("launch_s", [0.0, 1.0])
def test_slots_count_as_busy_between_the_first_counted_arrival_and_the_last(launch_s):
    """At half load, 19 gaps are twice the slot time of all 22 tasks. In 17 of them the 16 jobs of one task run, and
    that of three; the last job, of 1000 s, comes too late.
    """
    scenario = ClusterScenario(
        policy="fifo+none", workload=Spaced(sizes=(1,) * 17 + (3, 1, 1)), offered_load=0.5, jobs=20, machines=2,
        **STILL | {"launch_s": launch_s},
    )  # fmt: skip
    gaps_s = 17 / 19 * 2 * (1021 + 22 * launch_s)
    assert scenario.simulate(1).busy_share == pytest.approx(19 * (1 + launch_s) / gaps_s)


def test_shares_do_not_depend_on_how_long_everything_takes():
    """A cluster where all times are thousands of times shorter is as busy, and copies as much."""
    found = [
        ClusterScenario(
            policy="srpt+late", workload=Synthetic(least_tasks=2, most_tasks=60, service_s=unit_s), offered_load=0.3,
            jobs=40, machines=10, detect_s=unit_s / 4, launch_s=unit_s / 4, cycle_s=unit_s / 2,
        ).simulate(1)
        for unit_s in (1.0, 2.0**-14)
    ]  # fmt: skip
    assert found[0].copy_share > 0
    assert [(one.busy_share, one.copy_share) for one in found] == [
        pytest.approx((found[0].busy_share, found[0].copy_share))
    ] * 2


@pytest.mark.parametrize(("sizes", "short_share"), [((2, 8), 1 / 2), ((2, 2, 8), 1 / 3), ((4,), 0.0), ((5,), 1.0)])
def test_slots_are_short_for_jobs_that_arrive_so(sizes, short_share):
    """On four slots a job alone is short of them if it has more tasks. What comes after the last arrival counts not."""
    scenario = ClusterScenario(
        policy="hopper+none", workload=Spaced(sizes=sizes), offered_load=0.1, jobs=60, machines=4, slots_per_machine=1,
        **STILL | {"cycle_s": 10.0},
    )  # fmt: skip
    assert scenario.simulate(1).short_share == pytest.approx(short_share)


def test_jobs_that_wait_make_those_behind_them_short_of_slots():
    """Twenty of them want forty of four slots at once, though none is larger than the cluster."""
    source = Listed(original_s=((1.0, 1.0),) * 20, copy_s=1.0)
    scenario = ClusterScenario(policy="hopper+none", workload=source, jobs=20, machines=4, slots_per_machine=1, **STILL)
    assert scenario.simulate(1).short_share == 1.0


def test_where_slots_are_held_a_job_without_a_share_borrows_none():
    """Three tasks may have copies on all four slots, so five wait for them, and then take two rounds."""
    source = Listed(original_s=((1.0,) * 3, (1.0,) * 5), copy_s=1.0)
    scenario = ClusterScenario(
        policy="hopper+none", allocator_settings={"hold_slots": 1.0, "fairness_epsilon": 1.0}, workload=source, jobs=2,
        machines=2, slots_per_machine=2, allocator_tail_index=1.5, **STILL,
    )  # fmt: skip
    assert response_s(scenario).tolist() == [1.0, 3.0]


@pytest.mark.parametrize(("transfer_ratio", "took_s"), [(0.0, 3.0), (0.5, 3.25), (2.0, 4.0)])
def test_what_upstream_tasks_have_put_out_moves_while_others_run(transfer_ratio, took_s):
    """Two waves of two tasks: the first wave's output moves while the second runs, as far as there is time for it."""
    source = Chain(phase_tasks=(4, 2), transfer_ratio=transfer_ratio)
    scenario = ClusterScenario(policy="fifo+none", workload=source, jobs=1, machines=1, slots_per_machine=2, **STILL)
    assert response_s(scenario).tolist() == [took_s]


@pytest.mark.parametrize(("transferred_s", "transfer_ratio"), [(12.0, 1.5), (10.0, 0.5), (9.0, 0.5)])
def test_what_waits_to_be_moved_counts_over_the_work_that_is_left(transferred_s, transfer_ratio):
    """Four of eight tasks, of 4 s, are left, and what eight would move in 2 s each; the next phase has five tasks."""
    scenario = ClusterScenario(policy="hopper+none", jobs=1, machines=1, **STILL | {"launch_s": 3.0})
    work, state = Chain(phase_tasks=(3, 8, 5), transfer_ratio=0.5).workload(1, 1), empty_state(4, 1)
    state.counts["now_s"], state.counts["n_active"] = 10.0, 1
    job = {"phase": 1, "n_phases": 3, "n_tasks": 8, "n_started": 8, "n_done": 4, "transferred_s": transferred_s}
    for name, value in job.items():
        state.jobs[name] = value
    assert view_claimants(work, scenario.world(1), scenario._policy(work.phase_tasks), state) == 1
    assert state.claimants[["downstream_tasks", "transfer_ratio"]].tolist() == [(5.0, transfer_ratio)]
    assert state.claimants["remaining_work_s"].tolist() == [(4 + 5) * 4.0]


@pytest.mark.parametrize(("started", "target", "room"), [(3, 5, 4), (3, 0, 0), (1, 5, 0)])
def test_a_job_has_room_for_copies_once_none_of_its_originals_waits(started, target, room):
    """One of three tasks runs; what its job's target leaves is room, and never less than none."""
    scenario = ClusterScenario(policy="hopper+ras", jobs=1, machines=1, **STILL)
    work, state = Chain(phase_tasks=(3,), transfer_ratio=0.0).workload(1, 1), empty_state(4, 1)
    job = {"n_phases": 1, "n_tasks": 3, "n_started": started, "n_done": started - 1, "running": 1, "target": target}
    for name, value in job.items():
        state.jobs[name] = value
    state.counts["n_active"] = 1
    view_groups(work, scenario.world(1), scenario._policy(work.phase_tasks), state)
    assert state.seen_jobs["room"][0] == room


def test_every_task_of_every_phase_has_a_duration_of_its_own():
    """Four tasks in a chain take four different factors, one after the other."""
    chain = Chain(phase_tasks=(1, 1, 1, 1), transfer_ratio=0.0)
    scenario = ClusterScenario(policy="fifo+none", workload=chain, jobs=1, **STILL | {"slowdown_tail_index": 1.5})
    with np.errstate(over="ignore"):
        factors = [attempt_factor(scenario.world(1), job_key(1, 0), task, 0) for task in range(4)]
    assert response_s(scenario) == pytest.approx([sum(factors)])


def test_without_copies_jobs_fare_as_when_tasks_are_put_on_slots_one_by_one():
    """First come, first served needs no cycles and no targets: each task takes the slot that is free first."""
    scenario = ClusterScenario(
        policy="fifo+none", workload=SMALL, offered_load=0.9, jobs=400, machines=8, launch_s=0.1, cycle_s=0.0
    )
    work = SMALL.workload(1, 400)
    arrival_s = arrivals_s(scenario, work)
    free_s, ended_s = [0.0] * scenario.slots, []
    for job, (at_s, tasks) in enumerate(zip(arrival_s, tasks_of(work), strict=True)):
        for task in range(tasks):
            with np.errstate(over="ignore"):
                factor = attempt_factor(scenario.world(1), job_key(1, job), task, 0)
            started_s = max(heapq.heappop(free_s), at_s)
            heapq.heappush(free_s, started_s + 0.1 + factor)
            ended_s.append((job, started_s + 0.1 + factor))
    latest_s = np.zeros(400)
    for job, at_s in ended_s:
        latest_s[job] = max(latest_s[job], at_s)
    assert response_s(scenario) == pytest.approx(latest_s - arrival_s, abs=1e-6)


def arrivals_s(scenario: ClusterScenario, work: Workload) -> np.ndarray:
    """Sped up until the originals alone keep the offered share of the slots busy."""
    slot_s = tasks_of(work).sum() * (scenario.launch_s + 1.0 / (1.0 - 1.0 / scenario.slowdown_tail_index))
    return work.arrival_s * slot_s / work.arrival_s[-1] / (scenario.offered_load * scenario.slots)


def test_single_tasks_wait_as_erlang_says():
    """M/M/c: jobs of one task on c slots."""
    slots, busy = 8, 0.8
    work = slots * busy
    last = work**slots / factorial(slots) / (1 - busy)
    expected_s = 1.0 + last / (sum(work**i / factorial(i) for i in range(slots)) + last) / (slots - work)
    scenario = ClusterScenario(
        policy="fifo+none", workload=Single(), offered_load=busy, jobs=40_000, machines=2, **STILL
    )
    found = [scenario.simulate(seed).response_s for seed in range(1, 7)]
    assert abs(np.mean(found) - expected_s) < 4 * np.std(found, ddof=1) / len(found) ** 0.5


@pytest.mark.parametrize("tail_share", [1.0, 0.1])
def test_the_measured_busy_share_is_the_offered_load_where_nothing_is_copied(tail_share):
    """Arrivals are sped up to it, launch times included; sampling leaves a few percent."""
    scenario = ClusterScenario(
        policy="srpt+none", workload=SMALL, offered_load=0.7, jobs=4000, machines=8, tail_share=tail_share
    )
    assert np.mean([scenario.simulate(seed).busy_share for seed in (1, 2, 3)]) == pytest.approx(0.7, abs=0.05)


def test_a_tenth_of_the_tasks_is_slow_and_all_others_are_nearly_alike():
    """The share in the tail, its tail index, and the body's spread, and both means."""
    scenario = ClusterScenario(
        policy="fifo+none", workload=Synthetic(least_tasks=9000, most_tasks=9000), jobs=1, machines=9000,
        slots_per_machine=1, tail_share=0.1, slowdown_tail_index=2.5, launch_s=0.0,
    )  # fmt: skip
    took = scenario.schedule(1)
    took_s = took["ended_s"] - took["started_s"]
    tail, body = took_s[took_s > 1.15], took_s[took_s <= 1.15]
    assert abs(len(tail) / 9000 - 0.1) < 3 * (0.1 * 0.9 / 9000) ** 0.5
    assert np.mean(np.log(tail / 1.15)) == pytest.approx(1 / 2.5, abs=3 / 2.5 / len(tail) ** 0.5)
    assert body.min() == pytest.approx(0.85, abs=0.001)
    assert abs(body.mean() - 1.0) < 3 * body.std() / len(body) ** 0.5
    for found, expected in ((took_s, mean_factor(2.5, 0.1)), (np.log(took_s), np.log(typical_factor(2.5, 0.1)))):
        assert abs(found.mean() - expected) < 3 * found.std() / 9000**0.5


def test_a_copy_of_a_slow_task_is_most_likely_in_the_body_and_as_slow_where_the_data_is():
    """Copies draw from the same law, each for itself or none."""
    base = {"workload": SMALL, "jobs": 500, "machines": 20, "offered_load": 0.3, "tail_share": 0.1}
    own, shared = (ClusterScenario(policy="srpt+ras", shared_share=share, **base).simulate(1) for share in (0.0, 1.0))
    assert own.won_share > 0.6
    assert shared.copies_per_task > 0.02
    assert shared.won_share == 0


def test_policies_meet_the_same_luck():
    """Without copies a job costs the same slot time whoever is served first, though it ends at other times."""
    results = [
        ClusterScenario(policy=policy, workload=SMALL, offered_load=0.9, jobs=300, machines=8).run(1)[1]
        for policy in ("fifo+none", "srpt+none")
    ]
    assert results[0].cost_s == pytest.approx(results[1].cost_s, rel=1e-9)
    assert not np.allclose(results[0].response_s, results[1].response_s)


@pytest.mark.parametrize("policy", ["hopper+late", "srpt+ras", "hopper+mantri", "budgeted+stock-spark", "fair+ras"])
def test_every_pair_ends_every_job_and_repeats_itself(policy):
    """Nothing starves, nothing is drawn twice, and no slot is lost."""
    scenario = ClusterScenario(
        policy=policy, workload=SMALL, jobs=300, machines=8, noise=0.3, shared_share=0.25, kill_s=0.1, max_copies=2,
        slow_machine_share=0.2,
    )  # fmt: skip
    first, again = scenario.run(3), scenario.run(3)
    assert not np.isnan(first[1].response_s).any()
    assert first[1].response_s.tolist() == again[1].response_s.tolist()
    assert repr(first[0]) == repr(again[0])
    assert first[0].copies_per_task > 0


def test_copies_help_where_each_draws_its_own_duration_and_never_win_where_the_data_is_slow():
    """The two worlds that every comparison shows."""
    base = {"workload": SMALL, "jobs": 500, "machines": 20, "offered_load": 0.3}
    none = ClusterScenario(policy="srpt+none", **base).simulate(1)
    own, shared = (ClusterScenario(policy="srpt+ras", shared_share=share, **base).simulate(1) for share in (0.0, 1.0))
    assert own.won_share > 0.3
    assert own.response_s < 0.8 * none.response_s
    assert shared.copies_per_task > 0.05
    assert shared.won_share == 0


def test_the_noise_of_an_attempt_has_draws_of_its_own(monkeypatch):
    """Else the duration of another attempt, or the place of an input, would foretell how wrong an estimate is."""
    drawn = []
    monkeypatch.setattr(world, "uniform", lambda key, task, draw: drawn.append(draw) or 0.5)
    for attempt in range(32):
        noise_factor(ClusterScenario(policy="fifo+none", noise=0.3).world(1), np.uint64(1), 0, attempt)
    assert len(set(drawn)) == 2 * 32
    assert FIRST_NOISE <= min(drawn) <= max(drawn) < FIRST_HOME


def test_a_killed_attempt_holds_its_slot_until_it_is_cleaned_up():
    """The copy ends at 2; the last of four tasks starts when the original's slot has been cleaned, at 2 + 1.5."""
    source = Listed(original_s=((9.0,), (1.0,) * 4), copy_s=1.0)
    scenario = ClusterScenario(
        policy="srpt+ras", workload=source, jobs=2, machines=1, slots_per_machine=2, kill_s=1.5,
        speculator_settings={"end_beaten": 0.0}, **STILL,
    )  # fmt: skip
    assert response_s(scenario).tolist() == [2.0, 4.5]


SLOW_AT_TEN = {"workload": Listed(original_s=((1.0,) * 9 + (9.0,),), copy_s=1.0), "jobs": 1, "machines": 5}
"""Ten tasks on twenty slots; nine take a second, one nine. A review every half second."""


@pytest.mark.parametrize(("quantile", "slow", "ends_s"), [(0.9, 1, 4.5), (0.9, 2, 9.0), (0.8, 2, 4.5)])
def test_stock_spark_copies_once_its_quantile_is_over(quantile, slow, ends_s):
    """Three medians are 3 s, so a copy starts at the next review and takes one more; before nine of ten, none does."""
    source = Listed(original_s=((1.0,) * (10 - slow) + (9.0,) * slow,), copy_s=1.0)
    given = STILL | SLOW_AT_TEN | {"workload": source, "cycle_s": 0.5, "speculator_settings": {"quantile": quantile}}
    assert response_s(ClusterScenario(policy="fair+stock-spark", **given)).tolist() == [ends_s]


def test_a_job_is_not_measured_by_the_one_that_had_its_place():
    """By the finished tasks of the job before, of 0.1 s each, its slow task would be copied at the first review.

    Their work of 19 s at an offered load of 9.5 slots lets it arrive at 2 s, at a review.
    """
    source = Later(original_s=((0.1,) * 10, (1.0,) * 9 + (9.0,)), copy_s=1.0)
    given = STILL | SLOW_AT_TEN | {"workload": source, "jobs": 2, "offered_load": 9.5 / 20, "cycle_s": 0.5}
    scenario = ClusterScenario(policy="fair+stock-spark", speculator_settings={"quantile": 0.9}, **given)
    assert response_s(scenario)[1] == 4.5


@pytest.mark.parametrize(("confidence", "ends_s"), [(0.25, 2.0), (1.0, 9.0)])
def test_mantri_copies_once_it_is_likely_enough_to_pay(confidence, ends_s):
    """All nine siblings took 1 s, less than half of the 8 s to go at the review then; no chance is above 1."""
    given = STILL | SLOW_AT_TEN | {"cycle_s": 0.5, "speculator_settings": {"confidence": confidence}}
    assert response_s(ClusterScenario(policy="fair+mantri", **given)).tolist() == [ends_s]


def test_a_copy_goes_to_another_machine_where_one_has_a_free_slot():
    """The slot on the original's own machine is the first that is free."""
    given = STILL | {"cycle_s": 0.5, "speculator_settings": {"quantile": 0.6}}
    scenario = ClusterScenario(
        policy="fair+stock-spark", workload=Listed(original_s=((1.0, 0.5, 9.0),), copy_s=1.0), jobs=1, machines=2,
        slots_per_machine=2, **given,
    )  # fmt: skip
    machines = {bool(one["is_copy"]): int(one["slot"]) % 2 for one in scenario.schedule(1)[-2:]}
    assert machines == {False: 0, True: 1}


def test_a_set_duration_copies_in_a_phase_that_fits_a_machine():
    """At a limit of 2 s the copy starts at 2.5 and takes a second; ten tasks do not fit four slots, but ten."""
    chosen = {"quantile": 1.0, "duration_threshold_s": 2.0}
    given = STILL | SLOW_AT_TEN | {"cycle_s": 0.5, "speculator_settings": chosen}
    for slots_per_machine, ends_s in ((4, 9.0), (10, 3.5)):
        scenario = ClusterScenario(policy="fair+stock-spark", slots_per_machine=slots_per_machine, **given)
        assert response_s(scenario).tolist() == [ends_s]


TWELVE = {
    "workload": Listed(original_s=((100.0,) + (1.0,) * 11,), copy_s=1.0), "jobs": 1, "machines": 2,
    "slots_per_machine": 1, "cycle_s": 0.5,
}  # fmt: skip
"""A slow task and eleven of a second on two slots; a review every half second."""


@pytest.mark.parametrize(("margin_s", "restarts", "ends_s"), [(5.0, 1, 7.0), (98.5, 0, 12.0)])
def test_mantri_starts_a_slow_task_anew_while_others_wait(margin_s, restarts, ends_s):
    """At 1 s a sibling has ended, and 99 s to go are too many: the slot that is free at 2 s takes its new attempt, its
    own the next original, and ten seconds of work are left for two slots. A mere copy waits for all originals, to 11 s.
    """
    given = STILL | TWELVE | {"speculator_settings": {"kill_margin_s": margin_s, "kill_margin_times": 1e9}}
    summary, results = ClusterScenario(policy="fair+mantri", **given).run(1)
    assert results.response_s.tolist() == [ends_s]
    assert summary.restarts_per_task == pytest.approx(restarts / 12)
    assert summary.copies_per_task == pytest.approx((1 - restarts) / 12)


@pytest.mark.parametrize(
    ("margin_s", "detect_s", "cost_s"),
    [(6.9, 0.0, 9 + 1.5 + 1), (7.1, 0.0, 9 + 2 + 1), (6.9, 0.4, 9 + 1.5 + 1), (6.9, 0.6, 9 + 2 + 1)],
)
def test_mantri_ends_the_original_that_its_copy_beats(margin_s, detect_s, cost_s):
    """The copy starts at 1 s. At the next review it has half a second to go and the original 7.5: 7 s more. Of a copy
    whose rate cannot be read by then, nobody can tell.
    """
    margins = {"kill_margin_s": margin_s, "kill_margin_times": 1e9}
    settings = {"cycle_s": 0.5, "detect_s": detect_s, "speculator_settings": margins}
    given = STILL | SLOW_AT_TEN | settings
    summary, results = ClusterScenario(policy="fair+mantri", **given).run(1)
    assert (results.response_s.tolist(), results.cost_s.tolist()) == ([2.0], [cost_s])
    assert summary.won_share == 1.0


def test_what_was_wanted_for_a_task_is_taken_back_when_its_original_ends():
    """Its copy starts at 10 s. At the next review one more would pay, but the original ends first, and the copy that is
    left gets two others, at the two reviews after that. It ends at 60 s.
    """
    source = Listed(original_s=((10.0,) * 9 + (100.0,),), copy_s=50.0)
    settings = {"cycle_s": 0.5, "max_copies": 2, "speculator_settings": {"kill_margin_s": 5.0}}
    summary, results = ClusterScenario(
        policy="fair+mantri", **STILL | SLOW_AT_TEN | {"workload": source} | settings
    ).run(1)
    assert (results.response_s.tolist(), results.cost_s.tolist()) == ([60.0], [9 * 10 + 10.5 + 50 + 49 + 48.5])
    assert summary.copies_per_task == pytest.approx(3 / 10)


@pytest.mark.parametrize(("tail_index", "ends_s"), [(inf, 3.0), (1.5, 9.0)])
def test_a_task_is_relaunched_by_the_mean_of_all_durations(tail_index, ends_s):
    """Of 1 s and of the law's factors, whose mean is 1 or 3; three times that are over then."""
    scenario = ClusterScenario(
        policy="fair+relaunch", speculator_settings={"relaunch_factor": 3.0}, jobs=1, machines=2,
        workload=Listed(original_s=((20.0,),), copy_s=1.0),
        **STILL | {"cycle_s": 0.5, "slowdown_tail_index": tail_index},
    )  # fmt: skip
    assert scenario.schedule(1)["ended_s"][0] == ends_s


def test_targets_of_an_operator_are_none_of_the_simulators():
    """Where nobody has set one, the policy `fixed` shares all slots."""
    source = Listed(original_s=((1.0,) * 4,), copy_s=1.0)
    scenario = ClusterScenario(policy="fixed+none", workload=source, jobs=1, machines=1, **STILL)
    assert response_s(scenario).tolist() == [1.0]


def test_a_relaunch_gives_the_slot_back_at_once():
    """Three times what is expected, 1 s, are over at 3 s; the new attempt takes a second, and the old one costs 3 s."""
    source = Listed(original_s=((9.0,),), copy_s=1.0)
    scenario = ClusterScenario(
        policy="fair+relaunch", speculator_settings={"relaunch_factor": 3.0}, workload=source, jobs=1, machines=2,
        **STILL | {"cycle_s": 0.5},
    )  # fmt: skip
    results = scenario.run(1)[1]
    assert (results.response_s.tolist(), results.cost_s.tolist()) == ([4.0], [4.0])


@pytest.mark.parametrize(
    ("policy", "settings"),
    [
        ("srpt+mantri", {"kill_margin_s": 1.0}),
        ("fair+mantri", {"kill_margin_s": 0.2}),
        ("hopper+relaunch", {"relaunch_factor": 2.0}),
    ],
)
def test_kills_lose_no_task_and_no_slot(policy, settings, monkeypatch):
    """Originals die and copies inherit, in a full cluster; every job ends, and the same again for the same seed."""
    states = []
    monkeypatch.setattr(scenarios, "with_inputs", lambda *given: states.append(with_inputs(*given)) or states[-1])
    scenario = ClusterScenario(
        policy=policy, speculator_settings=settings, workload=SMALL, offered_load=0.9, jobs=300, machines=8, noise=0.3,
        kill_s=0.1, max_copies=2, replicas=2,
    )  # fmt: skip
    first, again = scenario.run(3), scenario.run(3)
    assert not np.isnan(first[1].response_s).any()
    assert first[1].response_s.tolist() == again[1].response_s.tolist()
    assert first[0].restarts_per_task > 0
    for state in states:
        counts, uses = state.counts[0], state.slots["use"]
        assert set(uses) <= {FREE, CLEANING}
        assert counts["n_free"] == (uses == FREE).sum() == state.free_on.sum()
        assert not any(counts[name] for name in ("copies", "n_beaten", "n_wanted", "n_restarts", "n_waiting"))


def test_each_phase_is_relaunched_at_the_age_that_is_best_for_its_tasks():
    """0 stands for it; with two tasks that is another age than with forty, where one or the other is given."""
    ages = [best_factor(tasks, 3.0) for tasks in (2, 40)]
    source = Listed(original_s=((1.0, 1.0), (1.0,) * 40), copy_s=1.0)
    scenario = ClusterScenario(
        policy="fifo+relaunch", workload=source, jobs=2, slowdown_tail_index=3.0, machines=2, slots_per_machine=20
    )
    assert scenario._policy(np.array([2, 40])).prepared == pytest.approx(ages)


def test_a_setting_that_the_allocator_does_not_have_is_refused_before_anything_runs():
    """Of the sweeps' cells the last one would tell it after hours."""
    with pytest.raises(BadSetting, match="patience"):
        ClusterScenario(policy="hopper+late", allocator_settings={"patience": 3.0})


def test_last_lets_copies_wait_for_every_original():
    """The job of one slow task is the smaller one: at its own priority its copy goes first, last in line it waits."""
    source = Listed(original_s=((9.0,), (1.0,) * 5), copy_s=1.0)
    base = {"policy": "srpt+late", "workload": source, "jobs": 2, "machines": 1, "slots_per_machine": 2, **STILL}
    prio, last = (
        response_s(ClusterScenario(speculator_settings={"copy_priority": one}, **base)).tolist() for one in (0.0, 1.0)
    )
    assert prio == [2.0, 4.0]
    assert last == [6.0, 5.0]


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({name: figures(scenario) for name, scenario in VARIED.items()}, indent=2) + "\n")


@pytest.mark.parametrize(
    ("fields", "named"),
    [({"machines": 10**6, "slots_per_machine": 100}, "machines = 1000000"), ({"cycle_s": 1e-300}, "cycle_s = 1e-300")],
)
def test_a_cluster_that_no_memory_holds_and_reviews_without_end_are_refused(fields, named):
    """Before anything runs, by the field."""
    with pytest.raises(BadSetting, match=named):
        ClusterScenario(policy="fair+none", **fields)
