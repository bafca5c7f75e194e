"""Do copies wait for all originals where they come last, and only there?"""

import numpy as np
import pytest

from controlplane.model.reasons import Reason
from controlplane.policies.answer import SPECULATION
from controlplane.policies.copy_priority import hold_back
from controlplane.policies.registry import speculator

pytestmark = pytest.mark.unit

mantri = speculator("mantri")
LAST = {"copy_priority": 1.0}
NO_RESTARTS = {"kill_margin_times": 1e9}


@pytest.fixture
def stragglers(running):
    """Three tasks worth a copy, the second by most; the first two in one pool."""

    def build(*idle):
        return running([50.0, 90.0, 70.0], [10.0] * 3, pool=[0, 0, 1], pools={"idle": idle})

    return build


def test_at_the_jobs_priority_copies_do_not_ask_who_waits(stragglers):
    """The usual rule: the engine weighs them against the job's target alone."""
    assert mantri.speculate(stragglers(0, 0))["copies"].all()


def test_last_in_line_copies_take_only_slots_that_nobody_waits_for(stragglers):
    """One such slot in the first pool goes to the task that has longest to run; the other pool has none."""
    answer = mantri.speculate(stragglers(1, 0), LAST | NO_RESTARTS)
    assert answer["copies"].tolist() == [False, True, False]
    assert answer["reason"].tolist() == [Reason.ORIGINALS_WAIT, Reason.LIKELY_SAVES, Reason.ORIGINALS_WAIT]


def test_late_has_both_kinds_of_baseline(running):
    """SRPT with LATE is Prio or Last by this setting alone: the slow task is copied, or waits for an idle slot."""
    view = running([9.0, 1.0, 1.0, 1.0], [4.0] * 4, progress_rate=[0.1, 1.0, 1.0, 1.0])
    late = speculator("late")
    assert late.speculate(view)["copies"].tolist() == [True, False, False, False]
    assert late.speculate(view, LAST)["reason"][0] == Reason.ORIGINALS_WAIT


def test_copies_that_save_slot_time_come_last_where_they_are_told_to(running):
    """RAS goes before waiting originals by itself; of two savings the larger one takes the only idle slot."""
    view = running([9.0, 50.0], [1.0, 1.0], pools={"idle": 1})
    assert speculator("ras").speculate(view)["copies"].all()
    assert speculator("ras").speculate(view, LAST)["copies"].tolist() == [False, True]


def test_the_speculators_own_order_decides_who_takes_the_idle_slot(running):
    """Stock Spark's oldest task goes first, though the other one ends later."""
    view = running([90.0, 50.0], [1.0, 1.0], elapsed_s=[20.0, 30.0], progress_rate=[0.1, 0.1], pools={"idle": 1})
    assert speculator("stock-spark").speculate(view, LAST)["copies"].tolist() == [False, True]


def test_each_copy_of_a_task_takes_an_idle_slot_of_its_own(running):
    """Three slots for four wanted copies: the task with the higher score has both of its copies, the other one."""
    answer = np.zeros(2, dtype=SPECULATION)
    answer["copies"], answer["score"] = 2, [5.0, 9.0]
    hold_back(running([9.0, 9.0], [1.0, 1.0], pools={"idle": 3}), LAST["copy_priority"], answer)
    assert answer["copies"].tolist() == [1, 2]


def test_a_copy_that_will_not_start_takes_no_idle_slot(running):
    """The best task may have one of its two copies, the next none: the other idle slot is the third's."""
    view = running([9.0] * 3, [1.0] * 3, copies_left=[1, 2, 2], standing=[0, Reason.TOO_NEW, 0], pools={"idle": 2})
    answer = np.zeros(3, dtype=SPECULATION)
    answer["copies"], answer["score"] = [2, 1, 1], [9.0, 8.0, 7.0]
    hold_back(view, LAST["copy_priority"], answer)
    assert answer["copies"].tolist() == [1, 1, 1]


def test_last_in_line_is_no_limit_of_its_own(stragglers):
    """With idle slots for all, all are copied."""
    assert mantri.speculate(stragglers(2, 1), LAST)["copies"].all()
