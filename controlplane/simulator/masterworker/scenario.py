"""Which system, load and policy is to be simulated? One frozen description, checked, and run for a seed."""

from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, isnan

from controlplane.model.errors import BadSetting
from controlplane.policies import registry
from controlplane.policies.redundancy.theory.plan import Choices, Plan
from controlplane.policies.redundancy.theory.queue import busy_share, response_time_s
from controlplane.policies.redundancy.theory.system import System
from controlplane.simulator.masterworker.master import MasterWorker
from controlplane.simulator.masterworker.workloads import BLOCK, Stream, ZipfParetoStream
from controlplane.simulator.statistics import Summary, Tally

WARM_UP_SHARE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """E[T] and rho by formula; see `controlplane.policies.redundancy.theory.queue`."""

    response_s: float
    busy_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterWorkerScenario:
    """One simulation but for its seed. Raises BadSetting, naming the field, where it cannot be run."""

    policy: str
    """One of `registry.PLANS`."""
    offered_load: float = 0.5
    threshold_s: float | None = None
    """Largest demand that is expanded, slot-seconds; None for the policy's own."""
    expansion_rate: float = 2.0
    spare_tasks: int | None = None
    """Spare tasks for every job, instead of a rate."""
    relaunch_factor: float | None = None
    """For all jobs; None for the policy's own."""
    service_noise: float = 0.0
    """Standard deviation of the logarithm of estimated over true service time."""
    cancel_s: float = 0.0
    """For how long a cancelled task holds its slots."""
    jobs: int = 100_000
    system: System = field(default_factory=System)

    def __post_init__(self) -> None:
        system = self.system
        _check("nodes", system.nodes, 1, 100_000)
        _check("slots_per_node", system.slots_per_node, 1, 10_000)
        _check("max_tasks", system.max_tasks, 1, system.nodes)
        _check("max_task_slots", system.max_task_slots, 1, system.slots_per_node)
        _check("min_service_s", system.min_service_s, 1e-6, 1e9)
        _check("max_service_s", system.max_service_s, system.min_service_s * (1 + 1e-9), inf)
        _check("service_tail_index", system.service_tail_index, 0.1 if system.max_service_s < inf else 1.001, 1e6)
        _check("slowdown_tail_index", system.slowdown_tail_index, 1.001, inf)
        _check("offered_load", self.offered_load, 1e-9, 10.0)
        _check("service_noise", self.service_noise, 0.0, 10.0)
        _check("cancel_s", self.cancel_s, 0.0, 1e9)
        _check("jobs", self.jobs, 100, 10**9)
        _check("expansion_rate", self.expansion_rate, 1.0, 1e9)
        if self.threshold_s is not None:
            _check("threshold_s", self.threshold_s, 0.0, inf)
        if self.relaunch_factor is not None:
            _check("relaunch_factor", self.relaunch_factor, 0.0, inf)
        if self.spare_tasks is not None:
            _check("spare_tasks", self.spare_tasks, 0, system.nodes)
        if self.plan().expanded_tasks[-1] > system.nodes:
            name = "expansion_rate" if self.spare_tasks is None else "spare_tasks"
            want = f"a largest job, {system.max_tasks} tasks and its spare ones, within {system.nodes} nodes"
            raise BadSetting(name, got=getattr(self, name), want=want)

    def plan(self) -> Plan:
        """What the policy does with jobs of each size."""
        choices = Choices(
            threshold_s=self.threshold_s,
            expansion_rate=self.expansion_rate,
            spare_tasks=self.spare_tasks,
            relaunch_factor=self.relaunch_factor,
        )
        return registry.plan(self.policy, self.system, self.offered_load, choices)

    def simulate(self, seed: int) -> Summary:
        """Run the policy on the seed's jobs, after a warm-up that is not counted."""
        system = self.system
        cluster = MasterWorker(
            nodes=system.nodes,
            slots_per_node=system.slots_per_node,
            slowdown_tail_index=system.slowdown_tail_index,
            plan=self.plan(),
            seed=seed,
            cancel_s=self.cancel_s,
        )
        stream = ZipfParetoStream(system=system, offered_load=self.offered_load, service_noise=self.service_noise)
        return run(cluster, stream, seed, self.jobs)

    def predicted(self) -> Prediction:
        """What the M/G/c approximation says of the same, were estimates exact and tasks cancelled at once."""
        system, load, execution = self.system, self.offered_load, self.plan().execution(self.system)
        return Prediction(
            response_s=response_time_s(system, load, execution), busy_share=busy_share(system, load, execution)
        )


def run(cluster: MasterWorker, stream: Stream, seed: int, jobs: int) -> Summary:
    """Warm the cluster up with a share of WARM_UP_SHARE more jobs, then count the next `jobs`."""
    warm_up = int(jobs * WARM_UP_SHARE)
    tally, cost_s, before = Tally(jobs), 0.0, (0.0, 0.0)
    for first in range(0, warm_up + jobs, BLOCK):
        block = stream.block(seed, first // BLOCK)
        cut = [first, min(first + BLOCK, warm_up + jobs)]
        if cut[0] < warm_up < cut[1]:
            cut.insert(1, warm_up)
        for low, high in pairwise(cut):
            part = block.rows(low - first, high - first)
            ended = cluster.run(part)
            if high <= warm_up:
                before = cluster.now_s, cluster.unspent_s()
                continue
            tally.add(part.tasks * part.task_slots, part.service_s, ended.wait_s, ended.latency_s, ended.cost_s)
            cost_s += float(ended.cost_s.sum())
    spent_s = before[1] + cost_s - cluster.unspent_s()
    return tally.summary(busy_share=float(spent_s / (cluster.slots * (cluster.now_s - before[0]))))


def _check(name: str, value: float, low: float, high: float) -> None:
    """Raises BadSetting unless low <= value <= high."""
    if isnan(value) or not low <= value <= high:
        raise BadSetting(name, got=value, want=f"{low:g} to {high:g}")
