"""How are rows written without anybody waiting for the disk? One thread, batches, and a queue that drops when full."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import DataError, IntegrityError

from controlplane.store import rows, schema
from controlplane.store.database import migrate
from controlplane.store.parameters import StoreSettings

_log = structlog.get_logger()

_ROWS_AT_FAULT = (IntegrityError, DataError, OverflowError)
"""Trying again would fail again, so the batch is given up."""

_Row = tuple[str, dict[str, Any]]


class Writer:
    """Writes queued rows in batches. While the database refuses, `failure` says why and newer rows are dropped."""

    def __init__(self, engine: Engine, settings: StoreSettings, wall_ms: Callable[[], int]) -> None:
        self.failure = ""
        self.dropped = 0
        self.migrated = False
        self._engine = engine
        self._settings = settings
        self._wall_ms = wall_ms
        self._queue: deque[_Row] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self._busy = False
        self._sweep_s = time.monotonic() + settings.sweep_every_s
        self._thread = threading.Thread(target=self._run, name="grasshopper-store", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def put(self, added: list[_Row]) -> None:
        """Queues rows of (table, values); what does not fit is dropped and counted. Never waits for the disk."""
        with self._wake:
            room = self._settings.queue_rows - len(self._queue)
            self.dropped += max(len(added) - room, 0)
            self._queue.extend(added[: max(room, 0)])
            self._wake.notify()

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Waits until everything queued is written; False where the time or the database did not allow it."""
        with self._wake:
            self._wake.notify()
            return self._wake.wait_for(lambda: not self._queue and not self._busy, timeout_s)

    def stop(self, timeout_s: float = 5.0) -> None:
        """Writes what is queued, if the database lets it, and ends the thread."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        batch: list[_Row] = []
        while True:
            if not batch:
                batch = self._next_batch()
            if self._settled(batch):
                batch = []
                with self._wake:
                    self._busy = False
                    self._wake.notify_all()
                    if self._stopping and not self._queue:
                        return
            else:
                with self._wake:
                    if self._stopping:
                        self.dropped += len(batch) + len(self._queue)
                        return
                    self._wake.wait_for(lambda: self._stopping, self._settings.retry_s)

    def _next_batch(self) -> list[_Row]:
        """The next rows; empty when it is only time to look for old ones, or to stop."""
        with self._wake:
            left_s = max(self._sweep_s - time.monotonic(), 0.0)
            self._wake.wait_for(lambda: self._queue or self._stopping or not self.migrated, left_s)
            n_rows = min(len(self._queue), self._settings.batch_rows)
            self._busy = n_rows > 0
            return [self._queue.popleft() for _ in range(n_rows)]

    def _settled(self, batch: list[_Row]) -> bool:
        """Writes the rows or gives them up; False to try again. A failure is told when it starts and when it ends."""
        try:
            self._write(batch)
        except _ROWS_AT_FAULT as error:
            self.dropped += len(batch)
            _log.error("store_rows_refused", error=str(error))
        except Exception as error:
            reason = str(getattr(error, "orig", None) or error)
            if not self.failure:
                _log.error("store_not_recording", reason=reason)
            self.failure = reason
            return False
        if self.failure:
            _log.info("store_recording_again", dropped=self.dropped)
        self.failure = ""
        return True

    def _write(self, batch: list[_Row]) -> None:
        with self._engine.begin() as connection:
            if not self.migrated:
                migrate(connection)
            for name in dict.fromkeys(table for table, _ in batch):
                values = [row for table, row in batch if table == name]
                table = schema.metadata.tables[name]
                if "key" in table.c:
                    rows.replace_keyed(connection, table, values)
                else:
                    connection.execute(table.insert(), values)
        self.migrated = True
        if time.monotonic() >= self._sweep_s:
            self._sweep()

    def _sweep(self) -> None:
        self._sweep_s = time.monotonic() + self._settings.sweep_every_s
        with self._engine.begin() as connection:
            before_ms = self._wall_ms() - int(self._settings.keep_days * 86_400_000)
            deleted = rows.sweep(connection, before_ms=before_ms, keep_rows=self._settings.keep_rows)
        if deleted and self._engine.dialect.name == "sqlite":
            with self._engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA incremental_vacuum").close()
