"""How does a test make a control plane answer wrongly? A proxy before a real one that spoils its answers on demand."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import requests

GARBAGE = itertools.cycle(
    [
        b"",
        b"<html>502 Bad Gateway</html>",
        b"[]",
        b'{"protocol": 1}',
        b'{"protocol": 1, "plane_epoch": -1, "acknowledged": "7", "cycle": 1.5, "next_interval_ms": null, "mode": 3}',
        b"\x00\xff" * 5000,
    ]
)
FLOOD_BYTES = 50 * 2**20
FLOODING = b'{"type": "container_grant", "order": 1, "ttl_ms": 9000, "job": "?", "target": 1}, '
SLOW_S = 6.0
TRICKLE_S = 0.05
"""Between two bytes, each of which comes long before any read times out."""
DOORBELL = "/shim/v1/doorbell"
MANY_WAVES = 1000
"""No queue is so long that its originals start on an avoided host."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Nothing: a shim that does not wait for a slow answer hangs up."""


class Gateway:
    """Passes exchanges on to `upstream`; `fault` names what is done to the answers, empty for nothing."""

    def __init__(self, upstream: str) -> None:
        self.fault = ""
        self.avoid_hosts: list[str] = []
        """Hosts that the driver is told to stay off, as if they were sick."""
        self.patience_ms = 10_000
        self.instead: dict[str, Any] = {}
        """What is put over each order of a copy, as a control plane would send it that knows less than it should."""
        self.spoil: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda _: None
        """With the fault `absurd`: what is said instead of an honest reply, once, before silence; none for not yet."""
        self.passed = 0
        """Answers passed on as they were."""
        self._upstream = upstream
        self._last: dict[str, Any] = {}
        self._ids = itertools.count(2**52)
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, body: bytes, who: str = "") -> tuple[int, bytes]:
        """Status and body for one request, whose secret is passed on."""
        fault = self.fault
        if fault == "garbage":
            return 200, next(GARBAGE)
        if fault == "flood":
            return 200, b'{"protocol": 1, "orders": [' + FLOODING * (FLOOD_BYTES // len(FLOODING))
        if fault == "slow":
            time.sleep(SLOW_S)
        if fault == "undecided" and self._last:
            # A healthy looking answer to everything, in which nothing is ever decided again; and it rings all the time.
            if path == DOORBELL:
                return 200, b'{"protocol": 1, "orders_waiting": 1}'
            return 200, json.dumps(self._last | {"acknowledged": json.loads(body)["sequence"]}).encode()
        try:
            headers = {"Content-Type": "application/json", "Authorization": who}
            real = requests.post(f"{self._upstream}{path}", data=body, headers=headers, timeout=30)
        except requests.RequestException:
            return 502, b""
        if not real.ok or path == DOORBELL:
            return real.status_code, real.content
        reply = real.json()
        if reply["mode"] == "control":
            avoid = {"type": "avoid_hosts", "order": next(self._ids), "ttl_ms": 3000, "patience_ms": self.patience_ms}
            avoid |= {"hosts": self.avoid_hosts, "waves": [MANY_WAVES] * len(self.avoid_hosts)}
            orders = [one | self.instead if one["type"] == "launch_copy" else one for one in reply.get("orders", [])]
            reply["orders"] = [*orders, avoid]
        if fault == "absurd" and (spoilt := self.spoil(reply)) is not None:
            self.fault = "dead"
            return 200, json.dumps(spoilt).encode()
        self._last = reply | {"orders": []}
        if fault == "other_version":
            reply["protocol"] += 1
        elif not fault:
            self.passed += 1
        return 200, json.dumps(reply).encode()

    def _handler(gateway: Self) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - `self` is the handler's
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if gateway.fault == "dead":
                    self.close_connection = True
                    return
                status, answer = gateway.answer(self.path, body, self.headers.get("Authorization", ""))
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    if gateway.fault == "trickle":
                        for byte in answer:
                            self.wfile.write(bytes([byte]))
                            time.sleep(TRICKLE_S)
                    else:
                        self.wfile.write(answer)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Nothing: the tests say what matters."""

        return Handler
