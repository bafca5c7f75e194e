"""How does a fact change what is known? The only place where any does.

Applying a fact twice changes nothing: attempts, stages, jobs and executors are known by the host's own ids, and an
attempt that has ended stays ended for as long as its stage is known and it is among the newest that have. A full report
is applied like any other and then removes everything of its source that it did not name.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

from controlplane.model import facts as f
from controlplane.model.attempts import attempt_ended, attempt_started, done_unseen, end_lost
from controlplane.model.changes import Changes
from controlplane.model.cluster import Cluster, JobInfo, SourceState, StageInfo
from controlplane.model.costs import listed
from controlplane.model.decisions import Report
from controlplane.model.errors import BadFact
from controlplane.model.intake import Intake
from controlplane.model.progress import apply_progress

_Step = Callable[[Intake, Any], None]

MOST_REQUESTS = 1000
"""Open resource requests kept per source; the oldest go first."""
MOST_TASKS = 10_000_000
"""Tasks in the open stages of one source; no driver has that many, and each may cost a byte."""
MOST_TASKS_BY_ALL = 100_000_000
"""The same for all sources; beyond it each may have an equal part, as for the limits below."""
MOST_OPEN = 20_000
"""Jobs of one source, stages and executors, each: more than any can report in full."""
MOST_OPEN_BY_ALL = 200_000
"""The same of all sources."""
MOST_LISTED = 2_000_000
"""Numbers and names in the lists of one source's jobs, stages and requests, which are kept for as long as these are."""
MOST_LISTED_BY_ALL = 4_000_000
"""The same of all sources."""


def apply(cluster: Cluster, report: Report, changes: Changes) -> None:
    """Apply one report; a bad fact is refused by itself and the rest of the report counts."""
    source = cluster.sources.get(report.source)
    if source is not None and report.epoch > source.epoch:
        forget(cluster, report.source, changes)
        source = None
    if source is None:
        if not report.full or not report.facts or not isinstance(report.facts[0], f.DriverAttached):
            changes.want_full.add(report.source)
            changes.refused += report.facts
            return
        source = _new_source(cluster, report, report.facts[0])
    source.heard_s = report.received_s
    changes.pools.add(source.row)
    now = Intake(cluster, source, report.received_s, changes, set(), report.full)
    its_own = _OF_QUEUES if source.kind.is_queue else _OF_DRIVERS
    steps: list[tuple[_Step, Any]] = [(its_own.get(type(fact), _out_of_place), fact) for fact in report.facts]
    if report.progress.attempt:
        steps.append((apply_progress, report.progress))
    for place, (step, what) in enumerate(steps):
        if source.name in changes.detached:
            changes.refused += report.facts[place:]
            return
        try:
            step(now, what)
        except BadFact as bad:
            changes.bad.append(bad)
            changes.refused += report.facts[place : place + 1]
    if report.full and source.name not in changes.detached:
        _sweep(now)


def forget(cluster: Cluster, name: str, changes: Changes) -> None:
    """Drop a source and everything that runs in it."""
    source = cluster.sources.pop(name, None)
    if source is None:
        return
    cluster.queues.pop(name, None)
    changes.detached.discard(name)
    changes.forgotten.add(name)
    now = Intake(cluster, source, source.heard_s, changes, set(), full=False)
    for attempt in [attempt for attempt, row in source.attempts.items() if cluster.attempts.speculative[row]]:
        end_lost(now, attempt, "its source has gone")
    # What ended in it settles orders, and teaches nothing: the rows that it speaks of are gone.
    changes.ended_with_source += [ended for ended in changes.ended if ended.source == name]
    changes.ended = [ended for ended in changes.ended if ended.source != name]
    for row in list(source.stages.values()):
        cluster.remove_stage(source, row)
    for row in source.executors.values():
        cluster.remove_executor(row)
    for job in list(source.jobs):
        cluster.remove_job(source, job)
    for request in list(source.requests):
        cluster.drop_request(source, request)
    del cluster.source_of_pool[source.row]
    cluster.pools.remove(source.row)


def _new_source(cluster: Cluster, report: Report, attached: f.DriverAttached) -> SourceState:
    row = cluster.pools.add()
    kind = cluster.kinds[report.source.partition(":")[0]]
    source = SourceState(report.source, report.epoch, row, attached, kind, report.received_s)
    cluster.sources[report.source] = cluster.source_of_pool[row] = source
    return source


