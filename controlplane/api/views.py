"""What do REST answers look like where the model's own structs do not say everything?"""

import math
from typing import Any

from msgspec import Struct

from controlplane.model.decisions import DecisionOutcome, DecisionRecord, Result
from controlplane.model.facts import Capabilities, Mode, Outcome
from controlplane.model.reasons import LAWS, TEXTS, Action, Reason, sentence
from controlplane.model.snapshot import (
    ExecutorState,
    JobState,
    ListedState,
    NamedSpeculator,
    PocdState,
    PoolState,
    QueuedState,
)
from controlplane.runtime.history import AttemptRecord, JobRecord
from controlplane.runtime.holdings import Holding
from controlplane.store.recent import RecordedDecision


class PoolSummary(Struct, frozen=True, kw_only=True):
    """The slots of one driver or leaf queue and how they are used."""

    source: str
    application: str
    policy: str
    mode: Mode
    slots: int
    running: int
    n_copies: int
    copy_limit: int
    losing_core_s: float
    total_core_s: float
    tail_index: float | None
    tail_samples: int
    startup_s: float | None
    executors: list[ExecutorState]


class ApplicationView(Struct, frozen=True, kw_only=True):
    """An attached application, and what its host can do."""

    source: str
    epoch: int
    application: str
    name: str
    user: str
    host_version: str
    shim_version: str
    ui_url: str
    capabilities: Capabilities
    stock_speculation: bool
    user_mode: Mode
    mode: Mode
    last_heard_s: float
    plan_age_s: float | None
    jobs: list[str]
    """Ids of its live jobs."""
    listed: ListedState | None


class JobView(Struct, frozen=True, kw_only=True):
    """A live job, without its stages, which have a list of their own."""

    source: str
    job: str
    name: str
    mode: Mode
    weight: float
    policy: str
    named_speculator: NamedSpeculator | None
    deadline_s: float | None
    error_bound: float
    kill_late: bool
    age_s: float
    remaining_tasks: int
    n_running: int
    n_copies: int
    copies_launched: int
    copies_won: int
    copies_lost: int
    losing_core_s: float
    virtual_size: float | None
    transfer_ratio: float | None
    tail_index: float | None
    target: int
    cap: int
    speculation_claimed: bool
    pocd: PocdState | None
    queued: QueuedState | None


class JobHistory(Struct, frozen=True, kw_only=True):
    """A job from its submission on, with its attempts in order of arrival; it may have ended."""

    source: str
    application: str
    job: str
    name: str
    submitted_s: float
    """Seconds on the engine's clock."""
    ended_s: float | None
    """Seconds on the engine's clock; null while it runs."""
    outcome: Outcome | None
    speculator: str
    """The speculator that its user names for it; empty for its pool's."""
    attempts: list[AttemptRecord]
    """In order of arrival."""
    attempts_left_out: int
    """Number of attempts that are no longer kept."""
    containers: list[Holding]
    """Container counts of an application of a leaf queue, as they changed; empty for a driver's job."""


class GrantView(Struct, frozen=True, kw_only=True):
    """The slots that one claimant should hold; a cap of -1 is none."""

    source: str
    job: str
    target: int
    cap: int
    running: int
    virtual_size: float | None
    speculation_claimed: bool
    queued: QueuedState | None


class VerdictView(Struct, frozen=True, kw_only=True):
    """A verdict of the write-safety gate on some of an application's stages."""

    verdict: str
    """`safe`: may be copied; `unsafe` and `unknown`: never is."""
    because: str
    """The basis of the verdict."""
    stages: int
    """How many of the remembered stages got it, including ended ones."""


class DecisionView(Struct, frozen=True, kw_only=True):
    """A decision with its inputs, its alternatives and its outcome."""

    id: int
    """Grows with time; never used twice."""
    at_unix_ms: int
    cycle: int
    mode: Mode
    """The mode in which it was made."""
    policy: str
    action: str
    reason: str
    sentence: str
    severity: int
    """Severity: 0 (as it should be) to 3 (acted)."""
    source: str
    epoch: int
    """The start of the source's run that it belongs to, in milliseconds since 1970; 0 where it was not recorded."""
    job: str
    stage: int
    stage_attempt: int
    index: int
    attempt: int
    """The attempt that it is about; -1 for none."""
    host: str
    """Machine of that attempt; empty for none."""
    to_host: str
    """Machine that a copy was ordered to; empty if the host's scheduler may choose."""
    order: int
    """Id of the order that went out for it; 0 for none."""
    inputs: dict[str, float | None]
    alternatives: list[tuple[str, float | None]]
    """The alternatives, each with its score, best first; higher is better, null is not known."""
    result: Result | None
    """The newest outcome; null if nothing was to be ordered."""
    outcomes: list["OutcomeView"]
    """Later news of it, oldest first."""


