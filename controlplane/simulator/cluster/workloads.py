"""Which jobs come to the simulated cluster, in which order? Synthetic ones, Facebook's trace, and a Bing-like law.

A source gives jobs by seed; their arrivals matter by proportion only, since a scenario speeds them up to its load. All
tasks of a job have one service time; the factors on it are `world`'s.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from importlib.resources import files
from math import inf
from pathlib import Path
from typing import Protocol

import numpy as np

from controlplane.model.columns import Floats, Ints
from controlplane.model.errors import BadSetting
from controlplane.simulator.cluster.world import Workload
from controlplane.swim_trace import BLOCK_BYTES, TraceJob, blocks, parse_trace

FACEBOOK_2009 = "FB-2009_samples_24_times_1hr_0.tsv"


class Source(Hashable, Protocol):
    """A frozen, hashable description of jobs."""

    def workload(self, seed: int, jobs: int) -> Workload:
        """So many jobs; the same for the same seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic:
    """Hopper's synthetic jobs: Poisson arrivals, Pareto numbers of tasks between bounds, one mean task time for all.

    `phases` are equally large on average, as are the tasks of all phases together for every number of phases.
    """

    size_tail_index: float = 1.1
    least_tasks: int = 5
    most_tasks: int = 1500
    service_s: float = 1.0
    phases: int = 1
    transfer_ratio: float = 0.0
    burst_jobs: float = 1.0
    """Mean number of jobs that arrive at once, a geometric one."""
    weights: tuple[float, ...] = (1.0,)
    """A job has any of them, each equally likely."""

    def __post_init__(self) -> None:
        """Raises BadSetting where there is no weight, or one that no share can be made of."""
        if not self.weights or not all(0.0 < one < inf for one in self.weights):
            raise BadSetting("weights", got=self.weights, want="numbers above 0")

    def workload(self, seed: int, jobs: int) -> Workload:
        """Job sizes by the quantile function of the bounded Pareto law."""
        arrivals, sizes, weights, bursts = (np.random.default_rng([seed, column]) for column in range(4))
        gap_s = arrivals.exponential(1.0, jobs) * (bursts.random(jobs) * self.burst_jobs < 1.0)
        tasks = bounded_pareto(self.size_tail_index, self.least_tasks, self.most_tasks, sizes.random(jobs))
        each = np.maximum(np.rint(tasks / self.phases).astype(np.int64), 1)
        return workload(
            arrival_s=np.cumsum(gap_s),
            service_s=np.full(jobs, self.service_s),
            phases=np.full(jobs, self.phases),
            phase_tasks=np.repeat(each, self.phases),
            transfer_ratio=self.transfer_ratio,
        )._replace(weight=weights.choice(np.asarray(self.weights, dtype=float), jobs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Facebook:
    """Successive jobs of Facebook's 2009 trace (SWIM), from a start that the seed chooses, with a model of their tasks.

    The trace has arrivals and bytes. Added: a map task for each 128 MiB of input; a second phase where bytes are
    shuffled, with a task for each 128 MiB of them, and the shuffled bytes over the input as transfer ratio, at most
    `most_transfer_ratio`; one service time for every task.
    """

    most_tasks: int | None = None
    """Of a phase; None for as many as its bytes make, 65,730 at most."""
    most_transfer_ratio: float = 2.0
    service_s: float = 1.0
    trace: str = ""
    """Path of another SWIM file; that of 2009 if empty."""

    def workload(self, seed: int, jobs: int) -> Workload:
        """Raises ValueError if the file is no SWIM trace."""
        rows = self._rows(seed, jobs)
        maps, reduces = self._tasks([row.map_input_bytes for row in rows]), self._tasks([r.shuffle_bytes for r in rows])
        has_reduce = np.array([row.shuffle_bytes > 0 for row in rows])
        moved = np.array([row.shuffle_bytes / max(row.map_input_bytes, BLOCK_BYTES) for row in rows])
        submit_s = np.array([row.submit_s for row in rows], dtype=float)
        gap_s = np.diff(submit_s, prepend=submit_s[0])
        pairs = np.stack([maps, reduces], axis=1)
        return workload(
            arrival_s=np.cumsum(np.maximum(gap_s, 0.0)),
            service_s=np.full(len(rows), self.service_s),
            phases=1 + has_reduce,
            phase_tasks=pairs[np.stack([np.ones(len(rows), dtype=bool), has_reduce], axis=1)],
            transfer_ratio=np.minimum(moved, self.most_transfer_ratio),
        )

    def _rows(self, seed: int, jobs: int) -> list[TraceJob]:
        """Successive rows; past the last one it goes on with the first."""
        rows = facebook_trace(self.trace)
        first = int(np.random.default_rng(seed).integers(len(rows)))
        return [rows[(first + at) % len(rows)] for at in range(jobs)]

    def _tasks(self, n_bytes: list[int]) -> Ints:
        return np.minimum([blocks(one) for one in n_bytes], self.most_tasks or inf).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Jobs of one phase that are all there at 0, by what each of their tasks' originals takes; copies take `copy_s`.

    For a scenario without factors, whose slowdown tail index is infinite.
    """

    original_s: tuple[tuple[float, ...], ...]
    copy_s: float

    def workload(self, seed: int, jobs: int) -> Workload:
        """The first `jobs` of them."""
        sizes = np.array([len(one) for one in self.original_s[:jobs]])
        work = workload(
            arrival_s=np.zeros(jobs),
            service_s=np.full(jobs, self.copy_s),
            phases=np.ones(jobs, dtype=np.int64),
            phase_tasks=sizes,
        )
        return work._replace(
            original_s=np.concatenate([np.array(one, dtype=float) for one in self.original_s[:jobs]]),
            first_original=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        )


def facebook_trace(path: str = "") -> list[TraceJob]:
    """All jobs of a SWIM file, that of 2009 if none is named. Raises ValueError if the file is no SWIM trace."""
    return parse_trace(trace_path(path).read_text())


def trace_path(path: str = "") -> Path:
    """Where a SWIM file lies, that of 2009 if none is named."""
    return Path(path) if path else Path(str(files("spark_listener"))) / "traces" / FACEBOOK_2009


def bing_like(phases: int = 4) -> Synthetic:
    """A synthetic stand-in for Bing's trace, which is not public: several phases, sizes spread wide, and bursts.

    Source: Hopper (SIGCOMM'15), section 7.2, says only that small and large jobs differ more in size. All else is ours;
    without bursts slots are seldom short, and it makes no difference where copies stand in the queue.
    """
    return Synthetic(
        size_tail_index=0.9, least_tasks=2, most_tasks=3000, phases=phases, transfer_ratio=0.5, burst_jobs=30.0
    )


def bounded_pareto(tail_index: float, least: int, most: int, share: Floats) -> Ints:
    """Whole numbers that these shares of all draws fall below.

    >>> bounded_pareto(1.0, 10, 1000, np.array([0.0, 0.5, 1.0]))
    array([  10,   19, 1000])
    """
    kept = 1.0 - (least / most) ** tail_index
    return np.clip(np.floor(least * (1.0 - kept * share) ** (-1.0 / tail_index) + 1e-9), least, most).astype(np.int64)


def workload(
    arrival_s: Floats, service_s: Floats, phases: Ints, phase_tasks: Ints, transfer_ratio: Floats | float = 0.0
) -> Workload:
    """Jobs of equal weight, without bounds, whose originals' durations are drawn."""
    n_jobs = len(arrival_s)
    return Workload(
        arrival_s=np.asarray(arrival_s, dtype=float),
        service_s=np.asarray(service_s, dtype=float),
        weight=np.ones(n_jobs),
        transfer_ratio=np.broadcast_to(np.asarray(transfer_ratio, dtype=float), n_jobs).copy(),
        first_phase=np.concatenate([[0], np.cumsum(phases)]).astype(np.int64),
        phase_tasks=np.asarray(phase_tasks, dtype=np.int64),
        original_s=np.zeros(0),
        first_original=np.zeros(n_jobs + 1, dtype=np.int64),
        deadline_s=np.full(n_jobs, inf),
        input_deadline_s=np.full(n_jobs, inf),
        error_bound=np.zeros(n_jobs),
    )
