"""Does an independent event simulation of the same rules come to the same response times?"""

from dataclasses import replace

import numpy as np
import pytest

from controlplane.simulator.masterworker.scenario import MasterWorkerScenario
from tests.simulator.masterworker.simpy_peer import Peer

pytestmark = pytest.mark.unit

JOBS = 3_000
SEEDS = range(1, 6)
SURE = 3.0
AT_HALF = MasterWorkerScenario(policy="none", offered_load=0.5, jobs=JOBS)


@pytest.mark.parametrize(
    "scenario",
    [
        AT_HALF,
        replace(AT_HALF, offered_load=0.8),
        replace(AT_HALF, policy="relaunch", relaunch_factor=2.0),
        replace(AT_HALF, policy="redundant-small", threshold_s=103.3),
        replace(AT_HALF, policy="redundant-all", spare_tasks=3),
    ],
    ids=lambda one: f"{one.policy}-{one.offered_load}",
)
def test_simpy_agrees_on_the_mean_response_time(scenario):
    """Both serve the same jobs; only the luck of single tasks differs, so the paired difference has a mean of zero."""
    differences_s = [scenario.simulate(seed).response_s - Peer(scenario, JOBS, seed).run() for seed in SEEDS]
    error_s = np.std(differences_s, ddof=1) / len(differences_s) ** 0.5
    assert abs(np.mean(differences_s)) <= SURE * error_s
