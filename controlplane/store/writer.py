"""How are rows written without anybody waiting for the disk? One thread, batches, and a queue that drops when full.

Operators' changes are kept outside that queue: an outage that fills it loses decisions, never a kill switch.
"""

import itertools
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import structlog
from sqlalchemy import Engine, func, select
from sqlalchemy.exc import DataError, IntegrityError

from controlplane.store import rows, schema
from controlplane.store.database import durable, files_of, migrate
from controlplane.store.parameters import StoreSettings

_log = structlog.get_logger()

_ROWS_AT_FAULT = (IntegrityError, DataError, OverflowError)
"""Errors for which a retry would fail again, so the row is given up."""

_MANY = {"decisions", "outcomes", "stock_copies", "promises"}
"""Tables whose newest rows may be lost in a power failure: waiting for the disk each cycle would cost too much."""

_PAGES_BACK = 10_000
"""Pages of an SQLite file that one sweep gives back to the disk, at most: 40 MB."""

PATIENCE_S = 5.0
"""Longest wait for the disk by a caller that stops, or wants everything written."""

_Row = tuple[str, dict[str, Any]]


class Writer:
    """Writes queued rows in batches. While the database refuses, `failure` says why and newer rows are dropped."""

    def __init__(self, engine: Engine, settings: StoreSettings, wall_ms: Callable[[], int]) -> None:
        self.failure = ""
        self.dropped = 0
        self.migrated = False
        """Whether the tables have the newest shape."""
        self._files: tuple[object, ...] = ()
        self._engine = engine
        self._settings = settings
        self._wall_ms = wall_ms
        self._start_ms: int | None = None
        """The wall clock when the monotonic one was at zero, as estimated by `_note_start`."""
        self._queue: deque[_Row] = deque()
        self._kept: dict[tuple[str, object], _Row] = {}
        self._numbers = itertools.count()
        self._wake = threading.Condition()
        self._stopping = False
        self._busy = self._busy_kept = False
        self._migrating = threading.Lock()
        self._sweep_s = time.monotonic() + settings.sweep_every_s
        self._thread = threading.Thread(target=self._run, name="grasshopper-store", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def migrate(self) -> None:
        """Migrates the tables to the newest shape, and ends an earlier run's orders: once and whole.

        Raises what the database says while it cannot.
        """
        with self._migrating:
            if not self.migrated:
                with durable(self._engine).begin() as connection:
                    migrate(connection)
                    rows.end_orders(connection, self._wall_ms())
                self._files = files_of(self._engine)
                self.migrated = True

    def put(self, added: list[_Row]) -> None:
        """Queues rows of (table, values); rows that do not fit are dropped and counted. Never waits for the disk."""
        with self._wake:
            room = self._settings.queue_rows - len(self._queue)
            self.dropped += max(len(added) - room, 0)
            self._queue.extend(added[: max(room, 0)])
            self._wake.notify()

    def keep(self, added: list[_Row]) -> None:
        """Takes rows that go first and are not dropped: per key only the newest, of the others `queue_rows`."""
        with self._wake:
            for table, row in added:
                if "key" not in row and len(self._kept) >= self._settings.queue_rows:
                    self.dropped += 1
                    continue
                self._kept[table, row.get("key", next(self._numbers))] = (table, row)
            self._wake.notify()

    def flush(self) -> bool:
        """Waits until everything queued is written; False if the time or the database did not allow it."""
        with self._wake:
            self._wake.notify()
            return self._wake.wait_for(lambda: not (self._queue or self._kept or self._busy), PATIENCE_S)

    def kept(self, timeout_s: float) -> bool:
        """Waits until the rows given to `keep` are written; False as soon as they cannot be."""
        with self._wake:
            self._wake.wait_for(lambda: self.failure or not (self._kept or self._busy_kept), timeout_s)
            return not (self._kept or self._busy_kept)

    def stop(self) -> None:
        """Writes queued rows, if the database allows it, and ends the thread."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        batch: list[_Row] = []
        while True:
            batch = self._settled(batch or self._next_batch())
            with self._wake:
                if not self.failure:
                    self._busy = self._busy_kept = False
                self._wake.notify_all()
                if self._stopping and (self.failure or not (self._queue or self._kept)):
                    lost = [*batch, *self._kept.values(), *self._queue]
                    self.dropped += len(lost)
                    if lost:
                        tables = Counter(table for table, _ in lost)
                        _log.error("store_rows_lost", reason=self.failure, **tables)
                    return
                if self.failure:
                    self._wake.wait_for(lambda: self._stopping, self._settings.retry_s)

    def _next_batch(self) -> list[_Row]:
        """The next rows; empty when it is only time to look for old ones, or to stop."""
        with self._wake:
            left_s = 0.0 if self.failure else max(self._sweep_s - time.monotonic(), 0.0)
            self._wake.wait_for(lambda: self._queue or self._kept or self._stopping or not self.migrated, left_s)
            kept, self._kept = self._kept, {}
            n_rows = min(len(self._queue), self._settings.batch_rows)
            self._busy, self._busy_kept = n_rows > 0 or bool(kept), bool(kept)
            return [*kept.values(), *(self._queue.popleft() for _ in range(n_rows))]

    def _settled(self, batch: list[_Row]) -> list[_Row]:
        """Writes the rows; returns those to retry. Rows that are refused permanently are given up, and only those."""
        parts = [batch]
        try:
            self.migrate()
            self._check_files()
            self._note_start()
            while parts:
                try:
                    self._write(parts[-1])
                    parts.pop()
                except _ROWS_AT_FAULT as error:
                    parts += self._halves(parts.pop(), error)
            if time.monotonic() >= self._sweep_s:
                self._sweep()
        except Exception as error:
            reason = str(getattr(error, "orig", None) or error)
            if not self.failure:
                _log.error("store_not_recording", reason=reason)
            self.failure = reason
            return [row for part in reversed(parts) for row in part]
        if self.failure:
            _log.info("store_recording_again", dropped=self.dropped)
        self.failure = ""
        return []

    def _check_files(self) -> None:
        """Raises OSError if a file is gone, replaced or emptied: nobody will read rows written to the old one."""
        if files_of(self._engine) != self._files:
            raise OSError("another file, or nothing, is in the place of the store's; restart to go on with that")

    def _halves(self, part: list[_Row], error: Exception) -> list[list[_Row]]:
        """The refused rows in two parts, the older one last; nothing for a single row, which is given up."""
        if len(part) <= 1:
            self.dropped += len(part)
            _log.error("store_row_refused", error=str(getattr(error, "orig", None) or error))
            return []
        middle = len(part) // 2
        return [part[middle:], part[:middle]]

    def _note_start(self) -> None:
        """Dates the start by the newest row of earlier runs, or by the wall clock where that is earlier or alone.

        Age is then measured by the time since: a clock that is ahead at the start, or jumps, deletes nothing, unless
        rows were dated by it before a restart and it is still ahead then. Time without a running server makes no row
        older.
        """
        if self._start_ms is None:
            with self._engine.connect() as connection:
                newest_ms = connection.execute(select(func.max(schema.decisions.c.at_ms))).scalar()
            now_ms = self._wall_ms()
            believed_ms = now_ms if newest_ms is None else min(now_ms, newest_ms)
            self._start_ms = believed_ms - int(time.monotonic() * 1000)

    def _write(self, batch: list[_Row]) -> None:
        names = dict.fromkeys(table for table, _ in batch)
        engine = durable(self._engine) if names.keys() - _MANY else self._engine
        with engine.begin() as connection:
            for name in names:
                values = [row for table, row in batch if table == name]
                table = schema.metadata.tables[name]
                if "key" in table.c:
                    rows.replace_keyed(connection, table, values)
                else:
                    connection.execute(table.insert(), values)

    def _sweep(self) -> None:
        assert self._start_ms is not None
        self._sweep_s = time.monotonic() + self._settings.sweep_every_s
        now_ms = min(self._start_ms + int(time.monotonic() * 1000), self._wall_ms())
        with self._engine.begin() as connection:
            before_ms = now_ms - int(self._settings.keep_days * 86_400_000)
            deleted = rows.sweep(connection, before_ms=before_ms, keep_rows=self._settings.keep_rows)
        if deleted and self._engine.dialect.name == "sqlite":
            with self._engine.connect() as connection:
                raw: Any = connection.connection.dbapi_connection
                raw.executescript(f"PRAGMA incremental_vacuum({_PAGES_BACK})")  # A statement would give back one.
