"""What does a stored row look like, and how is it read back?"""

from collections.abc import Callable
from typing import Any

import msgspec
import structlog
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, Table, and_, delete, exists, func, or_, select

from controlplane.model.decisions import DecisionOutcome, DecisionRecord, Promise, Result, StockCopy
from controlplane.store.recent import DecisionFilter, RecordedDecision
from controlplane.store.schema import decisions, learned, outcomes, promises, settings, stock_copies

_log = structlog.get_logger()

_encode = msgspec.json.Encoder().encode
_decode_record = msgspec.json.Decoder(DecisionRecord).decode
_decode_outcome = msgspec.json.Decoder(DecisionOutcome).decode

_NOT_UNDERSTOOD = (msgspec.MsgspecError, UnicodeDecodeError, TypeError)
"""Errors of decoding a body that is torn, of another version, or no bytes: SQLite takes anything in any column."""

_PENDING = and_(decisions.c.ordered == 1, ~exists().where(outcomes.c.decision == decisions.c.id))
"""SQL: true of a decision whose order has no outcome yet."""

_COLUMNS = {"index": "task"}
"""Fields whose column has another name (`index` is a word of SQL)."""


class StockTally(Struct, frozen=True, kw_only=True):
    """Outcomes of the copies that a host launched by itself."""

    won: int = 0
    """Copies that ended before the attempt they were to beat."""
    lost: int = 0
    """Copies that were beaten, or failed."""
    losing_core_s: float = 0.0
    """Core-seconds of losing copies."""


class EndedPromise(Struct, frozen=True, kw_only=True):
    """A job with a deadline that has ended: how likely it was said to keep it, and whether it has."""

    at_unix_ms: int
    source: str
    epoch: int
    job: str
    first_pocd: float | None
    """The first probability that was known; null if none was before the deadline."""
    newest_pocd: float | None
    """The newest one before the deadline; null as above."""
    first_with_copies: float | None
    """The first one, had each task that ran had as many further attempts as it may; null as above."""
    kept: bool
    """Whether it kept its deadline."""


def decision_row(record: DecisionRecord, at_ms: int) -> dict[str, Any]:
    """The row of a decision."""
    return {
        "id": record.id,
        "at_ms": at_ms,
        "source": record.source,
        "epoch": record.epoch,
        "job": record.job,
        "stage": record.stage,
        "stage_attempt": record.stage_attempt,
        "task": record.index,
        "attempt": record.attempt,
        "action": int(record.action),
        "reason": int(record.reason),
        "ordered": int(record.order > 0),
        "body": _encode(record),
    }


def outcome_row(outcome: DecisionOutcome, at_ms: int) -> dict[str, Any]:
    """The row of a decision's later news."""
    return {
        "decision": outcome.decision,
        "at_ms": at_ms,
        "result": outcome.result.value,
        "body": _encode(outcome),
    }


def stock_copy_row(copy: StockCopy, at_ms: int) -> dict[str, Any]:
    """The row of a copy that a host launched by itself."""
    return {"at_ms": at_ms, "source": copy.source, "won": int(copy.won), "core_s": copy.core_s}


def promise_row(promise: Promise, at_ms: int) -> dict[str, Any]:
    """The row of an ended job with a deadline."""
    return {
        "at_ms": at_ms,
        "source": promise.source,
        "epoch": promise.epoch,
        "job": promise.job,
        "first_pocd": promise.first_pocd,
        "newest_pocd": promise.newest_pocd,
        "first_with_copies": promise.first_with_copies,
        "kept": int(promise.kept),
    }


def keyed_row(key: str, value: Any, at_ms: int) -> dict[str, Any]:
    """The row of a value that is stored once per key."""
    return {"key": key, "at_ms": at_ms, "body": _encode(value)}


