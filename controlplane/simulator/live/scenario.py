"""How do jobs fare where the live engine estimates and decides? The cluster model's scenario, played by `Play`."""

from dataclasses import dataclass, field, replace
from math import nan

import numpy as np

from controlplane.deciding.budgets import Limits
from controlplane.engine.steering import Steering
from controlplane.model.columns import Records
from controlplane.model.decisions import Promise
from controlplane.model.errors import BadSetting
from controlplane.model.facts import Mode
from controlplane.model.parameters import EngineSettings
from controlplane.simulator.cluster.phases import JobResults
from controlplane.simulator.cluster.scenario import LIVE, ClusterScenario
from controlplane.simulator.cluster.summary import ClusterSummary, window_of
from controlplane.simulator.cluster.world import Workload
from controlplane.simulator.live.cluster import Spreads
from controlplane.simulator.live.play import ORDER_S, Play

UNLIMITED = dict.fromkeys(("job_copy_share", "pool_copy_share", "cluster_copy_share", "losing_share"), 1.0)
LEAST_REPORT_S = 0.01
"""No shim reports more often."""
MOST = 10.0
"""Of a spread, and of an order's latency in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineScenario(ClusterScenario):
    """The same jobs and luck. `cycle_s` is the time between two reports; `noise` and `detect_s` do not apply.

    A restarted task counts as copied, and as won if its copy ends first.
    """

    estimates: str = field(default="engine", init=False)
    max_copies: int = LIVE.max_copies_per_task
    pools: int = 1
    """Drivers, each with an equal part of the machines and of the jobs, in turns."""
    order_s: float = ORDER_S
    """From a report to the effect of its orders."""
    launch_spread: float = 0.0
    """How unequal start-ups are, as in `Spreads`."""
    size_spread: float = 0.0
    """How unequal the tasks of a stage are, as in `Spreads`."""
    slow_host_patience: float = LIVE.slow_host_patience
    """How readily an original waits for a healthy host; 0 for never."""

    def __post_init__(self) -> None:
        ClusterScenario.__post_init__(self)
        if self.cycle_s < LEAST_REPORT_S:
            raise BadSetting("cycle_s", got=self.cycle_s, want=f"at least {LEAST_REPORT_S:g} between two reports")
        if self.pools < 1 or self.machines % self.pools:
            raise BadSetting("pools", got=self.pools, want=f"a number that divides {self.machines}, the machines")
        if self.resumes:
            raise BadSetting("resumes", got=True, want="false with estimates of the engine")
        if self.replicas:
            raise BadSetting("replicas", got=self.replicas, want="0 with estimates of the engine")
        for name in ("wanted_only", "allocator_tail_index", "locality_percent"):
            if getattr(self, name) is not None:
                raise BadSetting(name, got=getattr(self, name), want="none with estimates of the engine")
        if not self.relative_transfer:
            raise BadSetting("relative_transfer", got=False, want="true with estimates of the engine")
        for name in ("order_s", "launch_spread", "size_spread"):
            if not 0.0 <= getattr(self, name) <= MOST:
                raise BadSetting(name, got=getattr(self, name), want=f"0 to {MOST:g}")
        Steering(self.settings())

    def settings(self) -> EngineSettings:
        """The live engine's. Raises BadSetting for a policy that no live engine has."""
        allocator, _, speculator = self.policy.partition("+")
        limits = Limits.of(self)._asdict() if self.budgets else UNLIMITED
        return EngineSettings(
            mode=Mode.CONTROL,
            allocator=allocator.strip(),
            allocator_settings=dict(self.allocator_settings),
            speculator=speculator.strip(),
            speculator_settings=dict(self.speculator_settings),
            copy_budget=self.copy_budget,
            copy_budget_settings=dict(self.copy_budget_settings),
            max_copies_per_task=self.max_copies,
            slow_host_patience=self.slow_host_patience,
            **limits,
        )

    def schedule(self, seed: int) -> Records:
        """Raises BadSetting: attempts are not logged here."""
        raise BadSetting("estimates", got=self.estimates, want="exact, of which attempts are logged")

    def run(self, seed: int) -> tuple[ClusterSummary, JobResults]:
        """The summary, and every job's response time and cost in order of arrival."""
        work = self.work(seed)
        if (work.weight != np.rint(work.weight)).any() or work.weight.min() < 1:
            raise BadSetting("weights", got=sorted(set(work.weight.tolist()))[:3], want="whole numbers from 1 on")
        play = self._play(work, seed)
        summary = self.summed_up(work, play.results, play.counts, finished=True)
        return replace(summary, short_share=nan, restarts_per_task=nan), play.results

    def promises(self, seed: int) -> list[Promise]:
        """How likely the engine said that each job with a deadline keeps it, and whether it has, as they ended."""
        return self._play(self.work(seed), seed).promises

    def _play(self, work: Workload, seed: int) -> Play:
        play = Play(
            work,
            self.world(seed),
            self.settings(),
            self.slots_per_machine,
            self.cycle_s,
            self.pools,
            self.order_s,
            Spreads(launch=self.launch_spread, size=self.size_spread),
        )
        play.run(window_of(work))
        return play
