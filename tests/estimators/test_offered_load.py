"""Is the offered load what originals alone would keep busy, and does it forget in time?"""

from math import exp

import pytest

from controlplane.estimators.offered_load import WINDOW_S
from controlplane.model import facts as f
from controlplane.model.parameters import EngineSettings
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit


def load_of(scenario: Scenario) -> float:
    cluster = scenario.scheduler.cluster
    return float(cluster.pools.offered_load[cluster.sources[SOURCE].row])


def test_originals_that_run_or_wait_are_the_load_and_copies_are_not():
    """Four of eight slots run originals, two run copies: for one window's time the load goes towards a half."""
    scenario = Scenario(EngineSettings(mode=f.Mode.CONTROL, speculator="none"))
    scenario.stage(4)
    scenario.tell([scenario.started(i, i) for i in range(4)])
    scenario.tell([scenario.started(10 + i, 3 - i, index=i, speculative=True) for i in range(2)])
    scenario.now_s += WINDOW_S
    scenario.tell()
    assert load_of(scenario) == pytest.approx(0.5 * (1 - exp(-1)))


def test_a_queue_is_no_more_than_all_slots_and_idle_time_counts_as_idle():
    """Of 100 waiting tasks only 8 fit; after the job's end nothing is held, though nobody reports meanwhile."""
    scenario = Scenario(EngineSettings(mode=f.Mode.CONTROL, speculator="none"))
    scenario.stage(100)
    scenario.now_s += WINDOW_S
    scenario.tell([scenario.started(0, 0)])
    busy = load_of(scenario)
    assert busy == pytest.approx(1 - exp(-1))
    scenario.tell([scenario.ended(0, 1.0), f.StageEnded(stage=1, stage_attempt=0), f.JobEnded(job="job")])
    scenario.now_s += WINDOW_S
    scenario.stage(1, stage=2, job="next")
    assert load_of(scenario) == pytest.approx(busy * exp(-1))
