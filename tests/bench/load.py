"""How is a control plane put under the load of many drivers? By bare HTTP, so that the client costs little."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FIRST_SEQUENCE = 10**9
"""Sequence numbers of one width, so that a body is put together from prepared bytes."""


def attach_facts(application: str, n_tasks: int) -> list[dict]:
    """A driver with one executor, one job and one stage, all of whose tasks run."""
    return [
        {
            "type": "driver_attached",
            "application": application,
            "capabilities": {"max_copies": 4, "named_host": True, "kill_copy": True, "order_pending": True},
        },
        *({"type": "executor_added", "executor": str(n), "host": f"host-{n}", "slots": n_tasks // 4} for n in range(4)),
        {"type": "job_submitted", "job": "job-1", "stages": [1]},
        {
            "type": "stage_submitted",
            "job": "job-1",
            "stage": 1,
            "stage_attempt": 0,
            "n_tasks": n_tasks,
            "input_bytes": [10**9] * n_tasks,
            "kind": "shuffle_map",
        },
        *(
            {
                "type": "attempt_started",
                "attempt": n,
                "stage": 1,
                "stage_attempt": 0,
                "index": n,
                "executor": str(n % 4),
                "host": f"host-{n % 4}",
            }
            for n in range(n_tasks)
        ),
    ]


def progress_tails(n_tasks: int, n_variants: int) -> list[bytes]:
    """The part of a body that is the same for all sources: rising progress of all tasks."""
    tails = []
    for step in range(1, n_variants + 1):
        columns = {
            "attempt": list(range(n_tasks)),
            "bytes_read": [step * (100_000 + 37 * n) for n in range(n_tasks)],
            "records_read": [step * (1000 + n) for n in range(n_tasks)],
        }
        tails.append(b',"progress":' + json.dumps(columns, separators=(",", ":")).encode() + b"}")
    return tails


class Driver(asyncio.Protocol):
    """One source on one connection, one exchange in flight."""

    def __init__(self, name: str, epoch: int, n_tasks: int, token: str = "") -> None:
        self.name = name
        self._login = f"authorization: Bearer {token}\r\n".encode() if token else b""
        self.sequence = FIRST_SEQUENCE
        self.latencies_s: list[float] = []
        source = {"kind": "spark", "id": name, "epoch": epoch}
        self._head = b'{"protocol":1,"source":' + json.dumps(source).encode()
        facts = json.dumps(attach_facts(name, n_tasks), separators=(",", ":")).encode()
        self.full = b',"full":true,"facts":' + facts + b"}"
        self._buffer = b""
        self._done: asyncio.Future[bytes] | None = None
        self._transport: asyncio.Transport | None = None

    async def connect(self, port: int) -> "Driver":
        """Opens the connection."""
        self._buffer = b""
        await asyncio.get_running_loop().create_connection(lambda: self, "127.0.0.1", port)
        return self

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport."""
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        """Fails the exchange in flight."""
        if self._done is not None and not self._done.done():
            self._done.set_exception(ConnectionError("the control plane is gone"))

    def data_received(self, data: bytes) -> None:
        """Collects the reply; only the length header is looked at."""
        self._buffer += data
        head, blank, body = self._buffer.partition(b"\r\n\r\n")
        if not blank:
            return
        place = head.index(b"content-length:") + 15
        length = int(head[place : place + 12].split(b"\r\n")[0])
        if len(body) >= length:
            self._buffer = b""
            if self._done.done():
                return
            if head.startswith(b"HTTP/1.1 200"):
                self._done.set_result(body)
            else:
                self._done.set_exception(ConnectionError((head + body).decode()))

    async def exchange(self, tail: bytes) -> bytes:
        """One round trip; the tail is the body from after the sequence number on."""
        body = self._head + b',"sequence":' + str(self.sequence).encode() + tail
        self.sequence += 1
        start_s = time.perf_counter()
        reply = await self._post(b"/shim/v1/sync", body)
        self.latencies_s.append(time.perf_counter() - start_s)
        return reply

    async def wait_for_orders(self) -> bytes:
        """One question of the doorbell, as patient as the shim's; on a connection without exchanges."""
        return await self._post(b"/shim/v1/doorbell", self._head + b',"wait_ms":10000}')

    async def _post(self, path: bytes, body: bytes) -> bytes:
        head = (
            b"POST "
            + path
            + b" HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            + self._login
            + b"content-length: "
            + str(len(body)).encode()
            + b"\r\n\r\n"
        )
        if self._transport.is_closing():
            raise ConnectionError("the control plane is gone")
        self._done = asyncio.get_running_loop().create_future()
        self._transport.write(head + body)
        return await self._done

    async def attach(self) -> None:
        """The full report."""
        await self.exchange(self.full)

    def close(self) -> None:
        """Ends the connection."""
        self._transport.close()


def percentile(values: list[float], share: float) -> float:
    """The value below which this share of all lies."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


@contextmanager
def server(code: str, *arguments: str, core: int | None = 0) -> Iterator[tuple[int, int]]:
    """A server in a process of its own, perhaps on one core; yields its port and pid. The code prints the port."""
    prefix = ["taskset", "-c", str(core)] if core is not None and (os.cpu_count() or 1) > 1 else []
    process = subprocess.Popen(
        [*prefix, sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server ended with {process.wait()}")
        yield int(line), process.pid
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def cpu_s(pid: int) -> float:
    """CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
