"""How large and how slow may a request be, how many may wait, and who gets a connection when many are open?

What uvicorn itself does not bound: a head without end, half a request that never goes on, a body in crumbs or one that
goes on after its answer, requests sent ahead of the answers, and connections until no file is left. A refusal closes
the connection, with an answer where none has begun, and is counted by reason. Operators have a listener of their own, a
socket in the file system with a gate of its own, so no number of other callers locks them out.
"""

from collections import Counter
from typing import Any

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from controlplane.runtime.complaints import Complaints
from controlplane.runtime.metrics import Metrics

HEAD_BYTES = 64 * 1024
"""Request line and headers together; also trailers, and whatever else is neither head nor body."""
HEAD_S = 10.0
"""Time for a whole head, from the connection or its first byte on."""
PIPELINED = 16
"""Requests of a connection that wait while an earlier one is answered; drivers, browsers and scripts send none."""
BODY_S = 30.0
"""Time for a whole body, including trailers, from its head on; a shim gives up long before."""
CRUMBS = 1000
"""Pieces in which any body may come: each costs as much as kilobytes in one piece do."""
CRUMB_BYTES = 256
"""Bytes of a body that allow it one more piece."""
UNWANTED_BYTES = 16 * 2**20
"""Read of a body after its answer: many a client looks for an answer only when it has sent all."""
RESERVED_FILES = 128
"""Files that no connection takes: the store's, the log's, the operators'."""
FEW = 32
"""With room for fewer connections than this, the log says so at the start: a driver holds two."""
OPERATORS = 32
"""Connections of operators by the socket in the file system."""

_TOLD = {
    "head_too_large": b"431 Request Header Fields Too Large",
    "head_too_slow": b"408 Request Timeout",
    "body_in_crumbs": b"400 Bad Request",
    "body_too_slow": b"408 Request Timeout",
    "address_full": b"503 Service Unavailable",
    "server_full": b"503 Service Unavailable",
}


class Gate:
    """Counts the connections of one listener, by address and in total, and reports those that are turned away."""

    def __init__(self, *, most: int, most_of_address: int, metrics: Metrics, complaints: Complaints) -> None:
        self._most = most
        self._most_of_address = most_of_address
        self._metrics = metrics
        self._complaints = complaints
        self._open = 0
        self._open_of: Counter[str] = Counter()

    def enter(self, address: str) -> str:
        """Takes a connection in; returns the reason if it must stay out, else nothing."""
        if self._open >= self._most:
            return "server_full"
        if self._open_of[address] >= self._most_of_address:
            return "address_full"
        self._open += 1
        self._open_of[address] += 1
        return ""

    def leave(self, address: str) -> None:
        """Counts an accepted connection as gone."""
        self._open -= 1
        self._open_of[address] -= 1
        if not self._open_of[address]:
            del self._open_of[address]

    def refused(self, reason: str, address: str) -> None:
        """Counts a refusal, and logs some of them."""
        self._metrics.refused_connections.labels(reason).inc()
        self._complaints.warn("connection_refused", reason=reason, client=address)


