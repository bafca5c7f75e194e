"""For how long has an attempt worked, start-up left out, and is that, or its silence, too long?"""

from math import nan

import numpy as np
import pytest

from controlplane.estimators.lateness import (
    STEADY_S,
    WHOLE_LOOK_ERROR,
    is_old,
    is_silent,
    is_starting,
    is_steady,
    net_age_s,
)
from controlplane.estimators.spread import BINS, bin_of

pytestmark = pytest.mark.unit

USUAL = {"startup_mean_s": 2.0, "cold_startup_mean_s": 5.0}


@pytest.mark.parametrize(
    ("first_s", "cold", "idle", "age_s"),
    [
        (101.0, False, False, 9.0),
        (104.0, False, False, 6.0),
        (104.0, False, True, 8.0),
        (nan, False, False, 8.0),
        (101.0, True, False, 5.0),
        (107.0, True, False, 3.0),
        (101.0, True, True, 9.0),
    ],
)
def test_start_up_is_no_age(first_s, cold, idle, age_s):
    """Ten seconds after the launch. Beyond the usual it counts while slots are idle; a cold one's may come later."""
    attempt = {"start_s": 100.0, "first_s": first_s, "cold": cold}
    assert net_age_s(now_s=110.0, attempt=attempt, pool=USUAL, idle=idle) == age_s


@pytest.mark.parametrize(("idle", "is_early"), [(False, True), (True, False)])
def test_a_late_start_is_excused_for_longer_while_no_slot_is_idle(idle, is_early):
    """Starts take 2 s, give or take 0.5 s; this one has taken 3.8 s."""
    attempt = {"start_s": 100.0, "first_s": nan, "cold": False}
    cold = {"cold_startup_mean_s": nan, "cold_startup_deviation_s": nan}
    pool = {"startup_mean_s": 2.0, "startup_deviation_s": 0.5} | cold
    assert is_starting(now_s=103.8, startup_prior_s=1.0, attempt=attempt, pool=pool, idle=idle) == is_early


@pytest.mark.parametrize(("error", "whole_s"), [(WHOLE_LOOK_ERROR / 2, STEADY_S / 2), (2 * WHOLE_LOOK_ERROR, STEADY_S)])
def test_the_worse_first_glances_were_the_longer_a_rate_is_watched_within_its_full_time(error, whole_s):
    """A cold attempt's full time is three seconds, however wrong first glances have been."""
    attempt = {"first_s": 0.0, "cold": True, "on_new_executor": False}
    pool = {"cold_foretold_error": error}
    looks_s = (whole_s - 0.1, whole_s)
    steady = [is_steady(s, 10.0, attempt | {"advanced_s": s}, task={}, stage={}, pool=pool) for s in looks_s]
    assert steady == [False, True]


def counts(n, duration_s):
    """The counts of a stage of which `n` attempts took as long."""
    found = np.zeros(BINS, dtype=np.uint32)
    found[bin_of(duration_s)] = n
    return found


@pytest.mark.parametrize(("size", "is_late"), [(0.5, True), (1.0, True), (3.0, False)])
def test_three_times_the_usual_is_late_unless_the_task_is_three_times_as_large(size, is_late):
    """Eight siblings took 2 s, this one has run for 6 s."""
    attempt = {"busy_s": nan, "start_s": 0.0}
    stage = {"n_finished": 8, "records_sum": 0.0, "bytes_sum": 0.0}
    found = is_old(
        now_s=6.0,
        age_s=6.0,
        usual_s=2.0,
        attempt=attempt,
        task={"relative_size": size},
        stage=stage,
        others={},
        idle=False,
        durations=counts(8, 2.0),
        ages=counts(1, 6.0),
    )
    assert found == is_late


@pytest.mark.parametrize(("out_sum", "is_behind"), [(0.0, False), (1.0, True)])
def test_one_row_of_one_sibling_puts_a_silent_attempt_without_any_behind(out_sum, is_behind):
    """Tasks that aggregate have one row each; where none has come out, what was read tells, and it has read more."""
    attempt = {"cold": False, "start_s": 0.0, "moved_s": 2.0, "busy_s": 2.0, "rows_out": 0.0, "work": 90.0}
    found = is_silent(
        now_s=20.0,
        attempt=attempt,
        task={"relative_size": 1.0},
        stage={"n_tails": 0, "records_sum": 0.0, "bytes_sum": 0.0},
        pool=USUAL,
        others={"n": 3, "out_sum": out_sum, "work_sum": 30.0},
        gaps=counts(0, 0.0),
        silences=counts(1, 18.0),
    )
    assert found == is_behind
