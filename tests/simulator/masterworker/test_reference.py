"""Does the simulator agree with the one that the redundancy paper's authors published?"""

import json
from pathlib import Path

import pytest

from controlplane.simulator.masterworker.record import outcome
from controlplane.simulator.masterworker.scenario import MasterWorkerScenario

pytestmark = pytest.mark.unit

CELLS = json.loads((Path(__file__).parents[2] / "golden" / "redundancy_response_times.json").read_text())["cells"]
SEEDS = range(11, 21)
JOBS = 60_000


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell['policy']}-{cell['offered_load']}")
def test_response_times_are_those_of_the_authors_program(cell):
    """Within three joint standard errors over ten seeds where it is stable, and called unstable where it is not."""
    fields = {name: cell[name] for name in ("spare_tasks", "threshold_s") if name in cell}
    policy, load = cell["policy"], cell["offered_load"]
    scenario = MasterWorkerScenario(policy=policy, offered_load=load, jobs=JOBS, **fields)
    found = outcome([scenario.simulate(seed) for seed in SEEDS])
    if cell["response_s"] is None:
        assert found.stable_runs == 0
    else:
        assert found.stable_runs == len(SEEDS)
        joint_s = (found.response_s.error**2 + cell["error_s"] ** 2) ** 0.5
        assert abs(found.response_s.mean - cell["response_s"]) < 3 * joint_s
