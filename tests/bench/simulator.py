"""How many jobs a second does the master-worker simulator take, and how many times a SimPy program of the same rules?

Both run on one core and are timed in processor seconds, so that a loaded machine does not count.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from math import inf

import numpy as np
import simpy

from controlplane.simulator.scenario import PolicyName, Scenario
from controlplane.simulator.workloads import BLOCK, ZipfParetoStream

PLAIN = Scenario(offered_load=0.5, jobs=2_000_000)
SCENARIOS = {
    "none": (PLAIN, 1_500_000),
    "relaunch": (replace(PLAIN, policy=PolicyName.RELAUNCH, relaunch_factor=4.43), 1_500_000),
    "redundant": (replace(PLAIN, policy=PolicyName.REDUNDANT_ALL), 850_000),
}
RUNS = 3
PEER_JOBS = 10_000
GOAL_RATIO = 350.0


class Peer:
    """The rules of `controlplane.simulator.masterworker` as SimPy processes: one for arrivals, one for each task."""

    def __init__(self, scenario: Scenario, jobs: int) -> None:
        self.scenario, self.jobs, self.plan = scenario, jobs, scenario.plan()
        self.env = simpy.Environment()
        self.slots = [simpy.Resource(self.env, scenario.system.slots_per_node) for _ in range(scenario.system.nodes)]
        self.queue = simpy.Store(self.env)
        self.freed = self.env.event()
        self.rng = np.random.default_rng([1, 0])
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
            block = stream.block(1, number)
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


def rows() -> list[dict]:
    """A row per policy, jobs a second of one core, and how many times the peer's that is at least."""
    found = [_row(name, scenario, goal) for name, (scenario, goal) in SCENARIOS.items()]
    ratios = [row["ratio"] for row in found]
    over_peer = {
        "name": "simulator-over-simpy",
        "value": min(ratios),
        "unit": "times",
        "peer": None,
        "ratio": None,
        "goal": GOAL_RATIO,
        "met": min(ratios) >= GOAL_RATIO,
        "runs": len(found),
        "spread": [min(ratios), max(ratios)],
    }
    return [*found, over_peer]


def _row(name: str, scenario: Scenario, goal: float) -> dict:
    replace(scenario, jobs=1000).simulate(1)
    rates, response_s = [], inf
    for seed in range(1, RUNS + 1):
        started_s = time.process_time()
        response_s = scenario.simulate(seed).response_s
        rates.append(scenario.jobs / (time.process_time() - started_s))
    started_s = time.process_time()
    peer_response_s = Peer(scenario, PEER_JOBS).run()
    peer = PEER_JOBS / (time.process_time() - started_s)
    if abs(peer_response_s / response_s - 1.0) > 0.1:
        raise AssertionError(f"{name}: the peer simulates another system: {peer_response_s:.1f} s, {response_s:.1f} s")
    rate = float(np.median(rates))
    return {
        "name": f"simulator-{name}",
        "value": round(rate),
        "unit": "jobs/s",
        "peer": round(peer),
        "ratio": round(rate / peer),
        "goal": goal,
        "met": rate >= goal,
        "runs": RUNS,
        "spread": [round(min(rates)), round(max(rates))],
    }
