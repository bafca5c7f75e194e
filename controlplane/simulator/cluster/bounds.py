"""Which of the simulated jobs have a deadline, which an error bound, and which of them keep it?"""

from dataclasses import dataclass
from math import inf, isfinite, nan

import numpy as np

from controlplane.model.columns import Floats
from controlplane.model.errors import BadSetting
from controlplane.simulator.cluster.phases import JobResults
from controlplane.simulator.cluster.world import Workload

SLACKS, ERRORS = 4, 5
"""Streams of a seed's draws; those before are the workload's."""
ROUNDING = 1e-9
STOCK = "fifo+stock-mapreduce"
"""Deadlines may be multiples of the response times under these policies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Every job's deadline and error bound; none by default. Raises BadSetting, naming the field.

    Source: GRASS (NSDI'14), section 6.1, which takes 2 to 20 % more than the ideal time, and bounds of 5 to 30 %;
    Shed+, section VI.A, which goes by the median time of Hadoop's jobs.
    """

    deadline_s: float = inf
    """Time from its arrival within which a job must end; infinite for none."""
    stock_times: float | None = None
    """In its place: this many times the median response time of the same jobs under `STOCK`, without bounds."""
    slack: tuple[float, float] | None = None
    """In its place: a job's deadline is its ideal time and a share of it more, evenly drawn between these two."""
    ideal_slots: int = 10**9
    """Slots on which the ideal time's waves run, each task taking its job's median."""
    error: tuple[float, float] = (0.0, 0.0)
    """Share of a first phase's tasks that may stay undone, evenly drawn between these two."""
    gives_up: bool = False
    """Whether a job gives up, at its deadline, the tasks of its first phase that are not done. Later ones run whole."""

    def __post_init__(self) -> None:
        if not self.deadline_s > 0:
            raise BadSetting("bounds.deadline_s", got=self.deadline_s, want="more than 0")
        if isfinite(self.deadline_s) + (self.stock_times is not None) + (self.slack is not None) > 1:
            raise BadSetting("bounds", got=self, want="one of deadline_s, stock_times and slack")
        if self.stock_times is not None and not 0 < self.stock_times < inf:
            raise BadSetting("bounds.stock_times", got=self.stock_times, want="more than 0")
        if self.slack is not None and not -1.0 < self.slack[0] <= self.slack[1] < inf:
            raise BadSetting("bounds.slack", got=self.slack, want="two shares above -1, the lower one first")
        if self.ideal_slots < 1:
            raise BadSetting("bounds.ideal_slots", got=self.ideal_slots, want="at least 1")
        if not 0.0 <= self.error[0] <= self.error[1] < 1.0:
            raise BadSetting("bounds.error", got=self.error, want="two shares from 0 to below 1, the lower one first")
        if self.gives_up and not self.has_deadlines:
            raise BadSetting("bounds.gives_up", got=True, want="false without deadlines")

    @property
    def has_deadlines(self) -> bool:
        """Whether jobs have a deadline."""
        return isfinite(self.deadline_s) or self.stock_times is not None or self.slack is not None

    @property
    def any(self) -> bool:
        """Whether jobs have a bound."""
        return self.has_deadlines or self.error[1] > 0


def with_bounds(work: Workload, bounds: Bounds, seed: int, median_s: Floats) -> Workload:
    """The seed's bounds of these jobs, whose tasks have these medians, (n_jobs,).

    Later phases' ideal time is taken off the deadline of a job's first one.
    Source: GRASS (NSDI'14), sections 5.2 and 6.1.
    """
    if not bounds.any:
        return work
    n_jobs = len(median_s)
    waves = np.ceil(work.phase_tasks / bounds.ideal_slots)
    ideal_s = np.add.reduceat(waves, work.first_phase[:-1]) * median_s
    later_s = ideal_s - waves[work.first_phase[:-1]] * median_s
    deadline_s = np.full(n_jobs, bounds.deadline_s)
    if bounds.slack is not None:
        deadline_s = ideal_s * (1.0 + np.random.default_rng([seed, SLACKS]).uniform(*bounds.slack, n_jobs))
    error_bound = np.random.default_rng([seed, ERRORS]).uniform(*bounds.error, n_jobs)
    return work._replace(deadline_s=deadline_s, input_deadline_s=deadline_s - later_s, error_bound=error_bound)


def kept(work: Workload, results: JobResults) -> tuple[Floats, Floats]:
    """Whether each job has kept its deadline, 1 or 0, and the share of its first phase's tasks that it has done.

    Kept is a deadline by which all has been done that the error bound asks for. Both (n_jobs,), nan for jobs without a
    deadline, and without any bound.
    """
    in_time = results.response_s <= work.deadline_s * (1.0 + ROUNDING)
    has_enough = results.done_share >= (1.0 - work.error_bound) * (1.0 - ROUNDING)
    has_deadline = work.deadline_s < inf
    accuracy = np.where(has_deadline | (work.error_bound > 0), results.done_share, nan)
    return np.where(has_deadline, (in_time & has_enough).astype(float), nan), accuracy
