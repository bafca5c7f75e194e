"""Does the simulated cluster learn from races how much of slowness a copy meets again, as the engine does?"""

import numpy as np
import pytest

from controlplane.estimators.shared_slowness import MOST_LOG, kept_share
from controlplane.simulator.cluster import scenario as scenarios
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.workloads import Synthetic

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("noise", "kills"), [(0.0, 1.0), (0.3, 1.0), (0.3, 0.0)])
def test_the_share_that_copies_keep_is_learned(noise, kills, monkeypatch):
    """None, half and all of it; estimates that err do not hide it, nor that slow races last if nobody ends them."""
    kept, plain = [], scenarios.empty_state
    states = []
    monkeypatch.setattr(scenarios, "empty_state", lambda *args: states.append(plain(*args)) or states[-1])
    for shared_share in (0.0, 0.5, 1.0):
        ClusterScenario(
            policy="srpt+ras",
            speculator_settings={"end_beaten": kills},
            workload=Synthetic(least_tasks=1, most_tasks=50),
            jobs=300,
            machines=4,
            slots_per_machine=6,
            max_copies=2,
            shared_share=shared_share,
            noise=noise,
        ).simulate(1)
        counts = states[-1].counts[0]
        kept.append(kept_share(counts["seen_log"], counts["kept_log"]))
        assert 0.5 * MOST_LOG < counts["seen_log"] < MOST_LOG  # the tasks that have ended since the last race
    assert kept[0] < 0.1
    assert 0.3 < kept[1] < 0.65
    assert kept[2] > 0.85
    assert np.isfinite(kept).all()
