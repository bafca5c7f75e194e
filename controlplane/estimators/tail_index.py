"""How heavy is the tail of task durations? Hill's estimate over a bounded window, with a prior at first.

Samples are durations over the geometric mean of their siblings', so that stages of any length can share a window.
Attempts that were killed, and those that still run, are known to last longer than what was seen of them;
leaving them out would make the tail look lighter than it is, because the long ones get beaten by a
copy.
"""

from collections import deque
from dataclasses import dataclass
from math import exp, log

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Flags, Floats, Ints
from controlplane.model.writers import Estimated, Reported

LEAST_TAIL = 1.05
"""Lower tail indices count as this one: at 1 a Pareto law has no mean."""
_NOTHING = np.empty(0)


@rule
def service_time_s(typical_s: float, startup_s: float, tail_index: float) -> float:
    """Least time that an attempt works after it has started up; `typical_s` is the geometric mean of both together.

    Source: Redundancy and relaunch, section II: b, which a task takes times a Pareto slowdown from 1 upwards.

    >>> round(service_time_s(0.1 + 2.0 * exp(1.0 / 1.5), startup_s=0.1, tail_index=1.5), 9)
    2.0
    """
    return max(typical_s - startup_s, 0.0) * exp(-1.0 / tail_index)


@rule
def mean_time_s(typical_s: float, startup_s: float, tail_index: float) -> float:
    """Mean time of such an attempt, start-up included.

    >>> [round(mean_time_s(2.05, startup_s=0.1, tail_index=tail_index), 2) for tail_index in (1.5, 1.0)]
    [3.1, 15.9]
    """
    tail_index = max(tail_index, LEAST_TAIL)
    least_s = service_time_s(typical_s, startup_s, tail_index)
    return min(startup_s, typical_s) + least_s * tail_index / (tail_index - 1.0)


@kernel
def relative_ages(
    now_s: float,
    attempts: NDArray[Reported],
    attempts_estimated: NDArray[Estimated],
    pools_estimated: NDArray[Estimated],
) -> tuple[Ints, Floats]:
    """Ages of running attempts over what a fresh one would take, of the pools whose tails are reviewed at `now_s`.

    Returns (first, ages): those of a pool are ages[first[pool] : first[pool + 1]].
    """
    first = np.zeros(len(pools_estimated) + 1, dtype=np.int64)
    for attempt in attempts:
        if attempt["alive"] and pools_estimated[attempt["pool"]]["tail_reviewed_s"] == now_s:
            first[attempt["pool"] + 1] += 1
    first = np.cumsum(first)
    ages, place = np.empty(first[-1]), first.copy()
    for row in range(len(attempts)):
        attempt = attempts[row]
        if attempt["alive"] and pools_estimated[attempt["pool"]]["tail_reviewed_s"] == now_s:
            ages[place[attempt["pool"]]] = (now_s - attempt["start_s"]) / attempts_estimated[row]["t_new_s"]
            place[attempt["pool"]] += 1
    return first, ages


def tail_evidence(samples: Floats, finished: Flags, n_largest: int, running: Floats = _NOTHING) -> tuple[int, float]:
    """(ends seen, log-time on test) of the n largest samples and of running attempts, above the next smaller sample.

    Their ratio is Hill's estimate: 1 / mean(ln(X_i / X_(k+1))) when all have finished, and the maximum-
    likelihood estimate for right-censored samples otherwise: a sample that has not finished adds time, but no
    end. Ages below the threshold say nothing about the tail, however many there are.

    >>> samples, finished = np.array([1.0, 2.0, np.e, np.e**2]), np.array([True, True, True, False])
    >>> tail_evidence(samples, finished, n_largest=2, running=np.array([0.5, 2 * np.e]))
    (1, 2.613705638880109)
    """
    largest = np.argpartition(samples, len(samples) - n_largest - 1)[len(samples) - n_largest - 1 :]
    threshold, tail = largest[0], largest[1:]
    log_time = np.log(samples[tail] / samples[threshold]).sum()
    log_time += np.log(running[running > samples[threshold]] / samples[threshold]).sum()
    return int(finished[tail].sum()), float(log_time)


@dataclass(frozen=True, slots=True, kw_only=True)
class TailEstimate:
    """A tail index with its evidence."""

    tail_index: float
    samples: int
    """Durations in the window."""
    standard_error: float
    confidence: float
    """Weight of the samples against the prior's, 0 to 1."""


class TailSamples(Struct, frozen=True):
    """The evidence of a tail index, as stored."""

    samples: list[float] = []
    finished: list[int] = []
    """1 for those that were not ended before their time."""

    def __post_init__(self) -> None:
        if len(self.samples) != len(self.finished):
            raise ValueError("every sample is finished or not")


