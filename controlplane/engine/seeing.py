"""What do policies see of the cluster? Builds their read-only columns from the state and the estimates."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from controlplane.compiled import kernel, rule
from controlplane.deciding.bounds import needed_tasks
from controlplane.deciding.standing import attempts_reason, forbidden_reason, see_attempt, without_attempts
from controlplane.estimators.lateness import fresh_startup_s
from controlplane.estimators.offered_load import follow_load
from controlplane.estimators.shared_slowness import LEAST_LOG, pair_evidence
from controlplane.estimators.tail_index import LEAST_TAIL, mean_time_s, service_time_s
from controlplane.model.cluster import Cluster, JobInfo, SourceState, StageInfo
from controlplane.model.columns import Flags, Floats, Ints, Jobs, Record, Records, Stages
from controlplane.model.facts import Mode
from controlplane.model.finished import FINISHED
from controlplane.model.reasons import Reason
from controlplane.model.writers import Decided, Estimated, Reported, Scratch
from controlplane.policies.answer import SPECULATION
from controlplane.policies.policy import Policy
from controlplane.policies.seen import CLAIMANT, JOB, POOL, RUNNING_TASK, STAGE, UNKNOWN_FINISHED, Seen

OFF_RANK = Mode.OFF.rank
ORDER_PENDING, LEFT_ALONE = int(Reason.ORDER_PENDING), int(Reason.LEFT_ALONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSums:
    """Sums over the open stages of each job, indexed by job row.

    An application of a leaf queue has no stages that we know of; its containers count as tasks.
    """

    remaining_tasks: Floats
    open_tasks: Ints
    """Done or not."""
    waiting: Ints
    """Originals that have no live attempt yet."""
    active: Ints
    """Unfinished tasks that have one."""
    running: Ints
    """Live attempts, including those of closing stages: they hold slots."""
    copies: Ints
    remaining_work_s: Floats
    """A task of a later stage counts as one of the open stages."""


def job_sums(cluster: Cluster) -> JobSums:
    """One pass over the stages; arrays of shape (jobs.size,)."""
    stages, jobs, size = cluster.stages, cluster.jobs, cluster.jobs.size
    rows = stages.rows()
    job = stages.job[rows]
    is_open = ~stages.closing[rows]
    left = stages.left(rows) * is_open
    task_s = np.nan_to_num(mean_s(stages, rows), nan=1.0)

    def total(values: Ints | Floats) -> Floats:
        return np.bincount(job, weights=values, minlength=size).astype(np.float64)

    held, asked = jobs.containers_running[:size], jobs.containers_pending[:size]
    remaining_tasks, open_work_s = total(left), total(left * task_s)
    later_work_s = jobs.later_tasks[:size] * open_work_s / np.maximum(remaining_tasks, 1)
    return JobSums(
        remaining_tasks=remaining_tasks + held + asked,
        open_tasks=total(stages.n_tasks[rows] * is_open).astype(np.int64),
        waiting=total(stages.waiting(rows) * is_open).astype(np.int64) + asked,
        active=total(stages.n_active[rows] * is_open).astype(np.int64) + held,
        running=total(stages.n_running[rows]).astype(np.int64) + held,
        copies=total(stages.n_copies[rows]).astype(np.int64),
        remaining_work_s=open_work_s + later_work_s + held + asked,
    )


def mean_s(stages: Stages, rows: Any) -> Any:
    """Mean duration of a stage's finished tasks without their start-up, else that of earlier jobs; of a row or rows."""
    n = stages.n_finished[rows]
    return np.where(n > 0, stages.net_sum_s[rows] / np.maximum(n, 1), stages.prior_duration_s[rows])


