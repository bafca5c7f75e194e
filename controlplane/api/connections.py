"""How large and how slow may a request's head be, and who gets a connection when many are open?

What uvicorn itself does not bound: a head without end, half a head that never goes on, and connections until no file is
left. A refusal closes the connection, with an answer where none has begun, and is counted by reason. Operators have a
listener of their own, a socket in the file system with a gate of its own, so no number of other callers locks them out.
"""

from collections import Counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from controlplane.runtime.complaints import Complaints
from controlplane.runtime.metrics import Metrics

HEAD_BYTES = 64 * 1024
"""Request line and headers together; also trailers, and whatever else is neither head nor body."""
HEAD_S = 10.0
"""Time for a whole head, from the connection or its first byte on."""
RESERVED_FILES = 128
"""Files that no connection takes: the store's, the log's, the operators'."""
OPERATORS = 32
"""Connections of operators by the socket in the file system."""

_TOLD = {
    "head_too_large": b"431 Request Header Fields Too Large",
    "head_too_slow": b"408 Request Timeout",
    "address_full": b"503 Service Unavailable",
    "server_full": b"503 Service Unavailable",
}


class Gate:
    """Counts the connections of one listener, by address and in all, and tells of those that are turned away."""

    def __init__(self, *, most: int, most_of_address: int, metrics: Metrics, complaints: Complaints) -> None:
        self._most = most
        self._most_of_address = most_of_address
        self._metrics = metrics
        self._complaints = complaints
        self._open = 0
        self._open_of: Counter[str] = Counter()

    def enter(self, address: str) -> str:
        """Takes a connection in; returns the reason where it must stay out, else nothing."""
        if self._open >= self._most:
            return "server_full"
        if self._open_of[address] >= self._most_of_address:
            return "address_full"
        self._open += 1
        self._open_of[address] += 1
        return ""

    def leave(self, address: str) -> None:
        """A connection that was taken in is gone."""
        self._open -= 1
        self._open_of[address] -= 1
        if not self._open_of[address]:
            del self._open_of[address]

    def refused(self, reason: str, address: str) -> None:
        """Counts a refusal, and logs some of them."""
        self._metrics.refused_connections.labels(reason).inc()
        self._complaints.warn("connection_refused", reason=reason, client=address)


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol behind a gate, with bounds on what is neither body nor yet a whole head."""

    def __init__(self, *args: Any, gate: Gate, **more: Any) -> None:
        super().__init__(*args, **more)
        self._gate = gate
        self._inside = False
        self._unparsed = 0
        """Bytes taken in since the parser last made something whole of them: a head, a piece of a body, a message."""
        self._deadline: Any = None

    def connection_made(self, transport: Any) -> None:
        """Admits the connection, or refuses it, and starts the deadline of its first head."""
        super().connection_made(transport)
        if reason := self._gate.enter(self._address):
            self._refuse(reason)
            return
        self._inside = True
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Gives its place back."""
        if self._inside:
            self._gate.leave(self._address)
        self._head_came()
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
        if self._unparsed and self._deadline is None:
            self._await_head()

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._unparsed = 0
        self._head_came()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of the body; how large and slow that may be is its reader's to say."""
        self._unparsed = 0
        self._head_came()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._unparsed = 0
        self._head_came()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Counts requests that are not HTTP as refused."""
        self._gate.refused("not_http", self._address)
        super().send_400_response(msg)

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else "local"

    def _await_head(self) -> None:
        self._deadline = self.loop.call_later(HEAD_S, self._refuse, "head_too_slow")

    def _head_came(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, reason: str) -> None:
        """Closes the connection, with a word to whoever is not in the middle of an answer."""
        if self.transport.is_closing():
            return
        self._gate.refused(reason, self._address)
        self._head_came()
        if self.cycle is None or self.cycle.response_complete:
            head = b"HTTP/1.1 %b\r\ncontent-length: 0\r\nconnection: close\r\nretry-after: 1\r\n\r\n" % _TOLD[reason]
            self.transport.write(head)
        self.transport.close()


def most_connections(wanted: int, files: int) -> int:
    """Connections to allow in a process that may open `files` files.

    >>> most_connections(20_000, 1024), most_connections(20_000, 100_000)
    (896, 20000)
    """
    return max(1, min(wanted, files - RESERVED_FILES))
