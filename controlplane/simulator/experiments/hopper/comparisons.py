"""How are policies compared on the shared cluster? Gains over paired seeds, as numbers, in words and as charts.

The paper's utilizations are measured ones, and so are ours: copies cut stragglers short, so that slots are seen to be
busy for less than what originals alone would have kept them busy. A claim about 60 % is tried at the offered load whose
measured share under Prio is nearest to 60 %.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from statistics import fmean

import msgspec
import numpy as np

from controlplane.simulator.cluster.summary import BINS, ClusterSummary, gain
from controlplane.simulator.experiments.experiment import Chart, Results, Series
from controlplane.simulator.experiments.hopper.conditions import (
    MIDDLE,
    MIDDLE_LOADS,
    PRIO,
    Fields,
    at_loads,
    each_job,
    runs,
)
from controlplane.simulator.statistics import Estimate, estimate

SURE = 3.0
"""Standard errors that a difference must have to be called one."""
SAME = 1e-4
"""Up to which share two response times are the same, which are rounded."""
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
SMALL, LARGE, SEVERAL = 0, 3, 4
"""Places in BINS: up to 50 tasks, more than 500, more than one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobGains:
    """By how much single jobs were shorter, as shares of what they took under the other policy: means over seeds."""

    quantiles: tuple[float, ...]
    """At QUANTILES."""
    mean: float
    slowed_share: float
    slowed_by: float
    """The mean over jobs that became longer."""
    slowed_most: float
    """The worst of all seeds."""


def found(results: Results, *fields: Fields) -> list[ClusterSummary]:
    """What a point came to, a summary for each seed."""
    return msgspec.convert(results(runs(results.scale, *fields)), list[ClusterSummary])


def job_gains(results: Results, ours: Fields, theirs: Fields, *fields: Fields) -> JobGains:
    """What a comparison job by job came to, under the same fields."""
    ours_s, theirs_s = (np.array(results(each_job(results.scale, *fields, one))) for one in (ours, theirs))
    every = [row[~np.isnan(row)] for row in 1.0 - ours_s / theirs_s]
    slowed = [row[row < -SAME] for row in every]
    return JobGains(
        quantiles=tuple(np.mean([np.quantile(row, QUANTILES) for row in every], axis=0).tolist()),
        mean=fmean(float(row.mean()) for row in every),
        slowed_share=fmean(len(some) / len(row) for some, row in zip(slowed, every, strict=True)),
        slowed_by=fmean(float(-some.mean()) if len(some) else 0.0 for some in slowed),
        slowed_most=max(float(-some.min()) if len(some) else 0.0 for some in slowed),
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


def nearest(measured: Sequence[float], share: float) -> int:
    """The place of the busy share that is nearest to this one.

    >>> nearest([0.3, 0.55, 0.8], 0.6)
    1
    """
    return min(range(len(measured)), key=lambda at: abs(measured[at] - share))


def at_share(results: Results, variants: Sequence[Fields], world: Fields, share: float) -> Fields:
    """The variant whose measured busy share under Prio is nearest to this one."""
    return variants[nearest([busy(results, one, world, PRIO) for one in variants], share)]


def at_middle(results: Results, source: Fields, world: Fields) -> Fields:
    """The source's jobs at the one of MIDDLE_LOADS that keeps about MIDDLE of the slots busy."""
    return at_share(results, at_loads(source, MIDDLE_LOADS), world, MIDDLE)


def where(results: Results, at: Fields, world: Fields) -> str:
    """Words for a load: what was offered, and what it came to under Prio."""
    return f"offered {at['offered_load']:g}, {busy(results, at, world, PRIO):.0%} busy"


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

    >>> bin_name(SMALL), bin_name(LARGE), bin_name(SEVERAL)
    ('1-50', '>500', '>1')
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
