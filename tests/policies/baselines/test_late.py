"""Does LATE pick slow tasks, the last to end first, within its cap?"""

from math import inf

import pytest

from controlplane.model.reasons import Reason
from controlplane.policies.registry import speculator

pytestmark = pytest.mark.unit

late = speculator("late")
SLOW = [0.1, 0.2, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
T_REM_S = [5.0, 9.0, 30.0, 1.0, 1.0, 1.0, 1.0, 1.0]
T_NEW_S = [4.0] * 8


def wanted(view):
    return late.speculate(view)["copies"].nonzero()[0].tolist()


def test_late_wants_the_slowest_quarter_only(running):
    """Task 2 ends last but is as fast as its siblings."""
    assert wanted(running(T_REM_S, T_NEW_S, progress_rate=SLOW)) == [0, 1]


def test_late_takes_the_last_to_end_first_when_the_pool_has_room_for_one(running):
    """10 % of ten slots is one copy."""
    view = running(T_REM_S, T_NEW_S, progress_rate=SLOW, pools={"slots": 10})
    assert wanted(view) == [1]
    assert late.speculate(view)["reason"][0] == Reason.SPECULATOR_CAP


def test_late_allows_one_copy_in_the_smallest_pool_and_none_beyond_the_cap(running):
    """The cap rounds down, but never to nothing."""
    assert wanted(running(T_REM_S, T_NEW_S, progress_rate=SLOW, pools={"slots": 3})) == [1]
    assert wanted(running(T_REM_S, T_NEW_S, progress_rate=SLOW, pools={"slots": 3, "copies": 1})) == []


def test_every_pool_and_stage_is_judged_by_itself(running):
    """A slow stage's tasks are no stragglers, and one pool's copies take no room in another."""
    view = running(
        T_REM_S * 2,
        T_NEW_S * 2,
        progress_rate=SLOW + [rate / 100 for rate in SLOW],
        stage=[1] * 8 + [0] * 8,
        pool=[0] * 8 + [1] * 8,
        pools={"slots": 10},
    )
    assert wanted(view) == [1, 9]


def test_late_copies_no_task_twice(running):
    """LATE's rule is one copy a task."""
    speculation = late.speculate(running(T_REM_S, T_NEW_S, progress_rate=SLOW, running_attempts=[2] + [1] * 7))
    assert speculation["copies"].nonzero()[0].tolist() == [1]
    assert speculation["reason"][0] == Reason.ALREADY_COPIED


def test_a_task_that_never_moved_goes_before_those_that_end_some_day(running):
    """A hung attempt has no end in sight, and its score stays a number."""
    view = running([inf, *T_REM_S[1:]], T_NEW_S, progress_rate=[0.0, *SLOW[1:]], pools={"slots": 10})
    assert wanted(view) == [0]
    assert late.speculate(view)["score"][0] < inf


def test_equal_rates_make_no_stragglers(running):
    """Rounding must not turn one of many equal tasks into the slowest."""
    rates = [3 * 0.1] * 6 + [0.3] * 2
    assert wanted(running([1.0] * 8, T_NEW_S, progress_rate=rates)) == []


def test_the_last_task_of_a_stage_is_measured_by_its_finished_siblings(running):
    """A quarter of one task is none; stock Spark never copies such a task, either (SPARK-29976)."""
    assert wanted(running([9.0], [1.0], progress_rate=[0.5])) == [0]
    assert wanted(running([9.0], [1.0], progress_rate=[0.8])) == []


def test_nothing_running_gives_empty_columns(running):
    """An idle cluster is no special case."""
    assert len(late.speculate(running([], []))["copies"]) == 0
