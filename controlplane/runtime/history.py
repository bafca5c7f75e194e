"""Which jobs and attempts ran recently? A bounded record for the decision page, fed by accepted reports."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from controlplane.hosts import kind_of
from controlplane.hosts.kind import Verdict
from controlplane.model.decisions import Report
from controlplane.model.facts import (
    AttemptEnded,
    AttemptStarted,
    DriverAttached,
    DriverDetached,
    ExecutorLost,
    JobEnded,
    JobSubmitted,
    Outcome,
    QueuedApplication,
    QueueDemand,
    StageSubmitted,
)
from controlplane.model.snapshot import HostState
from controlplane.runtime.holdings import Holding, note_change
from controlplane.runtime.parameters import RuntimeSettings

_STAGES_PER_JOB = 1000
MOST_HOSTS = 10_000
"""Hosts remembered, the most recently seen ones."""


class AttemptRecord(Struct, frozen=True, kw_only=True):
    """One attempt from launch to end, times on the engine's clock; `end_s` is None while it runs."""

    attempt: int
    stage: int
    stage_attempt: int
    index: int
    attempt_number: int
    executor: str
    host: str
    speculative: bool
    order: int
    """The order that asked for it; 0 if the host launched it by itself."""
    start_s: float
    """Seconds on the engine's clock."""
    end_s: float | None = None
    """Seconds on the engine's clock; null while it runs."""
    outcome: Outcome | None = None
    reason: str = ""
    """The host's words on its end; may be empty."""


class JobRecord(Struct, kw_only=True):
    """One job with its attempts by id, in order of arrival; `ended_s` is None while it runs.

    An application of a leaf queue has containers in place of attempts; how it ended is not reported.
    """

    source: str
    application: str
    """Its name, or its id if it has none."""
    job: str
    name: str
    submitted_s: float
    epoch: int = 0
    """Epoch of the run of its source in which it was submitted, or joined its queue."""
    speculator: str = ""
    """The speculator that its user names for it; empty for its pool's."""
    ended_s: float | None = None
    outcome: Outcome | None = None
    attempts: dict[int, AttemptRecord] = {}
    running: set[int] = set()
    """Ids of the attempts that have not ended."""
    attempts_left_out: int = 0
    """Attempts of this job that are no longer kept."""
    stages: dict[tuple[int, int], Verdict] = {}
    """The write-safety gate's verdicts on the newest stages by (stage, stage_attempt), oldest first."""
    sick_hosts: set[str] = set()
    """Hosts that were sick while it ran."""
    queued: QueuedApplication | None = None
    """Its queue's last report of it; None for a driver's job."""
    containers: list[Holding] = []


class KnownHost(Struct, frozen=True, kw_only=True):
    """A host as it was at `seen_s` on the engine's clock."""

    state: HostState
    seen_s: float


