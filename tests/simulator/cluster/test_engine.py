"""Do the live engine and the cluster simulator show policies the same? Two fillers of one `Seen`, and what comes of it.

The simulator plays; everything that happens is told to the engine as facts, and both decide at the same instants. Each
record of a claimant and of a running task is compared, field by field, then every target and copy. What differs by
design is taken out of the comparison, and listed here:
- Estimates: the engine's come from bytes and siblings, the simulator's from the truth, with noise. The engine is given
  the simulator's, and the true tail index, and the simulator's load for the demand up to which a job is small.
- Foresight: the engine counts all copies that running tasks may have, so the simulator is told to (`wanted_only`);
  where Hopper holds slots, both count those of waiting tasks, too.
- Orders are wishes: the engine orders what fits into a target even if the slot is still held by another job, and leaves
  the task alone while the order is open; the simulator starts the best one when the slot comes free. So what it starts
  must have been ordered by then, or stand in for another one of its job that was; while nothing is open both must want
  the same copies.
- Copies at the start compete with originals for every slot that comes free, so that which of them is first is the
  host's: of these, what is wanted is compared, and not what starts.
- Write safety and host health are the engine's alone, and the simulator is given no budgets: the engine's are set so
  that they refuse nothing.
"""

from math import inf
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec import structs

from controlplane.engine import speculation
from controlplane.engine.applications import claimants_of
from controlplane.engine.seeing import job_sums
from controlplane.model import apply
from controlplane.model import facts as f
from controlplane.model.orders import LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.policies.seen import CLAIMANT, Load
from controlplane.simulator.cluster import events
from controlplane.simulator.cluster.bounds import Bounds
from controlplane.simulator.cluster.decisions import run_cycle
from controlplane.simulator.cluster.offsets import done_at
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.state import ORIGINAL
from controlplane.simulator.cluster.workloads import Synthetic
from controlplane.simulator.cluster.world import job_draws, machine_of, typical_factor
from tests.scenario import SOURCE, Scenario
from tests.simulator.cluster.replacing import replaced

pytestmark = pytest.mark.unit

MACHINES, SLOTS_PER_MACHINE, LOAD, TAIL_INDEX, DETECT_S, LAUNCH_S = 4, 3, 0.8, 1.5, 0.3, 0.1
UNLIMITED = {"job_copy_share": 1.0, "pool_copy_share": 1.0, "cluster_copy_share": 1.0, "losing_share": 1.0}
NUMBERED = {"pool", "job", "stage", "finished_from", "finished_to"}
"""Fields of records that point to other rows."""
BY_ORDERS = {"eligible", "standing", "copies", "idle", "room"}
"""Those that an open order changes: the engine counts its copy already."""
BY_DEADLINE = ("gs", "grass", "shed-plus", "shed", "dolly")
"""Speculators whose jobs have a deadline here."""
SEED, JOBS = 5, 25


