"""How many progress updates a second does one core take in, with their state applied?

100 drivers of 200 running tasks send all their progress as fast as they are answered. The peer is uvicorn with msgspec
and nothing behind it, which decodes the same bodies; the two run in turns. Server and client have a core each.
"""

import asyncio
import os
import tempfile
import time
from statistics import median

import uvloop

from tests.bench.load import Driver, cpu_s, percentile, progress_tails, server
from tests.bench.servers import CONTROL_PLANE, ECHO

N_SOURCES = 100
N_TASKS = 200
RUN_S = 5.0
RUNS = 3
GOALS = {"none": 500_000, "ras": 350_000}


def rows() -> list[dict]:
    """Rows `ingest-hopper+none` and `ingest-hopper+ras`, and their p99 of one sync under that load."""
    tails = progress_tails(N_TASKS, 300)
    results: dict[str, list[tuple[float, float, float]]] = {}
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        for _ in range(RUNS):
            for name in ("echo", *GOALS):
                results.setdefault(name, []).append(_measure(name, tails))
    finally:
        os.sched_setaffinity(0, cores)
    echo = [rate for rate, _, _ in results["echo"]]
    echo_cpu = [rate for _, rate, _ in results["echo"]]
    found = []
    for speculator, goal in GOALS.items():
        rates, cpu_rates, p99s_ms = zip(*results[speculator], strict=True)
        name = f"ingest-hopper+{speculator}"
        found.append(_row(name, "updates/s", rates, peer=median(echo), goal=goal))
        found.append(_row(f"{name}-cpu", "updates/CPU s", cpu_rates, peer=median(echo_cpu)))
        found.append(_row(f"{name}-sync-p99", "ms", p99s_ms, peer=median(p99 for _, _, p99 in results["echo"])))
    return found


def _measure(name: str, tails: list[bytes]) -> tuple[float, float, float]:
    """Updates per second, updates per CPU second of the server, p99 of one sync in ms."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [] if name == "echo" else [f"{folder}/bench.db", "0", "hopper", name]
        with server(ECHO if name == "echo" else CONTROL_PLANE, *arguments) as (port, pid):
            return uvloop.run(_load(port, pid, tails))


async def _load(port: int, pid: int, tails: list[bytes]) -> tuple[float, float, float]:
    drivers = [await Driver(f"app-{number}", 1, N_TASKS).connect(port) for number in range(N_SOURCES)]
    for driver in drivers:
        await driver.attach()
        driver.latencies_s.clear()
    start_s, start_cpu_s = time.perf_counter(), cpu_s(pid)
    end_s = start_s + RUN_S

    async def send(driver: Driver) -> None:
        step = 0
        while time.perf_counter() < end_s:
            await driver.exchange(tails[step % len(tails)])
            step += 1

    await asyncio.gather(*map(send, drivers))
    took_s, took_cpu_s = time.perf_counter() - start_s, cpu_s(pid) - start_cpu_s
    latencies_s = [latency for driver in drivers for latency in driver.latencies_s]
    n_updates = len(latencies_s) * N_TASKS
    for driver in drivers:
        driver.close()
    return n_updates / took_s, n_updates / took_cpu_s, percentile(latencies_s, 0.99) * 1000


def _row(name: str, unit: str, values: tuple[float, ...], *, peer: float, goal: float | None = None) -> dict:
    value = median(values)
    return {
        "name": name,
        "value": round(value, 1),
        "unit": unit,
        "peer": round(peer, 1),
        "ratio": round(value / peer, 3),
        "goal": goal,
        "met": None if goal is None else value >= goal,
        "runs": len(values),
        "spread": [round(min(values), 1), round(max(values), 1)],
    }
