"""What changes when an attempt starts or ends? Counters of its task, stage, job, executor and pool, each once."""

import numpy as np

from controlplane.model import facts as f
from controlplane.model.changes import EndedAttempt
from controlplane.model.cluster import Cluster, SourceState, StageInfo
from controlplane.model.columns import NAN
from controlplane.model.errors import BadFact
from controlplane.model.intake import Intake
from controlplane.model.writers import Reported

MOST_AT_ONCE = 64
"""Live attempts of one task, more than any host runs; work for each of them looks at the others."""
MOST_STARTED = 2_000_000
"""Tasks of one source's open stages that have or had an attempt; the ends of further ones count."""
MOST_STARTED_BY_ALL = 10_000_000
"""The same of all sources; beyond it each may have an equal part."""
MOST_ENDED = 2000
"""Ended attempts of a stage that are remembered, the newest: a full report repeats half as many."""
NEXT_WITHIN_S = 0.1
"""Longest time by which a host reports the next start on a slot before the end of the attempt that held it."""


def attempt_started(now: Intake, fact: f.AttemptStarted) -> None:
    """Adds a live attempt; one that is known, or has ended, changes nothing.

    Raises BadFact for an impossible index, for one more attempt of a task than any host runs, and for a task too many.
    """
    source, cluster = now.source, now.cluster
    now.mentioned.add(("attempt", fact.attempt))
    if fact.attempt in source.attempts:
        return
    info = _stage_of(now, "attempt_started", fact)
    if info is None or fact.executor not in source.executors:
        now.changes.refused.append(fact)
        if not now.full:
            now.changes.want_full.add(source.name)
        return
    if fact.attempt in info.ended:
        return
    if want := _limit(cluster, source, info, fact.index):
        raise BadFact("attempt_started.index", fact.index, want, source.name)
    executor = source.executors[fact.executor]
    stages, tasks, stage = cluster.stages, cluster.tasks, info.row
    task = _task(cluster, source, info, fact.index)
    start_s = now.at_s(fact)
    if tasks.done[task] and not fact.speculative and start_s > tasks.done_s[task]:
        _run_again(cluster, info, task, fact.index)
    row = cluster.attempts.add(
        id=fact.attempt,
        pool=source.row,
        job=stages.job[stage],
        stage=stage,
        task=task,
        older=tasks.newest[task],
        executor=executor,
        host=cluster.executors.host[executor],
        attempt_number=fact.attempt_number,
        order=fact.order,
        speculative=fact.speculative,
        cold=fact.executor not in info.warm_executors,
        on_new_executor=cluster.executors.n_ended[executor] == 0,
        start_s=start_s,
        advanced_s=start_s,
        moved_s=start_s,
    )
    source.attempts[fact.attempt] = row
    info.live.add(row)
    cluster.attempts_on[executor][row] = None
    tasks.newest[task] = row
    cluster.executors.running[executor] += 1
    stages.n_running[stage] += 1
    stages.n_active[stage] += not tasks.n_live[task] and not tasks.done[task]
    tasks.n_live[task] += 1
    tasks.n_started[task] = max(tasks.n_started[task], fact.attempt_number + 1)
    if fact.speculative:
        stages.n_copies[stage] += 1
        tasks.n_copies[task] += 1
        cluster.jobs.copies_launched[stages.job[stage]] += 1
    if fact.order:
        now.changes.launched.append((source.name, fact))


def _run_again(cluster: Cluster, info: StageInfo, task: int, index: int) -> None:
    """The finished output of a task was lost with its executor, so the host runs it again."""
    stages, tasks = cluster.stages, cluster.tasks
    tasks.done[task], info.done[index] = False, 0
    stages.n_done[info.row] -= 1
    stages.n_active[info.row] += bool(tasks.n_live[task])


def attempt_ended(now: Intake, fact: f.AttemptEnded) -> None:
    """Ends an attempt, once. Its start may have been dropped: an end is complete by itself."""
    source = now.source
    info = _stage_of(now, "attempt_ended", fact)
    if info is None or fact.attempt in info.ended:
        return
    if fact.attempt in source.attempts:
        _check_same_task(now, info, fact)
    elif fact.executor in source.executors and not _limit(now.cluster, source, info, fact.index):
        started = f.AttemptStarted(
            attempt=fact.attempt,
            stage=fact.stage,
            stage_attempt=fact.stage_attempt,
            index=fact.index,
            executor=fact.executor,
            host=fact.host,
            attempt_number=fact.attempt_number,
            speculative=fact.speculative,
            order=fact.order,
            age_ms=fact.age_ms + fact.duration_ms,
        )
        attempt_started(now, started)
    if fact.attempt in source.attempts:
        _end(now, info, source.attempts[fact.attempt], fact, now.at_s(fact))
    else:
        _remember(info, fact.attempt)
        if fact.outcome is f.Outcome.SUCCESS:
            done_unseen(now.cluster, info, fact.index, fact.index, now.at_s(fact))


