"""Are jobs' achievements kept as curves over waves, told apart by what matters, and recalled after a restart?"""

import numpy as np
import pytest

from controlplane.estimators.samples import (
    FIRST,
    KEPT_OF_OLD,
    LEARNED,
    POINTS,
    SECOND,
    Samples,
    bucket,
    place_of,
)

pytestmark = pytest.mark.unit

JOB = ("spark:app-1", "job-1")
FREE_AND_SURE = (0, 0)
"""Levels of utilization and accuracy."""


def run(samples: Samples, ends_s: list[float], *, deadline_s=np.inf, slot_s=None, policy=FIRST, tasks=4, used=0.0):
    """A job of tasks that usually take 2 s, on 2 slots unless `slot_s` says otherwise."""
    tally = samples.tally(JOB, policy, tasks)
    tally.slot_s = 2 * max(ends_s) if slot_s is None else slot_s
    for end_s in ends_s:
        tally.task_ended(end_s, task_s=2.0, used=used)
    samples.job_ended(JOB, deadline_s, error=0.1)


def curve(samples: Samples, *, has_deadline: bool, policy=FIRST, tasks=4, levels=FREE_AND_SURE):
    """Weights and mean values of a bucket."""
    at = place_of(bucket(has_deadline, tasks, *levels), policy)
    weights, sums = samples.values[at : at + POINTS], samples.values[at + POINTS : at + 2 * POINTS]
    return weights, np.divide(sums, weights, out=np.full(POINTS, np.nan), where=weights > 0)


def test_with_a_deadline_a_sample_says_how_many_waves_were_done_by_when():
    """Two tasks end after 1 task time, one after 1.5, one after 3; a wave is two tasks."""
    samples = Samples()
    run(samples, [2.0, 2.0, 3.0, 6.0], deadline_s=20.0)
    weights, values = curve(samples, has_deadline=True)
    assert values[:6].tolist() == [0.0, 1.0, 1.5, 1.5, 1.5, 2.0]
    assert weights.tolist() == [1.0] * 6 + [0.0] * (POINTS - 6), "of the time after its end it says nothing"


def test_after_the_deadline_nothing_counts():
    samples = Samples()
    run(samples, [2.0, 2.0, 3.0, 6.0], deadline_s=3.5)
    assert curve(samples, has_deadline=True)[0].sum() == 3


def test_without_a_deadline_a_sample_says_how_long_each_wave_took():
    """The first task ends within 0.5 to 1 task times, as does the second; the third half a task time later."""
    samples = Samples()
    run(samples, [2.0, 2.0, 3.0, 6.0])
    weights, values = curve(samples, has_deadline=False)
    assert values[:4].tolist() == [0.75, 1.0, 1.5, 3.0]
    assert weights.sum() == 4


def test_a_wider_job_has_done_fewer_waves():
    """Four slots for four tasks are one wave."""
    samples = Samples()
    run(samples, [2.0, 2.0, 3.0, 6.0], slot_s=24.0)
    assert curve(samples, has_deadline=False)[1][:2].tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    "where",
    [{"policy": SECOND}, {"policy": LEARNED}, {"tasks": 50}, {"tasks": 501}, {"used": 0.5}, {"used": 0.95}],
    ids=str,
)
def test_what_matters_tells_samples_apart(where):
    samples = Samples()
    run(samples, [2.0, 4.0], **where)
    assert not curve(samples, has_deadline=False)[0].any()
    levels = {0.0: 0, 0.5: 1, 0.95: 2}[where.get("used", 0.0)], 0
    own = {name: value for name, value in where.items() if name != "used"}
    assert curve(samples, has_deadline=False, levels=levels, **own)[0].any()


def test_newer_samples_count_more():
    samples = Samples()
    run(samples, [1.0, 1.0])
    run(samples, [2.0, 2.0])
    weights, values = curve(samples, has_deadline=False)
    assert weights[0] == KEPT_OF_OLD + 1.0
    assert values[1] == pytest.approx((KEPT_OF_OLD * 0.5 + 1.0) / (KEPT_OF_OLD + 1.0))


def test_a_job_that_changed_its_policy_is_no_sample():
    """An operator has chosen another speculator, or allowed explorers, while it ran."""
    samples = Samples()
    samples.tally(JOB, LEARNED, 4)
    run(samples, [2.0, 4.0])
    assert not samples.values.any()


def test_jobs_of_a_driver_that_is_gone_become_no_samples():
    samples = Samples()
    samples.tally(JOB, FIRST, 4).task_ended(2.0, 2.0, 0.0)
    samples.forget({JOB[0]})
    samples.job_ended(JOB, np.inf, 0.1)
    assert not samples.values.any()
    assert samples.tally(JOB, SECOND, 1).policy == SECOND


def test_a_job_without_an_end_is_no_sample():
    samples = Samples()
    samples.tally(JOB, FIRST, 4)
    samples.job_ended(JOB, np.inf, 0.1)
    samples.job_ended(JOB, np.inf, 0.1)
    assert not samples.values.any()


def test_a_restart_recalls_them_below_what_was_learned_since():
    """Entries that are none are named, and left out."""
    before, after = Samples(), Samples()
    run(before, [2.0, 4.0])
    run(before, [2.0, 4.0], policy=SECOND)
    run(after, [6.0, 8.0])
    own = curve(after, has_deadline=False)[1].copy()
    bad = {"-1": [0.0] * 2 * POINTS, "9999": [0.0] * 2 * POINTS, "3": [1.0], "4": [-1.0] * 2 * POINTS}
    assert sorted(after.load(before.dump() | bad)) == sorted(bad)
    assert np.array_equal(curve(after, has_deadline=False)[1], own, equal_nan=True)
    assert curve(after, has_deadline=False, policy=SECOND)[0].any()


def test_policies_cannot_change_what_they_see():
    samples = Samples()
    with pytest.raises(ValueError, match="read-only"):
        samples.seen[0] = 1.0
    run(samples, [2.0, 4.0])
    assert samples.seen.any()
