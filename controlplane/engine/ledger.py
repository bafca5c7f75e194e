"""What came of each order? Remembers orders until they end, each in one outcome, and copies until their race does.

An order ends `applied`, `refused` or `expired`, or `moot` if nobody is at fault: its subject has ended, or a
newer order of its kind has taken its place.
"""

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from msgspec import Struct

from controlplane.hosts.answers import is_moot
from controlplane.model.changes import EndedAttempt
from controlplane.model.cluster import TaskKey
from controlplane.model.decisions import DecisionOutcome, Result
from controlplane.model.facts import AttemptStarted, OrderOutcome, OrderResult
from controlplane.model.orders import (
    AnyOrder,
    AvoidHosts,
    CapExecutors,
    ContainerGrant,
    KillAttempt,
    LaunchCopy,
    RunNext,
    StopJob,
)

GRACE_S = 5.0
"""A host may report the outcome of an order this long after the order's own expiry."""

SUPERSEDED = "a newer order has taken its place"
OVER = "what it was about has ended"

_Key = TypeVar("_Key")
_LEASES = (ContainerGrant, AvoidHosts, CapExecutors, RunNext)
_OF_JOBS = (LaunchCopy, ContainerGrant, StopJob)
_OF_STAGES = (LaunchCopy, RunNext)


