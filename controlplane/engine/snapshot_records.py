"""Which records does a policy see of a snapshot? The same as in the engine, as far as a snapshot tells."""

from collections import defaultdict
from math import inf, nan

import numpy as np

from controlplane.engine.views import show_finished
from controlplane.model.cluster import TaskKey
from controlplane.model.columns import Flags
from controlplane.model.reasons import Reason
from controlplane.model.snapshot import AttemptState, FinishedState, JobState, PoolState, TaskState
from controlplane.policies.interfaces import CLAIMANT, FINISHED, RUNNING_TASK, UNKNOWN_FINISHED, Records


def claimant_records(pool: PoolState, jobs: list[JobState], max_copies: int) -> Records:
    """The jobs as the allocator sees them, shape (n_jobs,)."""
    opted_out = {task.job for task in pool.tasks if task.reason == Reason.OPTED_OUT.label}
    durations_s = defaultdict(list)
    for task in pool.tasks:
        durations_s[task.stage, task.stage_attempt].append(_seconds(task, "t_new_s"))
    durations_s.update({(each.stage, each.stage_attempt): each.duration_s for each in pool.finished})
    claimants = np.zeros(len(jobs), dtype=CLAIMANT)
    for claimant, job in zip(claimants, jobs, strict=True):
        waiting = sum(stage.n_waiting for stage in job.stages)
        most = 0 if job.job in opted_out else max_copies
        running = (job.remaining_tasks - waiting) * most - job.n_copies
        foreseen = job.remaining_tasks * most - job.n_copies
        claimant["arrival_s"], claimant["weight"] = -job.age_s, job.weight
        claimant["remaining_tasks"], claimant["running"] = job.remaining_tasks, job.n_running
        claimant["usable"] = job.n_running + waiting + max(running, 0)
        claimant["foreseen"] = job.n_running + waiting + max(foreseen, 0)
        claimant["tail_index"], claimant["transfer_ratio"] = job.tail_index, job.transfer_ratio
        claimant["fixed_target"] = claimant["fixed_cap"] = -1
        for stage in job.stages:
            known_s = [each for each in durations_s[stage.stage, stage.stage_attempt] if each < inf]
            mean_s = sum(known_s) / len(known_s) if known_s else 1.0
            claimant["remaining_work_s"] += (stage.n_tasks - stage.n_done) * mean_s
        if job.queued:
            claimant["remaining_tasks"] = claimant["remaining_work_s"] = job.queued.wanted
            claimant["usable"] = job.queued.running + job.queued.pending
            claimant["tail_index"] = job.tail_index if job.queued.driver else inf
    return claimants


def is_claimant(job: JobState) -> bool:
    """Whether it has a use for slots."""
    return bool(job.remaining_tasks or job.n_running or (job.queued and job.queued.pending))


def task_records(pool: PoolState, spare: dict[str, int], eligible: Flags) -> tuple[Records, Records]:
    """The tasks as the speculator sees them, shape (n_tasks,), and what of their stages has finished.

    `spare` is each job's room for copies.
    """
    attempts: dict[TaskKey, list[AttemptState]] = defaultdict(list)
    for attempt in pool.attempts:
        attempts[task_key(attempt)].append(attempt)
    reading = {(each.stage, each.stage_attempt) for each in pool.attempts if each.bytes_read > 0}
    stages: dict[tuple[int, int], int] = {}
    pending = sum(map(is_pending, pool.tasks))
    waiting = sum(stage.n_waiting for job in pool.jobs for stage in job.stages)
    left = {job.job: job.remaining_tasks for job in pool.jobs}
    of_stage = {
        (each.stage, each.stage_attempt): (each.n_tasks, each.n_done) for job in pool.jobs for each in job.stages
    }
    records = np.zeros(len(pool.tasks), dtype=RUNNING_TASK)
    records["eligible"], records["executor_slots"] = eligible, pool.executor_slots
    records["pool_slots"], records["pool_copies"] = pool.slots, pool.n_copies + pending
    records["pool_idle"] = max(pool.slots - sum(job.n_running for job in pool.jobs) - waiting - pending, 0)
    for record, task in zip(records, pool.tasks, strict=True):
        stage, mine = (task.stage, task.stage_attempt), attempts[task_key(task)]
        record["stage"] = stages.setdefault(stage, len(stages))
        record["running_attempts"], record["job_room"] = task.running_attempts, spare[task.job]
        record["elapsed_s"] = _seconds(task, "elapsed_s")
        record["t_rem_s"], record["t_new_s"] = _seconds(task, "t_rem_s"), _seconds(task, "t_new_s")
        record["worst_rem_s"] = max((known(a.t_rem_s) for a in mine), default=inf)
        record["relative_size"] = known(task.inputs.get("relative_size"), 1.0)
        record["expected_s"] = known(task.inputs.get("expected_s"), nan)
        record["job_tasks"], record["work"] = left.get(task.job, 0), task.input_bytes if task.input_bytes > 0 else nan
        record["stage_tasks"], record["stage_done"] = of_stage.get(stage, (0, 0))
        record["attempts_started"] = 1 + max((a.attempt_number for a in mine), default=0)
        size = task.input_bytes if task.input_bytes > 0 and stage in reading else 1.0
        record["progress_rate"] = max((_rate(size, a.elapsed_s + known(a.t_rem_s)) for a in mine), default=0.0)
        record["sibling_rate"] = max((_rate(size, known(a.t_new_s)) for a in mine), default=0.0)
    told = {(each.stage, each.stage_attempt): _finished(each) for each in pool.finished}
    samples = {number: told.get(stage, UNKNOWN_FINISHED) for stage, number in stages.items()}
    return records, show_finished(records, samples)


def _finished(told: FinishedState) -> Records:
    """The finished attempts of a stage as policies see them; sorted once more, for people write dumps by hand."""
    records = np.zeros(len(told.duration_s), dtype=FINISHED)
    records["duration_s"], records["unit_s"] = np.sort(told.duration_s), inf
    unit_s = np.sort(told.unit_s)[: len(records)]
    records["unit_s"][: len(unit_s)] = unit_s
    return records


def is_pending(task: TaskState) -> bool:
    """Whether a copy of it is on its way."""
    return task.reason == Reason.ORDER_PENDING.label


def task_key(of: TaskState | AttemptState) -> TaskKey:
    """How the host tells a task from others."""
    return (of.stage, of.stage_attempt, of.index)


def known(value: float | None, otherwise: float = inf) -> float:
    """A number that JSON has as null where nothing is known."""
    return otherwise if value is None else value


def _seconds(task: TaskState, name: str) -> float:
    return known(task.inputs.get(name))


def _rate(size: float, seconds: float) -> float:
    return size / seconds if seconds > 0 else 0.0
