"""How do jobs fare on a shared cluster under a pair of policies? A scenario, and its run for a seed.

Slots on machines, jobs of phases that run in waves, copies, and the engine's own policies; see `world` for what
an attempt takes, `events` for what happens, `decisions` for targets and copies, and `turns` for who gets a slot.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np

from controlplane.deciding.budgets import Limits
from controlplane.estimators.samples import LENGTH, RUN_LENGTH, shown
from controlplane.model.columns import Floats, Ints, Record, Records
from controlplane.model.errors import BadSetting, LawBroken
from controlplane.model.parameters import EngineSettings
from controlplane.policies.policy import Policy
from controlplane.policies.registry import FORESEEING, TABLE, copy_budget, parse_policy
from controlplane.policies.seen import NO_WEIGHTS, Load
from controlplane.simulator.cluster.bounds import STOCK, Bounds, with_bounds
from controlplane.simulator.cluster.events import play
from controlplane.simulator.cluster.inputs import with_inputs
from controlplane.simulator.cluster.pair import PolicyPair
from controlplane.simulator.cluster.phases import JobResults, no_results
from controlplane.simulator.cluster.state import empty_log, empty_state
from controlplane.simulator.cluster.summary import ClusterSummary, summary, tasks_of, window_of
from controlplane.simulator.cluster.workloads import Source, Synthetic
from controlplane.simulator.cluster.world import Workload, World, factor, job_draws, mean_factor

MOST_LIVE_JOBS = 20_000
MOST_LOGGED = 10_000
LIVE = EngineSettings()

ROWS = (*TABLE, *FORESEEING)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterScenario:
    """One simulation but for its seed. Raises BadSetting, naming the field, where it cannot be run."""

    policy: str
    """A pair, as in "allocator+speculator"."""
    allocator_settings: Mapping[str, float] = field(default_factory=dict)
    speculator_settings: Mapping[str, float] = field(default_factory=dict)
    copy_budget: str = ""
    """Who shares the copies among the jobs; empty for nobody."""
    copy_budget_settings: Mapping[str, float] = field(default_factory=dict)
    budgets: bool = False
    """Whether copies are held to the engine's limits, which are the next five fields."""
    job_copy_share: float = LIVE.job_copy_share
    pool_copy_share: float = LIVE.pool_copy_share
    cluster_copy_share: float = LIVE.cluster_copy_share
    losing_share: float = LIVE.losing_share
    losing_allowance_tasks: float = LIVE.losing_allowance_tasks
    wanted_only: bool | None = None
    """Whether a job counts slots for the copies it wants now; else for all that its running tasks may have, as the
    engine does. None for what the allocator's row says."""
    max_copies: int = 1
    workload: Source = field(default_factory=Synthetic)
    offered_load: float = 0.6
    """Share of the slots that originals alone keep busy."""
    jobs: int = 2000
    machines: int = 100
    slots_per_machine: int = 4
    slowdown_tail_index: float = 1.5
    tail_share: float = 1.0
    """Share of the slowdowns that are in their Pareto tail; all others are within 15 % of 1."""
    allocator_tail_index: float | None = None
    """What the allocator takes it for; None for the truth."""
    relative_transfer: bool = True
    """Whether transfer ratios count relative to a typical one, as they do live, where no network's rate is known; else
    as they are, as the paper has it."""
    shared_share: float = 0.0
    """Share of tasks that are slow because of their data: every attempt takes as long."""
    slow_machine_share: float = 0.0
    slow_machine_factor: float = 3.0
    noise: float = 0.0
    detect_s: float = 0.2
    launch_s: float = 0.05
    kill_s: float = 0.0
    replicas: int = 0
    """Machines that hold the input of a task of a first phase; 0 for all."""
    remote_factor: float = 2.0
    """How many times as long such a task takes elsewhere."""
    locality_percent: float | None = None
    """Share of the jobs that may be served first for a task with its input at hand. None for what the allocator's row
    says."""
    resumes: bool = False
    """Whether copies begin where the attempt of their task that has done most will stand once they work."""
    bounds: Bounds = field(default_factory=Bounds)
    """Deadlines and error bounds of the jobs."""
    cycle_s: float = 0.1
    """Time between reviews of all that runs; 0 for one at every event. New work is allocated for at once."""

    def __post_init__(self) -> None:
        allocator, speculator = parse_policy(self.policy, ROWS)
        allocator.complete(self.allocator_settings)
        speculator.complete(self.speculator_settings)
        if budget := copy_budget(self.copy_budget):
            budget.complete(self.copy_budget_settings)
        for name, low, high in RANGES:
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise BadSetting(name, got=value, want=f"{low:g} to {high:g}")
        if not self.budgets and Limits.of(self) != Limits.of(LIVE):
            raise BadSetting("budgets", got=self.budgets, want="true where one of its limits is set")
        if self.slots > MOST_SLOTS:
            raise BadSetting("machines", got=self.machines, want=f"at most {MOST_SLOTS} slots in all")
        if 0.0 < self.cycle_s < LEAST_CYCLE_S:
            raise BadSetting("cycle_s", got=self.cycle_s, want=f"0, or at least {LEAST_CYCLE_S:g}")
        if self.replicas > self.machines:
            raise BadSetting("replicas", got=self.replicas, want=f"0 to {self.machines}, the machines")

    @property
    def slots(self) -> int:
        """Slots of all machines."""
        return self.machines * self.slots_per_machine

    def simulate(self, seed: int) -> ClusterSummary:
        """Run the policies on the seed's jobs."""
        return self.run(seed)[0]

    def run(self, seed: int) -> tuple[ClusterSummary, JobResults]:
        """The same, and every job's response time and cost in order of arrival."""
        return self._played(seed, empty_log(0), np.zeros(LENGTH))[:2]

    def learn(self, seed: int, samples: Floats) -> tuple[ClusterSummary, float]:
        """The summary of a run whose speculator has these samples, (LENGTH,), and adds to them.

        With it comes the share of its copies that were ordered because samples have called for a switch.
        """
        summary, _, counts = self._played(seed, empty_log(0), samples)
        return summary, float(counts["switched"] / max(counts["launched"], 1))

    def schedule(self, seed: int) -> Records:
        """Every attempt as it ended, LOGGED; the first MOST_LOGGED of them."""
        log = empty_log(MOST_LOGGED)
        self._played(seed, log, np.zeros(LENGTH))
        return log[log["ended_s"] > log["started_s"]]

    def _played(self, seed: int, log: Records, samples: Floats) -> tuple[ClusterSummary, JobResults, Record]:
        work = self.work(seed)
        results = no_results(self.jobs)
        speculator, world = parse_policy(self.policy, ROWS)[1], self.world(seed)
        state = empty_state(self.slots, min(self.jobs, MOST_LIVE_JOBS), speculator.by_finished)
        state = with_inputs(state, work, world, self._orders_waiting(speculator))
        state = state._replace(log=log)
        typical = typical_transfer(work) if self.relative_transfer else 0.0
        policy = self._policy(work.phase_tasks, typical)
        if speculator.explores:
            state = state._replace(samples=samples, runs=np.zeros((len(state.jobs), RUN_LENGTH)))
            explores = speculator.explores(job_draws(seed, self.jobs), speculator.complete(self.speculator_settings))
            policy = policy._replace(speculator_weights=shown(state.samples), explores=explores)
        finished = play(work, world, policy, state, window_of(work), results)
        if not state.counts[0]["is_lawful"]:
            raise LawBroken("targets within the slots, and no copy without a positive gain", self.policy)
        counts = state.counts[0]
        return self.summed_up(work, results, counts, finished), results, counts

    def summed_up(self, work: Workload, results: JobResults, counts: Any, finished: bool) -> ClusterSummary:
        """The summary of a run, by what was counted in it."""
        return summary(work, results, counts, slots=self.slots, launch_s=self.launch_s, finished=finished)

    def work(self, seed: int) -> Workload:
        """The seed's jobs, which arrive at the offered load."""
        mean = mean_factor(self.slowdown_tail_index, self.tail_share)
        work = _sped_up_workload(self.workload, seed, self.jobs, mean, self.launch_s)
        work = work._replace(arrival_s=work.arrival_s / (self.offered_load * self.slots))
        return with_bounds(work, self._fixed_bounds(seed), seed, self._median_s(work))

    def world(self, seed: int) -> World:
        """The laws by which its attempts take their time."""
        return World(
            seed=seed,
            machines=self.machines,
            tail_index=float(self.slowdown_tail_index),
            tail_share=float(self.tail_share),
            shared_share=float(self.shared_share),
            slow_machine_share=float(self.slow_machine_share),
            slow_machine_factor=float(self.slow_machine_factor),
            noise=float(self.noise),
            detect_s=float(self.detect_s),
            launch_s=float(self.launch_s),
            kill_s=float(self.kill_s),
            replicas=self.replicas,
            remote_factor=float(self.remote_factor),
            resumes=self.resumes,
            gives_up=self.bounds.gives_up,
        )

    def _fixed_bounds(self, seed: int) -> Bounds:
        """The bounds, with a number for a deadline that goes by stock's response times."""
        if self.bounds.stock_times is None:
            return self.bounds
        stock = replace(
            self, policy=STOCK, allocator_settings={}, speculator_settings={}, copy_budget="", copy_budget_settings={},
            bounds=Bounds(), resumes=False,
        )  # fmt: skip
        median_s = float(np.nanmedian(stock.run(seed)[1].response_s))
        return replace(self.bounds, stock_times=None, deadline_s=self.bounds.stock_times * median_s)

    def _median_s(self, work: Workload) -> Floats:
        """Median duration of each job's tasks, from launch to end."""
        return self.launch_s + work.service_s * factor(0.5, float(self.slowdown_tail_index), float(self.tail_share))

    def _orders_waiting(self, speculator: Policy) -> bool:
        """Whether it orders originals of these jobs."""
        return speculator.order_waiting is not None and (self.bounds.any or not speculator.orders_bounded)

    def _policy(self, phase_tasks: Ints, typical: float = 0.0) -> PolicyPair:
        allocator, speculator = parse_policy(self.policy, ROWS)
        budget = copy_budget(self.copy_budget)
        local_percent = allocator.locality_percent if self.locality_percent is None else self.locality_percent
        load = Load(self.slots, float(self.offered_load), float(self.slowdown_tail_index))
        return PolicyPair(
            allocator=allocator.code,
            allocator_settings=allocator.setting_values(self.allocator_settings),
            allocator_weights=allocator.brought,
            speculator=speculator.code,
            speculator_settings=speculator.setting_values(self.speculator_settings),
            speculator_weights=speculator.brought,
            copy_budget=budget.code if budget else -1,
            copy_budget_settings=budget.setting_values(self.copy_budget_settings) if budget else np.zeros(0),
            copy_budget_weights=budget.brought if budget else NO_WEIGHTS,
            budgets=self.budgets,
            limits=Limits.of(self),
            before_waiting=speculator.before_waiting,
            shares_spare=speculator.shares_spare,
            wanted_only=not allocator.counts_possible_copies if self.wanted_only is None else self.wanted_only,
            max_copies=self.max_copies,
            tail_index=float(self.allocator_tail_index or self.slowdown_tail_index),
            typical_transfer=typical,
            orders_waiting=self._orders_waiting(speculator),
            orders_bounded=speculator.orders_bounded,
            at_start=speculator.at_start,
            prepared=speculator.prepared(load, phase_tasks, self.speculator_settings),
            explores=np.zeros(0, dtype=np.int64),
            foresees_jobs=allocator in FORESEEING,
            foresees_attempts=speculator in FORESEEING,
            locality_percent=float(local_percent),
            cycle_s=float(self.cycle_s),
        )