def pool_view(
    cluster: Cluster, source: SourceState, sums: JobSums, max_copies: int, now_s: float
) -> tuple[Ints, Records]:
    """The claimants of one pool in order of arrival, and their job rows: jobs with something to run, or running.

    A job whose target an operator has fixed is one before it asks for anything, so that its cap holds from the first.

    Containers are not copied, so an application's virtual size is what it holds and asks for: its tail counts as light.
    """
    jobs = cluster.jobs
    rows = source.jobs.rows
    is_fixed = (jobs.fixed_target[rows] >= 0) & ~jobs.ended[rows]
    rows = rows[(sums.remaining_tasks[rows] > 0) | (sums.running[rows] > 0) | is_fixed]
    rows = rows[np.argsort(jobs.submitted_s[rows], kind="stable")]
    in_containers = jobs.containers_running[rows] + jobs.containers_pending[rows] > 0
    unfinished = np.stack([sums.active[rows], sums.active[rows] + sums.waiting[rows]])
    copyable = np.maximum(unfinished * max_copies - sums.copies[rows], 0) * jobs.copies_enabled[rows]
    claimants = np.zeros(len(rows), dtype=CLAIMANT)
    claimants["arrival_s"] = jobs.submitted_s[rows]
    claimants["weight"] = jobs.weight[rows]
    claimants["remaining_tasks"] = sums.remaining_tasks[rows]
    claimants["downstream_tasks"] = jobs.downstream_tasks[rows]
    claimants["remaining_work_s"] = sums.remaining_work_s[rows]
    claimants["running"] = sums.running[rows]
    claimants["usable"], claimants["foreseen"] = sums.running[rows] + sums.waiting[rows] + copyable
    claimants["tail_index"] = np.where(in_containers, np.inf, cluster.pools.tail_index[source.row])
    claimants["transfer_ratio"] = jobs.transfer_ratio[rows]
    claimants["pool"], claimants["pool_slots"] = source.row, cluster.pools.slots[source.row]
    claimants["copies"] = sums.copies[rows]
    claimants["fixed_target"] = jobs.fixed_target[rows]
    claimants["fixed_cap"] = jobs.fixed_cap[rows]
    claimants["deadline_s"], claimants["error_bound"] = jobs.deadline_s[rows] - now_s, jobs.error_bound[rows]
    return rows, claimants


def follow_pools(cluster: Cluster, due: list[SourceState], sums: JobSums, now_s: float) -> None:
    """Update the offered load of these pools."""
    jobs, rows = cluster.jobs.rows(), np.array([source.row for source in due], dtype=np.int64)
    originals = (sums.running - sums.copies + sums.waiting)[jobs]
    of_pool = np.bincount(cluster.jobs.pool[jobs], weights=originals, minlength=cluster.pools.size)
    follow_load(cluster.pools, rows, of_pool[rows], now_s)


def follow_jobs(cluster: Cluster, jobs: Iterable[int]) -> None:
    """Count the tasks of these jobs' stages that have not been submitted: of those that open ones feed, and of all that
    depend on open ones. Note which of their stages read input.
    """
    for job in [job for job in jobs if job in cluster.job_infos]:
        info, stages = cluster.job_infos[job], cluster.stage_infos
        children = _children(info)
        fed = set(chain.from_iterable(children.values()))
        for row in info.stage_rows:
            cluster.stages.reads_input[row] = stages[row].fact.stage not in fed
        submitted = {stages[row].fact.stage for row in info.stage_rows}
        next_ones = _fed_by(children, {stages[row].fact.stage for row in info.open_rows}) - submitted
        later, newest = set(next_ones), next_ones
        while newest := _fed_by(children, newest) - submitted - later:
            later |= newest
        counts = [sum(info.stage_tasks.get(stage, 0) for stage in found) for found in (next_ones, later)]
        cluster.jobs.downstream_tasks[job], cluster.jobs.later_tasks[job] = counts


def _children(info: JobInfo) -> dict[int, list[int]]:
    """The stages of a job that each one feeds: a walk over all of them then takes each edge once."""
    children = defaultdict(list)
    for parent, child in info.edges:
        children[parent].append(child)
    return children


def _fed_by(children: Mapping[int, list[int]], parents: set[int]) -> set[int]:
    """Stages that any of these feeds."""
    return {child for parent in parents for child in children.get(parent, ())}


