"""Does a policy that knows the future do what only such a one can, and is it refused where the future is not known?"""

from math import inf

import numpy as np
import pytest

from controlplane.model.errors import BadSetting
from controlplane.policies.registry import parse_policy
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.workloads import Listed, Synthetic

pytestmark = pytest.mark.unit

STILL = {"slowdown_tail_index": inf, "launch_s": 0.0, "cycle_s": 0.0, "machines": 1}
BOTH = "clairvoyant+clairvoyant"


def response_s(scenario, seed=1):
    return scenario.run(seed)[1].response_s.tolist()


@pytest.mark.parametrize(("policy", "ends_s"), [("clairvoyant+none", [6.0, 1.0]), ("srpt+none", [5.0, 6.0])])
def test_the_job_that_will_end_sooner_goes_first(policy, ends_s):
    """On one slot, of two jobs that look alike; the one that came first takes longer."""
    source = Listed(original_s=((5.0,), (1.0,)), copy_s=1.0)
    assert response_s(ClusterScenario(policy=policy, workload=source, jobs=2, slots_per_machine=1, **STILL)) == ends_s


@pytest.mark.parametrize(("policy", "ends_s"), [("srpt+clairvoyant", 1.5), ("srpt+ras", 4.0)])
def test_a_straggler_is_copied_at_the_first_review(policy, ends_s):
    """After half a second; nobody else can tell before its rate can be read, three seconds after its start."""
    source = Listed(original_s=((9.0, 1.0),), copy_s=1.0)
    scenario = ClusterScenario(
        policy=policy, workload=source, jobs=1, slots_per_machine=3, detect_s=3.0, **STILL | {"cycle_s": 0.5}
    )
    assert response_s(scenario) == [ends_s]


@pytest.mark.parametrize("shared_share", [0.0, 0.5])
def test_only_copies_that_win_are_wanted(shared_share):
    """Not those of tasks that are slow because of their data. One that waits for a slot may lose."""
    for offered_load in (0.3, 0.9):
        base = {"workload": Synthetic(least_tasks=2, most_tasks=60), "jobs": 300, "machines": 8, "noise": 0.5}
        base["speculator_settings"] = {"end_beaten": 0.0}
        found = ClusterScenario(policy=BOTH, offered_load=offered_load, shared_share=shared_share, **base).simulate(1)
        assert found.copies_per_task > 0.01
        assert found.won_share > 0.99


def test_nobody_who_does_not_know_is_faster():
    """On the mean of two seeds."""
    base = {"workload": Synthetic(least_tasks=2, most_tasks=60), "jobs": 400, "machines": 10, "noise": 0.3}

    def mean_s(policy):
        return np.mean([ClusterScenario(policy=policy, **base).simulate(seed).response_s for seed in (1, 2)])

    assert mean_s(BOTH) < min(mean_s("srpt+late"), mean_s("hopper+ras"))


@pytest.mark.parametrize("policy", ["clairvoyant+ras", "srpt+clairvoyant"])
def test_a_live_pool_is_refused(policy):
    """No live system foresees anything."""
    with pytest.raises(BadSetting, match="clairvoyant"):
        parse_policy(policy)
