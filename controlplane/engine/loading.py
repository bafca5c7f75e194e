"""How does a snapshot become a cluster again? The reverse of `describe`.

Hosts' reports are applied as the facts of a full report; estimates, orders and fixed targets are written into its
columns as they were.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from math import inf, nan

import numpy as np

from controlplane.engine.ledger import Ledger, OpenOrder
from controlplane.estimators.host_slowness import HostHealth
from controlplane.estimators.samples import Samples
from controlplane.hosts import KINDS
from controlplane.model import facts as f
from controlplane.model.apply import MOST_TASKS, apply
from controlplane.model.changes import Changes
from controlplane.model.cluster import Cluster, SourceState
from controlplane.model.decisions import Report
from controlplane.model.errors import BadSetting
from controlplane.model.finished import FinishedSample
from controlplane.model.orders import KillAttempt, LaunchCopy
from controlplane.model.reasons import Reason
from controlplane.model.snapshot import (
    AttemptState,
    FinishedState,
    JobState,
    PoolState,
    Snapshot,
    StageState,
    TaskState,
    WaitingState,
)

REASONS = {reason.label: reason for reason in Reason}
StageKey = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The contents of a snapshot."""

    cluster: Cluster
    health: HostHealth
    ledger: Ledger
    """Launches on named hosts, and kills, that were on their way."""
    samples: Samples
    ids: Iterator[int]
    """Ids of further orders."""


def load(snapshot: Snapshot) -> Loaded:
    """The cluster as it was. Raises BadSetting, naming the place, if the snapshot contradicts itself."""
    cluster, ledger, ids = Cluster(KINDS), Ledger(), count(1)
    for host in snapshot.hosts:
        cluster.host_row(host.host)
    _check_once([pool.source for pool in snapshot.pools], "snapshot.pools")
    _check_listed(snapshot)
    for number, pool in enumerate(snapshot.pools):
        place = f"snapshot.pools[{number}]"
        _check(pool, place)
        _apply(cluster, pool, snapshot.now_s, place)
        source = cluster.sources[pool.source]
        _write_pool(cluster, source, pool, place)
        _write_jobs(cluster, source, pool, snapshot.now_s, place)
        _write_tasks(cluster, source, pool, snapshot.now_s)
        for order in _open_orders(pool, ids):
            ledger.ordered(order)
    slowness, sick = np.ones(cluster.hosts.size), np.zeros(cluster.hosts.size, dtype=bool)
    for host in snapshot.hosts:
        slowness[cluster.host_rows[host.host]], sick[cluster.host_rows[host.host]] = host.slowness, host.sick
    samples = Samples()
    if left_out := samples.load(snapshot.samples):
        place = f"snapshot.samples.{left_out[0]}"
        raise BadSetting(place, got=snapshot.samples[left_out[0]], want="weights and sums of a curve, all 0 or more")
    return Loaded(cluster=cluster, health=HostHealth(slowness, sick), ledger=ledger, samples=samples, ids=ids)


def stage_key(of: StageState | TaskState | AttemptState | FinishedState | WaitingState) -> StageKey:
    """The host's key of a stage."""
    return (of.stage, of.stage_attempt)


def _reason(label: str, place: str) -> Reason:
    if label not in REASONS:
        raise BadSetting(place, got=label, want="the label of a reason code")
    return REASONS[label]


def _check_once(named: list[str] | list[int], place: str) -> None:
    for name, times in Counter(named).items():
        if times > 1:
            raise BadSetting(place, got=f"{name} {times} times", want="each once")


def _check_listed(snapshot: Snapshot) -> None:
    """Raises BadSetting where preferred hosts of few tasks would be listed for too many."""
    preferring = {(pool.source, *stage_key(task)) for pool in snapshot.pools for task in pool.tasks if _prefer([task])}
    stages = [(pool.source, each) for pool in snapshot.pools for job in pool.jobs for each in job.stages]
    n_tasks = sum(stage.n_tasks for source, stage in stages if (source, *stage_key(stage)) in preferring)
    if n_tasks > MOST_TASKS:
        raise BadSetting(
            "snapshot.pools.jobs.stages.n_tasks", got=n_tasks, want=f"at most {MOST_TASKS} with preferred hosts"
        )


