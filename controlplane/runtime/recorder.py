"""What was the engine told, in which order, and what did it decide? A bounded file from which the same comes again.

One recording is one run of the control plane: everything that can change what its engine decides, and every decision
(law 2). A line of JSON each, compressed; what had been written when the process died can be read.
"""

import gzip
import os
import queue
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
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
"""Recordings in a folder, the newest; older ones are removed at the start, but for those that were renamed."""
FLUSH_S = 1.0
"""What is older is in the file."""
MOST_WAITING = 1000
"""Entries that may wait to be written; a disk that is slower than that ends the recording."""


class Begun(Struct, frozen=True, kw_only=True, tag_field="type", tag="begun"):
    """A new engine."""

    order_epoch: int


class Steered(Struct, frozen=True, kw_only=True, tag_field="type", tag="steered"):
    """The settings and choices that hold from the next cycle on."""

    settings: EngineSettings
    mode_of_source: dict[str, Mode]
    policy_of_source: dict[str, str]


class Restored(Struct, frozen=True, kw_only=True, tag_field="type", tag="restored"):
    """What an earlier run had learned is taken up."""

    learned: dict[str, Any]


class Told(Struct, frozen=True, kw_only=True, tag_field="type", tag="told"):
    """The call of a cycle. No `Decided` follows where it failed."""

    now_s: float
    batch: Sequence[Stimulus]


class Decided(Struct, frozen=True, kw_only=True, tag_field="type", tag="decided"):
    """The answer of a cycle. Numbers that are none (inf, nan) are null."""

    decision: Decision
    due_s: float | None
    """When the next cycle is due."""


class Forgotten(Struct, frozen=True, kw_only=True, tag_field="type", tag="forgotten"):
    """A silent source is dropped."""

    source: str
    now_s: float


class Reset(Struct, frozen=True, kw_only=True, tag_field="type", tag="reset"):
    """All running work is dropped after a cycle that failed."""

    now_s: float


Entry = Begun | Steered | Restored | Told | Decided | Forgotten | Reset
_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder(Entry).decode


class Recorder:
    """Writes entries to a new file, on a thread of its own, until it has `most_bytes` or the disk fails."""

    def __init__(self, path: Path, most_bytes: int) -> None:
        """Raises OSError where the file is there, or cannot be made."""
        self._path = path
        self._most_bytes = most_bytes
        self._waiting: queue.Queue[Entry | None] = queue.Queue(MOST_WAITING)
        self._ended = False
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        self._thread = threading.Thread(target=self._write, args=(file,), name="grasshopper-recorder", daemon=True)
        self._thread.start()

    def add(self, entry: Entry | None) -> None:
        """Puts down an entry, of which nothing changes any more; None is the last one."""
        if self._ended:
            return
        try:
            self._waiting.put_nowait(entry)
        except queue.Full:
            self._end("the disk is too slow")

    def close(self) -> None:
        """Writes what waits, and returns when the file is whole."""
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
    """An engine that puts down each call and each decision."""

    def __init__(self, settings: EngineSettings, *, order_epoch: int, recorder: Recorder) -> None:
        super().__init__(settings, order_epoch=order_epoch)
        self._recorder = recorder
        self._steered: Steered | None = None
        recorder.add(Begun(order_epoch=order_epoch))

    def handle(self, batch: Sequence[Stimulus], now_s: float) -> tuple[Decision, float]:
        """As the engine's."""
        steering = self.steering
        steered = Steered(
            settings=steering.settings,
            mode_of_source=dict(steering.mode_of_source),
            policy_of_source=dict(steering.policy_of_source),
        )
        if steered != self._steered:
            self._steered = steered
            self._recorder.add(steered)
        self._recorder.add(Told(now_s=now_s, batch=batch))
        decision, due_s = super().handle(batch, now_s)
        self._recorder.add(Decided(decision=decision, due_s=due_s))
        return decision, due_s

    def forget(self, source: str, now_s: float) -> list[DecisionOutcome]:
        """As the engine's."""
        self._recorder.add(Forgotten(source=source, now_s=now_s))
        return super().forget(source, now_s)

    def reset(self, now_s: float) -> list[DecisionOutcome]:
        """As the engine's."""
        self._recorder.add(Reset(now_s=now_s))
        return super().reset(now_s)

    def restore(self, learned: dict[str, Any]) -> list[str]:
        """As the engine's."""
        self._recorder.add(Restored(learned=learned))
        return super().restore(learned)


def begin(folder: Path, name: str, most_bytes: int) -> Recorder | None:
    """A recorder of a new file in a folder, of which the newest are kept; None, and a line in the log, if it fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in sorted(folder.glob(f"[0-9]*{SUFFIX}"))[: 1 - KEPT]:
            old.unlink()
        return Recorder(folder / f"{name}{SUFFIX}", most_bytes)
    except OSError as error:
        _log.error("not_recording", folder=str(folder), error=str(error))
        return None


def read(path: Path) -> Iterator[Entry]:
    """The entries of a recording; where the process died, those that are whole.

    Raises OSError or msgspec.MsgspecError for what is no recording of this version.
    """
    with gzip.open(path, "rb") as lines:
        try:
            for line in lines:
                if line.endswith(b"\n"):
                    yield _decode(line)
        except EOFError:
            return


def replay(entries: Iterable[Entry]) -> Iterator[tuple[Decided, Decided]]:
    """What was decided, and what this engine decides, cycle by cycle. Raises what the engine does that did not then."""
    scheduler = Scheduler(EngineSettings())
    answer: Decided | Exception = ValueError("a recording begins with a call")
    for entry in entries:
        match entry:
            case Begun():
                scheduler = Scheduler(EngineSettings(), order_epoch=entry.order_epoch)
            case Steered():
                scheduler.configure(entry.settings)
                scheduler.steering.mode_of_source = dict(entry.mode_of_source)
                scheduler.steering.policy_of_source = dict(entry.policy_of_source)
            case Restored():
                scheduler.restore(entry.learned)
            case Told():
                answer = _answer(scheduler, entry)
            case Decided():
                if isinstance(answer, Exception):
                    raise answer
                yield entry, answer
            case Forgotten():
                scheduler.forget(entry.source, entry.now_s)
            case Reset():
                scheduler.reset(entry.now_s)


def _answer(scheduler: Scheduler, told: Told) -> Decided | Exception:
    """As a recording holds it."""
    try:
        decision, due_s = scheduler.handle(told.batch, told.now_s)
    except Exception as error:
        return error
    return msgspec.json.decode(_encode(Decided(decision=decision, due_s=due_s)), type=Decided)
