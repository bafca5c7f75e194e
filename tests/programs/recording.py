"""What did a shim report, and when did it come? A proxy that writes it down, and a file that holds it.

The first line of a recording is the case, each further one an exchange: when it arrived, and the request as it was.
"""

from __future__ import annotations

import lzma
import threading
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from controlplane.wire.envelope import SyncRequest
from tests.integration.gateway import DOORBELL, Gateway
from tests.programs.case import Case


class Exchange(Struct):
    """One request, `at_s` seconds after the recording's start."""

    at_s: float
    request: SyncRequest


class Recorder(Gateway):
    """A proxy that keeps the body of every exchange that passes."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream)
        self._kept: list[tuple[float, bytes]] = []
        self._keeping = threading.Lock()
        self._start_s = time.monotonic()
        self.start_ms = round(time.time() * 1000)
        """Wall clock at the recording's start."""

    def answer(self, path: str, body: bytes, who: str = "") -> tuple[int, bytes]:
        """Status and body for one request."""
        if path != DOORBELL:
            with self._keeping:
                self._kept.append((time.monotonic() - self._start_s, body))
        return super().answer(path, body, who)

    def write(self, case: Case, path: Path) -> None:
        """Write down what has passed so far."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with lzma.open(path, "wb", preset=9) as file:
            file.write(msgspec.json.encode(case) + b"\n")
            for at_s, body in self._kept:
                file.write(b'{"at_s": %.4f, "request": %s}\n' % (at_s, body))


def read(path: Path) -> tuple[Case, list[Exchange]]:
    """A recording's case, and its exchanges in the order in which they came."""
    with lzma.open(path, "rb") as file:
        case = msgspec.json.decode(file.readline(), type=Case)
        decode = msgspec.json.Decoder(Exchange).decode
        return case, [decode(line) for line in file]
