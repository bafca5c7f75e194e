"""The master-worker system once more, written for SimPy: slow, and with nothing in common but the jobs that come."""

from collections.abc import Iterator

import numpy as np
import simpy

from controlplane.simulator.masterworker.scenario import MasterWorkerScenario
from controlplane.simulator.masterworker.workloads import BLOCK, ZipfParetoStream


class Peer:
    """The rules of `masterworker/master.py` as SimPy processes: one for arrivals, one for each task.

    The paper's own system only: a task takes one slot, estimates are exact, cancelling takes no time.
    """

    def __init__(self, scenario: MasterWorkerScenario, jobs: int, seed: int = 1) -> None:
        self.scenario, self.jobs, self.seed, self.plan = scenario, jobs, seed, scenario.plan()
        self.env = simpy.Environment()
        self.slots = [simpy.Resource(self.env, scenario.system.slots_per_node) for _ in range(scenario.system.nodes)]
        self.queue = simpy.Store(self.env)
        self.freed = self.env.event()
        self.rng = np.random.default_rng([seed, 0])
        self.response_s: list[float] = []

    def run(self) -> float:
        """The mean response time."""
        self.env.process(self.arrivals())
        self.env.process(self.master())
        self.env.run()
        return float(np.mean(self.response_s))

    def arrivals(self) -> Iterator[simpy.Event]:
        stream = ZipfParetoStream(system=self.scenario.system, offered_load=self.scenario.offered_load)
        for number in range(-(-self.jobs // BLOCK)):
            block = stream.block(self.seed, number)
            for row in range(min(BLOCK, self.jobs - number * BLOCK)):
                yield self.env.timeout(block.gap_s[row])
                self.queue.put((self.env.now, int(block.tasks[row]), float(block.service_s[row])))

    def master(self) -> Iterator[simpy.Event]:
        """Starts the head job as soon as enough nodes have room."""
        for _ in range(self.jobs):
            arrival_s, needed, service_s = yield self.queue.get()
            small = needed * service_s <= self.plan.threshold_s
            started = int(self.plan.expanded_tasks[needed]) if small else needed
            while len(room := [one for one in self.slots if one.count < one.capacity]) < started:
                self.freed = self.env.event()
                yield self.freed
            chosen = sorted(room, key=lambda one: one.count)[:started]
            self.env.process(self.job(arrival_s, needed, service_s, chosen))

    def job(self, arrival_s: float, needed: int, service_s: float, nodes: list) -> Iterator[simpy.Event]:
        """Ends with the needed-th task; the others are interrupted."""
        done = simpy.Store(self.env)
        requests = [node.request() for node in nodes]
        tasks = [
            self.env.process(self.task(needed, service_s, node, request, done))
            for node, request in zip(nodes, requests, strict=True)
        ]
        for _ in range(needed):
            yield done.get()
        self.response_s.append(self.env.now - arrival_s)
        for task in tasks:
            if task.is_alive:
                task.interrupt()

    def task(self, needed: int, service_s: float, node, request, done) -> Iterator[simpy.Event]:
        relaunch_factor = self.plan.relaunch_factor[needed]
        try:
            first = self.slowdown()
            yield self.env.timeout(service_s * min(first, relaunch_factor))
            if first > relaunch_factor:
                yield self.env.timeout(service_s * self.slowdown())
            done.put(None)
        except simpy.Interrupt:
            pass
        node.release(request)
        if not self.freed.triggered:
            self.freed.succeed()

    def slowdown(self) -> float:
        return 1.0 + self.rng.pareto(self.scenario.system.slowdown_tail_index)
