"""How does the state look from outside? Turns the columns into the structs of `state:dump`."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from controlplane.engine.budgets import copy_limit
from controlplane.engine.write_safety import verdict
from controlplane.model import snapshot as s
from controlplane.model.cluster import SourceState
from controlplane.model.facts import Mode
from controlplane.model.reasons import Reason, sentence

if TYPE_CHECKING:
    from controlplane.engine.scheduler import Scheduler


def _known(value: float) -> float | None:
    """A finite number, or None: JSON has no infinity."""
    value = float(value)
    return value if isfinite(value) else None


def take_snapshot(scheduler: Scheduler, now_s: float) -> s.Snapshot:
    """Everything that is live, at one moment."""
    return s.Snapshot(
        cycle=scheduler.cycle,
        now_s=now_s,
        mode=scheduler.modes.everywhere,
        pools=[_pool(scheduler, source, now_s) for source in scheduler.cluster.sources.values()],
        hosts=_hosts(scheduler, now_s),
        accuracy=scheduler.learning.accuracy.summary(),
    )


def _hosts(scheduler: Scheduler, now_s: float) -> list[s.HostState]:
    cluster, learned = scheduler.cluster, scheduler.learning.hosts
    n = cluster.hosts.size
    slowness, confidence, sick = learned.slowness(now_s, n), learned.confidence(now_s, n), learned.sick(now_s, n)
    rows = cluster.executors.rows()
    host = cluster.executors.host[rows]
    slots = np.bincount(host, weights=cluster.executors.slots[rows], minlength=n)
    running = np.bincount(host, weights=cluster.executors.running[rows], minlength=n)
    return [
        s.HostState(
            host=name,
            slowness=round(float(slowness[row]), 3),
            confidence=round(float(confidence[row]), 3),
            sick=bool(sick[row]),
            slots=int(slots[row]),
            running=int(running[row]),
        )
        for row, name in cluster.host_names.items()
        if slots[row]
    ]


def _pool(scheduler: Scheduler, source: SourceState, now_s: float) -> s.PoolState:
    cluster, attached = scheduler.cluster, source.attached
    pools, executors, row = cluster.pools, cluster.executors, source.row
    stage_rows = list(source.stages.values())
    tasks = [task for stage in stage_rows for task in cluster.stage_infos[stage].task_rows.values()]
    return s.PoolState(
        source=source.name,
        epoch=source.epoch,
        application=attached.application,
        name=attached.name,
        user=attached.user,
        host_version=attached.host_version,
        shim_version=attached.shim_version,
        ui_url=attached.ui_url,
        capabilities=attached.capabilities,
        user_mode=attached.mode,
        mode=scheduler.modes.of_source(source),
        policy="+".join(policy.name for policy in scheduler.policy(source.name)),
        slots=int(pools.slots[row]),
        running=len(source.attempts),
        n_copies=int(sum(cluster.stages.n_copies[stage] for stage in stage_rows)),
        copy_budget=copy_limit(slots=int(pools.slots[row]), share=scheduler.settings.pool_copy_share),
        losing_core_s=float(pools.losing_core_s[row]),
        total_core_s=float(pools.total_core_s[row]),
        tail_index=scheduler.learning.tail_index(row),
        tail_samples=scheduler.learning.tail_samples(row),
        startup_s=_known(pools.startup_mean_s[row]) or 0.0,
        last_heard_s=max(0.0, now_s - source.heard_s),
        executors=[
            s.ExecutorState(
                executor=name,
                host=cluster.host_names[int(executors.host[executor])],
                slots=int(executors.slots[executor]),
                running=int(executors.running[executor]),
                age_s=float(now_s - executors.added_s[executor]),
            )
            for name, executor in source.executors.items()
        ],
        jobs=[_job(scheduler, source, job, now_s) for job in source.jobs.values()],
        tasks=[_task(scheduler, task, now_s) for task in tasks if cluster.tasks.n_live[task]],
        attempts=[_attempt(scheduler, attempt, now_s) for attempt in source.attempts.values()],
        requests=[
            s.RequestState(
                request=fact.request,
                job=fact.job,
                stage=fact.stage,
                count=fact.count,
                cores=fact.cores,
                memory_bytes=fact.memory_bytes,
                priority=fact.priority,
                nodes=fact.nodes,
                age_s=now_s - asked_s,
            )
            for fact, asked_s in source.requests.values()
        ],
    )


def _job(scheduler: Scheduler, source: SourceState, row: int, now_s: float) -> s.JobState:
    cluster, jobs, info = scheduler.cluster, scheduler.cluster.jobs, scheduler.cluster.job_infos[row]
    stages = [_stage(scheduler, stage, now_s) for stage in sorted(info.stage_rows)]
    open_rows = [stage for stage in info.stage_rows if not cluster.stages.closing[stage]]
    return s.JobState(
        source=source.name,
        job=info.key,
        name=info.name,
        host_ids=info.host_ids,
        mode=scheduler.modes.of_job(cluster, source, row),
        weight=float(jobs.weight[row]),
        age_s=float(now_s - jobs.submitted_s[row]),
        stages=stages,
        edges=info.edges,
        remaining_tasks=int(sum(cluster.stages.n_tasks[r] - cluster.stages.n_done[r] for r in open_rows)),
        n_running=sum(stage.n_running for stage in stages),
        n_copies=sum(stage.n_copies for stage in stages),
        copies_launched=int(jobs.copies_launched[row]),
        copies_won=int(jobs.copies_won[row]),
        copies_lost=int(jobs.copies_lost[row]),
        losing_core_s=float(jobs.losing_core_s[row]),
        virtual_size=float(jobs.virtual_size[row]),
        transfer_ratio=float(jobs.transfer_ratio[row]),
        tail_index=scheduler.learning.tail_index(source.row),
        target=int(jobs.target[row]),
        cap=int(jobs.cap[row]),
        leased=scheduler.claims(source) and scheduler.modes.of_job(cluster, source, row) is Mode.CONTROL,
    )


def _stage(scheduler: Scheduler, row: int, now_s: float) -> s.StageState:
    stages, fact = scheduler.cluster.stages, scheduler.cluster.stage_infos[row].fact
    word = verdict(fact)
    return s.StageState(
        job=fact.job,
        stage=fact.stage,
        stage_attempt=fact.stage_attempt,
        name=fact.name,
        n_tasks=fact.n_tasks,
        n_done=int(stages.n_done[row]),
        n_waiting=int(stages.n_tasks[row] - stages.n_done[row] - stages.n_active[row]),
        n_running=int(stages.n_running[row]),
        n_copies=int(stages.n_copies[row]),
        verdict=word.label,
        verdict_reason=word.because,
        age_s=float(now_s - stages.submitted_s[row]),
    )


def _task(scheduler: Scheduler, row: int, now_s: float) -> s.TaskState:
    cluster, tasks, attempts = scheduler.cluster, scheduler.cluster.tasks, scheduler.cluster.attempts
    info = cluster.stage_infos[int(tasks.stage[row])]
    index, reason = int(tasks.index[row]), Reason(int(tasks.reason[row]))
    live = [attempt for attempt in info.live if attempts.task[attempt] == row]
    inputs = {
        "elapsed_s": float(now_s - min(attempts.start_s[live])),
        "t_rem_s": float(min(attempts.t_rem_s[live])),
        "t_new_s": float(min(attempts.t_new_s[live])),
        "running_attempts": float(tasks.n_live[row]),
        "target": float(cluster.jobs.target[tasks.job[row]]),
    }
    inputs["saving_s"] = inputs["running_attempts"] * inputs["t_rem_s"] - (len(live) + 1) * inputs["t_new_s"]
    preferred = info.fact.preferred_hosts
    return s.TaskState(
        job=info.fact.job,
        stage=info.fact.stage,
        stage_attempt=info.fact.stage_attempt,
        index=index,
        running_attempts=int(tasks.n_live[row]),
        input_bytes=int(tasks.input_bytes[row]) if isfinite(tasks.input_bytes[row]) else -1,
        preferred_hosts=preferred[index] if preferred else [],
        reason=reason.label,
        sentence=sentence(reason, inputs),
        inputs={name: _known(value) for name, value in inputs.items()},
    )


def _attempt(scheduler: Scheduler, row: int, now_s: float) -> s.AttemptState:
    cluster, attempts = scheduler.cluster, scheduler.cluster.attempts
    info = cluster.stage_infos[int(attempts.stage[row])]
    progress = _known(attempts.progress[row])
    return s.AttemptState(
        attempt=int(attempts.id[row]),
        job=info.fact.job,
        stage=info.fact.stage,
        stage_attempt=info.fact.stage_attempt,
        index=int(cluster.tasks.index[attempts.task[row]]),
        attempt_number=int(attempts.attempt_number[row]),
        executor=cluster.executor_names[int(attempts.executor[row])],
        host=cluster.host_names[int(attempts.host[row])],
        speculative=bool(attempts.speculative[row]),
        order=int(attempts.order[row]),
        elapsed_s=float(now_s - attempts.start_s[row]),
        progress=-1.0 if progress is None else progress,
        bytes_read=int(attempts.bytes_read[row]),
        records_read=int(attempts.records_read[row]),
        bytes_written=int(attempts.bytes_written[row]),
        records_written=int(attempts.records_written[row]),
        t_rem_s=_known(attempts.t_rem_s[row]),
        t_new_s=_known(attempts.t_new_s[row]),
    )