class OutcomeView(Struct, frozen=True, kw_only=True):
    """One piece of later news of a decision; savings are estimates."""

    result: Result
    """What came of it."""
    after_s: float
    """Seconds since the decision."""
    reason: str
    """The host's answer; may be empty."""
    attempt: int
    """The attempt that was launched or ended; -1 for none."""
    saved_s: float
    """Estimated seconds by which the task ended earlier; no more than the beaten attempt had run."""
    cost_core_s: float
    """Core-seconds that a losing copy took, or a copy in shadow mode would have taken."""


class WhyView(Struct, frozen=True, kw_only=True):
    """Why a task was copied, or why it was not: one decision's fate and reason, and all about it, newest first."""

    source: str
    epoch: int
    """The start of the source's run that this is about, in milliseconds since 1970; 0 where it was not recorded."""
    job: str
    stage: int
    stage_attempt: int
    index: int
    copied: bool
    """Whether a copy that was ordered has started."""
    fate: str
    """In words, what came of the decision to copy it, or that there was none."""
    reason: str
    """The reason of that decision, else the present or last one against a copy."""
    sentence: str
    since: str
    """The reason against another copy since; empty if there is none."""
    inputs: dict[str, float | None]
    decisions: list[DecisionView]
    complete: bool
    """False while the store cannot be read, so older ones may be missing."""


def copy_fields(kind: type[Struct], state: Struct, **more: Any) -> Any:
    """A view made from the fields that it shares with a state; numbers that JSON cannot express become null."""
    shared = {name: getattr(state, name) for name in kind.__struct_fields__ if hasattr(state, name)}
    return kind(**{name: finite(value) for name, value in (shared | more).items()})


def finite(value: Any) -> Any:
    """The value, or None for a float that is not a finite number.

    >>> finite(1.5), finite(float("inf")), finite("text")
    (1.5, None, 'text')
    """
    return None if isinstance(value, float) and not math.isfinite(value) else value


def pool_summary(pool: PoolState) -> PoolSummary:
    """A pool without its jobs and attempts."""
    return copy_fields(PoolSummary, pool)


def application_view(pool: PoolState) -> ApplicationView:
    """An application as its pool knows it."""
    return copy_fields(ApplicationView, pool, jobs=[job.job for job in pool.jobs])


def job_view(job: JobState) -> JobView:
    """A job without its stages."""
    return copy_fields(JobView, job)


def job_history(job: JobRecord) -> JobHistory:
    """A remembered job."""
    return copy_fields(JobHistory, job, attempts=list(job.attempts.values()))


def grant_view(job: JobState) -> GrantView:
    """A job's grant."""
    return copy_fields(GrantView, job, running=job.n_running)


def decision_view(decision: RecordedDecision) -> DecisionView:
    """A decision with its sentence."""
    record: DecisionRecord = decision.record
    return copy_fields(
        DecisionView,
        record,
        at_unix_ms=decision.at_unix_ms,
        action=record.action.label,
        reason=record.reason.label,
        sentence=sentence(record.reason, record.inputs),
        severity=TEXTS[record.reason].severity,
        inputs={name: finite(value) for name, value in record.inputs.items()},
        alternatives=[(name, finite(score)) for name, score in record.alternatives],
        result=result_of(decision),
        outcomes=[_outcome_view(outcome, record) for outcome in decision.outcomes],
    )


def result_of(decision: RecordedDecision) -> Result | None:
    """The newest outcome; None if nothing is to be ordered: a refusal, or a target that the host cannot hold."""
    record = decision.record
    if decision.outcomes:
        return decision.outcomes[-1].result
    if record.order:
        return Result.PENDING
    for_nothing = record.reason in LAWS | {Reason.EXECUTORS_FIXED}
    ordered_nothing = record.action in (Action.REFUSE_COPY, Action.JOIN) or for_nothing
    return Result.SHADOW if record.mode is Mode.SHADOW and not ordered_nothing else None


def _outcome_view(outcome: DecisionOutcome, record: DecisionRecord) -> OutcomeView:
    return copy_fields(OutcomeView, outcome, after_s=outcome.at_s - record.at_s)