def _check(pool: PoolState, place: str) -> None:
    """Raises BadSetting for what cannot be loaded.

    That is an unknown kind of host, a duplicate, a stage that is too large, a task without its job, stage or
    attempt, and waiting tasks that their stage does not have.
    """
    if pool.source.partition(":")[0] not in KINDS:
        raise BadSetting(f"{place}.source", got=pool.source, want=f"{' or '.join(KINDS)}, a colon, an id")
    _check_once([job.job for job in pool.jobs], f"{place}.jobs")
    _check_once([attempt.attempt for attempt in pool.attempts], f"{place}.attempts")
    stages = {job.job: set(map(stage_key, job.stages)) for job in pool.jobs}
    for number, job in enumerate(pool.jobs):
        if pool.is_queue and job.queued is None:
            raise BadSetting(f"{place}.jobs[{number}].queued", got=None, want="what the queue tells of it")
        for each in job.stages:
            if each.n_tasks > f.MOST_TASKS_OF_STAGE:
                raise BadSetting(
                    f"{place}.jobs.stages.n_tasks", got=each.n_tasks, want=f"at most {f.MOST_TASKS_OF_STAGE}"
                )
    _check_waiting(pool, {stage_key(stage): stage.n_tasks for job in pool.jobs for stage in job.stages}, place)
    running = {(*stage_key(attempt), attempt.index) for attempt in pool.attempts}
    for number, task in enumerate(pool.tasks):
        if task.job not in stages:
            raise BadSetting(f"{place}.tasks[{number}].job", got=task.job, want="one of the pool's jobs")
        if stage_key(task) not in stages[task.job]:
            raise BadSetting(f"{place}.tasks[{number}].stage", got=stage_key(task), want=f"one of job {task.job}")
        if (*stage_key(task), task.index) not in running:
            raise BadSetting(f"{place}.tasks[{number}]", got=task.index, want="a task of one of the pool's attempts")


def _check_waiting(pool: PoolState, n_tasks: dict[StageKey, int], place: str) -> None:
    """Raises BadSetting for waiting tasks of no stage, or in runs that do not ascend within it."""
    _check_once([str(stage_key(each)) for each in pool.waiting], f"{place}.waiting")
    for number, each in enumerate(pool.waiting):
        field, end = f"{place}.waiting[{number}]", -1
        if stage_key(each) not in n_tasks:
            raise BadSetting(f"{field}.stage", got=stage_key(each), want="one of the pool's stages")
        for first, last in each.indices:
            if not end < first <= last < n_tasks[stage_key(each)]:
                raise BadSetting(
                    f"{field}.indices", got=[first, last], want="runs that ascend below the stage's n_tasks"
                )
            end = last


def _apply(cluster: Cluster, pool: PoolState, now_s: float, place: str) -> None:
    """Apply the facts of one source. Raises BadSetting for contradictory ones."""
    attached = f.DriverAttached(
        application=pool.application,
        name=pool.name,
        user=pool.user,
        mode=pool.user_mode,
        capabilities=pool.capabilities,
        stock_speculation=pool.stock_speculation,
        executor_slots=pool.executor_slots,
        executor_limit=pool.executor_limit,
    )
    told = _queue_facts(pool) if pool.is_queue else _driver_facts(pool)
    changes = Changes()
    report = Report(
        source=pool.source, epoch=pool.epoch, received_s=now_s - pool.last_heard_s, facts=[attached, *told], full=True
    )
    apply(cluster, report, changes)
    for bad in changes.bad:
        raise BadSetting(f"{place}, told as {bad.field}", got=bad.got, want=bad.want)
    for fact in changes.refused:
        if isinstance(fact, f.AttemptStarted):
            raise BadSetting(f"{place}.attempts", got=fact.attempt, want="attempts of its stages on its executors")


def _queue_facts(pool: PoolState) -> list[f.AnyFact]:
    applications = [
        f.QueuedApplication(
            job=job.job,
            name=job.name,
            user=job.queued.user,
            kind=job.queued.kind,
            tags=job.queued.tags,
            running=job.queued.running,
            pending=job.queued.pending,
            reserved=job.queued.reserved,
        )
        for job in pool.jobs
        if job.queued
    ]
    return [f.QueueDemand(slots=pool.slots, applications=applications)]


