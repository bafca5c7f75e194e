"""Is the memory of stages bounded, and does the one that was seen longest ago go first?"""

import math

import pytest

from controlplane.estimators.stage_history import STAGES_KEPT, StageHistory, class_key, stage_key
from controlplane.model.facts import StageSubmitted

pytestmark = pytest.mark.unit


def stage(name):
    return StageSubmitted(job="j", stage=1, stage_attempt=0, n_tasks=8, name=name)


def test_as_many_stages_are_kept_as_are_said_and_the_latest_stay():
    """Their class, seen with each of them, is one of the 2,000."""
    history = StageHistory()
    for number in range(STAGES_KEPT):
        history.learn(stage(str(number)), 1.0, 1.0, 0.0, 0.0)
    kept = history.dump()["stages"]
    assert len(kept) == STAGES_KEPT
    assert stage_key(stage("0")) not in kept
    assert {stage_key(stage("1")), class_key(stage("1"))} <= kept.keys()


def test_where_tasks_differ_much_one_is_late_only_past_them_all():
    """Of tasks of 1 s and 9 s in turn the mean hardly moves; the deviation is of the tasks."""
    history, sum_s = StageHistory(), 0.0
    for n, attempt_s in enumerate([1.0, 9.0] * 100, start=1):
        sum_s += attempt_s
        history.learn(stage("varied"), attempt_s, sum_s / n, 0.0, 0.0)
    assert history.late_s(stage("varied"), 0.0) == pytest.approx(5 + 4 * 4, rel=0.05)


def test_what_a_unit_of_work_costs_and_the_tail_are_smoothed_over_attempts():
    """The latest counts a fifth, and one of which neither is known changes neither."""
    history = StageHistory()
    for log_cost, tail_s in ((1.0, 5.0), (2.0, 10.0), (math.nan, math.nan)):
        history.learn(stage("seen"), 1.0, 1.0, log_cost, tail_s)
    prior = history.get(stage("seen"))
    assert (prior.log_cost, prior.tail_s) == pytest.approx((1.2, 6.0))


def test_what_was_learned_before_it_is_recalled_stays():
    """A store that comes late tells of the past; what tasks take has been seen since."""
    past, fresh = StageHistory(), StageHistory()
    past.learn(stage("past"), 9.0, 9.0, 0.0, 0.0)
    fresh.learn(stage("new"), 1.0, 1.0, 0.0, 0.0)
    fresh.load(past.dump())
    assert fresh.duration_s(5.0) == 1.0
