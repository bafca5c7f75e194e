"""How does the state look from outside? Turns the columns into the structs of `state:dump`."""

from functools import cache
from math import isfinite

import numpy as np
from msgspec import structs

from controlplane.deciding.budgets import copy_limit
from controlplane.engine import applications
from controlplane.engine.budgets import Budgets
from controlplane.engine.growth import queue_limit
from controlplane.engine.moment import Moment
from controlplane.engine.pocd_state import copied_tasks, finite, pocd_state
from controlplane.engine.seeing import JobSums, fresh_times_s, job_sums, mean_s
from controlplane.engine.waiting import waiting_indices
from controlplane.estimators.host_slowness import HostHealth
from controlplane.estimators.lateness import fresh_startup_s
from controlplane.hosts import kind_of
from controlplane.model import snapshot as s
from controlplane.model.cluster import Cluster, SourceState
from controlplane.model.columns import Floats, Record
from controlplane.model.reasons import Reason, priced, sentence
from controlplane.policies.policy import Policy


def describe(moment: Moment) -> s.Snapshot:
    """The moment in structs. It reads nothing but the moment, so a separate thread may describe a still cluster."""
    sums = job_sums(moment.cluster) if moment.cluster.queues else None
    budgets = Budgets.of(moment.steering.settings, moment.cluster, moment.now_s)
    return s.Snapshot(
        cycle=moment.cycle,
        now_s=moment.now_s,
        mode=moment.steering.settings.mode,
        pools=[_pool(moment, source, sums, budgets) for source in moment.cluster.sources.values()],
        hosts=take_hosts(moment.cluster, moment.health, moment.confidence),
        accuracy=moment.accuracy,
        samples=moment.samples,
    )


def take_hosts(
    cluster: Cluster, health: HostHealth, confidence: Floats, part: slice = slice(None)
) -> list[s.HostState]:
    """The hosts that have slots, with their state; in the order in which equal ones are chosen, a part of them."""
    n = cluster.hosts.size
    slowness, sick = health
    rows = cluster.executors.rows()
    host = cluster.executors.host[rows]
    slots = np.bincount(host, weights=cluster.executors.slots[rows], minlength=n)
    running = np.bincount(host, weights=cluster.executors.running[rows], minlength=n)
    has_slots = (slots > 0).tolist()
    hosts = [row for row in sorted(cluster.host_names) if has_slots[row]]
    return [
        s.HostState(
            host=cluster.host_names[row],
            slowness=float(slowness[row]),
            confidence=round(float(confidence[row]), 3),
            sick=bool(sick[row]),
            slots=int(slots[row]),
            running=int(running[row]),
        )
        for row in hosts[part]
    ]


def _pool(moment: Moment, source: SourceState, sums: JobSums | None, budgets: Budgets) -> s.PoolState:
    cluster, attached = moment.cluster, source.attached
    pools, executors, row = cluster.pools, cluster.executors, source.row
    stage_rows = list(source.stages.values())
    speculator_of = cache(lambda job: moment.steering.speculator_of(cluster, source, job)[0])
    live: dict[int, list[int]] = {}
    """Rows of live attempts by the row of their task."""
    attempt_rows = source.attempts.values() if moment.with_tasks else ()
    for attempt in attempt_rows:
        live.setdefault(int(cluster.attempts.task[attempt]), []).append(attempt)
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
        stock_speculation=attached.stock_speculation,
        user_mode=attached.mode,
        mode=moment.steering.mode(source),
        policy=moment.steering.policy_name(source.name),
        slots=int(pools.slots[row]),
        running=len(source.attempts) + int(cluster.jobs.containers_running[source.jobs.rows].sum()),
        n_copies=int(sum(cluster.stages.n_copies[stage] for stage in stage_rows)),
        copy_limit=copy_limit(slots=int(pools.slots[row]), share=moment.steering.settings.pool_copy_share),
        losing_core_s=float(pools.losing_core_s[row]),
        likely_loss_core_s=budgets.likely_loss_core_s(row),
        total_core_s=float(pools.total_core_s[row]),
        n_ended=int(pools.n_ended[row]),
        tail_index=float(pools.tail_index[row]),
        offered_load=float(pools.offered_load[row]),
        tail_samples=moment.tail_samples[row],
        foretold_error=float(pools.foretold_error[row]),
        kept_slowness=float(pools.kept_slowness[row]),
        startup_s=float(fresh_startup_s(pools.estimated[row])),
        last_heard_s=max(0.0, moment.now_s - source.heard_s),
        plan_age_s=finite(moment.now_s - source.applied_s),
        executors=[
            s.ExecutorState(
                executor=name,
                host=cluster.host_names[int(executors.host[executor])],
                slots=int(executors.slots[executor]),
                running=int(executors.running[executor]),
                age_s=float(moment.now_s - executors.added_s[executor]),
            )
            for name, executor in source.executors.items()
        ],
        jobs=_jobs(moment, source, sums),
        tasks=[_task(moment, task, live[task], speculator_of(int(cluster.tasks.job[task]))) for task in sorted(live)],
        attempts=[_attempt(moment, attempt) for attempt in attempt_rows],
        requests=_requests(moment, source),
        finished=_finished(moment, stage_rows),
        waiting=_waiting(moment, stage_rows, live),
        executor_slots=attached.executor_slots,
        executor_limit=attached.executor_limit,
        queue_limit=queue_limit(cluster, moment.steering, source, moment.now_s),
        is_queue=source.name in cluster.queues,
        listed=_listed(moment, source) if source.membership else None,
    )


