"""Where are decisions, outcomes, promises, learned samples, settings and the audit log kept? The one face of the store.

Writing never blocks: rows go to a bounded queue that one thread empties. Reading takes the newest from memory and the
rest from the database; while that cannot be read, the answer says that it is not complete. An earlier run's state
is recalled at once, except rows that are not understood; until it can be read, `unread` says why not.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import structlog
from alembic.util import CommandError
from msgspec import Struct
from sqlalchemy import Connection, func, select
from sqlalchemy.exc import DBAPIError

from controlplane.model.decisions import DecisionOutcome, DecisionRecord, Promise, StockCopy
from controlplane.store import rows, schema
from controlplane.store.database import open_engine
from controlplane.store.parameters import StoreSettings
from controlplane.store.recent import DecisionFilter, DecisionPage, Recent, RecordedDecision
from controlplane.store.rows import EndedPromise, StockTally
from controlplane.store.writer import Writer

_log = structlog.get_logger()

RECORD_WAIT_S = 1.0
"""An operator's answer waits no longer than this for the disk."""


class AuditEntry(Struct, frozen=True, kw_only=True):
    """Who changed what, and why."""

    at_unix_ms: int
    role: str
    """The role of the token used; `local` without tokens."""
    action: str
    """What was changed."""
    reason: str
    """Why, in the operator's words."""
    details: dict[str, Any] = {}
    """The request, field by field."""


_decode_entry = msgspec.json.Decoder(AuditEntry).decode


class Stored(Struct, frozen=True, kw_only=True):
    """An earlier run's state: learned values and settings changed at run time, by key, and the audit log."""

    learned: dict[str, Any]
    settings: dict[str, Any]
    audit: list[AuditEntry]


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


