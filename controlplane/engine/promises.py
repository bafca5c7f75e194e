"""How likely is each job to meet its deadline, and did it? Each is looked at once a second at most.

The first probability that is known of a job, and the newest one before its deadline, are what it was promised; they are
told when its host says that it has ended.
"""

from collections.abc import Iterator
from math import isnan

import numpy as np

from controlplane.engine import seeing
from controlplane.engine.cycle import Cycle
from controlplane.engine.seeing import JobSums
from controlplane.model.changes import Changes
from controlplane.model.cluster import Cluster, SourceState
from controlplane.model.columns import Flags, Ints
from controlplane.model.decisions import Promise
from controlplane.policies.outlook import Outlook, look_ahead
from controlplane.policies.seen import NO_TASKS, Seen

LOOK_EVERY_S = 1.0
"""A job is looked at once in this time at most."""
MOST_ATTEMPTS = 5_000
"""Attempts of the jobs that one cycle looks at; the first of them may have more."""


def write_outlooks(cycle: Cycle, due: list[SourceState], sums: JobSums, *, is_viewed: bool) -> None:
    """Write the outlooks of those jobs of these pools whose turn it is; `is_viewed` says whether the cycle has a view.

    Without one nothing runs in these pools.
    """
    jobs = cycle.cluster.jobs
    rows = _rows_due(cycle, due, sums)
    if not len(rows):
        return
    found = _look(cycle, due, sums, _flags(jobs.size, rows), is_viewed=is_viewed)
    jobs.looked_s[rows], jobs.outlook_reason[rows] = cycle.now_s, found.reason[rows]
    jobs.pocd[rows], jobs.pocd_core_s[rows] = found.pocd[rows], found.core_s[rows]
    jobs.pocd_with_copies[rows] = found.with_copies[rows]
    promised = rows[~np.isnan(found.pocd[rows, 0]) & (jobs.deadline_s[rows] > cycle.now_s)]
    jobs.newest_pocd[promised] = found.pocd[promised, 0]
    first = promised[np.isnan(jobs.first_pocd[promised])]
    jobs.first_pocd[first], jobs.first_with_copies[first] = found.pocd[first, 0], found.with_copies[first]


def settle(cluster: Cluster, changes: Changes) -> Iterator[Promise]:
    """What was promised of the jobs with a deadline that their hosts have ended, and whether it was kept.

    A job that failed before its deadline says nothing of either.
    """
    jobs = cluster.jobs
    for row, (ended_s, due_s) in changes.job_ends.items():
        is_late = ended_s > due_s
        if row not in cluster.job_infos or np.isinf(due_s):
            continue
        info, columns = cluster.job_infos[row], (jobs.first_pocd, jobs.newest_pocd, jobs.first_with_copies)
        first, newest, with_copies = (None if isnan(column[row]) else float(column[row]) for column in columns)
        jobs.first_pocd[row] = jobs.newest_pocd[row] = jobs.first_with_copies[row] = np.nan
        if is_late or row in changes.jobs_done:
            yield Promise(
                source=info.source,
                epoch=cluster.sources[info.source].epoch,
                job=info.key,
                ended_s=float(ended_s),
                first_pocd=first,
                newest_pocd=newest,
                first_with_copies=with_copies,
                kept=not is_late,
            )


def _rows_due(cycle: Cycle, due: list[SourceState], sums: JobSums) -> Ints:
    """Rows of the jobs to look at now, those looked at longest ago first."""
    jobs = cycle.cluster.jobs
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *(source.jobs.rows for source in due)])
    rows = rows[(jobs.deadline_s[rows] < np.inf) & ~jobs.ended[rows]]
    rows = rows[cycle.now_s - jobs.looked_s[rows] >= LOOK_EVERY_S]
    rows = rows[np.argsort(jobs.looked_s[rows], kind="stable")]
    return rows[np.cumsum(sums.running[rows]) - sums.running[rows] < MOST_ATTEMPTS]


def _look(cycle: Cycle, due: list[SourceState], sums: JobSums, which: Flags, *, is_viewed: bool) -> Outlook:
    """The outlook of these jobs, `which` (n_jobs,); of others it means nothing."""
    cluster, view, tasks = cycle.cluster, cycle.view, NO_TASKS
    jobs, ordered, most = cluster.jobs, np.zeros(0, dtype=np.int64), np.zeros(cluster.jobs.size, dtype=np.int64)
    for source in due:
        most[source.jobs.rows] = cycle.steering.max_copies(source)
    if is_viewed:
        places = np.flatnonzero(which[view.tasks["job"]])
        rows, tasks = view.rows[places], view.tasks[places]
        ordered = np.where(cluster.tasks.ordered_until_s[rows] > cycle.now_s, cluster.tasks.ordered_copies[rows], 0)
        pools, seen_jobs, stages = view.pools, view.jobs, view.stages.copy()
    else:
        pools, seen_jobs, stages = seeing.view_groups(cluster, cycle.now_s)
        seen_jobs["waiting"] = sums.waiting
    finished = seeing.show_finished(cluster.stage_infos, tasks, stages)
    seen = Seen(pools=pools, jobs=seen_jobs, stages=stages, tasks=tasks, finished=finished)
    is_open_ended = (jobs.later_tasks[: jobs.size] > 0) & (jobs.later_s[: jobs.size] <= 0.0)
    cores = cluster.stages.cores[tasks["stage"]]
    return look_ahead(seen, ordered, cores, most, is_open_ended)


def _flags(n: int, rows: Ints) -> Flags:
    """True in these rows, (n,)."""
    found = np.zeros(n, dtype=bool)
    found[rows] = True
    return found