class _Enough(Exception):
    """Raised in the parser, so that it leaves alone what else has come from a connection that is being closed."""


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol behind a gate, with bounds on everything that no reader of a body sees."""

    def __init__(self, *args: Any, gate: Gate, **more: Any) -> None:
        super().__init__(*args, **more)
        self._gate = gate
        self._inside = False
        self._unparsed = 0
        """Bytes taken in since the parser last made something whole of them: a head, a piece of a body, a message."""
        self._in_body = False
        self._pieces = 0
        """Pieces of the body so far."""
        self._body_bytes = 0
        self._unwanted_bytes = 0
        """Bytes of the body that came after its answer."""
        self._running: RequestResponseCycle | None = None
        """The exchange that is or was answered last; `cycle` may be one that waits for it."""
        self._deadline: Any = None

    def connection_made(self, transport: Any) -> None:
        """Admits the connection, or refuses it, and starts the deadline of its first head."""
        super().connection_made(transport)
        if reason := self._gate.enter(self._address):
            self._refuse(reason)
            return
        self._inside = True
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Gives its place back and notifies the request that is being answered, even if later ones wait for it."""
        if self._inside:
            self._gate.leave(self._address)
        self._end_deadline()
        if self._running is not None and not self._running.response_complete:
            self._abandon(self._running)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feeds the parser no more at once than a head may have, so that one too large is seen before it is whole."""
        while data and not self.transport.is_closing():
            part = data[: HEAD_BYTES - self._unparsed]
            data = data[len(part) :]
            self._unparsed += len(part)
            super().data_received(part)
            if self._unparsed >= HEAD_BYTES:
                self._refuse("head_too_large")
        if self._deadline is None and (self._unparsed or self._in_body):
            self._start_deadline()

    def on_headers_complete(self) -> None:
        """The head is complete: its request is answered, or waits, unless too many do."""
        self._unparsed = 0
        self._end_deadline()
        if len(self.pipeline) >= PIPELINED:
            self._stop("pipelined")
        super().on_headers_complete()
        self._in_body = True
        self._pieces = self._body_bytes = self._unwanted_bytes = 0

    def on_body(self, body: bytes) -> None:
        """A piece of the body; its reader, while there is one, limits the total size."""
        self._unparsed = 0
        self._pieces += 1
        self._body_bytes += len(body)
        if self._body_bytes < (self._pieces - CRUMBS) * CRUMB_BYTES:
            self._stop("body_in_crumbs")
        if self.cycle.response_complete:
            self._unwanted_bytes += len(body)
            if self._unwanted_bytes > UNWANTED_BYTES:
                self._stop("body_unwanted")
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is complete."""
        self._unparsed = 0
        self._in_body = False
        self._end_deadline()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Counts requests that are not HTTP as refused."""
        if self.transport.is_closing():
            return
        self._gate.refused("not_http", self._address)
        super().send_400_response(msg)

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else "local"

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _start_deadline(self) -> None:
        seconds, reason = (BODY_S, "body_too_slow") if self._in_body else (HEAD_S, "head_too_slow")
        self._deadline = self.loop.call_later(seconds, self._refuse, reason)

    def _end_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _stop(self, reason: str) -> None:
        """Refuses in the middle of what the parser was fed; raises `_Enough`."""
        self._refuse(reason)
        raise _Enough

    def _refuse(self, reason: str) -> None:
        """Closes the connection, with a refusal to a client that is not in the middle of an answer."""
        if self.transport.is_closing():
            return
        self._gate.refused(reason, self._address)
        self._end_deadline()
        if self._may_answer():
            head = b"HTTP/1.1 %b\r\ncontent-length: 0\r\nconnection: close\r\nretry-after: 1\r\n\r\n" % _TOLD[reason]
            self.transport.write(head)
        self.transport.close()

    def _may_answer(self) -> bool:
        """Whether the next answer is to the request that is coming in; its reader, if it has one, then gives none."""
        if self._in_body and not self.cycle.response_started and self.cycle is self._running:
            self._abandon(self.cycle)
            return True
        return not self._in_body and (self.cycle is None or self.cycle.response_complete)

    @staticmethod
    def _abandon(cycle: RequestResponseCycle) -> None:
        cycle.disconnected = True
        cycle.message_event.set()


def most_connections(wanted: int, files: int) -> int:
    """Connections to allow in a process that may open `files` files.

    >>> most_connections(20_000, 1024), most_connections(20_000, 100_000)
    (896, 20000)
    """
    return max(1, min(wanted, files - RESERVED_FILES))


def few_connections(wanted: int, files: int) -> str:
    """The setting to raise if there is room for fewer than `FEW` connections; empty if there is room.

    >>> few_connections(20_000, 64)
    'raise the hard limit of open files (ulimit -n, LimitNOFILE=) from 64 to 160 at least'
    >>> few_connections(10, 1024), few_connections(20_000, 1024)
    ('raise server.max_connections from 10 to 32 at least', '')
    """
    if most_connections(wanted, files) >= FEW:
        return ""
    if files - RESERVED_FILES < FEW:
        enough = RESERVED_FILES + FEW
        return f"raise the hard limit of open files (ulimit -n, LimitNOFILE=) from {files} to {enough} at least"
    return f"raise server.max_connections from {wanted} to {FEW} at least"
