"""How many jobs a second does the master-worker simulator take, and how many times a SimPy program of the same rules?

Both run on one core and are timed in processor seconds, so that a loaded machine does not count.
"""

import time
from dataclasses import replace
from math import inf

import numpy as np

from controlplane.simulator.masterworker.scenario import MasterWorkerScenario
from tests.simulator.masterworker.simpy_peer import Peer

PLAIN = MasterWorkerScenario(policy="none", offered_load=0.5, jobs=2_000_000)
SCENARIOS = {
    "plain": (PLAIN, 1_500_000),
    "relaunch": (replace(PLAIN, policy="relaunch", relaunch_factor=4.43), 1_500_000),
    "redundant": (replace(PLAIN, policy="redundant-all"), 850_000),
}
RUNS = 3
PEER_JOBS = 10_000
GOAL_RATIO = 350.0


def rows() -> list[dict]:
    """A row per policy, jobs a second of one core, and how many times the peer's that is at least."""
    found = [_row(name, scenario, goal) for name, (scenario, goal) in SCENARIOS.items()]
    ratios = [row["ratio"] for row in found]
    over_peer = {
        "name": "sim-masterworker-over-simpy",
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


def _row(name: str, scenario: MasterWorkerScenario, goal: float) -> dict:
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
        "name": f"sim-masterworker-{name}",
        "value": round(rate),
        "unit": "jobs/s",
        "peer": round(peer),
        "ratio": round(rate / peer),
        "goal": goal,
        "met": rate >= goal,
        "runs": RUNS,
        "spread": [round(min(rates)), round(max(rates))],
    }