def _sweep(now: Intake) -> None:
    source = now.source
    for attempt in [i for i in source.attempts if ("attempt", i) not in now.mentioned]:
        end_lost(now, attempt, "not in the full report")
    for executor in [i for i in source.executors if ("executor", i) not in now.mentioned]:
        _remove_executor(now, executor)
    for row in [row for key, row in source.stages.items() if ("stage", key) not in now.mentioned]:
        _close_stage(now, row, now.received_s)
    for job in [key for key in source.jobs if ("job", key) not in now.mentioned]:
        _end_job(now, job, now.received_s)


def _driver_attached(now: Intake, fact: f.DriverAttached) -> None:
    now.source.attached = fact


def _driver_detached(now: Intake, _: f.DriverDetached) -> None:
    now.changes.detached.add(now.source.name)


def _executor_added(now: Intake, fact: f.ExecutorAdded) -> None:
    now.mentioned.add(("executor", fact.executor))
    if fact.executor in now.source.executors:
        return
    cluster = now.cluster
    n_before, everywhere = len(now.source.executors), len(cluster.executors)
    _check_room(now, "executor_added.executor", fact.executor, n_before, everywhere)
    host = cluster.host_row(fact.host)
    row = cluster.executors.add(host=host, slots=fact.slots, added_s=now.at_s(fact))
    now.source.executors[fact.executor] = row
    cluster.executor_names[row] = fact.executor
    cluster.attempts_on[row] = {}
    cluster.pools.slots[now.source.row] += fact.slots


def _executor_lost(now: Intake, fact: f.ExecutorLost) -> None:
    _remove_executor(now, fact.executor)


def _remove_executor(now: Intake, executor: str) -> None:
    cluster, source = now.cluster, now.source
    row = source.executors.pop(executor, None)
    if row is None:
        return
    for attempt in cluster.attempts.id[list(cluster.attempts_on[row])].tolist():
        end_lost(now, attempt, "executor lost")
    cluster.pools.slots[source.row] -= cluster.executors.slots[row]
    cluster.remove_executor(row)


def _job_submitted(now: Intake, fact: f.JobSubmitted) -> None:
    if fact.stage_tasks and len(fact.stage_tasks) != len(fact.stages):
        what = f"stages ({len(fact.stages)}) rows"
        raise BadFact("job_submitted.stage_tasks", len(fact.stage_tasks), what, now.source.name)
    now.mentioned.add(("job", fact.job))
    cluster, source = now.cluster, now.source
    row = source.jobs.get(fact.job)
    n_listed = _check_listed(cluster, source, fact, 0 if row is None else cluster.job_infos[row].n_listed)
    if row is None:
        _check_room(now, "job_submitted.job", fact.job, len(source.jobs), len(cluster.jobs))
        row = source.jobs[fact.job] = cluster.jobs.add(
            pool=source.row, submitted_s=now.at_s(fact), draw=drawn(source.name, fact.job)
        )
        cluster.job_infos[row] = JobInfo(row, source.name, fact.job, fact.name, [], [])
    elif cluster.jobs.ended[row]:
        cluster.jobs.submitted_s[row] = now.at_s(fact)
    info = cluster.job_infos[row]
    cluster.keep_listed(source, n_listed - info.n_listed)
    cluster.job_infos[row] = replace(
        info,
        name=fact.name or info.name,
        host_ids=fact.host_ids,
        edges=fact.edges,
        stage_tasks=dict(zip(fact.stages, fact.stage_tasks, strict=False)),
        n_listed=n_listed,
        speculator=fact.speculator,
    )
    cluster.jobs.ended[row] = False
    cluster.jobs.weight[row] = fact.weight
    within_s = fact.deadline_ms / 1000 if fact.deadline_ms >= 0 else inf
    cluster.jobs.deadline_s[row] = cluster.jobs.submitted_s[row] + within_s
    cluster.jobs.error_bound[row], cluster.jobs.kill_late[row] = fact.error_bound / 1e6, fact.kill_late
    cluster.jobs.copies_enabled[row] = fact.copies_enabled
    cluster.jobs.mode_rank[row] = fact.mode.rank
    now.changes.jobs.add(row)


def drawn(source: str, job: str) -> float:
    """A number from [0, 1) for a job, always the same: what is drawn by chance about it goes by this.

    >>> round(drawn("spark:app-1", "job-0"), 3), round(drawn("spark:app-1", "job-1"), 3)
    (0.575, 0.274)
    """
    return int.from_bytes(hashlib.blake2b(f"{source}/{job}".encode(), digest_size=6).digest()) / 2**48


def _job_ended(now: Intake, fact: f.JobEnded) -> None:
    row = now.source.jobs.get(fact.job)
    if row is None:
        return
    if not now.cluster.jobs.ended[row]:
        now.changes.job_ends[row] = (now.at_s(fact), float(now.cluster.jobs.deadline_s[row]))
    _end_job(now, fact.job, now.at_s(fact))
    if fact.outcome is f.Outcome.SUCCESS:
        now.changes.jobs_done.add(row)


