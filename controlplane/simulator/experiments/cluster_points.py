"""What is simulated on the shared cluster, and how are policies compared there? Points, gains, and their charts.

Every comparison of allocators shows two baselines, SRPT and LATE with copies that compete at their job's own priority
(Prio) or start only when no original waits anywhere (Last), and two worlds: each copy draws its own duration, or half
of the tasks are slow because of their data, whatever runs them. Where conditions are changed one by one, the share of
such tasks is one of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from statistics import fmean
from typing import Any

import msgspec
import numpy as np

from controlplane.simulator.cluster import BINS, ClusterScenario, ClusterSummary, gain
from controlplane.simulator.experiments.experiment import Chart, Point, Results, Scale, Series
from controlplane.simulator.statistics import Estimate, estimate

Fields = dict[str, Any]

PRIO: Fields = {"policy": "srpt+late"}
LAST: Fields = {"policy": "srpt+late", "speculator_settings": {"copy_priority": 1.0}}
HOPPER: Fields = {"policy": "hopper+late"}
EAGER: Fields = {"policy": "hopper+ras"}
"""Hopper with copies of whatever ends sooner by one while slots are idle."""
PRIO_EAGER: Fields = {"policy": "srpt+ras"}
BASELINES = {"Prio": PRIO, "Last": LAST}

OWN: Fields = {"shared_share": 0.0}
HALF_SHARED: Fields = {"shared_share": 0.5}
WORLDS = {"own durations": OWN, "half shared": HALF_SHARED}

NOISE = 0.3
JOBS = {Scale.SMOKE: 300, Scale.FULL: 3000}
RUNS = {Scale.SMOKE: 2, Scale.FULL: 10}
SURE = 3.0
"""Standard errors that a difference must have to be called one."""
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRuns(Point):
    """One scenario."""

    scenario: ClusterScenario

    def measure(self, seed: int) -> Any:
        """A ClusterSummary."""
        return msgspec.to_builtins(self.scenario.simulate(seed))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends(Point):
    """When a few jobs end that are all there at 0."""

    scenario: ClusterScenario

    def measure(self, seed: int) -> Any:
        """A time for each job."""
        return self.scenario.run(seed)[1].response_s.tolist()


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
class Paired(Point):
    """Two scenarios over the same jobs, compared job by job."""

    ours: ClusterScenario
    theirs: ClusterScenario

    def measure(self, seed: int) -> Any:
        """A JobGains."""
        ours, theirs = self.ours.run(seed)[1].response_s, self.theirs.run(seed)[1].response_s
        every = 1.0 - ours / theirs
        every = every[~np.isnan(every)]
        slowed = every[every < -1e-9]
        return msgspec.to_builtins(
            JobGains(
                quantiles=tuple(np.quantile(every, QUANTILES).tolist()),
                mean=float(every.mean()),
                slowed_share=len(slowed) / len(every),
                slowed_by=float(-slowed.mean()) if len(slowed) else 0.0,
                slowed_most=float(-slowed.min()) if len(slowed) else 0.0,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobGains:
    """By how much single jobs were shorter, as shares of what they took under the other policy."""

    quantiles: tuple[float, ...]
    """At QUANTILES."""
    mean: float
    slowed_share: float
    slowed_by: float
    """The mean over jobs that became longer."""
    slowed_most: float


def scenario(scale: Scale, *fields: Fields) -> ClusterScenario:
    """The scenario of these fields, later ones first; noisy estimates unless they say otherwise."""
    merged: dict[str, Any] = {"jobs": JOBS[scale], "noise": NOISE}
    for one in fields:
        merged |= one
    return ClusterScenario(**merged)


def runs(scale: Scale, *fields: Fields) -> ClusterRuns:
    """Its point."""
    return ClusterRuns(scenario=scenario(scale, *fields), runs=RUNS[scale])


def paired(scale: Scale, ours: Fields, theirs: Fields, *fields: Fields) -> Paired:
    """The point that compares two policies under the same fields."""
    return Paired(ours=scenario(scale, *fields, ours), theirs=scenario(scale, *fields, theirs), runs=RUNS[scale])


def found(results: Results, *fields: Fields) -> list[ClusterSummary]:
    """What a point came to, a summary for each seed."""
    return msgspec.convert(results(runs(results.scale, *fields)), list[ClusterSummary])


def job_gains(results: Results, ours: Fields, theirs: Fields, *fields: Fields) -> JobGains:
    """What a comparison job by job came to: means over the seeds, and the worst of all."""
    found = msgspec.convert(results(paired(results.scale, ours, theirs, *fields)), list[JobGains])
    return JobGains(
        quantiles=tuple(np.mean([one.quantiles for one in found], axis=0).tolist()),
        mean=fmean(one.mean for one in found),
        slowed_share=fmean(one.slowed_share for one in found),
        slowed_by=fmean(one.slowed_by for one in found),
        slowed_most=max(one.slowed_most for one in found),
    )


def gains(results: Results, ours: Fields, theirs: Fields, *fields: Fields, size: int | None = None) -> Estimate:
    """By how much the mean response time is shorter, over paired seeds; `size` picks one of BINS."""

    def mean_s(one: ClusterSummary) -> float:
        return one.response_s if size is None else one.bins[size].response_s

    ours_s = [mean_s(one) for one in found(results, *fields, ours)]
    theirs_s = [mean_s(one) for one in found(results, *fields, theirs)]
    values = [gain(a, b) for a, b in zip(ours_s, theirs_s, strict=True)]
    return estimate([value for value in values if value == value] or [nan])


def clear(one: Estimate) -> bool:
    """Whether a gain is one beyond doubt."""
    return one.mean > SURE * one.error


def busy(results: Results, *fields: Fields) -> float:
    """The measured busy share."""
    return float(np.mean([one.busy_share for one in found(results, *fields)]))


def percent(one: Estimate) -> str:
    """A gain with its standard error, in percent.

    >>> percent(Estimate(mean=0.123, error=0.01))
    '+12.3 (1.0) %'
    """
    return f"{100 * one.mean:+.1f} ({100 * one.error:.1f}) %"


def listed(line: Sequence[Estimate]) -> str:
    """Gains along a line."""
    return ", ".join(map(percent, line))


def bin_name(size: int) -> str:
    """One of BINS in words.

    >>> bin_name(0), bin_name(3)
    ('1-50', '>500')
    """
    low, high = BINS[size]
    return f"{low}-{high}" if high < 10**6 else f">{low - 1}"


def gain_chart(title: str, x_label: str, x: Sequence[float], lines: Mapping[str, Sequence[Estimate]]) -> Chart:
    """Gains in percent with their errors; a line may end before x does."""
    series = [
        Series(
            label=label,
            x=x[: len(line)],
            y=[100 * one.mean for one in line],
            error=[100 * one.error for one in line],
        )
        for label, line in lines.items()
    ]
    return Chart(title=title, x_label=x_label, y_label="shorter mean response time, %", series=series)