def _requests(moment: Moment, source: SourceState) -> list[s.RequestState]:
    """Requests of hosts that slots have not met: a stage asks once, for all of its tasks."""
    waiting = {key: int(moment.cluster.stages.waiting(row)) for key, row in source.stages.items()}
    return [
        s.RequestState(
            source=source.name,
            request=fact.request,
            job=fact.job,
            stage=fact.stage,
            count=count,
            cores=fact.cores,
            memory_bytes=fact.memory_bytes,
            priority=fact.priority,
            nodes=fact.nodes,
            age_s=moment.now_s - asked_s,
        )
        for fact, asked_s in source.requests.values()
        if (count := min(fact.count, waiting.get((fact.stage, fact.stage_attempt), fact.count)))
    ]


def _finished(moment: Moment, stage_rows: list[int]) -> list[s.FinishedState]:
    found = []
    for row in stage_rows:
        fact, records = moment.cluster.stage_infos[row].fact, moment.finished.get(row)
        if records is not None:
            unit_s = records["unit_s"]
            state = s.FinishedState(
                stage=fact.stage,
                stage_attempt=fact.stage_attempt,
                duration_s=records["duration_s"].tolist(),
                unit_s=unit_s[np.isfinite(unit_s)].tolist(),
            )
            found.append(state)
    return found


def _waiting(moment: Moment, stage_rows: list[int], live: dict[int, list[int]]) -> list[s.WaitingState]:
    tasks = moment.cluster.tasks
    running: dict[int, list[int]] = {}
    for row in live:
        running.setdefault(int(tasks.stage[row]), []).append(int(tasks.index[row]))
    found = []
    for row in [row for row in stage_rows if row in moment.waiting]:
        fact, waiting = moment.cluster.stage_infos[row].fact, moment.waiting[row]
        indices = waiting_indices(fact.n_tasks, waiting.done, np.array(running.get(row, []), dtype=np.int64))
        runs = np.split(indices, np.flatnonzero(np.diff(indices) > 1) + 1)
        state = s.WaitingState(
            stage=fact.stage,
            stage_attempt=fact.stage_attempt,
            indices=[(int(run[0]), int(run[-1])) for run in runs if len(run)],
            input_bytes=fact.input_bytes,
            relative_bytes=fact.relative_bytes,
            preferred_hosts=fact.preferred_hosts,
            named=waiting.named,
            named_age_s=finite(moment.now_s - waiting.named_s),
        )
        found.append(state)
    return found


def _listed(moment: Moment, source: SourceState) -> s.ListedState:
    cluster, reason = moment.cluster, source.membership
    listings = applications.listings(cluster, source, moment.now_s)
    return s.ListedState(
        queue=listings[0].source if len(listings) == 1 else "",
        reason=reason.label,
        sentence=sentence(reason, applications.join_inputs(cluster, source)),
    )


def _jobs(moment: Moment, source: SourceState, sums: JobSums | None) -> list[s.JobState]:
    """The jobs of a driver, or the applications of a leaf queue as its allocator sees them."""
    cluster, claimed = moment.cluster, moment.steering.claimed(moment.cluster, source)
    stages_of: dict[int, list[int]] = {row: [] for row in source.jobs.values()}
    for stage in sorted(source.stages.values()):
        stages_of[int(cluster.stages.job[stage])].append(stage)
    copied = copied_tasks(moment, source)
    jobs = [_job(moment, source, row, rows, bool(claimed[row]), copied.get(row, [])) for row, rows in stages_of.items()]
    if sums is None or source.name not in cluster.queues:
        return jobs
    rows, claimants = applications.claimants_of(cluster, source, sums, max_copies=0, now_s=moment.now_s)
    seen = dict(zip(rows.tolist(), claimants, strict=True))
    return [_application(moment, job, row, seen.get(row)) for row, job in zip(source.jobs.values(), jobs, strict=True)]


