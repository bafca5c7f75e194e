"""What does a recording of an engine hold, and what does today's engine decide where that one did (law 2)?"""

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from controlplane.engine.scheduler import Scheduler
from controlplane.model.parameters import EngineSettings
from controlplane.runtime.recorder import Begun, Called, Decided, Entry, Forgotten, Reset, Restored, Steered

encode = msgspec.json.Encoder(order="deterministic").encode
decode = msgspec.json.Decoder(Entry).decode


def read(path: Path) -> Iterator[Entry]:
    """The entries of a recording; if the process died, the complete ones.

    Raises OSError or msgspec.MsgspecError for any other file, and for a recording of another version.
    """
    with gzip.open(path, "rb") as lines:
        try:
            for line in lines:
                if line.endswith(b"\n"):
                    yield decode(line)
        except EOFError:
            return


def replay(entries: Iterable[Entry]) -> Iterator[tuple[Decided, Decided]]:
    """Each cycle's recorded decision and today's. Raises the error of a cycle that had none when it was recorded."""
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
            case Called():
                answer = _answer(scheduler, entry)
            case Decided():
                if isinstance(answer, Exception):
                    raise answer
                yield entry, answer
            case Forgotten():
                scheduler.forget(entry.source, entry.now_s)
            case Reset():
                scheduler.reset(entry.now_s)


def _answer(scheduler: Scheduler, called: Called) -> Decided | Exception:
    """The engine's answer in the form of a recording, or its error."""
    try:
        decision, due_s = scheduler.handle(called.batch, called.now_s)
    except Exception as error:
        return error
    return msgspec.json.decode(encode(Decided(decision=decision, due_s=due_s)), type=Decided)