def _end_job(now: Intake, job: str, at_s: float) -> None:
    jobs, row = now.cluster.jobs, now.source.jobs[job]
    jobs.ended[row] = True
    now.changes.jobs_ended.add(row)
    jobs.containers_running[row] = jobs.containers_pending[row] = 0
    for stage in list(now.cluster.job_infos[row].open_rows):
        _close_stage(now, stage, at_s)


def _stage_submitted(now: Intake, fact: f.StageSubmitted) -> None:
    cluster, source = now.cluster, now.source
    key = (fact.stage, fact.stage_attempt)
    if ("stage", key) in now.mentioned:
        return
    known = cluster.stage_infos[source.stages[key]] if key in source.stages else None
    _check_stage(now, fact, known)
    now.mentioned.add(("stage", key))
    if known is not None:
        _tasks_done(now, fact, known)
        return
    n_listed = _check_listed(cluster, source, fact)
    if fact.job not in source.jobs:
        _job_submitted(now, f.JobSubmitted(job=fact.job, age_ms=fact.age_ms))
    job = source.jobs[fact.job]
    row = cluster.stages.add(pool=source.row, job=job, n_tasks=fact.n_tasks, submitted_s=now.at_s(fact))
    source.stages[key] = row
    cluster.keep_tasks(source, fact.n_tasks)
    cluster.keep_listed(source, n_listed)
    in_python = any(word in fact.operators for word in source.kind.python_operators)
    info = cluster.stage_infos[row] = StageInfo(row, source.name, fact, n_listed, in_python)
    cluster.job_infos[job].stage_rows.add(row)
    cluster.job_infos[job].open_rows.add(row)
    now.changes.jobs.add(job)
    cluster.jobs.ended[job] = False
    now.mentioned.add(("job", fact.job))
    now.changes.stages_submitted.append(row)
    _tasks_done(now, fact, info)


def _check_stage(now: Intake, fact: f.StageSubmitted, known: StageInfo | None) -> None:
    """Raises BadFact for columns that do not match, runs that do not ascend, and a stage or tasks too many."""
    cluster, source = now.cluster, now.source
    for name in ("input_bytes", "relative_bytes", "preferred_hosts"):
        values = getattr(fact, name)
        if values and len(values) != fact.n_tasks:
            raise BadFact(f"stage_submitted.{name}", len(values), f"n_tasks ({fact.n_tasks}) rows", source.name)
    n_tasks = known.fact.n_tasks if known else fact.n_tasks
    end = -1
    for first, last in fact.done:
        if not end < first <= last < n_tasks:
            want = f"runs that ascend below n_tasks ({n_tasks})"
            raise BadFact("stage_submitted.done", [first, last], want, source.name)
        end = last
    if known is None:
        most = cluster.most(cluster.n_tasks + n_tasks, MOST_TASKS, MOST_TASKS_BY_ALL)
        if source.n_tasks + n_tasks > most:
            want = f"at most {most} with those of its {len(source.stages)} other stages"
            raise BadFact("stage_submitted.n_tasks", n_tasks, want, source.name)
        _check_room(now, "stage_submitted.stage", fact.stage, len(source.stages), len(cluster.stages))


def _check_room(now: Intake, field: str, got: object, n_before: int, everywhere: int, n_new: int = 1) -> None:
    """Raises BadFact if `n_new` more exceed a source's limit, given the total."""
    most = now.cluster.most(everywhere + n_new, MOST_OPEN, MOST_OPEN_BY_ALL)
    if n_new and n_before + n_new > most:
        raise BadFact(field, got, f"at most {most} at once", now.source.name)


def _check_listed(
    cluster: Cluster,
    source: SourceState,
    fact: f.JobSubmitted | f.StageSubmitted | f.ResourceRequested,
    n_before: int = 0,
) -> int:
    """Size of a fact's lists, which replaces `n_before`; raises BadFact if that is too much to keep."""
    counts = listed(fact)
    n = sum(counts.values())
    others, everywhere = source.n_listed - n_before, cluster.n_listed - n_before + n
    most = cluster.most(everywhere, MOST_LISTED, MOST_LISTED_BY_ALL)
    if n and others + n > most:
        longest = max(counts, key=lambda name: counts[name])
        want = f"at most {most} in its lists, with the {others} of its other jobs, stages and requests"
        raise BadFact(f"{fact.__struct_config__.tag}.{longest}", n, want, source.name)
    return n


