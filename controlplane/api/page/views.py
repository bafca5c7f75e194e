"""What does each page say? Sentences, figures and counts made from a snapshot and from recorded decisions."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from controlplane.api.page.formats import counted, number, seconds, share, words
from controlplane.api.page.timeline import label, task_of
from controlplane.api.views import result_of
from controlplane.engine.budgets import copy_limit
from controlplane.model.cluster import SILENT_S
from controlplane.model.decisions import DecisionOutcome, DecisionRecord, Result
from controlplane.model.facts import Mode, Outcome
from controlplane.model.reasons import Action, Reason, sentence
from controlplane.model.snapshot import JobState, PoolState, QueuedState, Snapshot, TaskState
from controlplane.runtime.history import AttemptRecord, JobRecord
from controlplane.store.recent import RecordedDecision

MODES = (
    (Mode.SHADOW, "decide and record, order nothing"),
    (Mode.CONTROL, "launch and kill copies"),
    (Mode.OFF, "stop all copies, let hosts do as they would alone"),
)


_NUMBER_AND_UNIT = re.compile(r"(?<=\d) (?=s\b)")
_NO_BREAK = "\N{NO-BREAK SPACE}"
ESTIMATES = {"t_rem": "Time to an attempt's end", "t_new": "Duration of a fresh attempt"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number of the strip below a headline."""

    name: str
    value: str
    beside: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """A recorded decision as it is told."""

    recorded: RecordedDecision

    @property
    def record(self) -> DecisionRecord:
        """What was decided."""
        return self.recorded.record

    @property
    def outcomes(self) -> Sequence[DecisionOutcome]:
        """What came of it, oldest first."""
        return self.recorded.outcomes

    @property
    def action(self) -> str:
        """Label of the action."""
        return self.record.action.label

    @property
    def reason(self) -> str:
        """Label of the reason."""
        return self.record.reason.label

    @property
    def sentence(self) -> str:
        """The reason with its numbers."""
        return _NUMBER_AND_UNIT.sub(_NO_BREAK, sentence(self.record.reason, self.record.inputs))

    @property
    def result(self) -> str:
        """What came of it so far, in a word or two."""
        result = result_of(self.recorded)
        return result.value if result else "no order"

    @property
    def wall_utc(self) -> str:
        """When it was made: ISO time in UTC."""
        return datetime.fromtimestamp(self.recorded.at_unix_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def alternatives(self) -> str:
        """What else was possible, with scores."""
        return ", ".join(f"{words(what)} ({number(score)})" for what, score in self.record.alternatives)

    @property
    def effect(self) -> str:
        """What came of it, in a sentence; empty while nothing has."""
        return " ".join(filter(None, map(self.outcome_sentence, self.outcomes)))

    @staticmethod
    def outcome_sentence(outcome: DecisionOutcome) -> str:
        """One sentence for one piece of news."""
        because = f": {outcome.reason}" if outcome.reason else ""
        cost = f" The loser cost {number(outcome.cost_core_s)} core-s." if outcome.cost_core_s else ""
        match outcome.result:
            case Result.WON:
                return f"The copy won and saved about {seconds(outcome.saved_s)} (estimate).{cost}"
            case Result.LOST:
                return f"The copy lost the race{because}.{cost}"
            case Result.SHADOW:
                saved = f" It would have saved about {seconds(outcome.saved_s)} (estimate)." if outcome.saved_s else ""
                return f"Shadow mode: not ordered.{saved}"
            case Result.APPLIED:
                return f"The host carried it out{because}."
            case Result.REFUSED:
                return f"The host refused{because}."
            case Result.EXPIRED:
                return f"It expired before the host could act{because}."
            case _:
                return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """An answer to what the reader has just asked for."""

    text: str
    good: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What copying has brought since the control plane started."""

    launched: int = 0
    won: int = 0
    lost: int = 0
    losing_core_s: float = 0.0
    saved_s: float = 0.0
    """An estimate."""
    not_ordered: int = 0
    """Copies that shadow mode would have launched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The head of the first page."""

    headline: str
    effect: str
    figures: list[Figure]
    accuracy: list[tuple[str, float, float, float]]
    """(estimate, samples, median ratio, spread)"""


def overview(
    snapshot: Snapshot, effect: Effect, *, copy_share: float, dropped_events: int, jobs_before: bool
) -> Overview:
    """The first page's headline, its sentence of effect and its figures."""
    pools, known = [pool for pool in snapshot.pools if not pool.is_queue], snapshot.accuracy
    sick = sum(host.sick for host in snapshot.hosts)
    running = sum(pool.running for pool in pools)
    slots = sum(pool.slots for pool in pools)
    losing_core_s = sum(pool.losing_core_s for pool in pools)
    total_core_s = sum(pool.total_core_s for pool in pools)
    allowed = min(sum(pool.copy_budget for pool in pools), copy_limit(slots=slots, share=copy_share))
    heard_s = min((pool.last_heard_s for pool in snapshot.pools), default=None)
    return Overview(
        headline=_headline(snapshot, jobs_before),
        effect=_effect_sentence(snapshot.mode, effect),
        figures=[
            Figure(name="Slots busy", value=number(running), beside=f"of {slots}"),
            Figure(
                name="Copies running",
                value=number(sum(pool.n_copies for pool in pools)),
                beside=f"of {allowed} allowed",
            ),
            Figure(name="Copies won", value=number(effect.won), beside=f"of {effect.launched}, {effect.lost} lost"),
            Figure(
                name="Core time lost",
                value=share(losing_core_s, total_core_s),
                beside=f"{number(losing_core_s)} core-s",
            ),
            Figure(name="Hosts", value=number(len(snapshot.hosts)), beside=f"▲ {sick} sick" if sick else "none sick"),
            Figure(
                name="Last heard",
                value=seconds(heard_s),
                beside=f"{counted(dropped_events, 'event')} dropped" if dropped_events else "no event dropped",
            ),
        ],
        accuracy=[
            (name, known[f"{kind}_samples"], known[f"{kind}_median_ratio"], known[f"{kind}_spread"])
            for kind, name in ESTIMATES.items()
            if f"{kind}_samples" in known
        ],
    )


def _headline(snapshot: Snapshot, jobs_before: bool) -> str:
    if snapshot.mode is Mode.OFF:
        return "Switched off: every host does as it would alone"
    if not snapshot.pools:
        return "No application is attached at the moment" if jobs_before else "Ready, waiting for a first application"
    verb = "Steering" if snapshot.mode is Mode.CONTROL else "Watching"
    drivers = [pool for pool in snapshot.pools if not pool.is_queue]
    queues = [pool for pool in snapshot.pools if pool.is_queue]
    told = (_inside(drivers, "job", "of", "application"), _inside(queues, "application", "in", "queue"))
    return f"{verb} {', and '.join(filter(None, told))}"


def _inside(pools: list[PoolState], claimant: str, within: str, pool: str) -> str:
    if not pools:
        return ""
    jobs = sum(len(each.jobs) for each in pools)
    return f"{counted(jobs, claimant) if jobs else f'no {claimant}'} {within} {counted(len(pools), pool)}"


def _effect_sentence(mode: Mode, effect: Effect) -> str:
    ordered = (
        f"So far: {counted(effect.launched, 'copy')}, {effect.won} won, {number(effect.losing_core_s)} core-seconds"
        f" spent on losing copies, about {seconds(effect.saved_s)} of task time saved (estimate)."
        if effect.launched
        else "No copy has been launched so far."
    )
    if mode is not Mode.SHADOW:
        return ordered
    would = f" It would have launched {counted(effect.not_ordered, 'copy')} (estimate)." if effect.not_ordered else ""
    return f"Shadow mode orders nothing.{would} {ordered if effect.launched else ''}".strip()


def silent_s(pool: PoolState) -> float:
    """For how long nothing has been heard of an application; 0 while it reports as it should."""
    return pool.last_heard_s if pool.last_heard_s > SILENT_S else 0.0


def containers(queued: QueuedState) -> str:
    """What an application holds and asks for."""
    kept = f", {counted(queued.reserved, 'reservation')}" if queued.reserved else ""
    return f"holds {queued.running}, asks for {queued.pending}{kept}"


def verdict(job: JobState) -> str:
    """The strictest answer among a job's stages to: may its tasks run twice?"""
    found = {stage.verdict for stage in job.stages}
    return next((name for name in ("unsafe", "unknown", "safe") if name in found), "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """The head of a job's page."""

    title: str
    subtitle: str
    figures: list[Figure]


def job_page(
    job: JobState | None, record: JobRecord | None, *, source: str, name: str, known_s: float, silent_s: float
) -> JobPage:
    """A job's head from what is live and what is remembered; either may be missing, not both.

    `known_s` is the last moment that is known of the job while it runs, `silent_s` ago if its application is silent.
    """
    silence = f"silent for {seconds(silent_s)}" if silent_s else ""
    title = (job and job.name) or (record and record.name) or name
    about = [name] if title != name else []
    about.append(f"{record.application} ({source})" if record and record.application else source)
    figures = []
    if record:
        attempts = record.attempts.values()
        copies = [a for a in attempts if a.speculative]
        end_s = known_s if record.ended_s is None else record.ended_s
        about.append(f"ended: {record.outcome.value}" if record.outcome else silence or "running")
        figures += [
            Figure(
                name="Took" if record.ended_s is not None else "Time until last heard" if silence else "Time so far",
                value=seconds(end_s - record.submitted_s),
            ),
            Figure(name="Attempts", value=number(len(attempts) + record.attempts_left_out)),
            Figure(
                name="Copies",
                value=number(len(copies)),
                beside=f"{wins(copies)} won, {sum(a.end_s is None for a in copies)} live",
            ),
        ]
    if job and job.queued:
        about.append(job.queued.user)
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
        if not job.queued or job.queued.driver:
            figures.append(Figure(name="Tail index", value=number(job.tail_index)))
    return JobPage(title=title, subtitle=" · ".join(about), figures=figures)


def wins(copies: Iterable[AttemptRecord]) -> int:
    """Copies that brought the result."""
    return sum(copy.outcome is Outcome.SUCCESS for copy in copies)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastJob:
    """One row of the ended jobs."""

    source: str
    job: str
    name: str
    took_s: float
    n_attempts: int
    n_copies: int
    n_won: int
    outcome: str


def past_job(record: JobRecord) -> PastJob:
    """The row for an ended job."""
    copies = [attempt for attempt in record.attempts.values() if attempt.speculative]
    return PastJob(
        source=record.source,
        job=record.job,
        name=record.name,
        took_s=(record.ended_s or record.submitted_s) - record.submitted_s,
        n_attempts=len(record.attempts) + record.attempts_left_out,
        n_copies=len(copies),
        n_won=wins(copies),
        outcome=record.outcome.value if record.outcome else "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Everything known about one attempt's existence, and about its task's missing copy."""

    title: str
    placed: str
    decisions: list[Told]
    task: TaskState | None
    task_title: str


def why(
    attempt: AttemptRecord,
    decisions: Iterable[Told],
    tasks: Iterable[TaskState],
    *,
    now_s: float,
    sick: bool,
    raced: bool,
) -> Why:
    """Explains one attempt by the decisions on its task, the one that launched it first, and by its present reason."""
    launch_first = sorted(decisions, key=lambda told: not attempt.order or told.record.order != attempt.order)
    task = next((t for t in tasks if (t.stage, t.stage_attempt, t.index) == task_of(attempt)), None)
    by = f"order {attempt.order}" if attempt.order else "the host itself"
    return Why(
        title=label(attempt, now_s=now_s, sick=sick, raced=raced),
        placed=f"Attempt {attempt.attempt_number} (id {attempt.attempt}), launched by {by}.",
        decisions=launch_first,
        task=task,
        task_title="Why no further copy" if task and task.running_attempts > 1 else "Why no copy at the moment",
    )


def refusals(tasks: Iterable[TaskState]) -> list[tuple[str, str, int]]:
    """(stage, reason, tasks) of a job's live tasks, most frequent first."""
    counts = Counter((f"{t.stage}.{t.stage_attempt}" if t.stage_attempt else str(t.stage), t.reason) for t in tasks)
    return [(stage, reason, count) for (stage, reason), count in counts.most_common()]


CHOICES = (
    ("action", [action.label for action in Action if action is not Action.NONE]),
    ("reason", [reason.label for reason in Reason if reason is not Reason.NONE]),
    ("outcome", [result.value for result in Result if result is not Result.SHADOW]),
)
"""What decisions can be filtered by, with all values."""
