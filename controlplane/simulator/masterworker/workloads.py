"""Which jobs come, and when? Endless job streams, made in blocks so that any number of jobs takes little memory."""

from dataclasses import dataclass, fields
from math import inf
from typing import Protocol

import numpy as np

from controlplane.model.columns import Floats, Ints
from controlplane.policies.redundancy.theory.system import System, arrival_rate, job_size_shares

BLOCK = 1 << 13
"""Jobs made at once. A stream is a function of its seed and of this number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """Consecutive jobs as columns of shape (n_jobs,)."""

    gap_s: Floats
    """Time since the job before arrived."""
    tasks: Ints
    task_slots: Ints
    """Slots of one node that each of the job's tasks takes."""
    service_s: Floats
    """What each of the job's tasks takes at least."""
    estimated_s: Floats
    """What the master takes that for."""

    def rows(self, low: int, high: int) -> "Jobs":
        """Some of them, one after the other."""
        return Jobs(**{column.name: getattr(self, column.name)[low:high] for column in fields(self)})


class Stream(Protocol):
    """Jobs without end: block 0, block 1, ..., each of BLOCK jobs, and the same again for the same seed."""

    def block(self, seed: int, number: int) -> Jobs:
        """The block of this number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipfParetoStream:
    """Poisson arrivals, Zipf numbers of tasks, Pareto service times, truncated if the system says so.

    Source: Redundancy and relaunch, section II; section VI for service times that are known roughly.
    """

    system: System
    offered_load: float
    service_noise: float = 0.0
    """Standard deviation of the logarithm of estimated over true service time."""

    def block(self, seed: int, number: int) -> Jobs:
        """The block of this number, each column from a stream of chance of its own."""

        def stream(column: int) -> np.random.Generator:
            return np.random.default_rng([seed, number, column])

        shares, most_slots = np.cumsum(job_size_shares(self.system)), self.system.max_task_slots
        service_s = pareto_s(self.system, stream(2).random(BLOCK))
        estimated_s = service_s
        if self.service_noise:
            estimated_s = service_s * stream(4).lognormal(0.0, self.service_noise, BLOCK)
        return Jobs(
            gap_s=stream(0).exponential(1.0 / arrival_rate(self.system, self.offered_load), BLOCK),
            tasks=1 + np.minimum(np.searchsorted(shares, stream(1).random(BLOCK), side="right"), len(shares) - 1),
            task_slots=1 + (stream(3).integers(0, most_slots, BLOCK) if most_slots > 1 else np.zeros(BLOCK, np.int64)),
            service_s=service_s,
            estimated_s=estimated_s,
        )


def pareto_s(system: System, share: Floats) -> Floats:
    """The service times that these shares of all jobs fall below, as numbers in [0, 1).

    >>> pareto_s(System(), np.array([0.0, 0.875]))
    array([10., 20.])
    """
    tail_index, least_s, most_s = system.service_tail_index, system.min_service_s, system.max_service_s
    kept = 1.0 - (least_s / most_s) ** tail_index if most_s < inf else 1.0
    return least_s * (1.0 - kept * share) ** (-1.0 / tail_index)
