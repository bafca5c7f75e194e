"""How does a run of drivers under the live engine go? Events happen in order of time; the engine answers each report.

Jobs, machines and luck are the cluster model's (`simulator/cluster/world.py`), so both can be compared run by run.
"""

from collections.abc import Iterator
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any

import numpy as np

from controlplane.compiled import kernel
from controlplane.engine.scheduler import Scheduler
from controlplane.model.columns import Floats
from controlplane.model.decisions import Promise, Report
from controlplane.model.parameters import EngineSettings
from controlplane.simulator.cluster.phases import no_results
from controlplane.simulator.cluster.world import Workload, World, machine_factor
from controlplane.simulator.live.cluster import Spreads
from controlplane.simulator.live.driver import Driver

ORDER_S = 0.01
"""From a report to the effect of its orders, unless a run says otherwise."""
EQUAL = Spreads()
"""All start-ups alike, and all tasks of a phase."""


@kernel
def draw_machines(world: World, factor: Floats) -> None:
    """Fill in how many times as long everything takes on each machine."""
    for machine in range(len(factor)):
        factor[machine] = machine_factor(world, machine)


class Play:
    """One run: the engine, and a driver for each pool, which has an equal part of the machines and every n-th job."""

    def __init__(
        self,
        work: Workload,
        world: World,
        settings: EngineSettings,
        slots_per_machine: int,
        report_s: float,
        pools: int = 1,
        order_s: float = ORDER_S,
        spreads: Spreads = EQUAL,
    ) -> None:
        """`report_s` is the time between two reports of a driver while anything runs there."""
        self.work, self.world, self.spreads, self.report_s, self._order_s = work, world, spreads, report_s, order_s
        self.engine, self.now_s = Scheduler(settings), 0.0
        self.ids: Iterator[int] = count(1)
        self.factor = np.ones(world.machines)
        draw_machines(world, self.factor)
        self._events: list[tuple[float, int, Any]] = []
        self._numbers = count()
        self.results = no_results(len(work.arrival_s))
        self.promises: list[Promise] = []
        """Of jobs with a deadline that the engine knows to have ended."""
        self.counts: dict[str, float] = dict.fromkeys(
            ("busy_s", "copy_s", "launched", "won", "restarted", "inputs", "local", "events", "cycles"), 0
        )
        part = world.machines // pools
        parts = {f"spark:simulated-{pool}": range(part * pool, part * (pool + 1)) for pool in range(pools)}
        self._drivers = {name: self.driver(name, machines, slots_per_machine) for name, machines in parts.items()}

    def driver(self, source: str, machines: range, slots_per_machine: int) -> Driver:
        """The driver of one pool."""
        return Driver(self, source, machines, slots_per_machine)

    def run(self, window_s: Floats) -> None:
        """Play all events; slot time is summed within the window, (from, to)."""
        drivers = list(self._drivers.values())
        for at, arrival_s in enumerate(self.work.arrival_s.tolist()):
            self.at(arrival_s, partial(drivers[at % len(drivers)].arrive, at))
        while self._events:
            time_s, _, happen = heappop(self._events)
            self._pass_time(time_s, window_s)
            happen()

    def at(self, time_s: float, happen: Any) -> None:
        """Let something happen at a time."""
        heappush(self._events, (time_s, next(self._numbers), happen))

    def decide(self, report: Report) -> None:
        """Tell the engine what a driver reports; what it orders, from any driver, takes effect a moment later."""
        self.counts["cycles"] += 1
        decision, _ = self.engine.handle([report], self.now_s)
        self.promises += decision.promises
        for source, orders in decision.orders.items():
            if orders:
                self.at(self.now_s + self._order_s, partial(self._drivers[source].obey, orders))

    def _pass_time(self, time_s: float, window_s: Floats) -> None:
        span_s = min(time_s, window_s[1]) - max(self.now_s, window_s[0])
        if span_s > 0:
            for driver in self._drivers.values():
                self.counts["busy_s"] += span_s * driver.n_busy
                self.counts["copy_s"] += span_s * driver.n_copies
        self.now_s = time_s
        self.counts["events"] += 1
