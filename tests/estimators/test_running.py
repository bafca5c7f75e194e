"""What is believed of running attempts, and of fresh ones beside them?"""

import math

import numpy as np
import pytest

from tests.scenario import Scenario

pytestmark = pytest.mark.unit

N_TASKS, SIZE, SLOW = 8, 10_000, 3


def read(scenario: Scenario, seconds: float, *, slow: int = 300) -> None:
    """All read 300 bytes of 10,000 a second, but one that reads `slow`; they report five times a second."""
    for _ in range(round(seconds * 5)):
        scenario.now_s += 0.2
        rates = [slow if attempt == SLOW else 300 for attempt in range(N_TASKS)]
        scenario.tell(progress={attempt: round(rate * scenario.now_s) for attempt, rate in enumerate(rates)})


@pytest.fixture
def scenario():
    """Two tasks on each of four hosts, all of them just started."""
    scenario = Scenario()
    scenario.stage(N_TASKS, input_bytes=SIZE)
    scenario.start_all(N_TASKS)
    return scenario


def test_the_first_estimate_is_kept_to_be_held_against_what_comes_out(scenario):
    """None is made before progress has been seen for a while, and none later takes its place."""
    attempts, first_s = scenario.scheduler.cluster.attempts, []
    for _ in range(5):
        read(scenario, 0.2)
        first_s.append(float(attempts.estimated_s[SLOW]))
    assert first_s == pytest.approx([math.nan, math.nan, 0.6, 0.6, 0.6], nan_ok=True)
    end_s = attempts.foretold_end_s[SLOW]
    read(scenario, 5.0, slow=100)
    assert attempts.foretold_end_s[SLOW] == end_s


def test_a_fresh_attempt_works_at_the_rate_of_its_siblings(scenario):
    """From its launch to its end, start-up included."""
    read(scenario, 3.0)
    attempts = scenario.scheduler.cluster.attempts
    assert attempts.sibling_rate[SLOW] == pytest.approx(SIZE / attempts.t_new_s[SLOW])
    assert attempts.sibling_rate[SLOW] == pytest.approx(300, rel=0.1)


def test_a_copy_leaves_behind_how_slow_the_host_is(scenario):
    """It keeps what is the original's own: of ten times as slow as siblings, the host explains four."""
    read(scenario, 3.0, slow=30)
    cluster, host_log = scenario.scheduler.cluster, np.zeros(4)
    cluster.pools.kept_slowness[:], host_log[SLOW] = 1.0, np.log(4.0)
    scenario.scheduler.learning.remaining.estimate(cluster, host_log, scenario.now_s)
    times = cluster.attempts.t_new_s[SLOW] * cluster.attempts.sibling_rate[SLOW] / SIZE
    assert times == pytest.approx(10 / 4, rel=0.01)
