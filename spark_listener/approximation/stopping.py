"""When does a bounded action stop, and which of the partitions that it has seen are a random sample?

Those that end first are no random sample, even if they start in a random order: short ones are ahead. So a sample is
fixed by what does not depend on how long its own partitions take, and counts only if all of them have ended.

With an error bound it is drawn before the job starts, which runs nothing else. With a deadline it is as many, of the
random order, as have started by half of it: whether a partition is among them depends on those before it alone (a
stopping time, so Wald's identity holds). If one of them has not ended at the deadline, there is no sample: such a call
is one without an interval, not one with a wrong interval. Where that is likely, only the calls whose partitions happen
to be short would have intervals; so there is no sample either unless two thirds of what has started by half have ended,
nor of a query with fewer than `LEAST_PARTITIONS`, which seldom has three waves by then.
"""

from __future__ import annotations

import math
import random
from collections.abc import Container
from dataclasses import dataclass
from datetime import timedelta

from spark_listener.bounds import DEADLINE, ERROR_BOUND, milliseconds, share_text

DRAWN_AFTER = 0.5
"""The share of a deadline after which it is settled how many partitions are the sample."""
LEAST_ENDED = 2 / 3
"""The share of those that must have ended by then: three waves of partitions, or so, have started."""

LEAST_PARTITIONS = 80
"""Fewer give no sample by a deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Until when a job goes on. Exactly one of `within_s` and `error` binds."""

    within_s: float = math.inf
    """From the call on."""
    error: float = 0.0
    """The share of the partitions that may be left out."""
    is_random: bool = False
    """Whether partitions start in a random order, for the sake of a sample."""
    seed: int | None = None

    def order(self, partitions: int) -> tuple[int, ...]:
        """The partitions that the job runs, in the order in which they start."""
        if not self.is_random:
            return tuple(range(partitions))
        shuffled = random.Random(self.seed).sample(range(partitions), partitions)  # noqa: S311  # no secret
        return tuple(shuffled[: needed(partitions, self.error)])

    def is_met(self, *, seen: int, partitions: int, elapsed_s: float) -> bool:
        """Whether the job is to stop before it ends by itself, with all partitions or with those that were drawn."""
        enough = needed(partitions, self.error)
        return elapsed_s >= self.within_s or (not self.is_random and enough <= seen < partitions)

    def properties(self, elapsed_s: float) -> dict[str, str | None]:
        """The local properties of the job that starts now; None removes one.

        A random order is left alone by speculators, and all of a sample is needed: such a job has no bound for them.
        """
        left_ms = max(math.ceil(1000 * (self.within_s - elapsed_s)), 1) if self.within_s < math.inf else None
        is_steered = not self.is_random
        return {
            DEADLINE: f"{left_ms}ms" if is_steered and left_ms else None,
            ERROR_BOUND: share_text(self.error, name="error") if is_steered and self.error else None,
        }

    def draws_at_s(self) -> float:
        """When it is settled how many partitions are the sample; inf if from the start, or if there is none."""
        return DRAWN_AFTER * self.within_s if self.is_random else math.inf


def bound(*, deadline: str | timedelta | None, error: float | None, sample: bool, seed: int | None) -> Bound:
    """The bound that a user asks for.  Raises ValueError, which names the argument."""
    if (deadline is None) == (error is None):
        raise ValueError(f"approximate: got deadline={deadline!r} and error={error!r}, want exactly one of them")
    if seed is not None and not sample:
        raise ValueError(f"seed: got {seed!r}, want it with sample=True only")
    if deadline is not None:
        return Bound(within_s=milliseconds(deadline) / 1000, is_random=sample, seed=seed)
    assert error is not None
    return Bound(error=float(share_text(error, name="error")), is_random=sample, seed=seed)


def needed(partitions: int, error: float) -> int:
    """How many partitions meet an error bound, which is given to the millionth.

    Source: GRASS (NSDI'14), Pseudocode 2, line 5, of all partitions and rounded up, so that the bound holds.

    >>> needed(10, 0.1), needed(6, 0.4), needed(10, 0.0), needed(3, 0.999999), needed(0, 0.5)
    (9, 4, 10, 1, 0)
    """
    return partitions - partitions * round(1_000_000 * error) // 1_000_000


def drawn_by(started: int, ended: int, partitions: int) -> int:
    """How many partitions are the sample of a deadline, by those that have started and ended after `DRAWN_AFTER` of it.

    >>> [drawn_by(started=24, ended=ended, partitions=80) for ended in (16, 15)], drawn_by(24, 16, partitions=79)
    ([24, 0], 0)
    """
    return started if partitions >= LEAST_PARTITIONS and ended >= LEAST_ENDED * started else 0


def sampled(order: tuple[int, ...], drawn: int, seen: Container[int]) -> tuple[int, ...]:
    """The first `drawn` partitions of a random order, if all have been seen; else none.

    >>> sampled((2, 0, 1), 2, {0, 2}), sampled((2, 0, 1), 2, {0, 1})
    ((2, 0), ())
    """
    first = order[:drawn]
    return first if all(partition in seen for partition in first) else ()