class Twin:
    """The live engine beside a simulation; its methods stand in for the functions that the simulation calls."""

    def __init__(
        self, policy: str, allocator_settings: dict[str, float], speculator_settings: dict[str, float],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        allocator, speculator = policy.split("+")
        settings = EngineSettings(
            mode=f.Mode.CONTROL, allocator=allocator, allocator_settings=allocator_settings, speculator=speculator,
            speculator_settings=speculator_settings, max_copies_per_task=1, order_ttl_ms=60_000, **UNLIMITED,
        )  # fmt: skip
        self.live = Scenario(settings, hosts=MACHINES, slots=SLOTS_PER_MACHINE)
        learning = self.live.scheduler.learning
        self.live.scheduler.cluster.pools.startup_mean_s[:] = LAUNCH_S
        learning.review_tails = lambda cluster, due, now_s: cluster.pools.tail_index.fill(TAIL_INDEX)
        learning.watch_hosts = lambda cluster, now_s: None
        learning.remaining = SimpleNamespace(
            **{name: lambda *_: None for name in ("stage_submitted", "started_within", "attempt_ended")}
        )
        learning.remaining.estimate = self.estimate
        learning.remaining.units = lambda ended: 0.0
        learning.remaining.net_s = lambda cluster, ended, duration_s: duration_s
        self.facts, self.slot_of, self.next_attempt, self.state, self.work = [], {}, 1, None, None
        self.open, self.started, self.cycles, self.overtook, self.compared = {}, [], 0, 0, 0
        watched = ("arrive", "start", "end_attempt", "end_job")
        self.plain = replaced(monkeypatch, {name: getattr(self, name) for name in watched})
        monkeypatch.setattr(events, "run_cycle", self.run_cycle)
        monkeypatch.setattr(speculation, "OBSERVED_S", DETECT_S - settings.review_interval_ms / 1000)
        draws = job_draws(SEED, JOBS)
        monkeypatch.setattr(apply, "drawn", lambda source, job: draws[int(job.partition("-")[2])])
        monkeypatch.setattr(speculation, "Load", lambda **known: Load(**known | {"offered_load": LOAD}))
        row = self.live.scheduler.steering.speculator(SOURCE)[0]
        self.goes_by_means = speculator in ("redundant-small", "relaunch")
        self.left_out = NUMBERED if self.goes_by_means else NUMBERED | {"expected_s", "service_s"}
        self.left_out |= set() if row.by_finished else {"work"}
        driver = self.live.scheduler.cluster.sources[SOURCE]
        driver.attached = structs.replace(driver.attached, executor_slots=SLOTS_PER_MACHINE)
        self.starts_are_compared = not row.at_start

    def arrive(self, work, world, policy, state):
        self.plain["arrive"](work, world, policy, state)
        job = int(state.counts[0]["next_job"]) - 1
        n_tasks = int(work.phase_tasks[job])
        within_s = float(work.deadline_s[job])
        deadline_ms, error_bound = round(1000 * within_s) if within_s < inf else -1, round(1e6 * work.error_bound[job])
        self.facts.append(f.JobSubmitted(job=f"job-{job}", deadline_ms=deadline_ms, error_bound=error_bound))
        self.facts.append(
            f.StageSubmitted(job=f"job-{job}", stage=job, stage_attempt=0, n_tasks=n_tasks, kind="shuffle_map")
        )

    def start(self, work, world, policy, state, row, slot, attempt, offset):
        self.plain["start"](work, world, policy, state, row, slot, attempt, offset)
        key = int(state.jobs[row]["id"]), int(state.slots[slot]["task"])
        if attempt and self.starts_are_compared:
            # The slot of a beaten attempt goes by the review that ended it; the engine hears of it in the next cycle.
            is_ordered = key in self.open or any(job == key[0] for job, _ in self.open)
            assert is_ordered or any(getattr(fact, "outcome", None) is f.Outcome.KILLED for fact in self.facts)
            self.started.append(key)
            self.overtook += key not in self.open
        self.slot_of[slot] = self.next_attempt
        fact = self.live.started(
            self.next_attempt, machine_of(slot, MACHINES), stage=key[0], index=key[1], attempt_number=attempt,
            speculative=attempt > 0, order=self.open.pop(key, 0),
        )  # fmt: skip
        self.facts.append(fact)
        self.next_attempt += 1

    def end_attempt(self, world, state, job, slot, is_killed):
        attempt, key = self.slot_of.pop(slot), (int(job["id"]), int(state.slots[slot]["task"]))
        age_s = state.counts[0]["now_s"] - state.slots[slot]["started_s"]
        outcome = f.Outcome.KILLED if is_killed else f.Outcome.SUCCESS
        self.facts.append(self.live.ended(attempt, age_s, stage=key[0], index=key[1], outcome=outcome))
        self.open.pop(key, None)
        self.plain["end_attempt"](world, state, job, slot, is_killed)

    def end_job(self, state, row, results):
        job = int(state.jobs[row]["id"])
        self.facts += [f.StageEnded(stage=job, stage_attempt=0), f.JobEnded(job=f"job-{job}")]
        self.plain["end_job"](state, row, results)

    def estimate(self, cluster, host_log, now_s):
        """The simulator's estimates in the engine's columns."""
        attempts, slot_of = cluster.attempts, {attempt: slot for slot, attempt in self.slot_of.items()}
        for name in ("foretold_error", "kept_slowness"):
            getattr(cluster.pools, name)[:] = self.state.seen_pools[0][name]
        for row in attempts.rows():
            one = self.state.slots[slot_of[int(attempts.id[row])]]
            typical_s = self.typical_s
            elapsed_s = now_s - one["started_s"]
            attempts.too_new[row] = now_s < one["readable_s"]
            unseen_s = max(typical_s - elapsed_s, 0.0)
            attempts.progress[row] = done_at(one, LAUNCH_S, now_s)
            attempts.t_rem_s[row] = unseen_s if attempts.too_new[row] else (one["end_s"] - now_s) * one["noise"]
            attempts.t_new_s[row] = attempts.t_fresh_s[row] = typical_s
            whole_s = max(elapsed_s + attempts.t_rem_s[row] - LAUNCH_S, 1e-9)
            attempts.own_log[row] = np.log(whole_s / (typical_s - LAUNCH_S))
            attempts.sibling_rate[row] = 1.0 / typical_s
            attempts.rate[row] = 1.0 / max(elapsed_s + attempts.t_rem_s[row], 1e-9)
            attempts.start_s[row] = one["started_s"]
            if self.goes_by_means:
                cluster.stages.prior_duration_s[cluster.tasks.stage[attempts.task[row]]] = typical_s

    def run_cycle(self, work, world, policy, state):
        """Both decide; the verdicts must be the same."""
        self.state, law = state, (world.tail_index, world.tail_share)
        self.typical_s = world.launch_s + float(work.service_s[0]) * typical_factor(*law)
        nothing_open = not self.open
        getattr(run_cycle, "py_func", run_cycle)(work, world, policy, state)
        facts, self.facts = self.facts, []
        self.live.now_s = float(state.counts[0]["now_s"])
        orders = self.live.tell(facts or self.live.executors[:1]).orders.get(SOURCE, [])
        self.compare_targets(state)
        self.compare_claimants(state)
        self.compare_seen(state)
        if nothing_open:
            self.compared += self.wanted(state) != set()
            assert self.wanted(state) == self.live_wanted()
        self.open |= {(order.stage, order.index): order.order for order in orders if isinstance(order, LaunchCopy)}
        self.cycles += 1

    def compare_targets(self, state):
        cluster = self.live.scheduler.cluster
        rows = cluster.sources[SOURCE].jobs
        for place in range(state.counts[0]["n_active"]):
            job = state.jobs[state.active[place]]
            assert job["target"] == cluster.jobs.target[rows[f"job-{job['id']}"]]

    def compare_claimants(self, state):
        """Both have filled in the same records of the same jobs, but for what is left to do, which is an estimate."""
        cluster = self.live.scheduler.cluster
        rows, live = claimants_of(
            cluster, cluster.sources[SOURCE], job_sums(cluster), max_copies=1, now_s=self.live.now_s
        )
        jobs = [int(cluster.job_infos[row].key.partition("-")[2]) for row in rows.tolist()]
        active = [int(state.jobs[row]["id"]) for row in state.active[: state.counts[0]["n_active"]]]
        assert jobs == active
        for record, other in zip(live, state.claimants, strict=False):
            for name in {*CLAIMANT.names} - {"remaining_work_s"}:
                assert np.isclose(record[name], other[name]), name

    def compare_seen(self, state):
        """Both have filled in the same records of the same tasks."""
        simulated = dict(zip(self.simulated_keys(state), state.tasks, strict=False))
        if not simulated:
            return
        view = self.live.scheduler._view
        live = dict(zip(self.live_keys(view.rows), view.tasks, strict=True))
        assert simulated.keys() == live.keys()
        for key, record in live.items():
            other = simulated[key]
            self.compare(record, other)
            self.compare(view.pools[record["pool"]], state.seen_pools[other["pool"]])
            self.compare(view.jobs[record["job"]], state.seen_jobs[other["job"]])
            stage, other_stage = view.stages[record["stage"]], state.seen_stages[other["stage"]]
            self.compare(stage, other_stage)
            assert stage["finished_to"] - stage["finished_from"] == (
                other_stage["finished_to"] - other_stage["finished_from"]
            )

    def compare(self, record, other):
        """All fields that both know."""
        for name in {*record.dtype.names} - self.left_out - (BY_ORDERS if self.open else set()):
            assert np.isclose(record[name], other[name], equal_nan=True), name

    def simulated_keys(self, state):
        """Job and task of each record that the simulator has filled in."""
        slots = state.task_slots[: np.count_nonzero(state.slots["use"] == ORIGINAL)].tolist()
        return [(int(state.jobs[state.slots[s]["job"]]["id"]), int(state.slots[s]["task"])) for s in slots]

    def live_keys(self, rows):
        """The same of the engine's."""
        cluster = self.live.scheduler.cluster
        return [
            (cluster.stage_infos[int(cluster.tasks.stage[row])].fact.stage, int(cluster.tasks.index[row]))
            for row in rows
        ]

    def wanted(self, state):
        keys = self.simulated_keys(state)
        return {key for key, copies in zip(keys, state.speculation["copies"], strict=False) if copies > 0}

    def live_wanted(self):
        view = self.live.scheduler._view
        return set(self.live_keys(view.rows[view.answer["copies"] > 0])) if view.n else set()


@pytest.mark.parametrize(
    ("policy", "allocator_settings", "speculator_settings"),
    [
        ("hopper+ras", {}, {}),
        pytest.param("hopper+ras", {"hold_slots": 1.0}, {}, marks=pytest.mark.full),
        ("fair+ras", {}, {}),
        ("hopper+late", {}, {}),
        ("fifo+late", {}, {}),
        ("fair+mantri", {}, {}),
        pytest.param("fair+mantri", {}, {"kill_margin_s": 2.0}, marks=pytest.mark.full),
        ("fair+stock-spark", {}, {}),
        ("srpt+late", {}, {}),
        pytest.param("srpt+late", {}, {"copy_priority": 1.0}, marks=pytest.mark.full),
        ("budgeted+ras", {}, {}),
        ("fair+none", {}, {}),
        ("unified+unified", {}, {}),
        ("fair+redundant-all", {}, {}),
        ("fair+redundant-small", {}, {"max_tasks": 20.0, "min_service_s": 1.0}),
        ("fair+relaunch", {}, {"relaunch_factor": 2.0}),
        ("fair+stock-mapreduce", {}, {"pause_s": 1.0}),
        ("fair+gs", {}, {}),
        ("fair+grass", {}, {"explorer_share": 0.6, "least_samples": 1.0, "by_utilization": 0.0}),
        ("fair+shed-plus", {}, {}),
        pytest.param("fair+shed-plus", {}, {"keep_furthest": 1.0, "fairness": -1.0}, marks=pytest.mark.full),
        ("fair+shed", {}, {}),
        ("fair+dolly", {}, {}),
    ],
)
def test_engine_and_simulator_decide_alike(policy, allocator_settings, speculator_settings, monkeypatch):
    """Every target, every wanted copy or restart, and every one that starts; with deadlines, where those decide."""
    twin = Twin(policy, allocator_settings, speculator_settings, monkeypatch)
    monkeypatch.setattr("controlplane.simulator.cluster.scenario.play", getattr(events.play, "py_func", events.play))
    scenario = ClusterScenario(
        policy=policy,
        allocator_settings=allocator_settings,
        speculator_settings=speculator_settings,
        workload=Synthetic(least_tasks=3, most_tasks=20),
        offered_load=LOAD,
        slowdown_tail_index=TAIL_INDEX,
        jobs=JOBS,
        machines=MACHINES,
        slots_per_machine=SLOTS_PER_MACHINE,
        wanted_only=False,
        noise=0.3,
        detect_s=DETECT_S,
        launch_s=LAUNCH_S,
        cycle_s=0.0,
        bounds=Bounds(deadline_s=4.0) if policy.partition("+")[2] in BY_DEADLINE else Bounds(),
    )
    with np.errstate(over="ignore"):
        ended = scenario.run(SEED)[1]
    assert not np.isnan(ended.response_s).any()
    assert twin.cycles > 250
    if len(twin.state.samples):
        # Facts have whole milliseconds.
        assert np.allclose(twin.live.scheduler.learning.samples.values, twin.state.samples, rtol=0.01)
        assert twin.state.samples.any()
    if policy == "fair+none":
        assert not twin.started
        return
    assert twin.compared > 5
    assert len(twin.started) > 5 or not twin.starts_are_compared
    assert twin.overtook <= 0.2 * len(twin.started)