def _tasks_done(now: Intake, fact: f.StageSubmitted, info: StageInfo) -> None:
    for first, last in fact.done:
        done_unseen(now.cluster, info, first, last, now.received_s)


def _stage_ended(now: Intake, fact: f.StageEnded) -> None:
    row = now.source.stages.get((fact.stage, fact.stage_attempt))
    if row is not None and not now.cluster.stages.closing[row]:
        now.changes.stages_ended.append((now.cluster.stage_infos[row], fact))
        _close_stage(now, row, now.at_s(fact))


def _close_stage(now: Intake, row: int, at_s: float) -> None:
    stages = now.cluster.stages
    if not stages.closing[row]:
        stages.closing[row], stages.closed_s[row] = True, at_s
        now.cluster.job_infos[int(stages.job[row])].open_rows.discard(row)
        closed = now.cluster.stage_infos[row].fact
        for request in list(now.source.requests_of.get((closed.stage, closed.stage_attempt), ())):
            now.cluster.drop_request(now.source, request)
        now.changes.jobs.add(int(stages.job[row]))


def _resource_requested(now: Intake, fact: f.ResourceRequested) -> None:
    cluster, source, stage = now.cluster, now.source, now.source.stages.get((fact.stage, fact.stage_attempt))
    n_before = sum(listed(source.requests[fact.request][0]).values()) if fact.request in source.requests else 0
    n_listed = _check_listed(cluster, source, fact, n_before) if fact.count else 0
    if stage is not None and fact.cores:
        cluster.stages.cores[stage] = fact.cores
    cluster.drop_request(source, fact.request)
    if fact.count:
        cluster.keep_listed(source, n_listed)
        source.requests[fact.request] = (fact, now.at_s(fact))
        source.requests_of.setdefault((fact.stage, fact.stage_attempt), set()).add(fact.request)
        if len(source.requests) > MOST_REQUESTS:
            cluster.drop_request(source, next(iter(source.requests)))


def _queue_demand(now: Intake, fact: f.QueueDemand) -> None:
    cluster, jobs, source = now.cluster, now.cluster.jobs, now.source
    if ("queue", source.name) in now.mentioned:
        raise BadFact("facts", "queue_demand", "one in a report, for it is the whole queue", source.name)
    now.mentioned.add(("queue", source.name))
    named = {application.job for application in fact.applications}
    n_named, n_new = len(named), len(named - source.jobs.keys())
    _check_room(now, "queue_demand.applications", n_named, len(source.jobs), len(cluster.jobs), n_new)
    cluster.queues[source.name] = source
    cluster.pools.slots[source.row] = fact.slots
    source.cluster_unix_ms = fact.cluster_unix_ms
    for application in fact.applications:
        key, weight, age_ms = application.job, application.weight, application.age_ms
        _job_submitted(now, f.JobSubmitted(job=key, name=application.name, weight=weight, age_ms=age_ms))
        row = source.jobs[key]
        jobs.containers_running[row] = application.running
        jobs.containers_pending[row] = application.pending
        cluster.job_infos[row] = replace(cluster.job_infos[row], queued=application)
        cluster.queued.setdefault(key, set()).add(row)
    for job in [key for key in source.jobs if key not in named]:
        _end_job(now, job, now.received_s)


def _order_outcome(now: Intake, fact: f.OrderOutcome) -> None:
    now.changes.outcomes.append((now.source.name, fact))
    if fact.result is f.OrderResult.APPLIED:
        now.source.applied_s = now.received_s


def _out_of_place(now: Intake, fact: f.Fact) -> None:
    """Raises BadFact: a driver is no queue, and a queue has applications but no executors, jobs and stages."""
    kind = now.source.name.partition(":")[0]
    raise BadFact("source.kind", kind, f"another for {fact.__struct_config__.tag}", now.source.name)


_OF_ALL: dict[type, _Step] = {
    f.DriverAttached: _driver_attached,
    f.DriverDetached: _driver_detached,
    f.OrderOutcome: _order_outcome,
}
_OF_QUEUES: dict[type, _Step] = {**_OF_ALL, f.QueueDemand: _queue_demand}
_OF_DRIVERS: dict[type, _Step] = {
    **_OF_ALL,
    f.ExecutorAdded: _executor_added,
    f.ExecutorLost: _executor_lost,
    f.JobSubmitted: _job_submitted,
    f.JobEnded: _job_ended,
    f.StageSubmitted: _stage_submitted,
    f.StageEnded: _stage_ended,
    f.ResourceRequested: _resource_requested,
    f.AttemptStarted: attempt_started,
    f.AttemptEnded: attempt_ended,
}
