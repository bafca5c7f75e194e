"""How is a run of the engine recorded? A bounded file of its calls and decisions (law 2).

A recording is one run of the control plane: every call that can change what its engine decides, and every decision.
Each is a line of JSON; the file is compressed. If the process dies, the lines written so far can be read.
"""

import gzip
import os
import queue
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import structlog
from msgspec import Struct

from controlplane.engine.scheduler import Scheduler
from controlplane.model.decisions import Decision, DecisionOutcome, Stimulus
from controlplane.model.facts import Mode
from controlplane.model.parameters import EngineSettings

_log = structlog.get_logger()

SUFFIX = ".recording.gz"
KEPT = 5
"""Newest recordings that a folder keeps. Older ones are removed at the start, except those that were renamed."""
FLUSH_S = 1.0
"""Longest time between two flushes of the file while entries come."""
MOST_WAITING = 1000
"""Entries that may wait to be written. One more ends the recording: the disk is too slow."""


class Begun(Struct, frozen=True, kw_only=True, tag_field="type", tag="begun"):
    """A new engine."""

    order_epoch: int


class Steered(Struct, frozen=True, kw_only=True, tag_field="type", tag="steered"):
    """The settings and the operators' choices, in force from the next cycle on."""

    settings: EngineSettings
    mode_of_source: dict[str, Mode]
    policy_of_source: dict[str, str]


class Restored(Struct, frozen=True, kw_only=True, tag_field="type", tag="restored"):
    """The engine recalls what an earlier run learned."""

    learned: dict[str, Any]


class Called(Struct, frozen=True, kw_only=True, tag_field="type", tag="called"):
    """The call of a cycle. If the cycle fails, no `Decided` follows."""

    now_s: float
    batch: Sequence[Stimulus]


class Decided(Struct, frozen=True, kw_only=True, tag_field="type", tag="decided"):
    """The answer of a cycle. Infinite and undefined numbers are null."""

    decision: Decision
    due_s: float | None
    """When the next cycle is due."""


class Forgotten(Struct, frozen=True, kw_only=True, tag_field="type", tag="forgotten"):
    """The engine drops a silent source."""

    source: str
    now_s: float


class Reset(Struct, frozen=True, kw_only=True, tag_field="type", tag="reset"):
    """The engine drops all running work after a failed cycle."""

    now_s: float


Entry = Begun | Steered | Restored | Called | Decided | Forgotten | Reset
_encode = msgspec.json.Encoder(order="deterministic").encode


class Recorder:
    """Writes entries to a new file on its own thread, until the file has `most_bytes` or the disk fails."""

    def __init__(self, path: Path, most_bytes: int) -> None:
        """Raises OSError if the file exists or cannot be made."""
        self._path = path
        self._most_bytes = most_bytes
        self._waiting: queue.Queue[Entry | None] = queue.Queue(MOST_WAITING)
        self._ended = False
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        self._thread = threading.Thread(target=self._write, args=(file,), name="grasshopper-recorder", daemon=True)
        self._thread.start()

    def add(self, entry: Entry | None) -> None:
        """Queues an entry, which must not change afterwards; None ends the file."""
        if self._ended:
            return
        try:
            self._waiting.put_nowait(entry)
        except queue.Full:
            self._end("the disk is too slow")

    def close(self) -> None:
        """Writes the queued entries and returns once the file is complete."""
        self.add(None)
        self._thread.join()

    def _write(self, file: BinaryIO) -> None:
        try:
            with file, gzip.GzipFile(fileobj=file, mode="wb") as lines:
                flush_s = time.monotonic()
                while not self._ended and (entry := self._waiting.get()) is not None:
                    lines.write(_encode(entry) + b"\n")
                    if time.monotonic() >= flush_s:
                        lines.flush()
                        flush_s = time.monotonic() + FLUSH_S
                    if file.tell() >= self._most_bytes:
                        self._end(f"it has {self._most_bytes} bytes")
        except Exception as error:
            self._end(repr(error))

    def _end(self, why: str) -> None:
        self._ended = True
        _log.warning("recording_ended", path=str(self._path), why=why)


class RecordedScheduler(Scheduler):
    """An engine that records each call and each decision."""

    def __init__(self, settings: EngineSettings, *, order_epoch: int, recorder: Recorder) -> None:
        super().__init__(settings, order_epoch=order_epoch)
        self._recorder = recorder
        self._steered: Steered | None = None
        recorder.add(Begun(order_epoch=order_epoch))

    def handle(self, batch: Sequence[Stimulus], now_s: float) -> tuple[Decision, float]:
        """Records the call, and does as the engine does."""
        steering = self.steering
        steered = Steered(
            settings=steering.settings,
            mode_of_source=dict(steering.mode_of_source),
            policy_of_source=dict(steering.policy_of_source),
        )
        if steered != self._steered:
            self._steered = steered
            self._recorder.add(steered)
        self._recorder.add(Called(now_s=now_s, batch=batch))
        decision, due_s = super().handle(batch, now_s)
        self._recorder.add(Decided(decision=decision, due_s=due_s))
        return decision, due_s

    def forget(self, source: str, now_s: float) -> list[DecisionOutcome]:
        """Records the call, and does as the engine does."""
        self._recorder.add(Forgotten(source=source, now_s=now_s))
        return super().forget(source, now_s)

    def reset(self, now_s: float) -> list[DecisionOutcome]:
        """Records the call, and does as the engine does."""
        self._recorder.add(Reset(now_s=now_s))
        return super().reset(now_s)

    def restore(self, learned: dict[str, Any]) -> list[str]:
        """Records the call, and does as the engine does."""
        self._recorder.add(Restored(learned=learned))
        return super().restore(learned)


def begin(folder: Path, name: str, most_bytes: int) -> Recorder | None:
    """A recorder of a new file in a folder that keeps `KEPT` of them; None, and a line in the log, if it fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in sorted(folder.glob(f"[0-9]*{SUFFIX}"))[: 1 - KEPT]:
            old.unlink()
        return Recorder(folder / f"{name}{SUFFIX}", most_bytes)
    except OSError as error:
        _log.error("not_recording", folder=str(folder), error=str(error))
        return None