def end_lost(now: Intake, attempt: int, reason: str) -> None:
    """End a live attempt that its host will not end: its executor is gone, or a full report leaves it out."""
    cluster, row = now.cluster, now.source.attempts[attempt]
    info = cluster.stage_infos[int(cluster.attempts.stage[row])]
    fact = f.AttemptEnded(
        attempt=attempt,
        stage=info.fact.stage,
        stage_attempt=info.fact.stage_attempt,
        index=int(cluster.tasks.index[cluster.attempts.task[row]]),
        executor=cluster.executor_names[int(cluster.attempts.executor[row])],
        host=cluster.host_names[int(cluster.attempts.host[row])],
        outcome=f.Outcome.LOST,
        duration_ms=max(0, int((now.received_s - cluster.attempts.start_s[row]) * 1000)),
        attempt_number=int(cluster.attempts.attempt_number[row]),
        speculative=bool(cluster.attempts.speculative[row]),
        order=int(cluster.attempts.order[row]),
        reason=reason,
    )
    _end(now, info, row, fact, now.received_s)


def done_unseen(cluster: Cluster, info: StageInfo, first: int, last: int, at_s: float) -> None:
    """Marks tasks `first` to `last` as finished at `at_s`; nothing more is known of their attempts."""
    stages, tasks, rows = cluster.stages, cluster.tasks, info.task_rows
    info.done_unseen_s = max(info.done_unseen_s, at_s)
    stages.n_done[info.row] += info.mark_done(first, last)
    run = range(first, last + 1)
    for index in run if len(run) < len(rows) else rows:
        task = rows.get(index) if index in run else None
        if task is not None and not tasks.done[task]:
            tasks.done[task], tasks.done_s[task] = True, at_s
            stages.n_active[info.row] -= bool(tasks.n_live[task])


def _stage_of(now: Intake, kind: str, fact: f.AttemptStarted | f.AttemptEnded) -> StageInfo | None:
    row = now.source.stages.get((fact.stage, fact.stage_attempt))
    if row is None:
        return None
    info = now.cluster.stage_infos[row]
    if fact.index >= info.fact.n_tasks:
        raise BadFact(f"{kind}.index", fact.index, f"< n_tasks ({info.fact.n_tasks})", now.source.name)
    return info


def _check_same_task(now: Intake, info: StageInfo, fact: f.AttemptEnded) -> None:
    """Raises BadFact if a live attempt is reported to have ended in a task other than the one it started in."""
    row, attempts = now.source.attempts[fact.attempt], now.cluster.attempts
    started = (int(attempts.stage[row]), int(now.cluster.tasks.index[attempts.task[row]]))
    if started != (info.row, fact.index):
        place = f"{fact.stage}.{fact.stage_attempt}/{fact.index}"
        raise BadFact("attempt_ended.attempt", fact.attempt, f"one that started in task {place}", now.source.name)


def _remember(info: StageInfo, attempt: int) -> None:
    """Note that an attempt has ended, and forget the oldest beyond `MOST_ENDED`: no fact of it will come again."""
    info.ended[attempt] = None
    if len(info.ended) > MOST_ENDED:
        del info.ended[next(iter(info.ended))]


def _limit(cluster: Cluster, source: SourceState, info: StageInfo, index: int) -> str:
    """The limit that one more attempt of a task would exceed, in words; empty if there is room."""
    row = info.task_rows.get(index)
    if row is not None:
        crowded = cluster.tasks.n_live[row] >= MOST_AT_ONCE
        return f"a task with fewer than {MOST_AT_ONCE} live attempts" if crowded else ""
    most = cluster.most(len(cluster.tasks) + 1, MOST_STARTED, MOST_STARTED_BY_ALL)
    return f"at most {most} started tasks in the source's open stages" if source.n_started >= most else ""


def _task(cluster: Cluster, source: SourceState, info: StageInfo, index: int) -> int:
    row = info.task_rows.get(index)
    if row is None:
        source.n_started += 1
        sizes = info.fact.input_bytes
        row = info.task_rows[index] = cluster.tasks.add(
            pool=cluster.stages.pool[info.row],
            job=cluster.stages.job[info.row],
            stage=info.row,
            index=index,
            input_bytes=sizes[index] if sizes and sizes[index] > 0 else NAN,
            relative_size=info.relative_size(index),
            done=info.is_done(index),
            done_s=info.done_unseen_s,
        )
    return row


