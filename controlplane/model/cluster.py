"""What is running right now, and how does a fact change it? The only place where state changes.

Applying a fact twice changes nothing: attempts, stages, jobs and executors are known by the host's own ids, and an
attempt that has ended stays ended for as long as its stage is known. A full report is applied like any other and
then sweeps away whatever of its source it did not mention.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from controlplane.model import facts as f
from controlplane.model.columns import NAN, Attempts, Executors, Floats, Hosts, Ints, Jobs, Pools, Stages, Tasks
from controlplane.model.decisions import Report
from controlplane.model.errors import BadFact

UNIT_NONE, UNIT_BYTES, UNIT_RECORDS, UNIT_SHARE = 0, 1, 2, 3
KEPT_AFTER_CLOSE_S = 60.0
"""A closed stage whose last attempts never report their end is given up after this long."""


@dataclass(slots=True)
class StageInfo:
    """What of a stage is not a number; `row` is its row in `Cluster.stages`."""

    row: int
    source: str
    fact: f.StageSubmitted
    done: bytearray
    task_rows: dict[int, int] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    live: set[int] = field(default_factory=set)
    """Rows of its live attempts."""


@dataclass(slots=True)
class JobInfo:
    """What of a job is not a number."""

    row: int
    source: str
    key: str
    name: str
    host_ids: list[int]
    edges: list[tuple[int, int]]
    stage_tasks: dict[int, int] = field(default_factory=dict)
    """Number of tasks by stage id, also of stages not submitted yet."""
    stage_rows: set[int] = field(default_factory=set)


@dataclass(slots=True)
class SourceState:
    """One driver: its pool's row and its ids, each leading to a row."""

    name: str
    epoch: int
    row: int
    attached: f.DriverAttached
    heard_s: float
    jobs: dict[str, int] = field(default_factory=dict)
    stages: dict[tuple[int, int], int] = field(default_factory=dict)
    attempts: dict[int, int] = field(default_factory=dict)
    executors: dict[str, int] = field(default_factory=dict)
    requests: dict[int, tuple[f.ResourceRequested, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedAttempt:
    """An attempt that is over, with what the estimators learn from it; rows are of the moment it ended."""

    source: str
    pool: int
    job: int
    stage: int
    host: int
    fact: f.AttemptEnded
    ended_s: float
    won: bool
    """It finished its task; of several attempts only the first."""
    beaten_t_rem_s: float
    """If it won against others: the least time any of them still needed; else nan."""
    start_s: float
    first_s: float
    unit: int
    work: float
    input_bytes: float
    estimated_s: float
    foretold_end_s: float
    t_new_s: float


@dataclass(slots=True)
class Changes:
    """What one batch changed, for the estimators and the engine."""

    pools: set[int] = field(default_factory=set)
    ended: list[EndedAttempt] = field(default_factory=list)
    outcomes: list[tuple[str, f.OrderOutcome]] = field(default_factory=list)
    launched: list[tuple[str, f.AttemptStarted]] = field(default_factory=list)
    """Attempts that started because of an order."""
    stages_submitted: list[int] = field(default_factory=list)
    stages_ended: list[tuple[StageInfo, f.StageEnded]] = field(default_factory=list)
    startups: list[tuple[int, float]] = field(default_factory=list)
    """(pool, seconds from launch to first progress)."""
    want_full: set[str] = field(default_factory=set)
    bad: list[BadFact] = field(default_factory=list)


class Cluster:
    """Columns of everything that runs, over all sources."""

    def __init__(self) -> None:
        self.pools, self.hosts, self.executors = Pools(), Hosts(), Executors()
        self.jobs, self.stages, self.tasks, self.attempts = Jobs(), Stages(), Tasks(), Attempts(1024)
        self.sources: dict[str, SourceState] = {}
        self.source_of_pool: dict[int, SourceState] = {}
        self.host_rows: dict[str, int] = {}
        self.host_names: dict[int, str] = {}
        self.executor_names: dict[int, str] = {}
        self.job_infos: dict[int, JobInfo] = {}
        self.stage_infos: dict[int, StageInfo] = {}
        self._apply: dict[type, Callable[..., None]] = {
            f.DriverAttached: self._driver_attached,
            f.DriverDetached: self._driver_detached,
            f.ExecutorAdded: self._executor_added,
            f.ExecutorLost: self._executor_lost,
            f.JobSubmitted: self._job_submitted,
            f.JobEnded: self._job_ended,
            f.StageSubmitted: self._stage_submitted,
            f.StageEnded: self._stage_ended,
            f.ResourceRequested: self._resource_requested,
            f.AttemptStarted: self._attempt_started,
            f.AttemptEnded: self._attempt_ended,
            f.OrderOutcome: self._order_outcome,
        }
        self._mentioned: set[object] | None = None
        """While a full report is applied: the ids it has named."""

    # --- reports -----------------------------------------------------------------------------------------------

    def apply(self, report: Report, changes: Changes) -> None:
        """Apply one report; a bad fact is refused by itself and the rest of the report counts."""
        source = self.sources.get(report.source)
        if source is not None and report.epoch > source.epoch:
            self.forget(report.source, changes)
            source = None
        if source is None:
            if not report.full or not report.facts or not isinstance(report.facts[0], f.DriverAttached):
                changes.want_full.add(report.source)
                return
            source = self._new_source(report, report.facts[0])
        source.heard_s = report.received_s
        changes.pools.add(source.row)
        self._mentioned = set() if report.full else None
        for fact in report.facts:
            try:
                self._apply[type(fact)](source, fact, report.received_s, changes)
            except BadFact as bad:
                changes.bad.append(bad)
        if report.source not in self.sources:
            return
        if report.progress.attempt:
            try:
                self._progress(source, report.progress, report.received_s, changes)
            except BadFact as bad:
                changes.bad.append(bad)
        if self._mentioned is not None:
            self._sweep(source, report.received_s, changes)
            self._mentioned = None

    def forget(self, name: str, changes: Changes) -> None:
        """Drop a source and everything that runs in it."""
        source = self.sources.pop(name, None)
        if source is None:
            return
        for executor in list(source.executors):
            self._remove_executor(source, executor, 0.0, changes)
        for stage_row in list(source.stages.values()):
            self._remove_stage(source, stage_row)
        for job in list(source.jobs):
            self._remove_job(source, job)
        del self.source_of_pool[source.row]
        self.pools.remove(source.row)

    def purge(self, now_s: float) -> None:
        """Remove what is over: closed stages without live attempts, then ended jobs without stages.

        Left to the end of a cycle, so that estimators can still read what an ended attempt belonged to. A stage whose
        last attempts never report their end goes after `KEPT_AFTER_CLOSE_S`.
        """
        stages = self.stages
        rows = stages.rows()
        over = (stages.n_running[rows] == 0) | (now_s - stages.closed_s[rows] > KEPT_AFTER_CLOSE_S)
        for row in rows[stages.closing[rows] & over].tolist():
            self._remove_stage(self.sources[self.stage_infos[row].source], row)
        jobs = self.jobs.rows()
        for row in jobs[self.jobs.ended[jobs]].tolist():
            info = self.job_infos[row]
            if not info.stage_rows:
                self._remove_job(self.sources[info.source], info.key)

    def _new_source(self, report: Report, attached: f.DriverAttached) -> SourceState:
        row = self.pools.add(mode_rank=attached.mode.rank)
        source = SourceState(report.source, report.epoch, row, attached, report.received_s)
        self.sources[report.source] = source
        self.source_of_pool[row] = source
        return source

    def _sweep(self, source: SourceState, now_s: float, changes: Changes) -> None:
        mentioned = self._mentioned or set()
        for attempt, row in list(source.attempts.items()):
            if ("attempt", attempt) not in mentioned:
                self._end_lost(source, attempt, row, now_s, "not in the full report", changes)
        for executor in list(source.executors):
            if ("executor", executor) not in mentioned:
                self._remove_executor(source, executor, now_s, changes)
        for key, row in list(source.stages.items()):
            if ("stage", key) not in mentioned and not self.stages.closing[row]:
                self._close_stage(source, row, now_s)
        for key in list(source.jobs):
            if ("job", key) not in mentioned:
                self._end_job(source, key, now_s)

    def _mention(self, kind: str, key: object) -> None:
        if self._mentioned is not None:
            self._mentioned.add((kind, key))

    # --- drivers and executors ---------------------------------------------------------------------------------

    def _driver_attached(self, source: SourceState, fact: f.DriverAttached, _: float, __: Changes) -> None:
        source.attached = fact
        self.pools.mode_rank[source.row] = fact.mode.rank

    def _driver_detached(self, source: SourceState, _: f.DriverDetached, __: float, changes: Changes) -> None:
        self.forget(source.name, changes)

    def _executor_added(self, source: SourceState, fact: f.ExecutorAdded, received_s: float, _: Changes) -> None:
        self._mention("executor", fact.executor)
        if fact.executor in source.executors:
            return
        row = self.executors.add(
            pool=source.row,
            host=self._host(fact.host),
            slots=fact.slots,
            added_s=received_s - fact.age_ms / 1000,
        )
        source.executors[fact.executor] = row
        self.executor_names[row] = fact.executor
        self.pools.slots[source.row] += fact.slots

    def _executor_lost(self, source: SourceState, fact: f.ExecutorLost, received_s: float, changes: Changes) -> None:
        self._remove_executor(source, fact.executor, received_s - fact.age_ms / 1000, changes)

    def _remove_executor(self, source: SourceState, executor: str, now_s: float, changes: Changes) -> None:
        row = source.executors.pop(executor, None)
        if row is None:
            return
        for attempt, attempt_row in list(source.attempts.items()):
            if self.attempts.executor[attempt_row] == row:
                self._end_lost(source, attempt, attempt_row, now_s, "executor lost", changes)
        self.pools.slots[source.row] -= self.executors.slots[row]
        self.executors.remove(row)
        del self.executor_names[row]

    def _host(self, name: str) -> int:
        row = self.host_rows.get(name)
        if row is None:
            row = self.host_rows[name] = self.hosts.add()
            self.host_names[row] = name
        return row

    # --- jobs and stages ---------------------------------------------------------------------------------------

    def _job_submitted(self, source: SourceState, fact: f.JobSubmitted, received_s: float, _: Changes) -> None:
        self._mention("job", fact.job)
        row = source.jobs.get(fact.job)
        if row is None:
            row = self.jobs.add(pool=source.row, submitted_s=received_s - fact.age_ms / 1000)
            source.jobs[fact.job] = row
            self.job_infos[row] = JobInfo(row, source.name, fact.job, fact.name, [], [])
        info = self.job_infos[row]
        info.name = fact.name or info.name
        info.host_ids += [i for i in fact.host_ids if i not in info.host_ids]
        known = set(info.edges)
        info.edges += [edge for edge in fact.edges if edge not in known]
        info.stage_tasks.update(zip(fact.stages, fact.stage_tasks, strict=False))
        self.jobs.ended[row] = False
        self.jobs.weight[row] = fact.weight
        self.jobs.copies_enabled[row] = fact.copies_enabled
        self.jobs.mode_rank[row] = fact.mode.rank

    def _job_ended(self, source: SourceState, fact: f.JobEnded, received_s: float, _: Changes) -> None:
        self._end_job(source, fact.job, received_s - fact.age_ms / 1000)

    def _end_job(self, source: SourceState, key: str, now_s: float) -> None:
        row = source.jobs.get(key)
        if row is None:
            return
        self.jobs.ended[row] = True
        for stage_row in list(self.job_infos[row].stage_rows):
            self._close_stage(source, stage_row, now_s)

    def _remove_job(self, source: SourceState, key: str) -> None:
        row = source.jobs.pop(key)
        del self.job_infos[row]
        self.jobs.remove(row)

    def _stage_submitted(
        self, source: SourceState, fact: f.StageSubmitted, received_s: float, changes: Changes
    ) -> None:
        for name, values in (("input_bytes", fact.input_bytes), ("preferred_hosts", fact.preferred_hosts)):
            if values and len(values) != fact.n_tasks:
                raise BadFact(f"stage_submitted.{name}", len(values), f"n_tasks ({fact.n_tasks}) rows", source.name)
        key = (fact.stage, fact.stage_attempt)
        self._mention("stage", key)
        if key in source.stages:
            return
        if fact.job not in source.jobs:
            unknown_job = f.JobSubmitted(job=fact.job, age_ms=fact.age_ms)
            self._job_submitted(source, unknown_job, received_s, changes)
        job = source.jobs[fact.job]
        row = self.stages.add(
            pool=source.row,
            job=job,
            n_tasks=fact.n_tasks,
            submitted_s=received_s - fact.age_ms / 1000,
        )
        source.stages[key] = row
        self.stage_infos[row] = StageInfo(row, source.name, fact, bytearray(fact.n_tasks))
        self.job_infos[job].stage_rows.add(row)
        self.jobs.ended[job] = False
        self._mention("job", fact.job)
        changes.stages_submitted.append(row)

    def _stage_ended(self, source: SourceState, fact: f.StageEnded, received_s: float, changes: Changes) -> None:
        row = source.stages.get((fact.stage, fact.stage_attempt))
        if row is not None and not self.stages.closing[row]:
            changes.stages_ended.append((self.stage_infos[row], fact))
            self._close_stage(source, row, received_s - fact.age_ms / 1000)

    def _close_stage(self, source: SourceState, row: int, now_s: float) -> None:
        if not self.stages.closing[row]:
            self.stages.closing[row] = True
            self.stages.closed_s[row] = now_s

    def _remove_stage(self, source: SourceState, row: int) -> None:
        info = self.stage_infos.pop(row)
        for attempt_row in info.live:
            self._free_attempt(source, attempt_row)
        for task_row in info.task_rows.values():
            self.tasks.remove(task_row)
        source.stages.pop((info.fact.stage, info.fact.stage_attempt))
        self.job_infos[int(self.stages.job[row])].stage_rows.discard(row)
        self.stages.remove(row)

    def _resource_requested(
        self, source: SourceState, fact: f.ResourceRequested, received_s: float, _: Changes
    ) -> None:
        if fact.count == 0:
            source.requests.pop(fact.request, None)
        else:
            source.requests[fact.request] = (fact, received_s - fact.age_ms / 1000)
            while len(source.requests) > 1000:
                source.requests.pop(next(iter(source.requests)))

    # --- attempts ----------------------------------------------------------------------------------------------

    def _stage_of(
        self, source: SourceState, kind: str, fact: f.AttemptStarted | f.AttemptEnded, changes: Changes
    ) -> StageInfo | None:
        row = source.stages.get((fact.stage, fact.stage_attempt))
        if row is None:
            if kind == "attempt_started":
                changes.want_full.add(source.name)
            return None
        info = self.stage_infos[row]
        if fact.index >= len(info.done):
            raise BadFact(f"{kind}.index", fact.index, f"< n_tasks ({len(info.done)})", source.name)
        return info

    def _attempt_started(
        self, source: SourceState, fact: f.AttemptStarted, received_s: float, changes: Changes
    ) -> None:
        self._mention("attempt", fact.attempt)
        if fact.attempt in source.attempts:
            return
        info = self._stage_of(source, "attempt_started", fact, changes)
        if info is None or fact.attempt in info.ended:
            return
        start_s = received_s - fact.age_ms / 1000
        if fact.executor not in source.executors:
            changes.want_full.add(source.name)
            return
        executor = source.executors[fact.executor]
        task = self._task(source, info, fact.index)
        stages, tasks = self.stages, self.tasks
        if tasks.done[task] and not fact.speculative:
            # The finished output was lost with its executor, so the host runs the task again.
            tasks.done[task] = False
            info.done[fact.index] = 0
            stages.n_done[info.row] -= 1
            if tasks.n_live[task]:
                stages.n_active[info.row] += 1
        row = self.attempts.add(
            id=fact.attempt,
            pool=source.row,
            job=stages.job[info.row],
            stage=info.row,
            task=task,
            executor=executor,
            host=self.executors.host[executor],
            attempt_number=fact.attempt_number,
            order=fact.order,
            speculative=fact.speculative,
            cold=self.executors.finished[executor] == 0,
            start_s=start_s,
            advanced_s=start_s,
        )
        source.attempts[fact.attempt] = row
        info.live.add(row)
        self.executors.running[executor] += 1
        stages.n_running[info.row] += 1
        if not tasks.n_live[task] and not tasks.done[task]:
            stages.n_active[info.row] += 1
        tasks.n_live[task] += 1
        if fact.speculative:
            stages.n_copies[info.row] += 1
            tasks.n_copies[task] += 1
            self.jobs.copies_launched[stages.job[info.row]] += 1
        if fact.order:
            tasks.ordered_copies[task] = max(0, tasks.ordered_copies[task] - 1)
            changes.launched.append((source.name, fact))

    def _task(self, source: SourceState, info: StageInfo, index: int) -> int:
        row = info.task_rows.get(index)
        if row is None:
            sizes = info.fact.input_bytes
            row = info.task_rows[index] = self.tasks.add(
                pool=source.row,
                job=self.stages.job[info.row],
                stage=info.row,
                index=index,
                input_bytes=sizes[index] if sizes and sizes[index] > 0 else NAN,
            )
        return row

    def _attempt_ended(self, source: SourceState, fact: f.AttemptEnded, received_s: float, changes: Changes) -> None:
        ended_s = received_s - fact.age_ms / 1000
        info = self._stage_of(source, "attempt_ended", fact, changes)
        if info is None or fact.attempt in info.ended:
            return
        row = source.attempts.get(fact.attempt)
        if row is None:
            # The start was dropped, or the report is a full one: an end tells the whole story by itself.
            if fact.executor in source.executors:
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
                self._attempt_started(source, started, received_s, changes)
                row = source.attempts.get(fact.attempt)
            if row is None:
                info.ended.add(fact.attempt)
                self._task_done_unseen(info, fact)
                return
        self._end(source, info, row, fact, ended_s, changes)

    def _task_done_unseen(self, info: StageInfo, fact: f.AttemptEnded) -> None:
        if fact.outcome is f.Outcome.SUCCESS and not info.done[fact.index]:
            task = info.task_rows.get(fact.index)
            if task is not None:
                self.tasks.done[task] = True
                if self.tasks.n_live[task]:
                    self.stages.n_active[info.row] -= 1
            info.done[fact.index] = 1
            self.stages.n_done[info.row] += 1

    def _end_lost(
        self, source: SourceState, attempt: int, row: int, now_s: float, reason: str, changes: Changes
    ) -> None:
        info = self.stage_infos[int(self.attempts.stage[row])]
        fact = f.AttemptEnded(
            attempt=attempt,
            stage=info.fact.stage,
            stage_attempt=info.fact.stage_attempt,
            index=int(self.tasks.index[self.attempts.task[row]]),
            executor=self.executor_names[int(self.attempts.executor[row])],
            host=self.host_names[int(self.attempts.host[row])],
            outcome=f.Outcome.LOST,
            duration_ms=max(0, int((now_s - self.attempts.start_s[row]) * 1000)),
            attempt_number=int(self.attempts.attempt_number[row]),
            speculative=bool(self.attempts.speculative[row]),
            order=int(self.attempts.order[row]),
            reason=reason,
        )
        self._end(source, info, row, fact, now_s, changes)

    def _end(
        self,
        source: SourceState,
        info: StageInfo,
        row: int,
        fact: f.AttemptEnded,
        ended_s: float,
        changes: Changes,
    ) -> None:
        attempts, tasks, stages = self.attempts, self.tasks, self.stages
        task, stage = int(attempts.task[row]), info.row
        job = int(stages.job[stage])
        won = fact.outcome is f.Outcome.SUCCESS and not tasks.done[task]
        rivals = [r for r in info.live if attempts.task[r] == task and r != row] if tasks.n_live[task] > 1 else []
        duration_s = fact.duration_ms / 1000
        if won:
            tasks.done[task] = True
            info.done[fact.index] = 1
            stages.n_done[stage] += 1
            stages.n_active[stage] -= 1
        elif tasks.n_live[task] == 1 and not tasks.done[task]:
            stages.n_active[stage] -= 1
        speculative = bool(attempts.speculative[row])
        self.pools.total_core_s[source.row] += duration_s
        if speculative:
            stages.n_copies[stage] -= 1
            tasks.n_copies[task] -= 1
            if won:
                self.jobs.copies_won[job] += 1
            else:
                self.jobs.copies_lost[job] += 1
                self.jobs.losing_core_s[job] += duration_s
                self.pools.losing_core_s[source.row] += duration_s
        changes.ended.append(
            EndedAttempt(
                source=source.name,
                pool=source.row,
                job=job,
                stage=stage,
                host=int(attempts.host[row]),
                fact=fact,
                ended_s=ended_s,
                won=won,
                beaten_t_rem_s=float(min(attempts.t_rem_s[rivals])) if won and rivals else NAN,
                start_s=float(attempts.start_s[row]),
                first_s=float(attempts.first_s[row]),
                unit=int(attempts.unit[row]),
                work=float(attempts.work[row]),
                input_bytes=float(tasks.input_bytes[task]),
                estimated_s=float(attempts.estimated_s[row]),
                foretold_end_s=float(attempts.foretold_end_s[row]),
                t_new_s=float(attempts.t_new_s[row]),
            )
        )
        self.executors.finished[attempts.executor[row]] += 1
        info.ended.add(fact.attempt)
        info.live.discard(row)
        self._free_attempt(source, row)

    def _free_attempt(self, source: SourceState, row: int) -> None:
        attempts = self.attempts
        self.executors.running[attempts.executor[row]] -= 1
        self.stages.n_running[attempts.stage[row]] -= 1
        self.tasks.n_live[attempts.task[row]] -= 1
        del source.attempts[int(attempts.id[row])]
        attempts.remove(row)

    def _order_outcome(self, source: SourceState, fact: f.OrderOutcome, _: float, changes: Changes) -> None:
        changes.outcomes.append((source.name, fact))

    # --- progress ----------------------------------------------------------------------------------------------

    def _progress(self, source: SourceState, progress: f.Progress, received_s: float, changes: Changes) -> None:
        """Apply progress columns: one vectorised pass, no object per attempt."""
        ids = progress.attempt
        for name in f.PROGRESS_COLUMNS:
            length = len(getattr(progress, name))
            if length not in (0, len(ids)):
                raise BadFact(f"progress.{name}", length, f"0 or {len(ids)} values", source.name)
        get = source.attempts.get
        rows = np.array([get(i, -1) for i in ids], dtype=np.int64)
        known = rows >= 0
        rows = rows[known]
        if not len(rows):
            return
        attempts = self.attempts

        def column(name: str) -> Floats:
            values = getattr(progress, name)
            return np.array(values, dtype=np.float64)[known] if values else np.full(len(rows), -1.0)

        for name in ("bytes_read", "bytes_written", "records_read", "records_written"):
            if getattr(progress, name):
                totals: Floats = getattr(attempts, name)
                totals[rows] = np.maximum(totals[rows], column(name))
        at_s = received_s - np.maximum(column("age_ms"), 0.0) / 1000
        share = column("progress_ppm") / 1e6
        work, unit = self._work(rows, share)
        grew = work > attempts.work[rows]
        fresh = grew & np.isnan(attempts.first_s[rows])
        attempts.work[rows] = np.maximum(work, attempts.work[rows])
        attempts.unit[rows] = unit
        attempts.advanced_s[rows[grew]] = at_s[grew]
        attempts.first_s[rows[fresh]] = at_s[fresh]
        attempts.first_work[rows[fresh]] = work[fresh]
        delays = at_s[fresh] - attempts.start_s[rows[fresh]]
        changes.startups += [(source.row, float(delay)) for delay in delays]

    def _work(self, rows: Ints, share: Floats) -> tuple[Floats, Ints]:
        """Work done and its unit: bytes where the input's size is known, else the host's share, else records."""
        attempts = self.attempts
        sized = ~np.isnan(self.tasks.input_bytes[attempts.task[rows]])
        read, records = attempts.bytes_read[rows], attempts.records_read[rows]
        choices = [sized & (read > 0), share > 0, records > 0]
        work = np.select(choices, [read, share, records], 0.0)
        unit = np.select(choices, [UNIT_BYTES, UNIT_SHARE, UNIT_RECORDS], attempts.unit[rows])
        return work, unit