def _driver_facts(pool: PoolState) -> list[f.AnyFact]:
    """The facts of a full report. Tasks start in the order of the dump, which decides between equal ones."""
    tasks: dict[StageKey, list[TaskState]] = {}
    for task in pool.tasks:
        tasks.setdefault(stage_key(task), []).append(task)
    waiting = {stage_key(each): each for each in pool.waiting}
    closing = [stage for job in pool.jobs for stage in job.stages if stage.closing]
    place = {(*stage_key(task), task.index): number for number, task in enumerate(pool.tasks)}
    attempts = sorted(pool.attempts, key=lambda each: place.get((*stage_key(each), each.index), len(place)))
    return [
        *(f.ExecutorAdded(executor=each.executor, host=each.host, slots=each.slots) for each in pool.executors),
        *(_job_submitted(job) for job in pool.jobs),
        *(
            _submitted(job, stage, tasks.get(stage_key(stage), []), waiting.get(stage_key(stage)))
            for job in pool.jobs
            for stage in job.stages
        ),
        *(_started(attempt) for attempt in attempts),
        *(f.StageEnded(stage=stage.stage, stage_attempt=stage.stage_attempt) for stage in closing),
    ]


def _job_submitted(job: JobState) -> f.JobSubmitted:
    speculator = job.named_speculator.name if job.named_speculator else ""
    return f.JobSubmitted(job=job.job, name=job.name, edges=job.edges, mode=job.mode, speculator=speculator)


def _submitted(
    job: JobState, stage: StageState, tasks: list[TaskState], waiting: WaitingState | None
) -> f.StageSubmitted:
    """The stage with its finished tasks; if none of its tasks wait, only running ones are known one by one."""
    preferred: list[list[str]] = waiting.preferred_hosts if waiting else []
    if not waiting and _prefer(tasks):
        nowhere: list[str] = []
        by_index = {task.index: task.preferred_hosts for task in tasks}
        preferred = [by_index.get(index, nowhere) for index in range(stage.n_tasks)]
    done = [(task.index, task.index) for task in sorted(tasks, key=lambda task: task.index) if task.done]
    return f.StageSubmitted(
        job=job.job,
        stage=stage.stage,
        stage_attempt=stage.stage_attempt,
        n_tasks=stage.n_tasks,
        name=stage.name,
        input_bytes=waiting.input_bytes if waiting else [],
        relative_bytes=waiting.relative_bytes if waiting else [],
        preferred_hosts=preferred,
        done=_done(stage, tasks, waiting) if waiting else done,
    )


def _prefer(tasks: list[TaskState]) -> bool:
    """Whether any task prefers hosts."""
    return any(task.preferred_hosts for task in tasks)


def _done(stage: StageState, tasks: list[TaskState], waiting: WaitingState) -> list[tuple[int, int]]:
    """Runs of tasks that neither wait nor run unfinished."""
    left = [*waiting.indices, *((task.index, task.index) for task in tasks if not task.done)]
    first, runs = 0, []
    for begin, end in sorted(left):
        if first < begin:
            runs.append((first, begin - 1))
        first = max(first, end + 1)
    return [*runs, (first, stage.n_tasks - 1)] if first < stage.n_tasks else runs


def _started(attempt: AttemptState) -> f.AttemptStarted:
    return f.AttemptStarted(
        attempt=attempt.attempt,
        stage=attempt.stage,
        stage_attempt=attempt.stage_attempt,
        index=attempt.index,
        executor=attempt.executor,
        host=attempt.host,
        attempt_number=attempt.attempt_number,
        speculative=attempt.speculative,
        order=attempt.order,
    )


def _write_pool(cluster: Cluster, source: SourceState, pool: PoolState, place: str) -> None:
    pools, row = cluster.pools, source.row
    pools.slots[row], pools.tail_index[row], pools.offered_load[row] = pool.slots, pool.tail_index, pool.offered_load
    pools.losing_core_s[row], pools.total_core_s[row] = pool.losing_core_s, pool.total_core_s
    pools.n_ended[row], pools.startup_mean_s[row] = pool.n_ended, pool.startup_s
    pools.foretold_error[row], pools.kept_slowness[row] = pool.foretold_error, pool.kept_slowness
    source.membership = _reason(pool.listed.reason, f"{place}.listed.reason") if pool.listed else Reason.NONE
    source.most_executors = None if pool.queue_limit < 0 else pool.queue_limit


