"""Which jobs come, and when? Endless job streams, made in blocks so that any number of jobs takes little memory."""

from dataclasses import dataclass
from math import inf
from typing import Protocol

import numpy as np

from controlplane.model.columns import Floats, Ints
from controlplane.policies.redundancy.system import System, arrival_rate, job_size_shares

BLOCK = 1 << 13
"""Jobs made at once. A stream is a function of its seed and of this number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """Consecutive jobs as columns of shape (n_jobs,)."""

    gap_s: Floats
    """Time since the job before arrived."""
    tasks: Ints
    service_s: Floats
    """What each of the job's tasks takes at least."""


class Stream(Protocol):
    """Jobs without end: block 0, block 1, ..., each of BLOCK jobs, and the same again for the same seed."""

    def block(self, seed: int, number: int) -> Jobs:
        """The block of this number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipfParetoStream:
    """Poisson arrivals, Zipf numbers of tasks, Pareto service times, truncated if the system says so.

    Source: Redundancy and relaunch, section II.
    """

    system: System
    offered_load: float

    def block(self, seed: int, number: int) -> Jobs:
        """The block of this number, from three streams of chance of its own."""
        arrivals, sizes, services = (np.random.default_rng([seed, number, column]) for column in range(3))
        shares = np.cumsum(job_size_shares(self.system))
        return Jobs(
            gap_s=arrivals.exponential(1.0 / arrival_rate(self.system, self.offered_load), BLOCK),
            tasks=1 + np.minimum(np.searchsorted(shares, sizes.random(BLOCK), side="right"), len(shares) - 1),
            service_s=pareto_s(self.system, services.random(BLOCK)),
        )


def pareto_s(system: System, share: Floats) -> Floats:
    """The service times that these shares of all jobs fall below, as numbers in [0, 1).

    >>> pareto_s(System(), np.array([0.0, 0.875]))
    array([10., 20.])
    """
    tail_index, least_s, most_s = system.service_tail_index, system.min_service_s, system.max_service_s
    kept = 1.0 - (least_s / most_s) ** tail_index if most_s < inf else 1.0
    return least_s * (1.0 - kept * share) ** (-1.0 / tail_index)