def replace_keyed(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    """Writes rows over those of the same keys, in SQL that all databases share."""
    newest = {row["key"]: row for row in rows}
    connection.execute(delete(table).where(table.c.key.in_(newest)))
    connection.execute(table.insert(), list(newest.values()))


def understood(decode: Callable[[bytes], Any], body: bytes, **row: object) -> Any:
    """The decoded body of a row; None if it is not understood, which is logged with its `row`."""
    try:
        return decode(body)
    except _NOT_UNDERSTOOD as error:
        _log.warning("row_not_understood", error=str(error), **row)
        return None


def read_learned(connection: Connection) -> dict[str, Any]:
    """Learned values by key, as far as they are understood."""
    found = connection.execute(select(learned.c.key, learned.c.body))
    values = {row.key: understood(msgspec.json.decode, row.body, table="learned", key=row.key) for row in found}
    return {key: value for key, value in values.items() if value is not None}


def read_settings(connection: Connection) -> dict[str, Any]:
    """Settings changed at run time, by name. Torn ones come as text, so that they are not taken for missing."""
    return {row.key: _setting(row.body) for row in connection.execute(select(settings.c.key, settings.c.body))}


def find_decisions(
    connection: Connection, which: DecisionFilter, before: int | None, limit: int
) -> list[RecordedDecision]:
    """At most `limit` matching decisions with ids below `before`, newest first, of those that are understood."""
    query = select(decisions.c.id, decisions.c.at_ms, decisions.c.body).order_by(decisions.c.id.desc())
    for name, value in which.wanted().items():
        query = query.where(decisions.c[_COLUMNS.get(name, name)] == value)
    if which.outcome is Result.PENDING:
        query = query.where(_PENDING)
    elif which.outcome is not None:
        with_outcome = select(outcomes.c.decision).where(outcomes.c.result == which.outcome.value)
        query = query.where(decisions.c.id.in_(with_outcome))
    found: dict[int, RecordedDecision] = {}
    while (wanted := limit - len(found)) > 0:
        older = query if before is None else query.where(decisions.c.id < before)
        stored = connection.execute(older.limit(wanted)).all()
        for each in stored:
            if record := understood(_decode_record, each.body, table="decisions", id=each.id):
                found[each.id] = RecordedDecision(record=record, at_unix_ms=each.at_ms, outcomes=[])
        if len(stored) < wanted:
            break
        before = stored[-1].id
    news = select(outcomes.c.decision, outcomes.c.body).where(outcomes.c.decision.in_(found)).order_by(outcomes.c.id)
    for row in connection.execute(news):
        if outcome := understood(_decode_outcome, row.body, table="outcomes", decision=row.decision):
            found[row.decision].outcomes.append(outcome)
    return list(found.values())


def end_orders(connection: Connection, at_ms: int) -> None:
    """Ends every order that an earlier run has left open, as no more news of it will come."""
    left = connection.execute(select(decisions.c.id, decisions.c.at_ms, decisions.c.body).where(_PENDING)).all()
    ended = []
    for row in left:
        if record := understood(_decode_record, row.body, table="decisions", id=row.id):
            end_ms = max(at_ms, row.at_ms)
            outcome = DecisionOutcome(
                decision=row.id,
                order=record.order,
                result=Result.MOOT,
                at_s=record.at_s + (end_ms - row.at_ms) / 1000,
                reason="the control plane was restarted",
            )
            ended.append(outcome_row(outcome, end_ms))
    if ended:
        connection.execute(outcomes.insert(), ended)


def tally_stock_copies(connection: Connection, since_ms: int) -> dict[str, StockTally]:
    """Results of the hosts' own speculation since then, by source."""
    table = stock_copies
    sums = select(table.c.source, table.c.won, func.count().label("copies"), func.sum(table.c.core_s).label("core_s"))
    found = connection.execute(sums.where(table.c.at_ms >= since_ms).group_by(table.c.source, table.c.won))
    tallies: dict[str, StockTally] = {}
    for row in found:
        news = {"won": row.copies} if row.won else {"lost": row.copies, "losing_core_s": row.core_s}
        tallies[row.source] = replace(tallies.get(row.source, StockTally()), **news)
    return tallies


def find_promises(
    connection: Connection, *, since_ms: int, limit: int, source: str | None = None, job: str | None = None
) -> list[EndedPromise]:
    """At most `limit` jobs that have ended since then, newest first, of one source and id or of any."""
    table = promises
    query = select(table).where(table.c.at_ms >= since_ms).order_by(table.c.id.desc()).limit(limit)
    for name, value in (("source", source), ("job", job)):
        if value is not None:
            query = query.where(table.c[name] == value)
    return [
        EndedPromise(
            at_unix_ms=row.at_ms,
            source=row.source,
            epoch=row.epoch,
            job=row.job,
            first_pocd=row.first_pocd,
            newest_pocd=row.newest_pocd,
            first_with_copies=row.first_with_copies,
            kept=bool(row.kept),
        )
        for row in connection.execute(query)
    ]


def sweep(connection: Connection, *, before_ms: int, keep_rows: int) -> int:
    """Deletes decisions that are too old or too many, with their outcomes; returns how many decisions went.

    So go the copies that hosts launched by themselves. Promises go by age alone: there are few, and a calibration needs
    many.
    """
    deleted = _delete_oldest(connection, decisions, before_ms=before_ms, keep_rows=keep_rows)
    _delete_oldest(connection, stock_copies, before_ms=before_ms, keep_rows=keep_rows)
    connection.execute(delete(promises).where(promises.c.at_ms < before_ms))
    if deleted:
        oldest = select(func.min(decisions.c.id)).scalar_subquery()
        connection.execute(delete(outcomes).where(or_(outcomes.c.decision < oldest, outcomes.c.at_ms < before_ms)))
    return deleted


def _delete_oldest(connection: Connection, table: Table, *, before_ms: int, keep_rows: int) -> int:
    """Deletes rows that are too old, and all but the newest `keep_rows`; returns their number.

    The newest have the highest ids, which grow whatever the clock does: rows from while it was ahead are no newer.
    """
    ids = select(table.c.id).order_by(table.c.id.desc())
    keep_from = connection.execute(ids.offset(keep_rows - 1).limit(1)).scalar() or 0
    return connection.execute(delete(table).where(or_(table.c.id < keep_from, table.c.at_ms < before_ms))).rowcount


def _setting(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except _NOT_UNDERSTOOD:
        return repr(body)
