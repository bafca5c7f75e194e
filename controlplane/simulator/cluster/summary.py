"""What came out of a run of the simulated cluster? Means over the jobs that count, by size, and shares of the slots."""

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from controlplane.model.columns import Floats, Ints
from controlplane.simulator.cluster.bounds import kept
from controlplane.simulator.cluster.phases import JobResults
from controlplane.simulator.cluster.world import Workload
from controlplane.simulator.statistics import QUANTILES, estimate

BINS = ((1, 50), (51, 150), (151, 500), (501, 10**9), (2, 10**9))
"""Job sizes, in tasks of all phases, that results are told by; the last are all jobs of more than one task."""
COUNTED = (0.05, 0.95)
"""Jobs that count: neither those that found the cluster empty nor those that ran while it emptied."""
BATCHES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterBin:
    """Counted jobs of from_tasks to to_tasks tasks."""

    from_tasks: int
    to_tasks: int
    jobs: int
    response_s: float
    on_time_share: float
    accuracy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSummary:
    """One run. Means are over counted jobs."""

    jobs: int
    response_s: float
    response_error_s: float
    """By batches of consecutive jobs; heavy tails make it a rough one."""
    on_time_share: float
    """Of jobs with a deadline, those that have kept it; nan where none has one."""
    accuracy: float
    """Share of a first phase's tasks that were done, of jobs with a bound."""
    slowdown: float
    """Response time over the job's ideal time, see `ideal_s`."""
    slowdown_quantiles: tuple[float, ...]
    """Its tail, at the shares `statistics.QUANTILES`."""
    cost_s: float
    """Slot time of a job."""
    busy_share: float
    """Measured, from the first counted arrival to the last, clean-up included."""
    copy_share: float
    """Share of all slots that copies held."""
    copies_per_task: float
    won_share: float
    """Of copies, those that ended their task."""
    restarts_per_task: float
    """Tasks that were started anew, the old attempt killed."""
    short_share: float
    """Of jobs, those that arrived while virtual sizes, theirs included, exceeded the slots (Hopper's Guideline 2)."""
    local_share: float
    """Of originals of first phases, those on a machine with their input; 1 where all machines have it."""
    finished: bool
    """Whether the run went to its end; a growing queue runs out of room."""
    events: int
    cycles: int
    bins: tuple[ClusterBin, ...]


def gain(ours_s: float, theirs_s: float) -> float:
    """By how much shorter, as a share; negative for longer.

    >>> gain(3.0, 4.0)
    0.25
    """
    return 1.0 - ours_s / theirs_s


def tasks_of(work: Workload) -> Ints:
    """Tasks of each job, over all its phases."""
    return np.add.reduceat(work.phase_tasks, work.first_phase[:-1])


def ideal_s(work: Workload, launch_s: float) -> Floats:
    """What each job takes at least: all tasks of a phase at once and none of them slow, its output moved in no time."""
    return np.diff(work.first_phase) * (work.service_s + launch_s)


def window_of(work: Workload) -> Floats:
    """The time from the first counted job's arrival to the last one's, (from, to)."""
    rows = counted_rows(len(work.arrival_s))
    return work.arrival_s[[rows.start, rows.stop - 1]]


def counted_rows(jobs: int) -> slice:
    """The jobs that count, by COUNTED."""
    first = int(COUNTED[0] * jobs)
    return slice(first, max(int(COUNTED[1] * jobs), first + 1))


def summary(
    work: Workload, results: JobResults, counts: Any, *, slots: int, launch_s: float, finished: bool
) -> ClusterSummary:
    """The numbers of a run, by its jobs' results and what was counted in it."""
    slowdown, window_s = results.response_s / ideal_s(work, launch_s), window_of(work)
    rows = counted_rows(len(work.arrival_s))
    tasks, response_s = tasks_of(work)[rows], results.response_s[rows]
    known = ~np.isnan(response_s)
    slowdown = slowdown[rows][known]
    batches = [float(np.nanmean(part)) for part in np.array_split(response_s, BATCHES) if not np.isnan(part).all()]
    on_time, accuracy = (each[rows][known] for each in kept(work, results))
    window_slot_s = slots * float(window_s[1] - window_s[0])
    return ClusterSummary(
        jobs=int(known.sum()),
        response_s=_mean(response_s[known]),
        response_error_s=estimate(batches).error if batches else nan,
        on_time_share=_mean(on_time),
        accuracy=_mean(accuracy),
        slowdown=_mean(slowdown),
        slowdown_quantiles=tuple(
            np.quantile(slowdown, QUANTILES).tolist() if len(slowdown) else [nan] * len(QUANTILES)
        ),
        cost_s=_mean(results.cost_s[rows][known]),
        busy_share=float(counts["busy_s"]) / window_slot_s if window_slot_s > 0 else nan,
        copy_share=float(counts["copy_s"]) / window_slot_s if window_slot_s > 0 else nan,
        copies_per_task=float(counts["launched"] / work.phase_tasks.sum()),
        won_share=float(counts["won"] / max(counts["launched"], 1)),
        restarts_per_task=float(counts["restarted"] / work.phase_tasks.sum()),
        short_share=float(results.met_short[rows].mean()),
        local_share=float(counts["local"] / counts["inputs"]) if counts["inputs"] else 1.0,
        finished=bool(finished),
        events=int(counts["events"]),
        cycles=int(counts["cycles"]),
        bins=tuple(
            ClusterBin(
                from_tasks=low,
                to_tasks=high,
                jobs=int(chosen.sum()),
                response_s=_mean(response_s[known][chosen]),
                on_time_share=_mean(on_time[chosen]),
                accuracy=_mean(accuracy[chosen]),
            )
            for low, high in BINS
            for chosen in [(tasks[known] >= low) & (tasks[known] <= high)]
        ),
    )


def _mean(values: Floats) -> float:
    """Of the known ones."""
    known = values[~np.isnan(values)]
    return float(np.mean(known)) if len(known) else nan