def _application(moment: Moment, job: s.JobState, row: int, claimant: Record | None) -> s.JobState:
    cluster, queued = moment.cluster, moment.cluster.job_infos[row].queued
    if queued is None:
        return job
    driver = applications.driver_of(cluster, job.job, moment.now_s)
    reason = applications.membership(cluster, driver, moment.now_s) if driver else Reason.NO_DRIVER
    inputs = applications.join_inputs(cluster, driver) if driver else {}
    is_joined = reason is Reason.JOINED
    running, pending = int(cluster.jobs.containers_running[row]), int(cluster.jobs.containers_pending[row])
    wanted = 0.0 if claimant is None else float(claimant["remaining_tasks"])
    return structs.replace(
        job,
        remaining_tasks=int(inputs["remaining_tasks"]) if is_joined else running + pending,
        n_running=running,
        tail_index=float(claimant["tail_index"]) if is_joined and claimant is not None else job.tail_index,
        transfer_ratio=1.0 if claimant is None else float(claimant["transfer_ratio"]),
        queued=s.QueuedState(
            user=queued.user,
            kind=queued.kind,
            tags=queued.tags,
            running=running,
            pending=pending,
            reserved=queued.reserved,
            driver=driver.name if driver and is_joined else "",
            wanted=wanted,
            container_slots=inputs.get("container_slots", 1.0),
            reason=reason.label,
            sentence=sentence(reason, inputs),
        ),
    )


def _job(
    moment: Moment,
    source: SourceState,
    row: int,
    stage_rows: list[int],
    speculation_claimed: bool,
    copied: list[s.CopiedTask],
) -> s.JobState:
    cluster, jobs, info = moment.cluster, moment.cluster.jobs, moment.cluster.job_infos[row]
    stages = [_stage(moment, stage) for stage in stage_rows]
    open_rows = [stage for stage in stage_rows if not cluster.stages.closing[stage]]
    return s.JobState(
        source=source.name,
        job=info.key,
        name=info.name,
        host_ids=info.host_ids,
        mode=moment.steering.mode_of_job(cluster, source, row),
        weight=float(jobs.weight[row]),
        copies_enabled=bool(jobs.copies_enabled[row]),
        policy=moment.steering.policy_name_of(cluster, source, row),
        named_speculator=_named_speculator(moment, info.speculator),
        deadline_s=finite(jobs.deadline_s[row] - moment.now_s),
        later_s=float(jobs.later_s[row]),
        error_bound=float(jobs.error_bound[row]),
        kill_late=bool(jobs.kill_late[row]),
        age_s=float(moment.now_s - jobs.submitted_s[row]),
        stages=stages,
        edges=info.edges,
        remaining_tasks=int(cluster.stages.left(open_rows).sum()),
        n_running=sum(stage.n_running for stage in stages),
        n_copies=sum(stage.n_copies for stage in stages),
        copies_launched=int(jobs.copies_launched[row]),
        copies_won=int(jobs.copies_won[row]),
        copies_lost=int(jobs.copies_lost[row]),
        losing_core_s=float(jobs.losing_core_s[row]),
        virtual_size=float(jobs.virtual_size[row]),
        transfer_ratio=float(jobs.transfer_ratio[row]),
        downstream_tasks=float(jobs.downstream_tasks[row]),
        later_tasks=float(jobs.later_tasks[row]),
        tail_index=float(cluster.pools.tail_index[source.row]),
        target=int(jobs.target[row]),
        cap=int(jobs.cap[row]),
        fixed_target=int(jobs.fixed_target[row]),
        fixed_cap=int(jobs.fixed_cap[row]),
        speculation_claimed=speculation_claimed,
        pocd=pocd_state(moment, row, copied),
    )


def _named_speculator(moment: Moment, name: str) -> s.NamedSpeculator | None:
    if not name:
        return None
    refusal = moment.steering.refusal(name)
    said = sentence(refusal, {}) if refusal else ""
    return s.NamedSpeculator(name=name, reason=refusal.label, sentence=said)


