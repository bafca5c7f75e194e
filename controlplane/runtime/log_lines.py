"""How is a log line written without anybody waiting for it, or failing with it? A bounded queue, written by one thread.

Its destination may be a full disk, a pipe without a reader, or one that nobody empties: the kill switch still works.
"""

import threading
from collections.abc import Callable

import structlog

_log = structlog.get_logger()

MOST_BYTES = 2**20
"""Bytes that may wait, or be in the middle of being written; lines beyond that are dropped."""

RETRY_S = 1.0
"""Time between two attempts if writing fails: a full disk may have room again."""

PATIENCE_S = 1.0
"""The end waits no longer than this for the last lines."""


class LogLines:
    """A text stream for loggers. One line in place of dropped ones gives their number.

    `put` takes bytes and returns how many of them it took, as `os.write` does; it may block, or raise OSError.
    """

    def __init__(self, put: Callable[[bytes], int]) -> None:
        self._put = put
        self._lines: list[bytes] = []
        self._room = MOST_BYTES
        self._dropped = 0
        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="grasshopper-log", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        """Queues a line with its end, or drops it; never waits and never raises."""
        data = line.encode(errors="backslashreplace")
        with self._changed:
            # The line about dropped ones is the writing thread's own, and needs no room.
            if len(data) > self._room and threading.current_thread() is not self._thread:
                self._dropped += 1
            else:
                self._room -= len(data)
                self._lines.append(data)
            self._changed.notify()

    def flush(self) -> None:
        """Does nothing: loggers do not wait."""

    def close(self) -> None:
        """Writes queued lines, as many as it can within `PATIENCE_S`, and ends the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines or self._dropped or self._closing)
                lines, self._lines = self._lines, []
                dropped, self._dropped = self._dropped, 0
            if dropped:
                _log.error("log_lines_dropped", lines=dropped)
            elif not lines:
                return
            self._put_all(b"".join(lines))

    def _put_all(self, rest: bytes) -> None:
        """Continues where writing failed, so that no line is torn; gives up only at the end."""
        while rest:
            try:
                n_written = self._put(rest)
            except OSError:
                with self._changed:
                    if self._changed.wait_for(lambda: self._closing, RETRY_S):
                        return
            else:
                rest = rest[n_written:]
                with self._changed:
                    self._room += n_written