MOST_SLOTS = 10**7
"""Each takes about 100 bytes."""
LEAST_CYCLE_S = 1e-6
"""Reviews that are more frequent would take longer than all else, and none is due at time's own precision."""
RANGES = (
    ("max_copies", 0, 16),
    ("offered_load", 1e-6, 10.0),
    ("jobs", 1, 10**8),
    ("machines", 1, 10**6),
    ("slots_per_machine", 1, 10**4),
    ("slowdown_tail_index", 1.001, inf),
    ("tail_share", 1e-6, 1.0),
    ("allocator_tail_index", 1e-3, inf),
    ("shared_share", 0.0, 1.0),
    ("slow_machine_share", 0.0, 1.0),
    ("slow_machine_factor", 1.0, 1e3),
    ("noise", 0.0, 10.0),
    ("detect_s", 0.0, 1e6),
    ("launch_s", 0.0, 1e6),
    ("kill_s", 0.0, 1e6),
    ("replicas", 0, 16),
    ("remote_factor", 1.0, 1e3),
    ("locality_percent", 0.0, 100.0),
    ("cycle_s", 0.0, 1e6),
    *(
        (one.name, one.metadata["low"], one.metadata["high"])
        for one in fields(EngineSettings)
        if one.name in Limits._fields
    ),
)


def typical_transfer(work: Workload) -> float:
    """The transfer ratio of phases that feed another one, all taken together; 0 if nothing is moved."""
    tasks, jobs = work.phase_tasks.astype(float), np.repeat(np.arange(len(work.service_s)), np.diff(work.first_phase))
    tasks[work.first_phase[1:] - 1] = 0.0
    work_s = tasks * work.service_s[jobs]
    return float(work_s @ work.transfer_ratio[jobs] / work_s.sum()) if work_s.any() else 0.0


@lru_cache(maxsize=32)
def _sped_up_workload(source: Source, seed: int, jobs: int, mean: float, launch_s: float) -> Workload:
    """The source's jobs with arrivals such that one slot would be busy all the time with their originals."""
    work = source.workload(seed, jobs)
    slot_s = work.original_s.sum() if len(work.original_s) else float(tasks_of(work) @ work.service_s) * mean
    slot_s += launch_s * work.phase_tasks.sum()
    span_s = float(work.arrival_s[-1])
    return work._replace(arrival_s=work.arrival_s * (slot_s / span_s) if span_s > 0 else work.arrival_s)