class TailIndex:
    """Learns one tail index from the latest `window` durations.

    With d ends in a log-time of e among the largest `tail_share`, the estimate is (p + d) / (p / prior + e):
    the mean of the posterior when the prior is worth p = `prior_ends` ends of its own. Without samples it is
    the prior; with many it is Hill's estimate.
    Source: Hopper (SIGCOMM'15), section 7.2, "continually fit"; GRASS (NSDI'14), figure 3, for Hill.
    """

    def __init__(
        self, *, prior: float = 1.5, prior_ends: float = 10.0, window: int = 2048, tail_share: float = 0.1
    ) -> None:
        self.prior, self.prior_ends, self.tail_share = prior, prior_ends, tail_share
        self._sample = np.empty(window)
        self._finished = np.zeros(window, dtype=bool)
        self.seen = 0
        """Samples so far."""
        self._known: TailEstimate | None = None

    @property
    def window(self) -> int:
        """The most samples that count."""
        return len(self._sample)

    def observe(self, normalised_duration: float, finished: bool = True) -> None:
        """Take one attempt's normalised duration; `finished` is False if it was ended before its time."""
        if not 0 < normalised_duration < np.inf:
            return
        row = self.seen % self.window
        self._sample[row], self._finished[row] = normalised_duration, finished
        self.seen += 1
        self._known = None

    def correct(self, number: int, normalised_duration: float) -> None:
        """Correct sample `number`, counted from 0, if it still counts."""
        if self.seen - self.window <= number < self.seen and 0 < normalised_duration < np.inf:
            self._sample[number % self.window] = normalised_duration
            self._known = None

    def estimate(self, running: Floats = _NOTHING) -> TailEstimate:
        """The tail index by all samples, and by the normalised ages of running attempts."""
        if self._known is None or len(running):
            estimate = self._estimate(running[running > 0])
            if len(running):
                return estimate
            self._known = estimate
        return self._known

    def _estimate(self, running: Floats) -> TailEstimate:
        n_ended = min(self.seen, self.window)
        samples, finished = self._sample[:n_ended], self._finished[:n_ended]
        n_largest = int(self.tail_share * n_ended)
        ends, log_time = tail_evidence(samples, finished, n_largest, running) if n_largest else (0, 0.0)
        tail_index = (self.prior_ends + ends) / (self.prior_ends / self.prior + log_time)
        return TailEstimate(
            tail_index=tail_index,
            samples=n_ended,
            standard_error=tail_index / np.sqrt(self.prior_ends + ends),
            confidence=ends / (self.prior_ends + ends),
        )

    def dump(self) -> TailSamples:
        """Its evidence, oldest sample first."""
        n_ended = min(self.seen, self.window)
        oldest_first = np.roll(np.arange(n_ended), -(self.seen % n_ended) if n_ended else 0)
        return TailSamples(
            samples=np.round(self._sample[oldest_first], 6).tolist(),
            finished=self._finished[oldest_first].astype(int).tolist(),
        )

    def load(self, stored: TailSamples) -> None:
        """Recall the output of `dump`; if there are more samples than the window holds, the latest stay."""
        for sample, finished in zip(stored.samples, stored.finished, strict=True):
            self.observe(sample, bool(finished))


class Siblings:
    """A stage's ended attempts as samples of the tail: at first over those that ended before, in the end over all.

    Tasks that start at once end in order of their durations. Over those before them alone, the middle ones would
    look as if they were nearly as long as the longest, and the tail lighter than it is.
    """

    def __init__(self, tail: TailIndex) -> None:
        self._tail = tail
        self._latest = deque[tuple[int, float, bool]](maxlen=tail.window)
        """(number of its sample, log of its duration, whether it finished)."""
        self._n_finished, self._log_sum = 0, 0.0

    def observe(self, duration: float, finished: bool = True, *, is_sample: bool = True) -> None:
        """Add one more duration, in a unit that siblings share; the first one is no sample.

        One that has been a sample before, like those that survive a restart, is only compared with.
        """
        log_duration = log(duration)
        if self._n_finished and is_sample:
            self._latest.append((self._tail.seen, log_duration, finished))
            self._tail.observe(exp(log_duration - self._log_sum / self._n_finished), finished)
        if finished:
            self._n_finished += 1
            self._log_sum += log_duration

    def settle(self) -> None:
        """All have ended: compare each with all the others."""
        for number, log_duration, finished in self._latest:
            others_sum = self._log_sum - log_duration * finished
            self._tail.correct(number, exp(log_duration - others_sum / (self._n_finished - finished)))