class TaskView:
    """The unfinished tasks with live attempts of pools that are due, and what to do about each.

    Kept from cycle to cycle, because fresh memory costs more than filling it.

    >>> len(TaskView().rows)
    0
    """

    def __init__(self) -> None:
        self._hold(0)
        self.n = 0
        self.raced = self._raced
        """Rows of the tasks whose original and copy are compared for the first time."""
        self.pools, self.jobs, self.stages = (np.zeros(0, dtype=dtype) for dtype in (POOL, JOB, STAGE))

    def fill(self, cluster: Cluster, now_s: float, judge_within_s: float) -> None:
        """See the cluster as it is; jobs with attempts that are too new for longer than `judge_within_s` are marked."""
        if len(self._rows) < len(cluster.tasks):
            self._hold(2 * len(cluster.tasks))
        self.pools, self.jobs, self.stages = view_groups(cluster, now_s)
        self.n, n_raced = view_tasks(
            now_s,
            judge_within_s,
            cluster.tasks.reported[: cluster.tasks.size],
            cluster.tasks.decided,
            cluster.attempts.reported,
            cluster.attempts.estimated,
            cluster.stages.reported,
            cluster.stages.estimated,
            cluster.stages.decided,
            cluster.jobs.reported,
            cluster.jobs.decided,
            cluster.jobs.scratch,
            cluster.pools.estimated,
            cluster.pools.scratch,
            self._rows,
            self._tasks,
            self._raced,
        )
        self.raced = self._raced[:n_raced]

    def seen(self, policy: Policy, cluster: Cluster, which: Flags | slice) -> Seen:
        """What a speculator sees of all tasks, or of those of `which` (n,); finished attempts if its row asks."""
        tasks, finished = self.tasks[which], UNKNOWN_FINISHED
        stages = self.stages if isinstance(which, slice) else self.stages.copy()
        if policy.by_finished:
            finished = show_finished(cluster.stage_infos, tasks, stages)
        return Seen(
            pools=self.pools, jobs=self.jobs, stages=stages, tasks=tasks, finished=finished, weights=policy.brought
        )

    @property
    def rows(self) -> Ints:
        """Rows of the tasks, ascending, shape (n,)."""
        return self._rows[: self.n]

    @property
    def tasks(self) -> Records:
        """`RUNNING_TASK` records, shape (n,)."""
        return self._tasks[: self.n]

    @property
    def answer(self) -> Records:
        """`SPECULATION` records, shape (n,)."""
        return self._answer[: self.n]

    def _hold(self, n: int) -> None:
        self._rows, self._raced = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self._tasks, self._answer = np.zeros(n, dtype=RUNNING_TASK), np.zeros(n, dtype=SPECULATION)


def view_groups(cluster: Cluster, now_s: float) -> tuple[Records, Records, Records]:
    """`POOL`, `JOB` and `STAGE` records in the rows of the cluster's own tables; dead rows hold anything."""
    pools, jobs, stages = cluster.pools, cluster.jobs, cluster.stages
    seen_pools = np.zeros(pools.size, dtype=POOL)
    seen_pools["slots"], seen_pools["copies"] = pools.slots[: pools.size], pools.counted_copies[: pools.size]
    seen_pools["idle"], seen_pools["executor_slots"] = pools.idle[: pools.size], pools.executor_slots[: pools.size]
    seen_pools["foretold_error"] = pools.foretold_error[: pools.size]
    for name in ("waiting_jobs", "tail_index", "kept_slowness", "tell_s", "queue", "to_come", "queue_executors"):
        seen_pools[name] = getattr(pools, name)[: pools.size]
    warm_s, cold_s = pools.startup_mean_s[: pools.size], pools.cold_startup_mean_s[: pools.size]
    seen_pools["startup_s"] = np.nan_to_num(np.where(np.isnan(warm_s), cold_s, warm_s))
    seen_jobs = np.zeros(jobs.size, dtype=JOB)
    seen_jobs["tasks"], seen_jobs["room"] = jobs.open_tasks[: jobs.size], jobs.room[: jobs.size]
    seen_jobs["waiting"], seen_jobs["age_s"] = jobs.waiting[: jobs.size], now_s - jobs.submitted_s[: jobs.size]
    seen_jobs["deadline_s"] = jobs.deadline_s[: jobs.size] - now_s
    seen_jobs["error_bound"], seen_jobs["explores"] = jobs.error_bound[: jobs.size], jobs.explores[: jobs.size]
    seen_stages = np.zeros(stages.size, dtype=STAGE)
    seen_stages["tasks"], seen_stages["done"] = stages.n_tasks[: stages.size], stages.n_done[: stages.size]
    seen_stages["prepared"] = stages.prepared[: stages.size]
    seen_stages["needed"], seen_stages["deadline_s"] = seen_stages["tasks"] - seen_stages["done"], np.inf
    has_bound = is_bounded(jobs, stages.job[: stages.size]) & stages.reads_input[: stages.size]
    bound_stages(
        np.flatnonzero(has_bound & stages.alive[: stages.size]), stages.job, jobs.later_s, seen_jobs, seen_stages
    )
    seen_stages["finished_from"] = seen_stages["finished_to"] = -1
    return seen_pools, seen_jobs, seen_stages


