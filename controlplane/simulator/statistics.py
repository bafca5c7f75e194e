"""What came out of many jobs? Means with standard errors, tails and size bins, without keeping a single job.

The standard error of one run is that of batch means: consecutive jobs share queues, so that jobs count for less than
independent draws would; the means of long enough batches are nearly independent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan, sqrt

import numpy as np

from controlplane.model.columns import Floats, Ints

BATCHES = 32
STEP = 0.01
"""Width of the slowdown histogram's bins, relative: quantiles are exact to a hundredth."""
STEPS = 2400
"""Bins; the last one ends at a slowdown of e^24."""
QUANTILES = (0.5, 0.9, 0.99, 0.999)
DEMAND_BINS, FIRST_EXPONENT = 64, -31
"""Size bins, and the power of two at which the first one ends; what lies outside goes to the nearest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeBin:
    """Jobs whose demand, slots of all tasks times service time, lies in [from_s, 2 from_s)."""

    from_s: float
    jobs: int
    response_s: float
    slowdown: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One run, without its warm-up. Means are over jobs."""

    jobs: int
    response_s: float
    response_error_s: float
    slowdown: float
    slowdown_error: float
    wait_s: float
    waited_share: float
    """Share of jobs that did not start on arrival."""
    cost_s: float
    """Slot time of a job."""
    busy_share: float
    """Share of slot time that was spent, between the first start and the last."""
    stable: bool
    """Whether some job of the run's second half found room on arrival; a queue that never empties grows."""
    slowdown_quantiles: tuple[float, ...]
    """At the shares QUANTILES."""
    slowdown_tail: tuple[tuple[float, float], ...]
    """(x, share of jobs with a larger slowdown), from 1 to the largest seen."""
    sizes: tuple[SizeBin, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean and its standard error, not-a-number if there is nothing to tell it from."""

    mean: float
    error: float
    values: tuple[float, ...] = ()
    """The independent values behind it, one for each seed."""


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of independent values.

    >>> round(estimate([1.0, 2.0, 3.0]).error, 4)
    0.5774
    """
    column = np.asarray(values, dtype=float)
    error = float(column.std(ddof=1)) / sqrt(len(column)) if len(column) > 1 else nan
    return Estimate(mean=float(column.mean()), error=error, values=tuple(values))


class Tally:
    """Takes the jobs of one run in order, as columns of any length, and sums them up."""

    def __init__(self, jobs: int) -> None:
        self._jobs, self._seen, self._room_on_arrival = jobs, 0, 0
        self._sums = {name: np.zeros(BATCHES) for name in ("count", "response", "slowdown", "wait", "waited", "cost")}
        self._slowdowns = np.zeros(STEPS, dtype=np.int64)
        self._sizes = {name: np.zeros(DEMAND_BINS) for name in ("count", "response", "slowdown")}

    def add(self, slots: Ints, service_s: Floats, wait_s: Floats, latency_s: Floats, cost_s: Floats) -> None:
        """Take the next jobs."""
        row = self._seen + np.arange(len(slots))
        self._seen += len(slots)
        response_s, waited = wait_s + latency_s, wait_s > 0
        slowdown = response_s / service_s
        columns: dict[str, Floats] = {"count": np.ones(len(row)), "response": response_s, "slowdown": slowdown}
        _sum_by(
            row * BATCHES // self._jobs,
            columns | {"wait": wait_s, "waited": waited.astype(float), "cost": cost_s},
            self._sums,
        )
        exponent = np.frexp(slots * service_s)[1].astype(np.int64)
        _sum_by(np.clip(exponent - FIRST_EXPONENT, 0, DEMAND_BINS - 1), columns, self._sizes)
        step = np.minimum(np.log(slowdown) / STEP, STEPS - 1).astype(np.int64)
        self._slowdowns += np.bincount(step, minlength=STEPS)
        self._room_on_arrival += int(np.count_nonzero(~waited & (row >= self._jobs // 2)))

    def summary(self, busy_share: float) -> Summary:
        """What all jobs taken so far come to."""
        filled = self._sums["count"] > 0
        batch = {name: column[filled] / self._sums["count"][filled] for name, column in self._sums.items()}
        mean = {name: float(column.sum() / self._seen) for name, column in self._sums.items()}
        above = self._seen - np.cumsum(self._slowdowns)
        last = int(np.flatnonzero(self._slowdowns)[-1])
        places = np.unique(np.linspace(0, last, 100).astype(int))
        ranks = [int(np.searchsorted(-above, -(1.0 - share) * self._seen)) for share in QUANTILES]
        return Summary(
            jobs=self._seen,
            response_s=mean["response"],
            response_error_s=estimate(batch["response"].tolist()).error,
            slowdown=mean["slowdown"],
            slowdown_error=estimate(batch["slowdown"].tolist()).error,
            wait_s=mean["wait"],
            waited_share=mean["waited"],
            cost_s=mean["cost"],
            busy_share=busy_share,
            stable=self._room_on_arrival > 0,
            slowdown_quantiles=tuple(float(np.exp((rank + 1) * STEP)) for rank in ranks),
            slowdown_tail=tuple((float(np.exp((at + 1) * STEP)), float(above[at] / self._seen)) for at in places),
            sizes=self._size_bins(),
        )

    def _size_bins(self) -> tuple[SizeBin, ...]:
        count = self._sizes["count"]
        return tuple(
            SizeBin(
                from_s=2.0 ** int(row + FIRST_EXPONENT - 1),
                jobs=int(count[row]),
                response_s=float(self._sizes["response"][row] / count[row]),
                slowdown=float(self._sizes["slowdown"][row] / count[row]),
            )
            for row in np.flatnonzero(count)
        )


def _sum_by(row: Ints, columns: dict[str, Floats], sums: dict[str, Floats]) -> None:
    """Add the columns' values to the rows of the sums with the same names."""
    for name, column in columns.items():
        sums[name] += np.bincount(row, weights=column, minlength=len(sums[name]))
