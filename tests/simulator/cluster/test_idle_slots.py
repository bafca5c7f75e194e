"""Does a speculator that goes by bounds ever leave a slot idle that a waiting task could use?"""

import numpy as np
import pytest

from controlplane.simulator.cluster import events
from controlplane.simulator.cluster.bounds import Bounds
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.workloads import Synthetic

pytestmark = pytest.mark.unit

BOUNDS = {"deadline": Bounds(slack=(0.02, 0.2), ideal_slots=6, gives_up=True), "error": Bounds(error=(0.05, 0.3))}


@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS.keys())
@pytest.mark.parametrize("speculator", ["gs", "ras", "grass"])
def test_no_slot_is_idle_while_an_original_waits(speculator, bounds, monkeypatch):
    """Also one that the bound does not name: to start it costs nothing that anybody could use better."""
    plain, looked = events.hand_out, []

    def hand_out(work, world, policy, state, changed):
        plain(work, world, policy, state, changed)
        counts = state.counts[0]
        assert counts["n_free"] == 0 or counts["n_waiting"] == 0
        looked.append(counts["n_waiting"] > 0)

    monkeypatch.setattr(events, "hand_out", hand_out)
    monkeypatch.setattr("controlplane.simulator.cluster.scenario.play", getattr(events.play, "py_func", events.play))
    scenario = ClusterScenario(
        policy=f"fair+{speculator}",
        workload=Synthetic(least_tasks=3, most_tasks=30),
        jobs=20,
        machines=6,
        slots_per_machine=1,
        offered_load=0.8,
        noise=0.3,
        launch_s=0.1,
        cycle_s=0.0,
        bounds=bounds,
    )
    with np.errstate(over="ignore"):
        scenario.simulate(3)
    assert sum(looked) > 50