def is_bounded(jobs: Jobs, rows: Any) -> Any:
    """Whether a job has a deadline or an error bound; of a row or rows."""
    return (jobs.error_bound[rows] > 0) | (jobs.deadline_s[rows] < np.inf)


@kernel
def bound_stages(rows: Ints, stage_job: Ints, later_s: Floats, seen_jobs: Records, seen_stages: Records) -> None:
    """Note their jobs' bounds at these stages, which read input: later ones run whole, and take time off a deadline."""
    for row in rows:
        stage, job = seen_stages[row], seen_jobs[stage_job[row]]
        stage["needed"] = needed_tasks(stage["tasks"], stage["done"], job["error_bound"])
        stage["deadline_s"] = job["deadline_s"] - later_s[stage_job[row]]


@kernel
def view_tasks(
    now_s: float,
    judge_within_s: float,
    tasks: NDArray[Reported],
    tasks_decided: NDArray[Decided],
    attempts: NDArray[Reported],
    attempts_estimated: NDArray[Estimated],
    stages: NDArray[Reported],
    stages_estimated: NDArray[Estimated],
    stages_decided: NDArray[Decided],
    jobs: NDArray[Reported],
    jobs_decided: NDArray[Decided],
    jobs_scratch: NDArray[Scratch],
    pools_estimated: NDArray[Estimated],
    pools_scratch: NDArray[Scratch],
    rows: Ints,
    view: Records,
    raced: Ints,
) -> tuple[int, int]:
    """Reduce attempts to tasks: the least t_rem, the best rate, the oldest age.

    Returns how many there are, and how many rows of `raced` hold one whose original and copy are compared for the
    first time. If the time to go of one attempt is only a guess, for want of progress, none counts as the one that ends
    last.
    """
    n = n_raced = 0
    for row in range(len(tasks)):
        task = tasks[row]
        if not task["alive"] or task["n_live"] <= 0 or task["done"]:
            continue
        pool, stage = pools_scratch[task["pool"]], stages_estimated[task["stage"]]
        if not pool["due"] or stages[task["stage"]]["closing"]:
            continue
        seen = view[n]
        seen["pool"], seen["job"], seen["stage"] = task["pool"], task["job"], task["stage"]
        seen["running_attempts"] = task["n_live"]
        seen["t_new_s"], seen["sibling_rate"], seen["attempts_started"] = np.inf, 0.0, task["n_started"]
        seen["t_fresh_s"], seen["slowness"], seen["relative_size"] = np.inf, 1.0, 1.0
        without_attempts(seen)
        too_new, is_guessed, is_copy, at, newest_log = False, False, False, task["newest"], np.nan
        while at >= 0:
            attempt, estimates = attempts[at], attempts_estimated[at]
            own_log = np.nan if estimates["too_new"] else estimates["own_log"]
            if estimates["t_rem_s"] < seen["t_rem_s"]:
                seen["slowness"] = np.exp(own_log) if own_log > 0 else 1.0
            if at == task["newest"]:
                newest_log, is_copy = own_log, attempt["speculative"]
            elif attempt["older"] < 0 and not (np.isnan(own_log) or np.isnan(newest_log)):
                is_race = is_copy and not attempt["speculative"]
                if compare(own_log, newest_log, is_race, pools_estimated[task["pool"]], tasks_decided[row]):
                    raced[n_raced] = row
                    n_raced += 1
            age_s, progress = now_s - attempt["start_s"], estimates["progress"]
            see_attempt(seen, age_s, estimates["t_rem_s"], estimates["rate"], progress)
            seen["t_new_s"] = min(seen["t_new_s"], estimates["t_new_s"])
            seen["t_fresh_s"] = min(seen["t_fresh_s"], estimates["t_fresh_s"])
            seen["sibling_rate"] = max(seen["sibling_rate"], estimates["sibling_rate"])
            seen["relative_size"] = max(seen["relative_size"], estimates["relative_size"])
            too_new |= estimates["too_new"]
            seen["too_new"] &= estimates["too_new"]
            is_guessed |= np.isnan(estimates["progress"])
            if estimates["too_new"] and age_s > judge_within_s:
                jobs_decided[task["job"]]["unjudged"] = True
            at = attempt["older"]
        if is_guessed:
            seen["worst_rem_s"] = seen["t_rem_s"]
        seen["expected_s"], seen["service_s"] = fresh_times_s(seen["t_fresh_s"], stage, pools_estimated[task["pool"]])
        seen["work"], seen["likeness"] = task["input_bytes"], tasks_decided[row]["likeness"]
        rows[n] = row
        verdict, job = stages_decided[task["stage"]]["verdict"], jobs[task["job"]]
        at_start = jobs_scratch[task["job"]]["at_start"]
        seen["standing"] = standing_reason(
            now_s, too_new, at_start, verdict, task["n_live"], tasks_decided[row], job, pool
        )
        seen["eligible"] = seen["standing"] == 0
        seen["copies_left"] = pool["max_copies"] + 1 - task["n_live"]
        n += 1
    return n, n_raced


