"""A real control plane on a loopback port, for the commands that talk to one."""

import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx2
import pytest
import structlog
import uvicorn

from controlplane.main import build_app
from controlplane.settings import load


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address. Reading needs the token `reader-5d1c83fa97`, operating needs `operator-20b6e94f1`.

    What it logs does not mix with what the commands print.
    """
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    folder: Path = tmp_path_factory.mktemp("plane")
    overrides = {
        "store": {"url": str(folder / "cli.db")},
        "auth": {
            "read_token": "reader-5d1c83fa97",
            "operate_token": "operator-20b6e94f1",
            "shim_token": "shim-c47d20e1ab95",
        },
        "runtime": {"snapshot_age_s": 0.0},
    }
    plane = uvicorn.Server(uvicorn.Config(build_app(load(overrides=overrides)), port=0, log_level="warning"))
    thread = threading.Thread(target=plane.run)
    thread.start()
    try:
        while not plane.started:
            assert thread.is_alive()
            time.sleep(0.01)
        address = f"http://127.0.0.1:{plane.servers[0].sockets[0].getsockname()[1]}"
        _one_skewed_job(address)
        yield address
    finally:
        plane.should_exit = True
        thread.join()
        structlog.reset_defaults()


@pytest.fixture
def other_server() -> Iterator[Callable[..., str]]:
    """A function that starts something else on a port, which answers all GETs with one body, POSTs with one status."""
    started: list[HTTPServer] = []

    def start(body: bytes, *, status_of_posts: int = 501) -> str:
        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(status_of_posts)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        started.append(HTTPServer(("127.0.0.1", 0), Answer))
        threading.Thread(target=started[-1].serve_forever, args=(0.01,)).start()
        return f"http://127.0.0.1:{started[-1].server_port}"

    yield start
    for each in started:
        each.shutdown()
        each.server_close()


def _one_skewed_job(address: str) -> None:
    """A driver that may only be watched reports one job, so that there are decisions to look at."""
    facts = [
        {"type": "driver_attached", "application": "app-1", "capabilities": {"max_copies": 1, "order_pending": True}},
        {"type": "executor_added", "executor": "1", "host": "h1", "slots": 4},
        {"type": "job_submitted", "job": "report"},
        {"type": "stage_submitted", "job": "report", "stage": 0, "stage_attempt": 0, "n_tasks": 2, "action": "foreach"},
        {
            "type": "attempt_started", "attempt": 7, "stage": 0, "stage_attempt": 0, "index": 1, "executor": "1",
            "host": "h1", "age_ms": 60_000,
        },
    ]  # fmt: skip
    report = {
        "protocol": 1,
        "source": {"kind": "spark", "id": "app-1", "epoch": 1},
        "sequence": 1,
        "full": True,
        "facts": facts,
    }
    httpx2.post(
        f"{address}/shim/v1/sync", json=report, headers={"Authorization": "Bearer shim-c47d20e1ab95"}
    ).raise_for_status()
