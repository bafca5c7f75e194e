"""What did jobs achieve that ran wholly under one of two policies? The samples by which GRASS switches between them.

A sample is a curve. That of a job with a deadline says how many waves of its input it had done after 0.5, 1, 1.5 ...
task times; that of any other job, how many task times its first 0.5, 1, 1.5 ... waves took. A task time is what an
attempt usually takes; a wave is as many tasks as the job has held slots on average. Jobs of a bucket are alike in
whether they have a deadline, in size, in the pool's utilization and in the error of its estimates; their curves are
averaged.
Source: GRASS (NSDI'14), sections 4.1 and 4.2.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from controlplane.compiled import kernel, rule
from controlplane.estimators.stored import NotNegative, fit
from controlplane.model.columns import Floats

PER_WAVE, POINTS = 2, 24
"""Points of a curve: two a wave, up to twelve waves."""
LEARNED, FIRST, SECOND = range(3)
"""Under which policy a job has run: that which goes by the samples, or wholly under one of the two it goes between."""
POLICIES, SIZES, UTILIZATIONS, ACCURACIES = 3, 3, 3, 3
BUCKETS = 2 * SIZES * UTILIZATIONS * ACCURACIES
LENGTH = BUCKETS * POLICIES * 2 * POINTS
"""Numbers of all samples: by bucket and policy the weights of the points, and the sums of the curves."""
KEPT_OF_OLD = 0.98
"""Weight left to all earlier jobs of a bucket when one more is seen: about the last fifty count."""
MEDIUM, LARGE = 50, 501
"""Tasks from which a job counts as one of medium size, and as a large one; the paper's bins leave 50 to neither."""
BUSY, FULL = 0.5, 0.9
"""Shares of the slots from which a pool counts as busy, and as full."""
FAIR, POOR = 0.2, 0.5
"""Mean absolute log errors above which estimates count as fair, and as poor."""

N_ENDS, TASK_S, USED, ENDS = range(4)
RUN_LENGTH = ENDS + POINTS
"""A job's tally: how many tasks of its input have ended, sums of the typical time of a task and of the pool's
utilization over them, and how many of them ended up to each point, after the one before."""

Points = Annotated[list[NotNegative], Meta(min_length=2 * POINTS, max_length=2 * POINTS)]


@rule
def size_level(tasks: int) -> int:
    """How large a job is, 0 to 2.

    >>> [size_level(tasks) for tasks in (49, 50, 501)]
    [0, 1, 2]
    """
    return int(tasks >= MEDIUM) + int(tasks >= LARGE)


@rule
def bucket(has_deadline: bool, tasks: int, utilization: int, accuracy: int) -> int:
    """The number of a bucket.

    >>> bucket(False, 49, 0, 0), bucket(False, 50, 0, 0), bucket(True, 501, 2, 2) == BUCKETS - 1
    (0, 9, True)
    """
    return ((int(has_deadline) * SIZES + size_level(tasks)) * UTILIZATIONS + utilization) * ACCURACIES + accuracy


def unpacked(row: int) -> tuple[int, ...]:
    """What a row of a dump is of: 1 with a deadline; size, utilization and accuracy, each 0 to 2; the policy.

    >>> unpacked(place_of(bucket(True, 60, 2, 0), SECOND) // (2 * POINTS))
    (1, 1, 2, 0, 2)
    """
    return tuple(int(part) for part in np.unravel_index(row, (2, SIZES, UTILIZATIONS, ACCURACIES, POLICIES)))


@rule
def utilization_level(share: float) -> int:
    """How busy a pool is, 0 to 2, by the share of its slots that are taken or wanted.

    >>> [utilization_level(share) for share in (0.49, 0.5, 1.0)]
    [0, 1, 2]
    """
    return int(share >= BUSY) + int(share >= FULL)


@rule
def accuracy_level(error: float) -> int:
    """How poor the estimates of a pool are, 0 to 2, by their mean absolute log error.

    >>> [accuracy_level(error) for error in (0.2, 0.3, 0.6)]
    [0, 1, 2]
    """
    return int(error > FAIR) + int(error > POOR)


@rule
def place_of(bucket: int, policy: int) -> int:
    """Where the weights of a bucket's points begin in the samples; their sums follow.

    >>> place_of(BUCKETS - 1, SECOND) + 2 * POINTS == LENGTH
    True
    """
    return (bucket * POLICIES + policy) * 2 * POINTS


@rule
def count_end(run: Floats, age_s: float, task_s: float, used: float) -> None:
    """Count a task of a job's input, which has ended `age_s` after the job came, in its tally.

    `task_s` is what a fresh attempt usually takes, and `used` the share of the pool's slots that are taken or wanted.
    """
    run[N_ENDS] += 1.0
    run[TASK_S] += task_s
    run[USED] += used
    point = math.ceil(age_s / task_s * PER_WAVE) - 1.0
    if point < POINTS:
        run[ENDS + max(int(point), 0)] += 1.0


