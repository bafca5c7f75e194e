"""What was decided recently? The newest decisions in memory, so that they can be read while the store is down."""

from collections import OrderedDict

from msgspec import Struct

from controlplane.model.decisions import DecisionOutcome, DecisionRecord, Result
from controlplane.model.reasons import Action, Reason


class RecordedDecision(Struct, kw_only=True):
    """A decision, its time by the wall clock, and its outcome so far."""

    record: DecisionRecord
    at_unix_ms: int
    outcomes: list[DecisionOutcome]


class DecisionFilter(Struct, frozen=True, kw_only=True):
    """Which decisions are asked for; None means any."""

    source: str | None = None
    epoch: int | None = None
    job: str | None = None
    stage: int | None = None
    stage_attempt: int | None = None
    index: int | None = None
    attempt: int | None = None
    action: Action | None = None
    reason: Reason | None = None
    outcome: Result | None = None
    """The outcome of its order: any reported one, or `pending` if there was none."""

    def wanted(self) -> dict[str, object]:
        """The conditions on the record itself, by field."""
        names = (name for name in self.__struct_fields__ if name != "outcome")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def matches(self, decision: RecordedDecision) -> bool:
        """Whether the decision meets every condition."""
        record, heard = decision.record, [outcome.result for outcome in decision.outcomes]
        if self.outcome is Result.PENDING and (heard or not record.order):
            return False
        if self.outcome not in (None, Result.PENDING, *heard):
            return False
        return all(getattr(record, name) == value for name, value in self.wanted().items())


class DecisionPage(Struct, kw_only=True):
    """Decisions, newest first. `cursor` asks for the next page; `complete` is False while the store cannot be read."""

    decisions: list[RecordedDecision]
    cursor: int | None = None
    complete: bool = True


class Recent:
    """A ring of the newest decisions with their outcomes, by id."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._by_id: OrderedDict[int, RecordedDecision] = OrderedDict()

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def oldest_id(self) -> int | None:
        """Id from which on every decision of this run is here."""
        return next(iter(self._by_id), None)

    def add(self, record: DecisionRecord, at_unix_ms: int) -> RecordedDecision:
        """Adds a decision; the oldest makes room."""
        decision = self._by_id[record.id] = RecordedDecision(record=record, at_unix_ms=at_unix_ms, outcomes=[])
        if len(self._by_id) > self._limit:
            self._by_id.popitem(last=False)
        return decision

    def add_outcome(self, outcome: DecisionOutcome) -> None:
        """Adds later news of a decision that is still here."""
        if decision := self._by_id.get(outcome.decision):
            decision.outcomes.append(outcome)

    def get(self, decision: int) -> RecordedDecision | None:
        """One decision, if it is still here."""
        return self._by_id.get(decision)

    def find(self, which: DecisionFilter, before: int | None, limit: int) -> list[RecordedDecision]:
        """At most `limit` matching decisions with ids below `before`, newest first."""
        found: list[RecordedDecision] = []
        for decision in reversed(self._by_id.values()):
            if len(found) == limit:
                break
            if (before is None or decision.record.id < before) and which.matches(decision):
                found.append(decision)
        return found