@rule
def compare(oldest_log: float, newest_log: float, is_race: bool, pool: Record, decided: Record) -> bool:
    """Note how alike a task's oldest and newest attempts are; whether it is an original's first race with a copy."""
    if oldest_log >= LEAST_LOG:
        decided["likeness"] = pair_evidence(oldest_log, newest_log, pool["tail_index"], pool["foretold_error"])
    is_first = is_race and not decided["compared"]
    decided["compared"] |= is_race
    return is_first


def show_finished(infos: Mapping[int, StageInfo], tasks: Records, stages: Records) -> Records:
    """Put the `FINISHED` records of stages, by their rows, one after the other, and note which belong to which.

    If no input is known, a stage's tasks count as equal work. If tasks are done and nothing is known about the
    attempts that did them, the stage's finished attempts count as unknown.
    """
    rows = np.flatnonzero(np.bincount(tasks["stage"], minlength=len(stages)))
    samples = [infos[row].finished for row in rows.tolist()]
    size = np.fromiter(map(len, samples), dtype=np.int64, count=len(samples))
    # Of thousands of small arrays, joining their bytes takes a twentieth of what numpy's own concatenation takes.
    finished = np.frombuffer(bytearray().join(each.records.tobytes() for each in samples if len(each)), dtype=FINISHED)
    last = np.cumsum(size)
    by_input = size > 0
    by_input[by_input] = finished["unit_s"][(last - size)[by_input]] < np.inf
    equal = np.repeat(~by_input, size)
    finished["unit_s"][equal] = finished["duration_s"][equal]
    known = (size > 0) | (stages["done"][rows] == 0)
    stages["finished_from"][rows], stages["finished_to"][rows] = np.where(known, last - size, -1), last
    counts_input = np.zeros(len(stages), dtype=np.bool_)
    counts_input[rows] = by_input
    tasks["work"] = np.where(counts_input[tasks["stage"]], tasks["work"], 1.0)
    return finished


@rule
def fresh_times_s(t_fresh_s: float, stage: Estimated, pool: Estimated) -> tuple[float, float]:
    """A fresh attempt's mean time, and the least that it works after its start-up; nan while none has finished."""
    if not is_known(n_finished=stage["n_finished"], prior_duration_s=stage["prior_duration_s"]):
        return np.nan, np.nan
    startup_s, tail_index = fresh_startup_s(pool), max(pool["tail_index"], LEAST_TAIL)
    return mean_time_s(t_fresh_s, startup_s, tail_index), service_time_s(t_fresh_s, startup_s, tail_index)


@rule
def is_known(n_finished: int, prior_duration_s: float) -> bool:
    """Whether ends of a stage's own attempts, in this job or in earlier ones, say how long a task takes.

    >>> [is_known(n_finished, prior_duration_s=float("nan")) for n_finished in (0, 1)]
    [False, True]
    """
    return n_finished > 0 or not np.isnan(prior_duration_s)


@rule
def standing_reason(
    now_s: float, too_new: bool, at_start: bool, verdict: int, n_live: int, task: Decided, job: Reported, pool: Scratch
) -> int:
    """The engine's own reason for leaving a task alone, the first that holds; 0 if none does."""
    is_off = pool["off"] or job["mode_rank"] == OFF_RANK
    reason = forbidden_reason(verdict, job["copies_enabled"], is_off, pool["max_copies"])
    if not reason:
        reason = attempts_reason(too_new, at_start, n_live, pool["max_copies"])
    if reason:
        return reason
    if task["ordered_copies"] > 0 and task["ordered_until_s"] > now_s:
        return ORDER_PENDING
    if task["not_before_s"] > now_s:
        return LEFT_ALONE
    return 0
