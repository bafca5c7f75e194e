"""Which control planes does a simulated resource manager meet? One that changes no order, a silent one, nobody."""

import contextlib
import itertools
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from controlplane.processes import free_port

TTL_MS = 5000
INTERVAL_MS = 500
TARGET = 10**7
"""Of each application: nobody reaches it, so who holds least is the hungriest, as under the stock fair order."""


@contextlib.contextmanager
def answering() -> Iterator[str]:
    """The address of a control plane that grants each application, again at each exchange, what changes no order."""
    server = _Server(("127.0.0.1", 0), _StockOrder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def stopped() -> Iterator[str]:
    """The address of one that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextlib.contextmanager
def dead() -> Iterator[str]:
    """The address of nobody."""
    yield f"http://127.0.0.1:{free_port('127.0.0.1')}"


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Nothing: a simulation that is over hangs up."""


class _StockOrder(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    ids = itertools.count(1)

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "sequence" not in request:
            self._answer(404, b"")
            return
        demands = [fact for fact in request["facts"] if fact["type"] == "queue_demand"]
        reply = {
            "protocol": 1,
            "plane_epoch": 1,
            "acknowledged": request["sequence"],
            "cycle": request["sequence"],
            "next_interval_ms": INTERVAL_MS,
            "mode": "control",
            "orders": [self._grant(app["job"]) for demand in demands[-1:] for app in demand["applications"]],
        }
        self._answer(200, json.dumps(reply).encode())

    def _grant(self, job: str) -> dict:
        return {"type": "container_grant", "order": next(self.ids), "ttl_ms": TTL_MS, "job": job, "target": TARGET}

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: the rows say what matters."""
