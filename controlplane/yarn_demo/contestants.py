"""Who competes for a YARN queue, and in which world? Two stock orders and two of Grasshopper's policy pairs."""

from __future__ import annotations

from pathlib import Path

from spark_listener.demo.contestants import BEST_STOCK, Contestant, grasshopper
from spark_listener.demo.world import Workload, World
from spark_listener.swim import ModelJob, model_slice, read_trace
from yarn_bridge.install_conf import Base, plugin_jar, queue_properties, rm_properties
from yarn_bridge.local_yarn import LocalYarn

QUEUE = "root.default"
SICK_HOST = "127.0.0.13"
# Executors take seconds to start in their containers, so tasks last longer than on a standing cluster: nominally 1 s.
BYTES_PER_SECOND = 1024 * 1024
# Two executors and all three masters fit on a node, and three executors never do: two on each, wherever masters are.
# YARN counts what was asked for; nobody uses that much.
EXECUTOR_MB = 1024
NODE_MB = 3040
SLOTS = 8
JOBS = 14
MOST_TASKS = 20
SPAN_S = 60.0
# A driver that holds more than its target while others wait lets executors go as they fall idle.
ENGINE = {"drain_executors": "true"}
STOCK_ORDERS = {f"stock-{order.value}": order for order in Base}


def contestants() -> tuple[Contestant, ...]:
    """The demo's four, in the order of the table."""
    stock = (
        Contestant(
            name=name,
            title=f"stock CapacityScheduler ({order.value} order, speculation {BEST_STOCK.title.partition(', ')[2]})",
            spark_conf=BEST_STOCK.spark_conf(),
        )
        for name, order in STOCK_ORDERS.items()
    )
    return (*stock, grasshopper("fair", "late", **ENGINE), grasshopper("hopper", "ras", **ENGINE))


def worlds(first_seed: int, rounds: int) -> list[World]:
    """One for each round: slowness is drawn per attempt, and one node is sick."""
    return [
        World(seed=first_seed + number, sick_host=SICK_HOST, bytes_per_second=BYTES_PER_SECOND)
        for number in range(rounds)
    ]


def workload() -> Workload:
    """The trace's first jobs that shuffle nothing, arrivals compressed to SPAN_S."""
    trace = [job for job in read_trace() if not job.shuffle_bytes]
    return Workload(jobs=model_slice(trace, first=0, count=JOBS, max_tasks=MOST_TASKS, span_s=SPAN_S))


def streams(jobs: list[ModelJob]) -> dict[str, list[ModelJob]]:
    """Each application's jobs, by its name, in the order of their first jobs."""
    found: dict[str, list[ModelJob]] = {}
    for job in jobs:
        found.setdefault(_application(job.tasks), []).append(job)
    return found


def _application(tasks: int) -> str:
    """Which application runs a job of so many tasks, cut at MOST_TASKS."""
    if tasks == MOST_TASKS:
        return "large"
    return "medium" if tasks >= SLOTS else "small"


def order_of(contestant: Contestant) -> dict[str, object]:
    """The queue's properties in capacity-scheduler.xml during the contestant's turn."""
    if contestant.allocator:
        return queue_properties((QUEUE,))
    return {f"yarn.scheduler.capacity.{QUEUE}.ordering-policy": STOCK_ORDERS[contestant.name].value}


def yarn_of_all(server: str, folder: Path) -> LocalYarn:
    """The YARN on which contestants take turns, not yet started; in stock turns the plug-in covers no queue."""
    return LocalYarn(memory_per_node_mb=NODE_MB, site=rm_properties(server), plugin_jar=plugin_jar(), folder=folder)