class Store:
    """The database and the memory before it. `wall_ms` is the wall clock, only ever used to date rows."""

    def __init__(self, settings: StoreSettings, wall_ms: Callable[[], int] = _wall_ms) -> None:
        self.engine = open_engine(settings.url)
        self._settings = settings
        self.wall_ms = wall_ms
        self._writer = Writer(self.engine, settings, wall_ms)
        self._recent = Recent(settings.recent_rows)
        self._audit: deque[AuditEntry] = deque(maxlen=1000)
        self.unread = "it was not opened yet"
        """Why an earlier run's state is not known; empty once it is."""
        self.learned: dict[str, Any] = {}
        """An earlier run's learned values, by key."""
        self.settings: dict[str, Any] = {}
        """Settings changed at run time, by name: an earlier run's and those that this one has saved."""

    @property
    def failure(self) -> str:
        """Why nothing is recorded at present; empty while the store works."""
        return self._writer.failure

    @property
    def dropped(self) -> int:
        """Rows that could not be recorded."""
        return self._writer.dropped

    def newest_id(self) -> int:
        """The highest id of a decision on record; 0 if there is none, or it cannot be read."""
        try:
            with self.engine.connect() as connection:
                return connection.execute(select(func.max(schema.decisions.c.id))).scalar() or 0
        except (DBAPIError, OSError):
            return 0

    def open(self) -> None:
        """Starts writing, and recalls an earlier run's state, if it can be read."""
        if (stored := self.read()) is not None:
            self.take_up(stored)
        self._writer.start()

    def read(self) -> Stored | None:
        """An earlier run's state; None if it cannot be read. May wait for the disk; for any thread."""
        try:
            with contextlib.suppress(DBAPIError, OSError):  # Reading may work when writing does not.
                self._writer.migrate()
            with self.engine.connect() as connection:
                return Stored(
                    learned=rows.read_learned(connection),
                    settings=rows.read_settings(connection),
                    audit=self._read_audit(connection),
                )
        except (DBAPIError, OSError, ValueError, CommandError) as error:
            reason = str(getattr(error, "orig", None) or error)
        if reason != self.unread:
            _log.error("store_not_read", reason=reason)
        self.unread = reason
        return None

    def take_up(self, stored: Stored) -> None:
        """Merges an earlier run's state with this one's changes, which are newer."""
        self.learned = stored.learned
        self.settings = stored.settings | self.settings
        older = [entry for entry in stored.audit if entry not in self._audit]
        self._audit = deque([*older, *self._audit], maxlen=self._audit.maxlen)
        self.unread = ""

    def close(self) -> None:
        """Writes queued rows and releases the database."""
        self._writer.stop()
        self.engine.dispose()

    def flush(self) -> bool:
        """Waits until everything queued is written; False if it could not be."""
        return self._writer.flush()

    # -- writing --------------------------------------------------------------------------------------------------

    def record(
        self, records: list[DecisionRecord], outcomes: list[DecisionOutcome], now_s: float
    ) -> list[RecordedDecision]:
        """Keeps one cycle's decisions and their outcomes; `now_s` is the engine's clock, which dates them.

        Outcomes of orders that belong to no decision are not kept.
        """
        outcomes = [outcome for outcome in outcomes if outcome.decision]
        if not records and not outcomes:
            return []
        start_ms = self.wall_ms() - int(now_s * 1000)
        added, recorded = [], []
        for record in records:
            at_ms = start_ms + int(record.at_s * 1000)
            recorded.append(self._recent.add(record, at_ms))
            added.append(("decisions", rows.decision_row(record, at_ms)))
        for outcome in outcomes:
            self._recent.add_outcome(outcome)
            added.append(("outcomes", rows.outcome_row(outcome, start_ms + int(outcome.at_s * 1000))))
        self._writer.put(added)
        return recorded

    def record_stock_copies(self, copies: list[StockCopy], now_s: float) -> None:
        """Keeps the outcomes of copies that hosts launched by themselves; `now_s` is the engine's clock."""
        if copies:
            start_ms = self.wall_ms() - int(now_s * 1000)
            added = [rows.stock_copy_row(copy, start_ms + int(copy.ended_s * 1000)) for copy in copies]
            self._writer.put([("stock_copies", row) for row in added])

    def record_promises(self, promises: list[Promise], now_s: float) -> None:
        """Keeps what ended jobs with a deadline were promised and came to; `now_s` is the engine's clock."""
        if promises:
            start_ms = self.wall_ms() - int(now_s * 1000)
            added = [rows.promise_row(promise, start_ms + int(promise.ended_s * 1000)) for promise in promises]
            self._writer.put([("promises", row) for row in added])

    def save_learned(self, learned: Mapping[str, Any]) -> None:
        """Keeps learned values, by key; never in place of values that have not been read."""
        if not self.unread:
            self._put_keyed("learned", learned)

    def save_settings(self, settings: Mapping[str, Any]) -> None:
        """Keeps settings changed at run time, by name."""
        self.settings |= settings
        self._put_keyed("settings", settings)

    def audit(self, *, role: str, action: str, reason: str, details: Mapping[str, Any] | None = None) -> AuditEntry:
        """Notes that somebody changed something; logged, too, so that it is not lost with a full disk."""
        at_ms = self.wall_ms()
        entry = AuditEntry(at_unix_ms=at_ms, role=role, action=action, reason=reason, details=dict(details or {}))
        _log.info("audit", role=role, action=action, reason=reason, details=entry.details)
        self._audit.append(entry)
        self._writer.keep([("audit", {"at_ms": at_ms, "body": msgspec.json.encode(entry)})])
        return entry

    async def recorded(self) -> bool:
        """Whether everything saved and audited so far is written; waits a moment for it, but not for a failing disk."""
        return await asyncio.to_thread(self._writer.kept, RECORD_WAIT_S) and not self.unread

    def _put_keyed(self, table: str, values: Mapping[str, Any]) -> None:
        at_ms = self.wall_ms()
        self._writer.keep([(table, rows.keyed_row(key, value, at_ms)) for key, value in values.items()])

    # -- reading --------------------------------------------------------------------------------------------------

    def audit_log(self, limit: int = 1000) -> list[AuditEntry]:
        """The newest entries first."""
        return list(reversed(self._audit))[:limit]

    async def decision(self, decision: int) -> RecordedDecision | None:
        """One decision with its outcomes, or None if it is not (or no longer) known."""
        if found := self._recent.get(decision):
            return found
        older, _ = await asyncio.to_thread(self._read_decisions, DecisionFilter(), decision + 1, 1)
        return older[0] if older and older[0].record.id == decision else None

    async def decisions(self, which: DecisionFilter, *, before: int | None = None, limit: int = 100) -> DecisionPage:
        """Matching decisions with ids below `before`, newest first."""
        found = self._recent.find(which, before, limit + 1)
        complete = True
        if (missing := limit + 1 - len(found)) > 0:
            bounds = [bound for bound in (before, self._recent.oldest_id) if bound is not None]
            older, is_read = await asyncio.to_thread(self._read_decisions, which, min(bounds, default=None), missing)
            complete = is_read and not (self.failure or self.dropped)
            found += older
        cursor = found[limit - 1].record.id if len(found) > limit else None
        return DecisionPage(decisions=found[:limit], cursor=cursor, complete=complete)

    async def newest_epoch(self, which: DecisionFilter) -> int | None:
        """The epoch of the newest matching decision; None if none matches."""
        newest = (await self.decisions(which, limit=1)).decisions
        return newest[0].record.epoch if newest else None

    async def stock_copies(self, since_ms: int) -> dict[str, StockTally] | None:
        """Results of the hosts' own speculation since then, by source; None while they cannot be read."""
        return await asyncio.to_thread(self._tally_stock_copies, since_ms)

    async def promises(
        self, *, since_ms: int = 0, limit: int, source: str | None = None, job: str | None = None
    ) -> list[EndedPromise] | None:
        """Jobs with a deadline that have ended since then, newest first, of one source and id or of any.

        None while they cannot be read.
        """
        return await asyncio.to_thread(self._find_promises, since_ms, limit, source, job)

    def _find_promises(
        self, since_ms: int, limit: int, source: str | None, job: str | None
    ) -> list[EndedPromise] | None:
        try:
            with self.engine.connect() as connection:
                return rows.find_promises(connection, since_ms=since_ms, limit=limit, source=source, job=job)
        except (DBAPIError, OSError):
            return None

    def _tally_stock_copies(self, since_ms: int) -> dict[str, StockTally] | None:
        try:
            with self.engine.connect() as connection:
                return rows.tally_stock_copies(connection, since_ms)
        except (DBAPIError, OSError):
            return None

    def _read_decisions(
        self, which: DecisionFilter, before: int | None, limit: int
    ) -> tuple[list[RecordedDecision], bool]:
        try:
            with self.engine.connect() as connection:
                return rows.find_decisions(connection, which, before, limit), True
        except (DBAPIError, OSError):
            return [], False

    def _read_audit(self, connection: Connection) -> list[AuditEntry]:
        table = schema.audit
        newest = select(table.c.id, table.c.body).order_by(table.c.id.desc()).limit(self._audit.maxlen)
        found = connection.execute(newest)
        entries = [rows.understood(_decode_entry, row.body, table="audit", id=row.id) for row in found]
        return [entry for entry in reversed(entries) if entry]
