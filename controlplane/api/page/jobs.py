"""Which facts do a job's page and its row in a list show? They come from live and remembered state."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from controlplane.api.formats import Figure, counted, number, seconds
from controlplane.api.page.promises import deadline_figures
from controlplane.model.cluster import SILENT_S
from controlplane.model.facts import Outcome
from controlplane.model.snapshot import JobState, PoolState, QueuedState, TaskState
from controlplane.runtime.history import AttemptRecord, JobRecord
from controlplane.runtime.holdings import container_seconds
from controlplane.store.rows import EndedPromise


def silent_s(pool: PoolState) -> float:
    """How long an application has been silent; 0 while it reports as it should."""
    return pool.last_heard_s if pool.last_heard_s > SILENT_S else 0.0


def containers(queued: QueuedState) -> str:
    """What an application holds and asks for."""
    kept = f", {counted(queued.reserved, 'reservation')}" if queued.reserved else ""
    return f"holds {queued.running}, asks for {queued.pending}{kept}"


def verdict(job: JobState) -> str:
    """The strictest verdict among a job's stages on whether its tasks may run twice."""
    found = {stage.verdict for stage in job.stages}
    return next((name for name in ("unsafe", "unknown", "safe") if name in found), "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """The head of a job's page."""

    title: str
    subtitle: str
    figures: list[Figure]


def job_page(
    job: JobState | None,
    record: JobRecord | None,
    *,
    source: str,
    name: str,
    known_s: float,
    silent_s: float,
    ended: EndedPromise | None,
) -> JobPage:
    """A job's head from live and remembered state; either may be missing, but not both.

    `known_s` is the last moment that is known of the job while it runs, `silent_s` ago if its application is silent.
    `ended` is what came of its deadline, once it has ended.
    """
    silence = f"silent for {seconds(silent_s)}" if silent_s else ""
    title = (job and job.name) or (record and record.name) or name
    about = [name] if title != name else []
    about.append(f"{record.application} ({source})" if record and record.application else source)
    figures = []
    if record:
        end_s = known_s if record.ended_s is None else record.ended_s
        about.append(_state(record, silence))
        figures.append(
            Figure(
                name="Took" if record.ended_s is not None else "Time until last heard" if silence else "Time so far",
                value=seconds(end_s - record.submitted_s),
            )
        )
        figures += _application_figures(record, end_s) if record.queued else _attempt_figures(record)
    queued = (job and job.queued) or (record and record.queued)
    if queued:
        about.append(queued.user)
    if job:
        holds = containers(job.queued) if job.queued else f"holds {job.n_running}"
        holds += f", at most {job.cap}" if job.cap >= 0 else ""
        figures += [
            Figure(name="Target", value=counted(job.target, "container" if job.queued else "slot"), beside=holds),
            Figure(
                name="Virtual size",
                value=number(job.virtual_size),
                beside="" if job.queued else f"{counted(job.remaining_tasks, 'task')} to go",
            ),
        ]
        if job.named_speculator:
            figures.append(
                Figure(name="Policy", value=job.policy, beside=f"its user named {job.named_speculator.name}")
            )
        figures += _bounds(job)
        if not job.queued or job.queued.driver:
            figures.append(Figure(name="Tail index", value=number(job.tail_index)))
    figures += deadline_figures(job.pocd if job else None, ended)
    return JobPage(title=title, subtitle=" · ".join(about), figures=figures)


def _bounds(job: JobState) -> Iterator[Figure]:
    """The deadline and the error bound, if the job has them."""
    if job.deadline_s is not None:
        late = f"passed {seconds(-job.deadline_s)} ago" if job.deadline_s < 0 else f"in {seconds(job.deadline_s)}"
        yield Figure(name="Deadline", value=late, beside="may be ended if late" if job.kill_late else "kept if late")
    if job.error_bound:
        yield Figure(name="Error bound", value=f"{100 * job.error_bound:.3g} %", beside="of its input tasks")


def _state(record: JobRecord, silence: str) -> str:
    if record.ended_s is None:
        return silence or "running"
    return f"ended: {record.outcome.value}" if record.outcome else "ended"


def _attempt_figures(record: JobRecord) -> list[Figure]:
    attempts = record.attempts.values()
    copies = [attempt for attempt in attempts if attempt.speculative]
    beside = f"{wins(copies)} won, {sum(copy.end_s is None for copy in copies)} live"
    return [
        Figure(name="Attempts", value=number(len(attempts) + record.attempts_left_out)),
        Figure(name="Copies", value=number(len(copies)), beside=beside),
    ]


def _application_figures(record: JobRecord, end_s: float) -> list[Figure]:
    held = counted(most_held(record), "container")
    return [
        Figure(name="Held at most", value=held, beside="besides its master"),
        Figure(name="Containers' time", value=seconds(container_seconds(record.containers, end_s)), beside="in all"),
    ]


def most_held(record: JobRecord) -> int:
    """The most containers that an application ever held."""
    return max((holding.running for holding in record.containers), default=0)


def wins(copies: Iterable[AttemptRecord]) -> int:
    """Copies that won."""
    return sum(copy.outcome is Outcome.SUCCESS for copy in copies)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastJob:
    """One row of the ended jobs."""

    source: str
    application: str
    job: str
    name: str
    took_s: float
    n_attempts: int
    n_copies: int
    n_won: int
    outcome: str
    containers: int | None
    """The most containers that it held, if it was an application of a leaf queue."""


def past_job(record: JobRecord) -> PastJob:
    """The row for an ended job."""
    copies = [attempt for attempt in record.attempts.values() if attempt.speculative]
    return PastJob(
        source=record.source,
        application=record.application,
        job=record.job,
        name=record.name,
        took_s=(record.ended_s or record.submitted_s) - record.submitted_s,
        n_attempts=len(record.attempts) + record.attempts_left_out,
        n_copies=len(copies),
        n_won=wins(copies),
        outcome=record.outcome.value if record.outcome else "ended",
        containers=most_held(record) if record.queued else None,
    )


def refusals(tasks: Iterable[TaskState]) -> list[tuple[str, str, int]]:
    """(stage, reason, tasks) of a job's live tasks, most frequent first."""
    counts = Counter((f"{t.stage}.{t.stage_attempt}" if t.stage_attempt else str(t.stage), t.reason) for t in tasks)
    return [(stage, reason, count) for (stage, reason), count in counts.most_common()]