@kernel
def add_sample(
    samples: Floats, run: Floats, policy: int, deadline_s: float, tasks: int, error: float, age_s: float, slot_s: float
) -> None:
    """Take in a job whose input is over, `age_s` after it came, by its tally; nothing if no task of it has ended.

    `deadline_s` from its arrival on; `slot_s` is the slot time that it has used; the error is the pool's.
    """
    if not (run[N_ENDS] > 0.0 and age_s > 0.0 and slot_s > 0.0):
        return
    task_s, width = run[TASK_S] / run[N_ENDS], slot_s / age_s
    has_deadline, used = deadline_s < math.inf, run[USED] / run[N_ENDS]
    at = place_of(bucket(has_deadline, tasks, utilization_level(used), accuracy_level(error)), policy)
    done, next_point = 0.0, 0
    for point in range(POINTS):
        ends = run[ENDS + point]
        if has_deadline:
            if (point + 1.0) / PER_WAVE * task_s > min(deadline_s, age_s):
                return
            add_value(samples, at + point, (done + ends) / width)
        while not has_deadline and next_point < POINTS and done + ends >= (next_point + 1.0) / PER_WAVE * width:
            part = ((next_point + 1.0) / PER_WAVE * width - done) / ends
            add_value(samples, at + next_point, (point + part) / PER_WAVE)
            next_point += 1
        done += ends


@rule
def add_value(samples: Floats, at: int, value: float) -> None:
    """One more value of the point whose weight stands at `at`."""
    samples[at] = KEPT_OF_OLD * samples[at] + 1.0
    samples[at + POINTS] = KEPT_OF_OLD * samples[at + POINTS] + value


@rule
def value_at(curve: Floats, waves: float) -> float:
    """A curve's value between its points, 0 at the origin; nan beyond the last one.

    >>> curve = np.full(POINTS, np.nan)
    >>> curve[:2] = 1.0, 3.0
    >>> [float(value_at(curve, waves)) for waves in (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)]
    [0.0, 0.5, 1.0, 2.0, 3.0, nan]
    """
    place = waves * PER_WAVE
    if not 0.0 <= place <= POINTS:
        return math.nan
    low = int(place)
    before = curve[low - 1] if low > 0 else 0.0
    return before if place == low else before + (place - low) * (curve[low] - before)


def shown(samples: Floats) -> Floats:
    """The same numbers, read only: they change as samples are taken."""
    seen = samples.view()
    seen.flags.writeable = False
    return seen


NO_SAMPLES = shown(np.zeros(LENGTH))


@dataclass(slots=True)
class Tally:
    """What a running job has achieved so far."""

    policy: int
    """The one that it tries, or -1 once it has had several: then it is no sample of any."""
    tasks: int = 0
    """The most that its open stages have had."""
    slot_s: float = 0.0
    age_s: float = 0.0
    """From the job's arrival to the last end of a task of its input."""
    run: Floats = field(default_factory=lambda: np.zeros(RUN_LENGTH))

    def task_ended(self, age_s: float, task_s: float, used: float) -> None:
        """See `count_end`."""
        self.age_s = max(age_s, self.age_s)
        count_end(self.run, age_s, task_s, used)


class Samples:
    """The samples of all pools, and the tallies of running jobs, by source and job."""

    def __init__(self) -> None:
        self.values: Floats = np.zeros(LENGTH)
        self._tallies: dict[tuple[str, str], Tally] = {}

    @property
    def seen(self) -> Floats:
        """The samples as policies see them, shape (LENGTH,), read only."""
        return shown(self.values)

    def tally(self, job: tuple[str, str], policy: int, tasks: int) -> Tally:
        """The tally of a job that has this policy, and so many tasks in open stages, by now."""
        tally = self._tallies.setdefault(job, Tally(policy))
        tally.policy, tally.tasks = policy if policy == tally.policy else -1, max(tasks, tally.tasks)
        return tally

    def job_ended(self, job: tuple[str, str], deadline_s: float, error: float) -> None:
        """Make a sample of a job, see `add_sample`, and forget its tally."""
        one = self._tallies.pop(job, None)
        if one is not None and one.policy >= 0:
            add_sample(self.values, one.run, one.policy, deadline_s, one.tasks, error, one.age_s, one.slot_s)

    def forget(self, sources: Collection[str]) -> None:
        """Jobs of these sources become no samples."""
        if sources:
            self._tallies = {job: tally for job, tally in self._tallies.items() if job[0] not in sources}

    def dump(self) -> dict[str, list[float]]:
        """JSON-able state, the weights and sums of every bucket and policy that has any, by number."""
        rows = self.values.reshape(-1, 2 * POINTS)
        return {str(row): rows[row].tolist() for row in np.flatnonzero(rows.any(axis=1)).tolist()}

    def load(self, state: Mapping[str, Any]) -> list[str]:
        """Recall the output of `dump`, but for what was learned since; returns the unusable parts."""
        stored, left_out = fit(state, Points)
        rows = self.values.reshape(-1, 2 * POINTS)
        for name, points in stored.items():
            if not (name.isdecimal() and int(name) < len(rows)):
                left_out.append(name)
            elif not rows[int(name)].any():
                rows[int(name)] = points
        return left_out
