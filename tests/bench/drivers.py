"""Do a thousand drivers get their replies in time, and how soon are they steered again after a crash?

1,000 sources of 100 running tasks each report once a second, and keep the doorbell's question open. Then the control
plane is killed with SIGKILL and started again on the same port: a driver is steered again when a reply claims its job.
"""

import asyncio
import json
import os
import signal
import socket
import statistics
import tempfile
import time
from contextlib import ExitStack

import uvloop

from tests.bench.load import Driver, percentile, progress_tails, server
from tests.bench.servers import CONTROL_PLANE

RUNS = 3
N_SOURCES = 1000
N_TASKS = 100
INTERVAL_S = 1.0
STEADY_S = 15.0
GOAL_P99_MS = 250.0
GOAL_AGAIN_S = 15.0
RETRY_S = 0.25
MOST_RETRY_S = 30.0
"""The pause after a failure, which doubles with each in a row, as the shim's circuit breaker has it."""


class Shim:
    """A driver that goes on after the control plane is gone, as the real shim does."""

    def __init__(self, number: int, port: int, tails: list[bytes]) -> None:
        self.steered_s: float | None = None
        self.latencies_s: list[float] = []
        self._driver = Driver(f"app-{number}", 1, N_TASKS)
        self._doorbell = Driver(f"app-{number}", 1, N_TASKS)
        self._port = port
        self._tails = tails
        self._full = True

    async def run(self, delay_s: float) -> None:
        """Reports until it is cancelled."""
        await asyncio.sleep(delay_s)
        connected, step, retry_s = False, 0, RETRY_S
        while True:
            try:
                if not connected:
                    await self._driver.connect(self._port)
                    connected = True
                wait_s, retry_s = await self._exchange(step), RETRY_S
                step += 1
            except OSError:
                connected, self.steered_s = False, None
                wait_s, retry_s = retry_s, min(2 * retry_s, MOST_RETRY_S)
            await asyncio.sleep(wait_s)

    async def listen(self) -> None:
        """Keeps the doorbell's question open until it is cancelled; a ring's exchange is the next one that is due."""
        connected = False
        while True:
            await asyncio.sleep(INTERVAL_S)
            try:
                if not connected:
                    await self._doorbell.connect(self._port)
                    connected = True
                await self._doorbell.wait_for_orders()
            except OSError:
                connected = False

    async def _exchange(self, step: int) -> float:
        start_s = time.perf_counter()
        tail = self._driver.full if self._full else self._tails[step % len(self._tails)]
        reply = json.loads(await self._driver.exchange(tail))
        took_s = time.perf_counter() - start_s
        self.latencies_s.append(took_s)
        self._full = reply.get("want_full", False)
        if reply.get("claims"):
            self.steered_s = self.steered_s or time.perf_counter()
        else:
            self.steered_s = None
        waits = self._full or not reply.get("claims")
        return reply["next_interval_ms"] / 1000 if waits else max(INTERVAL_S - took_s, 0.0)


def rows() -> list[dict]:
    """Rows `drivers-sync-p99` and `drivers-steered-again`, medians."""
    p99_ms, again_s = zip(*(_run() for _ in range(RUNS)), strict=True)
    return [
        _row("drivers-sync-p99", p99_ms, "ms", GOAL_P99_MS),
        _row("drivers-steered-again", again_s, "s", GOAL_AGAIN_S),
    ]


def _row(name: str, values: tuple[float, ...], unit: str, goal: float) -> dict:
    least, median, most = (round(value, 1) for value in (min(values), statistics.median(values), max(values)))
    return {
        "name": name,
        "value": median,
        "unit": unit,
        "peer": None,
        "ratio": None,
        "goal": goal,
        "met": median <= goal,
        "runs": RUNS,
        "spread": [least, most],
    }


def _run() -> tuple[float, float]:
    """The 99th percentile of a reply's time in milliseconds, and after how many seconds all are steered again."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        latencies_s, again_s = uvloop.run(_scenario(port, f"{folder}/bench.db"))
    return percentile(latencies_s, 0.99) * 1000, again_s


async def _scenario(port: int, store: str) -> tuple[list[float], float]:
    arguments = (store, str(port), "hopper", "ras")
    tails = progress_tails(N_TASKS, 300)
    shims = [Shim(number, port, tails) for number in range(N_SOURCES)]
    tasks: list[asyncio.Task[None]] = []
    try:
        with server(CONTROL_PLANE, *arguments, core=None) as (_, pid):
            tasks = [asyncio.create_task(shim.run(number / N_SOURCES)) for number, shim in enumerate(shims)]
            tasks += [asyncio.create_task(shim.listen()) for shim in shims]
            await _all_steered(shims)
            for shim in shims:
                shim.latencies_s.clear()
            await asyncio.sleep(STEADY_S)
            latencies_s = [latency for shim in shims for latency in shim.latencies_s]
            os.kill(pid, signal.SIGKILL)
            killed_s = time.perf_counter()
        for shim in shims:
            shim.steered_s = None
        with await asyncio.to_thread(_started, arguments):
            await _all_steered(shims)
            for task in tasks:
                task.cancel()
        return latencies_s, max(shim.steered_s for shim in shims) - killed_s
    finally:
        for task in tasks:
            task.cancel()


def _started(arguments: tuple[str, ...]) -> ExitStack:
    """A server that has been started, ended by closing the stack; to be called off the event loop."""
    stack = ExitStack()
    stack.enter_context(server(CONTROL_PLANE, *arguments, core=None))
    return stack


async def _all_steered(shims: list[Shim], limit_s: float = 120.0) -> None:
    async with asyncio.timeout(limit_s):
        while any(shim.steered_s is None for shim in shims):
            await asyncio.sleep(0.05)
