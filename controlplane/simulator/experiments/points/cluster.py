"""What is measured of the shared cluster? Means, single jobs, single attempts."""

from dataclasses import dataclass
from typing import Any

import msgspec

from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.world import factor
from controlplane.simulator.experiments.points import Point


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRuns(Point):
    """One scenario."""

    scenario: ClusterScenario

    def measure(self, seed: int) -> Any:
        """A ClusterSummary."""
        return msgspec.to_builtins(self.scenario.simulate(seed))


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseTimes(Point):
    """One scenario, job by job."""

    scenario: ClusterScenario

    def measure(self, seed: int) -> Any:
        """Every job's response time in order of arrival, s, to a tenth of a millisecond."""
        return self.scenario.run(seed)[1].response_s.round(4).tolist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule(Point):
    """Which slot ran what, when."""

    scenario: ClusterScenario

    def measure(self, seed: int) -> Any:
        """An Attempt for each, in the order in which they ended."""
        return [
            msgspec.to_builtins(Attempt(**dict(zip(row.dtype.names, row.item(), strict=True))))
            for row in self.scenario.schedule(seed)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt and its span."""

    slot: int
    job: int
    is_copy: bool
    started_s: float
    ended_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowest(Point):
    """One job alone, whose originals all start at once: its slowest task."""

    scenario: ClusterScenario

    def measure(self, seed: int) -> Any:
        """How many times as long as the median original it takes."""
        one = self.scenario
        service_s = float(one.work(seed).service_s[0])
        median_s = one.launch_s + service_s * factor(0.5, one.slowdown_tail_index, one.tail_share)
        return float(one.run(seed)[1].response_s[0]) / median_s
