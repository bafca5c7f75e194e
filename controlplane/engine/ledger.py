"""What came of each order? Remembers orders until a fact or their expiry settles them, and copies until they end."""

from collections.abc import Iterator
from dataclasses import dataclass

from controlplane.model.cluster import EndedAttempt, TaskKey
from controlplane.model.decisions import DecisionOutcome, Result
from controlplane.model.facts import AttemptStarted, OrderOutcome, OrderResult, Outcome

GRACE_S = 5.0
"""A host may report the outcome of an order this long after the order's own expiry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOrder:
    """An order that no fact has settled yet."""

    decision: int
    source: str
    task: TaskKey
    expires_s: float
    launches: bool
    """A launch is applied when its attempt starts, whatever the host says first."""
    kills: int = -1
    """The attempt to be killed; -1 for other orders."""
    host: str = ""
    """The host that a launch names; empty for any."""
    replaces: int = -1
    """The attempt that ends once the launched one runs; -1 for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowCopy:
    """A copy that would have been launched at `at_s` and would have run for `t_new_s`."""

    decision: int
    at_s: float
    t_new_s: float


class Ledger:
    """Open orders by id, launched copies by (source, attempt), shadow copies by (source, stage, attempt) and index."""

    def __init__(self) -> None:
        self.open: dict[int, OpenOrder] = {}
        self._kills: dict[tuple[str, int], OpenOrder] = {}
        self._copies: dict[tuple[str, int], OpenOrder] = {}
        self.shadows: dict[tuple[str, int, int], dict[int, ShadowCopy]] = {}

    def ordered(self, order: int, entry: OpenOrder) -> None:
        """Remember an order that goes out."""
        self.open[order] = entry
        if entry.kills >= 0:
            self._kills[entry.source, entry.kills] = entry

    def dying(self, source: str, task: TaskKey, now_s: float) -> set[int]:
        """Attempts of a task that were ordered to end and have not ended; forgotten when the order seems lost."""
        return {
            order.kills
            for (name, _), order in self._kills.items()
            if name == source and order.task == task and order.expires_s > now_s
        }

    def on_their_way(self, now_s: float) -> dict[str, list[OpenOrder]]:
        """By source, the launches on a named host that have not started yet."""
        launches: dict[str, list[OpenOrder]] = {}
        for order in self.open.values():
            if order.launches and order.host and order.expires_s > now_s:
                launches.setdefault(order.source, []).append(order)
        return launches

    def would_copy(self, source: str, task: TaskKey, entry: ShadowCopy) -> None:
        """Remember a copy that shadow mode did not order; the first one of a task counts."""
        stage, stage_attempt, index = task
        self.shadows.setdefault((source, stage, stage_attempt), {}).setdefault(index, entry)

    def replaced(self, source: str, fact: AttemptStarted) -> int:
        """The attempt in whose place a copy has just started; -1 for none. To be asked before `launched`."""
        entry = self.open.get(fact.order)
        return entry.replaces if entry is not None and entry.source == source else -1

    def launched(self, source: str, fact: AttemptStarted, at_s: float) -> Iterator[DecisionOutcome]:
        """A copy started: its order is settled, its race begins."""
        entry = self.open.get(fact.order)
        if entry is not None and entry.source == source and entry.launches:
            del self.open[fact.order]
            self._copies[source, fact.attempt] = entry
            yield DecisionOutcome(decision=entry.decision, result=Result.APPLIED, at_s=at_s, attempt=fact.attempt)

    def settled(self, source: str, fact: OrderOutcome, at_s: float) -> tuple[OpenOrder | None, DecisionOutcome | None]:
        """A host reported an order's outcome. A launch that was applied is settled by its attempt's start instead."""
        entry = self.open.get(fact.order)
        if entry is None or entry.source != source or (entry.launches and fact.result is OrderResult.APPLIED):
            return None, None
        del self.open[fact.order]
        if fact.result is not OrderResult.APPLIED:
            self._kills.pop((source, entry.kills), None)
        outcome = DecisionOutcome(
            decision=entry.decision,
            result=Result(fact.result.value),
            at_s=at_s,
            reason=fact.reason,
            attempt=fact.attempt,
        )
        return entry, outcome

    def ended(self, ended: EndedAttempt) -> Iterator[DecisionOutcome]:
        """An attempt is over: did a copy win or lose, what would a shadow copy have saved?"""
        fact = ended.fact
        self._kills.pop((ended.source, fact.attempt), None)
        copy = self._copies.pop((ended.source, fact.attempt), None)
        if copy is not None:
            yield DecisionOutcome(
                decision=copy.decision,
                result=Result.WON if ended.won else Result.LOST,
                at_s=ended.ended_s,
                reason=fact.reason,
                attempt=fact.attempt,
                saved_s=max(0.0, ended.beaten_t_rem_s) if ended.won and ended.beaten_t_rem_s < float("inf") else 0.0,
                cost_core_s=0.0 if ended.won else ended.cores * fact.duration_ms / 1000,
            )
        if ended.won and fact.outcome is Outcome.SUCCESS:
            shadows = self.shadows.get((ended.source, fact.stage, fact.stage_attempt), {})
            shadow = shadows.pop(fact.index, None)
            if shadow is not None:
                yield DecisionOutcome(
                    decision=shadow.decision,
                    result=Result.SHADOW,
                    at_s=ended.ended_s,
                    saved_s=max(0.0, ended.ended_s - shadow.at_s - shadow.t_new_s),
                    cost_core_s=ended.cores * max(0.0, min(shadow.t_new_s, ended.ended_s - shadow.at_s)),
                )

    def expire(self, now_s: float) -> Iterator[tuple[OpenOrder, DecisionOutcome]]:
        """Orders whose hosts never said what became of them."""
        for order in [i for i, entry in self.open.items() if entry.expires_s + GRACE_S < now_s]:
            entry = self.open.pop(order)
            reason = "no word from the host"
            yield entry, DecisionOutcome(decision=entry.decision, result=Result.EXPIRED, at_s=now_s, reason=reason)

    def forget_stages(self, stages: list[tuple[str, int, int]]) -> None:
        """Drop what is left of stages that are over: shadow copies that won no race, attempts that were given up."""
        for stage in stages:
            self.shadows.pop(stage, None)
            for attempts in (self._kills, self._copies):
                for key in [key for key, order in attempts.items() if (order.source, *order.task[:2]) == stage]:
                    del attempts[key]

    def forget(self, source: str) -> None:
        """Drop everything about a source that is gone."""
        self.open = {i: entry for i, entry in self.open.items() if entry.source != source}
        self._kills = {key: order for key, order in self._kills.items() if key[0] != source}
        self._copies = {key: order for key, order in self._copies.items() if key[0] != source}
        self.shadows = {key: shadow for key, shadow in self.shadows.items() if key[0] != source}
