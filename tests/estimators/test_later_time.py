"""Is the time of a job's later stages learned by its name, and recalled after a restart?"""

import pytest

from controlplane.estimators.later_time import NAMES_KEPT, LaterTimes

pytestmark = pytest.mark.unit


def test_newer_jobs_of_a_name_count_more_and_unknown_ones_take_no_time():
    """4 s and then 9 s: (0.8 * 4 + 9) / 1.8."""
    times = LaterTimes()
    assert times.estimate_s("report") == 0.0
    times.observe("report", 4.0)
    assert times.estimate_s("report") == 4.0
    times.observe("report", 9.0)
    assert times.estimate_s("report") == pytest.approx(12.2 / 1.8)
    assert times.estimate_s("other") == 0.0


def test_the_names_seen_last_are_kept():
    """One too many, and the oldest goes; one that is seen again is not the oldest."""
    times = LaterTimes()
    for name in ("first", "second", *range(NAMES_KEPT - 2), "first", "last"):
        times.observe(str(name), 1.0)
    assert (times.estimate_s("first"), times.estimate_s("second"), times.estimate_s("last")) == (1.0, 0.0, 1.0)


def test_a_restart_recalls_it_below_what_was_learned_since():
    """Entries that are none are named, and left out."""
    before, after = LaterTimes(), LaterTimes()
    before.observe("report", 4.0)
    before.observe("other", 5.0)
    after.observe("report", 9.0)
    assert after.load(before.dump() | {"bad": {"sum_s": -1.0, "jobs": 1.0}}) == ["bad"]
    assert (after.estimate_s("report"), after.estimate_s("other")) == (9.0, 5.0)