class OpenOrder(Struct, frozen=True, kw_only=True):
    """An order that has not ended yet."""

    order: AnyOrder
    decision: int
    """0 for a renewed lease, which no decision records."""
    source: str
    task: TaskKey
    expires_s: float
    replaces: int = -1
    """The attempt that ends once the launched one runs; -1 for none."""

    @property
    def kind(self) -> str:
        """The order's `type` on the wire."""
        return str(self.order.__struct_config__.tag)

    @property
    def launches(self) -> bool:
        """A launch is applied when its attempt starts, whatever the host says first."""
        return isinstance(self.order, LaunchCopy)

    @property
    def host(self) -> str:
        """The host that a launch names; empty for any."""
        return self.order.host if isinstance(self.order, LaunchCopy) else ""

    @property
    def kills(self) -> int:
        """The attempt to be killed; -1 for other orders."""
        return self.order.attempt if isinstance(self.order, KillAttempt) else -1

    @property
    def job(self) -> str:
        """The job that it is about; empty if its kind names none."""
        return self.order.job if isinstance(self.order, _OF_JOBS) else ""

    @property
    def lease(self) -> tuple[str, str, str] | None:
        """What only the newest order holds for: (source, kind, job or stage); None for an order that stands alone."""
        order = self.order
        if not isinstance(order, _LEASES):
            return None
        about = f"{order.stage}.{order.stage_attempt}" if isinstance(order, RunNext) else self.job
        return (self.source, self.kind, about)

    @property
    def stage(self) -> tuple[int, int] | None:
        """(stage, stage_attempt) that it is about; None for one that outlasts a stage."""
        order = self.order
        return (order.stage, order.stage_attempt) if isinstance(order, _OF_STAGES) else None


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
        self._expiring: dict[float, dict[int, OpenOrder]] = {}
        """The open orders by when they expire; those of one cycle share few moments."""
        self._bound: dict[str, dict[int, OpenOrder]] = {}
        """By source, the open launches that name a host."""
        self._leases: dict[tuple[str, str, str], int] = {}
        """The newest open order of each lease."""
        self._kills: dict[tuple[str, TaskKey], dict[int, OpenOrder]] = {}
        """By source and task, the attempts that were ordered to end."""
        self._copies: dict[tuple[str, int], OpenOrder] = {}
        self.shadows: dict[tuple[str, int, int], dict[int, ShadowCopy]] = {}

    def ordered(self, entry: OpenOrder) -> None:
        """Remember an order that goes out."""
        order, lease = entry.order.order, entry.lease
        self.open[order] = entry
        self._expiring.setdefault(entry.expires_s, {})[order] = entry
        if entry.host:
            self._bound.setdefault(entry.source, {})[order] = entry
        if lease:
            self._leases[lease] = order
        if entry.kills >= 0:
            self._kills.setdefault((entry.source, entry.task), {})[entry.kills] = entry

    def dying(self, source: str, task: TaskKey, now_s: float) -> set[int]:
        """Attempts of a task that were ordered to end and have not; forgotten when the order seems lost."""
        kills = self._kills.get((source, task), {})
        return {attempt for attempt, order in kills.items() if order.expires_s > now_s}

    def all_dying(self, now_s: float) -> set[tuple[str, int]]:
        """(source, attempt) of every such attempt."""
        return {
            (source, attempt)
            for (source, _), kills in self._kills.items()
            for attempt, order in kills.items()
            if order.expires_s > now_s
        }

    def on_their_way(self, source: str, now_s: float) -> list[OpenOrder]:
        """The launches of a source on a named host that have not started yet."""
        return [order for order in self._bound.get(source, {}).values() if order.expires_s > now_s]

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
            self._copies[source, fact.attempt] = entry
            yield self._close(entry, Result.APPLIED, at_s, attempt=fact.attempt)

    def settled(self, source: str, fact: OrderOutcome, at_s: float) -> tuple[OpenOrder | None, DecisionOutcome | None]:
        """A host reported an order's outcome. A launch that was applied is settled by its attempt's start instead."""
        entry = self.open.get(fact.order)
        if entry is None or entry.source != source or (entry.launches and fact.result is OrderResult.APPLIED):
            return None, None
        return entry, self._close(entry, Result(fact.result.value), at_s, reason=fact.reason, attempt=fact.attempt)

    def ended(self, ended: EndedAttempt) -> Iterator[DecisionOutcome]:
        """An attempt is over: did a copy win or lose, what would a shadow copy have saved?"""
        fact = ended.fact
        _take_out(self._kills, (ended.source, (fact.stage, fact.stage_attempt, fact.index)), fact.attempt)
        copy = self._copies.pop((ended.source, fact.attempt), None)
        if copy is not None:
            yield DecisionOutcome(
                decision=copy.decision,
                result=Result.WON if ended.won else Result.LOST,
                at_s=ended.ended_s,
                reason=fact.reason,
                attempt=fact.attempt,
                saved_s=max(0.0, ended.saved_s),
                cost_core_s=0.0 if ended.won else ended.cores * fact.duration_ms / 1000,
            )
        if ended.won:
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

    def expire(self, now_s: float, is_over: Callable[[OpenOrder], bool]) -> Iterator[tuple[OpenOrder, DecisionOutcome]]:
        """Orders whose hosts never said what became of them, in order of their ids.

        `is_over` says whether what one is about has ended.
        """
        past = [orders for expires_s, orders in self._expiring.items() if expires_s + GRACE_S < now_s]
        for entry in [self.open[order] for order in sorted(chain.from_iterable(past))]:
            result, reason = (Result.MOOT, OVER) if is_over(entry) else (Result.EXPIRED, "no word from the host")
            yield entry, self._close(entry, result, now_s, reason=reason)

    def abandon(self, at_s: float, reason: str, unsent: Container[int] = ()) -> list[DecisionOutcome]:
        """End all open orders as moot: no more news of them will come.

        Those in `unsent` never went out, and get no outcome.
        """
        entries = [entry for order, entry in self.open.items() if order not in unsent]
        return [self._close(entry, Result.MOOT, at_s, reason=reason) for entry in entries]

    def forget_stages(self, stages: list[tuple[str, int, int]]) -> None:
        """Drop the rest of stages that are over: shadow copies that won no race, attempts that were given up."""
        if not stages:
            return
        gone = set(stages)
        for stage in gone:
            self.shadows.pop(stage, None)
        self._kills = {
            (name, task): kills for (name, task), kills in self._kills.items() if (name, *task[:2]) not in gone
        }
        self._copies = {
            key: order for key, order in self._copies.items() if (order.source, *order.task[:2]) not in gone
        }

    def forget(self, source: str, at_s: float) -> list[DecisionOutcome]:
        """Drop everything about a source that is gone; its open orders end as moot."""
        entries = [entry for entry in self.open.values() if entry.source == source]
        ended = [self._close(entry, Result.MOOT, at_s, reason="its source has gone") for entry in entries]
        self._kills = {key: order for key, order in self._kills.items() if key[0] != source}
        self._copies = {key: order for key, order in self._copies.items() if key[0] != source}
        self.shadows = {key: shadow for key, shadow in self.shadows.items() if key[0] != source}
        return ended

    def _close(
        self, entry: OpenOrder, result: Result, at_s: float, *, reason: str = "", attempt: int = -1
    ) -> DecisionOutcome:
        """End an open order. An order that was not applied is moot if it came too late, or if a newer order stands."""
        order, lease = entry.order.order, entry.lease
        del self.open[order]
        _take_out(self._expiring, entry.expires_s, order)
        if entry.host:
            _take_out(self._bound, entry.source, order)
        is_superseded = lease is not None and self._leases.get(lease) != order
        if lease and not is_superseded:
            del self._leases[lease]
        if result is not Result.APPLIED:
            if self._kills.get((entry.source, entry.task), {}).get(entry.kills) is entry:
                _take_out(self._kills, (entry.source, entry.task), entry.kills)
            if is_superseded:
                result, reason = Result.MOOT, SUPERSEDED
            elif is_moot(reason):
                result = Result.MOOT
        return DecisionOutcome(
            decision=entry.decision,
            order=order,
            kind=entry.kind,
            result=result,
            at_s=at_s,
            reason=reason,
            attempt=attempt,
        )


def _take_out(orders: dict[_Key, dict[int, OpenOrder]], key: _Key, at: int) -> None:
    """Drop one of the orders under a key, if it is there; a key without orders goes, too."""
    under = orders.get(key)
    if under is not None:
        under.pop(at, None)
        if not under:
            del orders[key]