def _saved_s(cluster: Cluster, rivals: list[int], ended_s: float) -> float:
    """How much longer the best beaten attempt would have run: by its t_rem, but no longer than it had run.

    The mean residual life of a heavy tail is many times the age, and half of the tail ends before its age has doubled.
    """
    attempts = cluster.attempts
    left_s = np.minimum(attempts.t_rem_s[rivals], ended_s - attempts.start_s[rivals])
    return float(min(left_s, default=NAN))


def _note_warmth(cluster: Cluster, info: StageInfo, row: int, fact: f.AttemptEnded, ended_s: float) -> None:
    """A successful attempt leaves a warm executor; a killed or failed one takes its Python worker with it.

    The host starts the next task on the slot at once, and often reports that start before this end.
    """
    leaves_warm = not info.in_python or fact.outcome is f.Outcome.SUCCESS
    (info.warm_executors.add if leaves_warm else info.warm_executors.discard)(fact.executor)
    if fact.outcome is f.Outcome.LOST:
        return
    attempts = cluster.attempts
    others = np.fromiter(cluster.attempts_on[int(attempts.executor[row])], dtype=np.int64)
    others = others[(attempts.start_s[others] > ended_s - NEXT_WITHIN_S) & (others != row)]
    attempts.on_new_executor[others] = False
    attempts.cold[others[attempts.stage[others] == info.row]] = not leaves_warm


def _tail_s(attempt: Reported, fact: f.AttemptEnded, ended_s: float) -> float:
    """How long an attempt ran after its last sign of progress; 0 if it read until its end, nan without one."""
    if not attempt["moved_s"] > attempt["start_s"]:
        return NAN
    has_read_more = fact.bytes_read > attempt["bytes_read"] or fact.records_read > attempt["records_read"]
    return 0.0 if has_read_more else ended_s - float(attempt["moved_s"])


def _end(now: Intake, info: StageInfo, row: int, fact: f.AttemptEnded, ended_s: float) -> None:
    cluster, attempts, tasks, stages = now.cluster, now.cluster.attempts, now.cluster.tasks, now.cluster.stages
    task, stage, pool = int(attempts.task[row]), info.row, now.source.row
    job, speculative = int(stages.job[stage]), bool(attempts.speculative[row])
    won = fact.outcome is f.Outcome.SUCCESS and not tasks.done[task]
    rivals = [other for other in cluster.attempts_of(task) if other != row]
    stages.n_active[stage] -= won or (not rivals and not tasks.done[task])
    if won:
        tasks.done[task], tasks.done_s[task] = True, ended_s
        stages.n_done[stage] += info.mark_done(fact.index, fact.index)
        info.finished.add(fact.duration_ms / 1000, tasks.input_bytes[task])
    cores = int(stages.cores[stage])
    core_s = cores * fact.duration_ms / 1000
    cluster.pools.total_core_s[pool] += core_s
    cluster.pools.n_ended[pool] += 1
    if speculative:
        stages.n_copies[stage] -= 1
        tasks.n_copies[task] -= 1
        cluster.jobs.copies_won[job] += won
        cluster.jobs.copies_lost[job] += not won
        if not won and attempts.order[row]:
            # The host's own copies are not charged to our budget.
            cluster.jobs.losing_core_s[job] += core_s
            cluster.pools.losing_core_s[pool] += core_s
    now.changes.jobs.add(job)
    now.changes.ended.append(
        EndedAttempt(
            source=now.source.name,
            pool=pool,
            job=job,
            stage=stage,
            host=int(attempts.host[row]),
            fact=fact,
            cores=cores,
            ended_s=ended_s,
            won=won,
            saved_s=_saved_s(cluster, rivals, ended_s) if won else NAN,
            unit=int(attempts.unit[row]),
            relative_size=float(tasks.relative_size[task]),
            rows_out=float(attempts.rows_out[row]),
            cold=bool(attempts.cold[row]),
            on_new_executor=bool(attempts.on_new_executor[row]),
            startup_s=float(attempts.first_s[row] - attempts.start_s[row]),
            tail_s=_tail_s(attempts.reported[row], fact, ended_s),
            gap_s=float(attempts.gap_s[row]),
            input_bytes=float(tasks.input_bytes[task]),
            estimated_s=float(attempts.estimated_s[row]),
            foretold_end_s=float(attempts.foretold_end_s[row]),
            t_new_s=float(attempts.t_new_s[row]),
            log_slowness=float(attempts.log_slowness[row]),
        )
    )
    cluster.executors.n_ended[attempts.executor[row]] += 1
    _note_warmth(cluster, info, row, fact, ended_s)
    _remember(info, fact.attempt)
    info.live.discard(row)
    cluster.free_attempt(now.source, row)
