"""Does a run begin with the samples of others, add its own, and say how often it went by them?"""

from dataclasses import replace

import numpy as np
import pytest

from controlplane.estimators.samples import BUCKETS, LENGTH
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.workloads import Synthetic
from controlplane.simulator.experiments.points.cluster import ClusterRuns, Learning

pytestmark = pytest.mark.unit

ALONE = ClusterScenario(
    policy="fair+grass",
    speculator_settings={"explorer_share": 1.0},
    workload=Synthetic(least_tasks=100, most_tasks=100),
    machines=20,
    slots_per_machine=1,
    offered_load=0.02,
    max_copies=2,
    jobs=30,
)
GOING = replace(ALONE, speculator_settings={})


def test_samples_of_another_run_are_what_a_job_switches_by():
    """Nobody explores in the second run, which has nothing to go by but the first one's samples."""
    samples = np.zeros(LENGTH)
    assert GOING.learn(1, samples)[1] == 0.0
    taught, switched_share = GOING.learn(1, learned())
    assert 0.0 < switched_share <= 1.0
    assert taught.response_s != GOING.simulate(1).response_s


def learned():
    """The samples of a run of other jobs."""
    samples = np.zeros(LENGTH)
    assert ALONE.learn(2, samples)[1] == 0.0
    return samples


def test_a_point_tells_what_was_known_before_the_first_job():
    """About fifteen samples of each policy, all of one bucket."""
    found = Learning(scenario=GOING, after=(ALONE,)).measure(1)
    assert len(found["weights"]) == BUCKETS
    assert [min(both) > 5.0 for both in found["weights"] if any(both)] == [True]
    assert found["switched_share"] > 0.0


def test_without_others_it_is_a_run_like_any():
    """Nothing to learn from, nothing to switch by."""
    found = Learning(scenario=GOING).measure(1)
    assert found.pop("switched_share") == 0.0
    assert not np.any(found.pop("weights"))
    assert repr(ClusterRuns(scenario=GOING).measure(1)) == repr(found)