class History:
    """Keeps the newest jobs and attempts, bounded by count and by age."""

    def __init__(self, settings: RuntimeSettings) -> None:
        self._settings = settings
        self._jobs: OrderedDict[tuple[str, str], JobRecord] = OrderedDict()
        self._stage_jobs: dict[tuple[str, int, int], JobRecord] = {}
        self._applications: dict[str, str] = {}
        """By source."""
        self._epochs: dict[str, int] = {}
        """By source: the epoch of its newest report."""
        self._queued: dict[str, dict[str, JobRecord]] = {}
        """Applications that are in leaf queues now, by queue and id; only ended ones are among the jobs."""
        self._n_attempts = 0
        self.hosts: dict[str, KnownHost] = {}
        """By name, as each was when it last had slots; the last one seen is at the end."""

    def jobs(self, source: str | None = None) -> Iterator[JobRecord]:
        """Jobs, newest first, of one source or of all."""
        return (job for job in reversed(self._jobs.values()) if source is None or job.source == source)

    def job(self, source: str, job: str, epoch: int | None = None) -> JobRecord | None:
        """One job, of one run or of any; None if it was never seen or is no longer kept."""
        found = self._queued.get(source, {}).get(job) or self._jobs.get((source, job))
        return found if found and epoch in (None, found.epoch) else None

    def find(self, source: str, attempt: int, epoch: int | None = None) -> tuple[JobRecord, AttemptRecord] | None:
        """The job and record of one attempt, of one run or of the newest that is remembered to have it."""
        for job in self.jobs(source):
            if epoch in (None, job.epoch) and (found := job.attempts.get(attempt)):
                return job, found
        return None

    def verdicts(self, source: str) -> list[Verdict]:
        """The verdict on each of a source's remembered stages."""
        return [found for job in self.jobs(source) for found in job.stages.values()]

    def add(self, report: Report) -> None:
        """Adds one accepted report."""
        self._epochs[report.source] = report.epoch
        for fact in report.facts:
            handler = _HANDLERS.get(type(fact))
            if handler is not None:
                handler(self, report.source, fact, report.received_s)
        self._end_lost(report)
        if report.full:
            self._end_missing(report)

    def note_hosts(self, hosts: Sequence[HostState], now_s: float) -> None:
        """Remembers how hosts are, and with every running job which of them are sick."""
        for host in hosts:
            self.hosts.pop(host.host, None)
            self.hosts[host.host] = KnownHost(state=host, seen_s=now_s)
        if sick := {host.host for host in hosts if host.sick}:
            for job in self._jobs.values():
                if job.ended_s is None:
                    job.sick_hosts |= sick

    def prune(self, now_s: float) -> None:
        """Drops records beyond the count or the age, ended jobs before running ones, oldest first."""
        limits = self._settings
        old_s = now_s - limits.history_age_s
        while self.hosts:
            name, host = next(iter(self.hosts.items()))
            if len(self.hosts) <= MOST_HOSTS and host.seen_s >= old_s:
                break
            del self.hosts[name]
        ended = [(key, job.ended_s) for key, job in self._jobs.items() if job.ended_s is not None]
        for key, ended_s in ended:
            crowded = len(self._jobs) > limits.history_jobs or self._n_attempts > limits.history_attempts
            if crowded or ended_s < old_s:
                self._drop(key)
        while len(self._jobs) > limits.history_jobs:
            self._drop(next(iter(self._jobs)))
        self._trim_running()

    def forget(self, source: str, now_s: float) -> None:
        """Notes that the source is gone: its jobs are over, and their outcome is unknown."""
        for job in self._running(source):
            self._end_job(job, now_s, Outcome.LOST)
        self._leave_queue(source, list(self._queued.get(source, ())), now_s, Outcome.LOST)
        self._queued.pop(source, None)
        self._applications.pop(source, None)
        self._epochs.pop(source, None)

    def _drop(self, key: tuple[str, str]) -> None:
        job = self._jobs.pop(key)
        self._n_attempts -= len(job.attempts)
        for stage in job.stages:
            self._drop_stage(job, stage)

    def _drop_stage(self, job: JobRecord, stage: tuple[int, int]) -> None:
        """A restarted source numbers its stages again, so the key may be another job's by now."""
        if self._stage_jobs.get((job.source, *stage)) is job:
            del self._stage_jobs[job.source, *stage]

    def _trim_running(self) -> None:
        """Drops attempts of running jobs: ended ones of the oldest jobs first, then those of the largest jobs."""
        largest_first = sorted(self._jobs.values(), key=lambda job: -len(job.attempts))
        for jobs, with_open in ((self._jobs.values(), False), (largest_first, True)):
            for job in jobs:
                surplus = self._n_attempts - self._settings.history_attempts
                if surplus <= 0:
                    return
                over = [a.attempt for a in job.attempts.values() if with_open or a.end_s is not None][:surplus]
                for attempt in over:
                    del job.attempts[attempt]
                job.running.difference_update(over)
                job.attempts_left_out += len(over)
                self._n_attempts -= len(over)

    def _running(self, source: str) -> Iterable[JobRecord]:
        return [job for job in self._jobs.values() if job.source == source and job.ended_s is None]

    def _end_job(self, job: JobRecord, end_s: float, outcome: Outcome) -> None:
        job.ended_s, job.outcome = end_s, outcome
        _lose(job, lambda _: end_s)

    def _end_lost(self, report: Report) -> None:
        """Ends attempts on executors that are gone; one look at each attempt, however many executors are."""
        lost = [fact for fact in report.facts if isinstance(fact, ExecutorLost)]
        end_s = {fact.executor: report.received_s - fact.age_ms / 1000 for fact in lost}
        for job in self._running(report.source) if lost else ():
            _lose(job, lambda record: end_s.get(record.executor))

    def _end_missing(self, report: Report) -> None:
        """A full report is complete: jobs it does not name are over, and attempts it does not name do not run."""
        jobs = {fact.job for fact in report.facts if isinstance(fact, JobSubmitted)}
        attempts = {fact.attempt for fact in report.facts if isinstance(fact, AttemptStarted)}
        for job in self._running(report.source):
            if job.job in jobs:
                _lose(job, lambda record: None if record.attempt in attempts else report.received_s)
            else:
                self._end_job(job, report.received_s, Outcome.LOST)
        if not any(isinstance(fact, QueueDemand) for fact in report.facts):
            self._leave_queue(report.source, list(self._queued.get(report.source, ())), report.received_s)

    def _attached(self, source: str, fact: DriverAttached, now_s: float) -> None:
        self._applications[source] = fact.name or fact.application

    def _detached(self, source: str, fact: DriverDetached, now_s: float) -> None:
        self.forget(source, now_s)

    def _job_submitted(self, source: str, fact: JobSubmitted, now_s: float) -> None:
        """A restarted source uses its ids of jobs and attempts again."""
        job, epoch = self._jobs.get((source, fact.job)), self._epochs.get(source, 0)
        submitted_s = now_s - fact.age_ms / 1000
        is_over = job is not None and job.ended_s is not None and submitted_s >= job.ended_s
        if job is not None and (is_over or job.epoch != epoch):
            self._drop((source, fact.job))
            job = None
        if job is None:
            self._jobs[source, fact.job] = JobRecord(
                source=source,
                application=self._applications.get(source, ""),
                job=fact.job,
                name=fact.name,
                submitted_s=submitted_s,
                epoch=epoch,
                speculator=fact.speculator,
            )
        else:
            job.ended_s, job.outcome, job.speculator = None, None, fact.speculator

    def _queue_demand(self, source: str, fact: QueueDemand, now_s: float) -> None:
        queue = self._queued.setdefault(source, {})
        for application in fact.applications:
            if application.job not in queue:
                queue[application.job] = self._joined_queue(source, application, now_s)
            queue[application.job].queued = application
            note_change(queue[application.job].containers, now_s, application.running, application.pending)
        named = {application.job for application in fact.applications}
        self._leave_queue(source, [job for job in queue if job not in named], now_s)

    def _joined_queue(self, source: str, application: QueuedApplication, now_s: float) -> JobRecord:
        """The record of an application that is new, or that is back after its ResourceManager was away."""
        known = self._jobs.pop((source, application.job), None)
        if known is not None:
            known.ended_s = known.outcome = None
            return known
        return JobRecord(
            source=source,
            application=self._applications.get(source, ""),
            job=application.job,
            name=application.name,
            submitted_s=now_s - application.age_ms / 1000,
            epoch=self._epochs.get(source, 0),
        )

    def _leave_queue(self, source: str, jobs: list[str], now_s: float, outcome: Outcome | None = None) -> None:
        for job in jobs:
            record = self._jobs[source, job] = self._queued[source].pop(job)
            record.ended_s, record.outcome = now_s, outcome
            note_change(record.containers, now_s, 0, 0)

    def _job_ended(self, source: str, fact: JobEnded, now_s: float) -> None:
        if job := self._jobs.get((source, fact.job)):
            self._end_job(job, now_s - fact.age_ms / 1000, fact.outcome)

    def _stage_submitted(self, source: str, fact: StageSubmitted, now_s: float) -> None:
        if job := self._jobs.get((source, fact.job)):
            job.stages.setdefault((fact.stage, fact.stage_attempt), kind_of(source).verdict(fact))
            self._stage_jobs[source, fact.stage, fact.stage_attempt] = job
            if len(job.stages) > _STAGES_PER_JOB:
                oldest = next(iter(job.stages))
                del job.stages[oldest]
                self._drop_stage(job, oldest)

    def _started(self, source: str, fact: AttemptStarted, now_s: float) -> None:
        job = self._stage_jobs.get((source, fact.stage, fact.stage_attempt))
        if job is not None and fact.attempt not in job.attempts:
            job.attempts[fact.attempt] = _record(fact, start_s=now_s - fact.age_ms / 1000)
            job.running.add(fact.attempt)
            self._n_attempts += 1

    def _ended(self, source: str, fact: AttemptEnded, now_s: float) -> None:
        job = self._stage_jobs.get((source, fact.stage, fact.stage_attempt))
        if job is None:
            return
        end_s = now_s - fact.age_ms / 1000
        known = job.attempts.get(fact.attempt)
        if known is None:
            known = _record(fact, start_s=end_s - fact.duration_ms / 1000)
            self._n_attempts += 1
        if known.end_s is None or known.outcome is Outcome.LOST:
            job.attempts[fact.attempt] = replace(known, end_s=end_s, outcome=fact.outcome, reason=fact.reason)
            job.running.discard(fact.attempt)


def _lose(job: JobRecord, end_of: Callable[[AttemptRecord], float | None]) -> None:
    """Ends a job's open attempts that are gone, with unknown outcome; None for one that is not."""
    for attempt in list(job.running):
        record = job.attempts[attempt]
        if (end_s := end_of(record)) is not None:
            job.attempts[attempt] = replace(record, end_s=end_s, outcome=Outcome.LOST)
            job.running.discard(attempt)


def _record(fact: AttemptStarted | AttemptEnded, *, start_s: float) -> AttemptRecord:
    return AttemptRecord(
        attempt=fact.attempt,
        stage=fact.stage,
        stage_attempt=fact.stage_attempt,
        index=fact.index,
        attempt_number=fact.attempt_number,
        executor=fact.executor,
        host=fact.host,
        speculative=fact.speculative,
        order=fact.order,
        start_s=start_s,
    )


_HANDLERS: dict[type, Callable[[History, str, Any, float], None]] = {
    DriverAttached: History._attached,
    DriverDetached: History._detached,
    JobSubmitted: History._job_submitted,
    JobEnded: History._job_ended,
    StageSubmitted: History._stage_submitted,
    AttemptStarted: History._started,
    AttemptEnded: History._ended,
    QueueDemand: History._queue_demand,
}
