"""What do policies see of the cluster? Builds their read-only columns from the state and the estimates."""

from dataclasses import dataclass

import numpy as np

from controlplane.estimators.remaining import Estimates
from controlplane.model.cluster import Cluster, SourceState
from controlplane.model.columns import Flags, Floats, Ints
from controlplane.policies.interfaces import CLAIMANT, Records


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSums:
    """Sums over the open stages of each job, indexed by job row.

    An application of a leaf queue has no stages that we know of; its containers count as tasks.
    """

    remaining_tasks: Floats
    waiting: Ints
    """Originals that have no live attempt yet."""
    active: Ints
    """Unfinished tasks that have one."""
    running: Ints
    """Live attempts, also of closing stages: they hold slots."""
    copies: Ints
    remaining_work_s: Floats


def job_sums(cluster: Cluster) -> JobSums:
    """One pass over the stages; arrays of shape (jobs.size,)."""
    stages, jobs, size = cluster.stages, cluster.jobs, cluster.jobs.size
    rows = stages.rows()
    job = stages.job[rows]
    is_open = ~stages.closing[rows]
    left = (stages.n_tasks[rows] - stages.n_done[rows]) * is_open
    active = stages.n_active[rows] * is_open
    finished = stages.n_finished[rows]
    prior_s = np.nan_to_num(stages.prior_duration_s[rows], nan=1.0)
    mean_s = np.where(finished > 0, stages.duration_sum_s[rows] / np.maximum(finished, 1), prior_s)

    def total(values: Ints | Floats) -> Floats:
        return np.bincount(job, weights=values, minlength=size).astype(np.float64)

    held, asked = jobs.containers_running[:size], jobs.containers_pending[:size]
    return JobSums(
        remaining_tasks=total(left) + held + asked,
        waiting=total(left - active).astype(np.int64) + asked,
        active=total(active).astype(np.int64) + held,
        running=total(stages.n_running[rows]).astype(np.int64) + held,
        copies=total(stages.n_copies[rows]).astype(np.int64),
        remaining_work_s=total(left * mean_s) + held + asked,
    )


def pool_view(
    cluster: Cluster, source: SourceState, sums: JobSums, tail_index: float, max_copies: int
) -> tuple[Ints, Records]:
    """The claimants of one pool in order of arrival, and their job rows: jobs with something to run, or running.

    A job whose target an operator has fixed is one before it asks for anything, so that its cap holds from the first.

    Containers are not copied, so an application's virtual size is what it holds and asks for: its tail counts as light.
    """
    jobs = cluster.jobs
    rows = np.fromiter(source.jobs.values(), dtype=np.int64, count=len(source.jobs))
    is_fixed = (jobs.fixed_target[rows] >= 0) & ~jobs.ended[rows]
    rows = rows[(sums.remaining_tasks[rows] > 0) | (sums.running[rows] > 0) | is_fixed]
    rows = rows[np.argsort(jobs.submitted_s[rows], kind="stable")]
    in_containers = jobs.containers_running[rows] + jobs.containers_pending[rows] > 0
    copyable = np.maximum(sums.active[rows] * max_copies - sums.copies[rows], 0) * jobs.copies_enabled[rows]
    claimants = np.zeros(len(rows), dtype=CLAIMANT)
    claimants["arrival_s"] = jobs.submitted_s[rows]
    claimants["weight"] = jobs.weight[rows]
    claimants["remaining_tasks"] = sums.remaining_tasks[rows]
    claimants["downstream_tasks"] = [_downstream_tasks(cluster, source, row) for row in rows.tolist()]
    claimants["remaining_work_s"] = sums.remaining_work_s[rows]
    claimants["running"] = sums.running[rows]
    claimants["usable"] = sums.running[rows] + sums.waiting[rows] + copyable
    claimants["tail_index"] = np.where(in_containers, np.inf, tail_index)
    claimants["transfer_ratio"] = jobs.transfer_ratio[rows]
    claimants["fixed_target"] = jobs.fixed_target[rows]
    claimants["fixed_cap"] = jobs.fixed_cap[rows]
    return rows, claimants


def _downstream_tasks(cluster: Cluster, source: SourceState, job: int) -> float:
    """Tasks of the stages that this job's open stages feed and that have not been submitted yet."""
    info = cluster.job_infos[job]
    if not info.edges:
        return 0.0
    open_stages = {cluster.stage_infos[row].fact.stage for row in info.stage_rows if not cluster.stages.closing[row]}
    submitted = {stage for stage, _ in source.stages}
    children = {child for parent, child in info.edges if parent in open_stages and child not in submitted}
    return float(sum(info.stage_tasks.get(child, 0) for child in children))


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskColumns:
    """Unfinished tasks with live attempts, shape (n_tasks,): their rows and what their attempts add up to."""

    rows: Ints
    elapsed_s: Floats
    t_rem_s: Floats
    t_new_s: Floats
    rate: Floats
    sibling_rate: Floats
    too_new: Flags
    """Any of its live attempts is: a copy that has just started deserves its chance first."""


def task_columns(cluster: Cluster, attempt_rows: Ints, estimates: Estimates, in_pool: Flags) -> TaskColumns:
    """Bring attempts down to tasks: the least t_rem, the best rate, the oldest age. `in_pool` is by pool row."""
    tasks, attempts = cluster.tasks, cluster.attempts
    size = tasks.size
    candidate = tasks.alive[:size] & (tasks.n_live[:size] > 0) & ~tasks.done[:size]
    candidate &= in_pool[tasks.pool[:size]] & ~cluster.stages.closing[tasks.stage[:size]]
    rows = np.flatnonzero(candidate)
    task = attempts.task[attempt_rows]
    keep = candidate[task]
    place = np.full(size, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    at = place[task[keep]]
    many = tasks.n_live[rows] > 1

    def reduce(ufunc: np.ufunc, values: Floats, empty: float) -> Floats:
        kept = values[keep]
        out = np.full(len(rows), empty)
        out[at] = kept
        again = many[at]
        if again.any():
            out[many] = empty
            ufunc.at(out, at[again], kept[again])
        return out

    return TaskColumns(
        rows=rows,
        elapsed_s=reduce(np.maximum, estimates.elapsed_s, 0.0),
        t_rem_s=reduce(np.minimum, estimates.t_rem_s, np.inf),
        t_new_s=reduce(np.minimum, estimates.t_new_s, np.inf),
        rate=reduce(np.maximum, estimates.rate, 0.0),
        sibling_rate=reduce(np.maximum, estimates.sibling_rate, 0.0),
        too_new=reduce(np.maximum, estimates.too_new.astype(np.float64), 0.0) > 0,
    )
