"""For how long has an attempt worked, start-up left out?"""

from math import nan

import pytest

from controlplane.estimators.lateness import STEADY_S, WHOLE_LOOK_ERROR, is_starting, is_steady, net_age_s

pytestmark = pytest.mark.unit

USUAL = {"startup_mean_s": 2.0, "cold_startup_mean_s": 5.0}


@pytest.mark.parametrize(
    ("first_s", "cold", "idle", "age_s"),
    [
        (101.0, False, 0, 9.0),
        (104.0, False, 0, 6.0),
        (104.0, False, 1, 8.0),
        (nan, False, 0, 8.0),
        (101.0, True, 0, 5.0),
        (107.0, True, 0, 3.0),
        (101.0, True, 1, 9.0),
    ],
)
def test_start_up_is_no_age(first_s, cold, idle, age_s):
    """Ten seconds after the launch. Beyond the usual it counts while slots are idle; a cold one's may come later."""
    attempt = {"start_s": 100.0, "first_s": first_s, "cold": cold}
    assert net_age_s(now_s=110.0, attempt=attempt, pool=USUAL | {"idle": idle}) == age_s


@pytest.mark.parametrize(("idle", "is_early"), [(0, True), (1, False)])
def test_a_late_start_is_excused_for_longer_while_no_slot_is_idle(idle, is_early):
    """Starts take 2 s, give or take 0.5 s; this one has taken 3.8 s."""
    attempt = {"start_s": 100.0, "first_s": nan, "cold": False}
    cold = {"cold_startup_mean_s": nan, "cold_startup_deviation_s": nan}
    pool = {"startup_mean_s": 2.0, "startup_deviation_s": 0.5, "idle": idle} | cold
    assert is_starting(now_s=103.8, startup_prior_s=1.0, attempt=attempt, pool=pool) == is_early


@pytest.mark.parametrize(("error", "whole_s"), [(WHOLE_LOOK_ERROR / 2, STEADY_S / 2), (2 * WHOLE_LOOK_ERROR, STEADY_S)])
def test_the_worse_first_glances_were_the_longer_a_rate_is_watched_within_its_full_time(error, whole_s):
    """A cold attempt's full time is three seconds, however wrong first glances have been."""
    attempt = {"first_s": 0.0, "cold": True, "on_new_executor": False}
    pool = {"cold_foretold_error": error}
    looks_s = (whole_s - 0.1, whole_s)
    steady = [is_steady(s, 10.0, attempt | {"advanced_s": s}, task={}, stage={}, pool=pool) for s in looks_s]
    assert steady == [False, True]
