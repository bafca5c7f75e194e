"""What is measured of the shared cluster? Means, single jobs, single attempts."""

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from controlplane.estimators.samples import BUCKETS, FIRST, LENGTH, POINTS, POLICIES, SECOND
from controlplane.model.columns import Floats
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.world import factor
from controlplane.simulator.experiments.points import Point

OTHER_SEEDS = 1_000_000
"""Far from those of any run: jobs and luck from which is learned are others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRuns(Point):
    """One scenario."""

    scenario: ClusterScenario

    def measure(self, seed: int) -> Any:
        """A ClusterSummary."""
        return msgspec.to_builtins(self.scenario.simulate(seed))


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning(Point):
    """One scenario whose speculator learns, after others in which it has learned already."""

    scenario: ClusterScenario
    after: tuple[ClusterScenario, ...] = ()

    def measure(self, seed: int) -> Any:
        """A ClusterSummary and what the samples were good for, see `Learned`."""
        samples = _samples_of(self.after, seed)
        weights = samples.reshape(BUCKETS, POLICIES, 2, POINTS)[:, [FIRST, SECOND], 0, 0].tolist()
        found, switched_share = self.scenario.learn(seed, samples)
        return msgspec.to_builtins(found) | msgspec.to_builtins(Learned(switched_share=switched_share, weights=weights))


def _samples_of(scenarios: tuple[ClusterScenario, ...], seed: int) -> Floats:
    """What they leave, one after the other; points that have these in common compute them once in a process."""
    key = repr(scenarios), seed
    if key not in _SAMPLES:
        samples = _SAMPLES[key] = np.zeros(LENGTH)
        for number, one in enumerate(scenarios, start=1):
            one.learn(OTHER_SEEDS * number + seed, samples)
    return _SAMPLES[key].copy()


_SAMPLES: dict[tuple[str, int], Floats] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What a speculator that learns knew, and what it did by that."""

    switched_share: float
    """Of all copies, those that were ordered because samples had called for a switch."""
    weights: list[list[float]]
    """By bucket, how many samples of both policies it held before the first job, older ones counting less."""


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
