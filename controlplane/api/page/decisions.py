"""How does the page show a decision, and what do a task's decisions say about one of its attempts?"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from controlplane.api.formats import number, seconds, words
from controlplane.api.page.timeline import label, task_of
from controlplane.api.views import result_of
from controlplane.hosts.answers import host_sentence
from controlplane.model.decisions import DecisionOutcome, DecisionRecord, Result
from controlplane.model.reasons import Action, Reason, sentence
from controlplane.model.snapshot import TaskState
from controlplane.runtime.history import AttemptRecord
from controlplane.store.recent import RecordedDecision
from controlplane.store.store import AuditEntry

_NUMBER_AND_UNIT = re.compile(r"(?<=\d) (?=s\b)")
_NO_BREAK = "\N{NO-BREAK SPACE}"


def _utc(at_unix_ms: int) -> str:
    return datetime.fromtimestamp(at_unix_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Change:
    """An operator's request as the page shows it."""

    entry: AuditEntry

    @property
    def wall_utc(self) -> str:
        """When: ISO time in UTC."""
        return _utc(self.entry.at_unix_ms)

    @property
    def asked(self) -> Iterator[tuple[str, str]]:
        """Everything that was asked for, by name."""
        for name, value in self.entry.details.items():
            yield words(name), value if isinstance(value, str) else msgspec.json.encode(value).decode()


@dataclass(frozen=True, slots=True)
class ShownDecision:
    """A recorded decision as the page shows it."""

    recorded: RecordedDecision
    copy_host: str = ""
    """Host of the copy that it has launched, if that is remembered."""

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
        return _utc(self.recorded.at_unix_ms)

    @property
    def places(self) -> list[str]:
        """The host of the attempt that it is about; for a launch also the copy's, or the one that it is ordered to."""
        record, copy = self.record, self.copy_host
        if record.action is not Action.LAUNCH_COPY:
            return [f"on {record.host}"] if record.host else []
        copied = f"attempt on {record.host}" if record.host else ""
        ordered = f"its copy to {record.to_host}" if record.to_host else ""
        return list(filter(None, (copied, f"its copy on {copy}" if copy else ordered)))

    @property
    def alternatives(self) -> list[tuple[str, str]]:
        """The alternatives, each with its score, hosts with their ranks; the host that was taken is left out."""
        taken = (f"host {self.record.to_host}", f"host {self.copy_host}")
        return [
            (words(what), f"choice {1 - round(score or 0.0)}" if what.startswith("host ") else number(score))
            for what, score in self.record.alternatives
            if what not in taken
        ]

    @property
    def effect(self) -> str:
        """The outcome, in a sentence; empty until there is one."""
        return " ".join(filter(None, map(self.outcome_sentence, self.outcomes)))

    @staticmethod
    def outcome_sentence(outcome: DecisionOutcome) -> str:
        """One sentence for one piece of news."""
        because = f": {host_sentence(outcome.reason)}" if outcome.reason else ""
        cost, saved = f"cost {number(outcome.cost_core_s)} core-s", seconds(outcome.saved_s)
        match outcome.result:
            case Result.WON:
                return f"The copy won and saved about {saved} (estimate)."
            case Result.LOST:
                return f"The copy lost the race{because}. It {cost}."
            case Result.SHADOW:
                gain = saved if outcome.saved_s else "nothing"
                return f"Shadow mode: not ordered. It would have {cost} and saved {gain} (estimate)."
            case Result.APPLIED:
                return f"The host carried it out{because}."
            case Result.REFUSED:
                return f"The host refused{because}."
            case Result.EXPIRED:
                return f"It expired before the host could act{because}."
            case Result.MOOT:
                return f"It came to nothing{because}."
            case _:
                return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Everything known about one attempt's existence, and about its task's missing copy."""

    title: str
    placed: str
    decisions: list[ShownDecision]
    task: TaskState | None
    task_title: str


def why(
    attempt: AttemptRecord,
    decisions: Iterable[ShownDecision],
    tasks: Iterable[TaskState],
    *,
    now_s: float,
    sick: bool,
    raced: bool,
) -> Why:
    """Explains one attempt by the decisions on its task, the one that launched it first, and by its present reason."""
    launch_first = sorted(decisions, key=lambda decision: not attempt.order or decision.record.order != attempt.order)
    task = next((t for t in tasks if (t.stage, t.stage_attempt, t.index) == task_of(attempt)), None)
    by = f"order {attempt.order}" if attempt.order else "the host itself"
    return Why(
        title=label(attempt, now_s=now_s, sick=sick, raced=raced),
        placed=f"Attempt {attempt.attempt_number} (id {attempt.attempt}), launched by {by}.",
        decisions=launch_first,
        task=task,
        task_title="Why no further copy" if task and task.running_attempts > 1 else "Why no copy at the moment",
    )


CHOICES = (
    ("action", [action.label for action in Action if action is not Action.NONE]),
    ("reason", [reason.label for reason in Reason if reason is not Reason.NONE]),
    ("outcome", [result.value for result in Result if result is not Result.SHADOW]),
)
"""The filters for decisions, with all values."""