def _stage(moment: Moment, row: int) -> s.StageState:
    stages, info = moment.cluster.stages, moment.cluster.stage_infos[row]
    fact, word = info.fact, kind_of(info.source).verdict(info.fact)
    return s.StageState(
        source=info.source,
        job=fact.job,
        stage=fact.stage,
        stage_attempt=fact.stage_attempt,
        name=fact.name,
        n_tasks=fact.n_tasks,
        n_done=int(stages.n_done[row]),
        n_waiting=int(stages.waiting(row)),
        n_running=int(stages.n_running[row]),
        n_copies=int(stages.n_copies[row]),
        verdict=word.label,
        verdict_reason=word.because,
        refusal=Reason(int(stages.verdict[row])).label,
        closing=bool(stages.closing[row]),
        cores=int(stages.cores[row]),
        mean_s=finite(mean_s(stages, row)),
        age_s=float(moment.now_s - stages.submitted_s[row]),
    )


def _task(moment: Moment, row: int, live: list[int], speculator: Policy) -> s.TaskState:
    cluster, tasks, attempts = moment.cluster, moment.cluster.tasks, moment.cluster.attempts
    info = cluster.stage_infos[int(tasks.stage[row])]
    index, reason = int(tasks.index[row]), Reason(int(tasks.reason[row]))
    inputs = {
        "elapsed_s": float(moment.now_s - min(attempts.start_s[live])),
        "t_rem_s": float(min(attempts.t_rem_s[live])),
        "t_new_s": float(min(attempts.t_new_s[live])),
        "running_attempts": float(tasks.n_live[row]),
        "relative_size": float(max(attempts.relative_size[live])),
        "target": float(cluster.jobs.target[tasks.job[row]]),
        "progress": float(attempts.progress[cluster.leading_attempt(row)]),
    }
    stage, pool = cluster.stages.estimated[tasks.stage[row]], cluster.pools.estimated[tasks.pool[row]]
    inputs["expected_s"], service_s = map(float, fresh_times_s(min(attempts.t_fresh_s[live]), stage, pool))
    inputs["demand_s"] = float(cluster.jobs.open_tasks[tasks.job[row]]) * service_s
    inputs |= priced(reason, tasks.gain[row], tasks.price[row]) | speculator.shown(inputs)
    preferred = info.fact.preferred_hosts
    return s.TaskState(
        source=info.source,
        job=info.fact.job,
        stage=info.fact.stage,
        stage_attempt=info.fact.stage_attempt,
        index=index,
        running_attempts=int(tasks.n_live[row]),
        attempts_started=int(tasks.n_started[row]),
        input_bytes=int(tasks.input_bytes[row]) if isfinite(tasks.input_bytes[row]) else -1,
        preferred_hosts=preferred[index] if preferred else [],
        done=bool(tasks.done[row]),
        likeness=float(tasks.likeness[row]),
        ordered_copies=int(tasks.ordered_copies[row]) if tasks.ordered_until_s[row] > moment.now_s else 0,
        ordered_hosts=moment.ordered_hosts.get((info.source, cluster.task_key(row)), []),
        retry_s=max(0.0, float(tasks.not_before_s[row] - moment.now_s)),
        reason=reason.label,
        sentence=sentence(reason, inputs),
        inputs={name: finite(value) for name, value in inputs.items()},
    )


def _attempt(moment: Moment, row: int) -> s.AttemptState:
    cluster, attempts = moment.cluster, moment.cluster.attempts
    info = cluster.stage_infos[int(attempts.stage[row])]
    progress = finite(attempts.progress[row])
    return s.AttemptState(
        source=info.source,
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
        elapsed_s=float(moment.now_s - attempts.start_s[row]),
        progress=-1.0 if progress is None else progress,
        bytes_read=int(attempts.bytes_read[row]),
        records_read=int(attempts.records_read[row]),
        bytes_written=int(attempts.bytes_written[row]),
        records_written=int(attempts.records_written[row]),
        rows_out=int(attempts.rows_out[row]),
        cpu_s=float(attempts.cpu_s[row]),
        t_rem_s=finite(attempts.t_rem_s[row]),
        t_new_s=finite(attempts.t_new_s[row]),
        t_fresh_s=finite(attempts.t_fresh_s[row]),
        own_log=finite(attempts.own_log[row]),
        rate=float(attempts.rate[row]),
        sibling_rate=finite(attempts.sibling_rate[row]) or 0.0,
        relative_size=float(attempts.relative_size[row]),
        too_new=bool(attempts.too_new[row]),
        dying=(info.source, int(attempts.id[row])) in moment.dying,
    )