def _write_jobs(cluster: Cluster, source: SourceState, pool: PoolState, now_s: float, place: str) -> None:
    jobs, stages = cluster.jobs, cluster.stages
    finished = {stage_key(each): each for each in pool.finished}
    waiting = {stage_key(each): each for each in pool.waiting}
    for job in pool.jobs:
        row = source.jobs[job.job]
        jobs.submitted_s[row], jobs.weight[row] = now_s - job.age_s, job.weight
        jobs.deadline_s[row] = inf if job.deadline_s is None else now_s + job.deadline_s
        jobs.error_bound[row], jobs.kill_late[row] = job.error_bound, job.kill_late
        jobs.later_s[row] = job.later_s
        jobs.copies_enabled[row] = job.copies_enabled
        jobs.downstream_tasks[row], jobs.later_tasks[row] = job.downstream_tasks, job.later_tasks
        jobs.cap[row], jobs.fixed_target[row], jobs.fixed_cap[row] = job.cap, job.fixed_target, job.fixed_cap
        if not job.queued:
            jobs.transfer_ratio[row] = job.transfer_ratio
        for stage in job.stages:
            at = source.stages[stage_key(stage)]
            stages.n_done[at], stages.cores[at] = stage.n_done, stage.cores
            stages.prior_duration_s[at] = nan if stage.mean_s is None else stage.mean_s
            stages.reads_input[at] = cluster.job_infos[row].reads_input(stage.stage)
            stages.verdict[at] = _reason(stage.refusal, f"{place}.jobs.stages.refusal")
            if stage_key(stage) in waiting:
                ordered, info = waiting[stage_key(stage)], cluster.stage_infos[at]
                info.named = ordered.named
                info.named_s = -inf if ordered.named_age_s is None else now_s - ordered.named_age_s
            if stage_key(stage) in finished:
                told = finished[stage_key(stage)]
                cluster.stage_infos[at].finished = FinishedSample.of(told.duration_s, told.unit_s)


def _write_tasks(cluster: Cluster, source: SourceState, pool: PoolState, now_s: float) -> None:
    attempts, tasks = cluster.attempts, cluster.tasks
    for attempt in pool.attempts:
        row = source.attempts[attempt.attempt]
        attempts.start_s[row], attempts.too_new[row] = now_s - attempt.elapsed_s, attempt.too_new
        attempts.t_rem_s[row] = inf if attempt.t_rem_s is None else attempt.t_rem_s
        attempts.t_new_s[row] = inf if attempt.t_new_s is None else attempt.t_new_s
        attempts.t_fresh_s[row] = inf if attempt.t_fresh_s is None else attempt.t_fresh_s
        attempts.own_log[row] = nan if attempt.own_log is None else attempt.own_log
        attempts.progress[row] = nan if attempt.progress < 0 else attempt.progress
        attempts.rate[row], attempts.sibling_rate[row] = attempt.rate, attempt.sibling_rate
        attempts.relative_size[row] = attempt.relative_size
    for task in pool.tasks:
        row = cluster.stage_infos[source.stages[stage_key(task)]].task_rows[task.index]
        tasks.input_bytes[row] = task.input_bytes if task.input_bytes > 0 else nan
        tasks.likeness[row] = task.likeness
        tasks.n_started[row] = max(tasks.n_started[row], task.attempts_started)
        tasks.ordered_copies[row], tasks.ordered_until_s[row] = task.ordered_copies, inf
        tasks.not_before_s[row] = now_s + task.retry_s
        for host in task.ordered_hosts:
            cluster.host_row(host)


def _open_orders(pool: PoolState, ids: Iterator[int]) -> list[OpenOrder]:
    """Copies on their way to named hosts, and kills. A snapshot does not say when they expire."""
    orders: list[tuple[TaskState | AttemptState, LaunchCopy | KillAttempt]] = []
    for task in pool.tasks:
        for host in task.ordered_hosts:
            launch = LaunchCopy(
                order=next(ids),
                ttl_ms=0,
                job=task.job,
                stage=task.stage,
                stage_attempt=task.stage_attempt,
                index=task.index,
                host=host,
            )
            orders.append((task, launch))
    for attempt in pool.attempts:
        if attempt.dying:
            kill = KillAttempt(
                order=next(ids),
                ttl_ms=0,
                attempt=attempt.attempt,
                stage=attempt.stage,
                stage_attempt=attempt.stage_attempt,
                index=attempt.index,
            )
            orders.append((attempt, kill))
    return [
        OpenOrder(order=order, decision=0, source=pool.source, task=(*stage_key(of), of.index), expires_s=inf)
        for of, order in orders
    ]
