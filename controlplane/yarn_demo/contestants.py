"""Who competes for a YARN queue, and in which world? Two stock orders and two of Grasshopper's policy pairs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from spark_listener.demo.contestants import BEST_STOCK, Contestant, grasshopper
from spark_listener.demo.world import Workload, World
from spark_listener.swim import model_slice, read_trace
from yarn_bridge.install_conf import Base, plugin_jar, queue_properties, rm_properties
from yarn_bridge.local_yarn import LocalYarn

QUEUE = "root.default"
SICK_HOST = "127.0.0.13"
# Executors take seconds to start in their containers, so tasks last longer than on a standing cluster: nominally 2 s.
BYTES_PER_SECOND = 512 * 1024
# One executor and all three masters fit on a node, and two executors never do: one on each node, wherever masters are.
# YARN counts what was asked for; nobody uses that much.
EXECUTOR_CORES = 2
EXECUTOR_MB = 1536
NODE_MB = 2560
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
    return (*stock, grasshopper("fair", "late"), grasshopper("hopper", "ras"))


def worlds(first_seed: int, rounds: int) -> list[World]:
    """One for each round: slowness is drawn per attempt, and one node is sick."""
    return [
        World(seed=first_seed + number, sick_host=SICK_HOST, bytes_per_second=BYTES_PER_SECOND)
        for number in range(rounds)
    ]


def workload() -> Workload:
    """Three successive jobs of the trace, of 40, 14 and 9 tasks, which arrive together."""
    jobs = model_slice(read_trace(), first=47, count=3, max_tasks=40, span_s=0.0)
    return Workload(jobs=[replace(job, arrival_s=0.0) for job in jobs])


def order_of(contestant: Contestant) -> dict[str, object]:
    """The queue's properties in capacity-scheduler.xml during the contestant's turn."""
    if contestant.allocator:
        return queue_properties((QUEUE,))
    return {f"yarn.scheduler.capacity.{QUEUE}.ordering-policy": STOCK_ORDERS[contestant.name].value}


def yarn_of_all(server: str, folder: Path) -> LocalYarn:
    """The YARN on which contestants take turns, not yet started; in stock turns the plug-in covers no queue."""
    return LocalYarn(memory_per_node_mb=NODE_MB, site=rm_properties(server), plugin_jar=plugin_jar(), folder=folder)
