"""Is it foretold how likely a job keeps its deadline, by itself and with copies, and is it said why where it is not?"""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.model.columns import CHOICES
from controlplane.model.reasons import Reason
from controlplane.policies.outlook import look_ahead
from controlplane.policies.seen import NO_TASKS
from tests.seen import running

pytestmark = pytest.mark.unit

LEAST_S = 60.0 * np.exp(-1 / 1.5)
"""What a whole attempt takes at least, where siblings take 60 s and times have a tail index of 1.5."""


def seen(t_rem_s, *, jobs=None, stages=None, pools=None, **columns):
    """Tasks of which half is done and 120 s are left, in a pool whose attempts launch at once."""
    usual = {"progress": 0.5, "t_fresh_s": 60.0, "copies_left": 9, "work": 1.0, "expected_s": nan}
    return running(
        t_rem_s,
        [60.0] * len(t_rem_s),
        pools={"tail_index": 1.5} | (pools or {}),
        jobs={"deadline_s": 120.0} | (jobs or {}),
        stages={"deadline_s": 120.0, "tasks": len(t_rem_s)} | (stages or {}),
        **(usual | columns),
    )


def look(view, *, ordered=0, cores=1, most=5, is_open_ended=False):
    """The outlook of each job."""
    tasks, jobs = len(view.tasks), len(view.jobs)
    return look_ahead(
        view,
        np.full(tasks, ordered),
        np.full(tasks, cores),
        np.full(jobs, most),
        np.full(jobs, is_open_ended),
    )


def reason_of(view, **more):
    """The reason of the only job, which has one known choice if it is hopeless, and else none."""
    found = look(view, **more)
    known = ~np.isnan(found.pocd[0])
    assert known.tolist() == [found.reason[0] == Reason.HOPELESS] + [False] * 5
    assert (known == ~np.isnan(found.core_s[0])).all()
    return Reason(found.reason[0])


def test_the_numbers_are_those_of_theorem_2_with_each_tasks_own_tail():
    """Half of the least time is left, against 130 s on average: an index of 130 / (130 - 15.4)."""
    found = look(seen([130.0, 100.0]), most=2)
    miss = [(0.5 * LEAST_S / 120.0) ** (rem_s / (rem_s - 0.5 * LEAST_S)) for rem_s in (130.0, 100.0)]
    copy_miss = (LEAST_S / 120.0) ** 1.5
    want = [(1 - miss[0] * copy_miss**r) * (1 - miss[1]) for r in range(3)]
    assert found.pocd[0, :3] == pytest.approx(want)
    assert np.isnan(found.pocd[0, 3:]).all()
    assert Reason(found.reason[0]) is Reason.NONE


@pytest.mark.parametrize("unjudged", [{"too_new": True}, {"progress": nan}])
def test_before_its_pace_is_known_a_job_has_the_pocd_of_theorem_1(unjudged):
    """Its two tasks have just launched: how long ended ones took foretells them, and copies of stragglers."""
    found = look(seen([50.0, 50.0], expected_s=100.0, elapsed_s=0.0, **unjudged))
    miss = (LEAST_S / 120.0) ** 1.5
    assert found.pocd[0] == pytest.approx([(1 - miss) ** 2] * CHOICES)
    assert found.with_copies[0] == pytest.approx((1 - miss * miss**5) ** 2)
    straggling = look(seen([130.0], expected_s=100.0, elapsed_s=0.0, **unjudged))
    assert straggling.pocd[0] == pytest.approx([1 - miss * miss**r for r in range(CHOICES)])


def test_a_task_that_has_run_for_long_without_a_pace_is_known_to_need_longer():
    """It launched 90 s ago and has worked for 80, with 120 s left: (80 / 200) ** 1.5 is its probability to be late."""
    found = look(seen([50.0], pools={"startup_s": 10.0}, expected_s=100.0, elapsed_s=90.0, too_new=True))
    assert found.pocd[0, 0] == pytest.approx(1 - (80.0 / 200.0) ** 1.5)
    second = look(seen([50.0], expected_s=100.0, elapsed_s=80.0, too_new=True, running_attempts=2))
    assert second.pocd[0, 0] == pytest.approx(1 - (80.0 / 200.0) ** 1.5 * (LEAST_S / 120.0) ** 1.5)


def test_copies_cost_what_the_soonest_of_them_takes_or_the_original():
    """One takes three times its least on average, two together half as much again; each holds two cores."""
    found = look(seen([130.0, 100.0]), most=2, cores=2)
    assert found.core_s[0, :3] == pytest.approx([0.0, 2 * 3 * LEAST_S, 2 * 2 * 1.5 * LEAST_S])
    heavy = look(seen([130.0], pools={"tail_index": 1.0}), most=1, cores=2)
    assert heavy.core_s[0, :2] == pytest.approx([0.0, 2 * 130.0])


def test_with_copies_every_task_has_as_many_as_it_may():
    """Not only stragglers: any task may become one. One of these may have two, the other one five."""
    found = look(seen([130.0, 100.0], copies_left=[2, 9]))
    miss = [(0.5 * LEAST_S / 120.0) ** (rem_s / (rem_s - 0.5 * LEAST_S)) for rem_s in (130.0, 100.0)]
    copy_miss = (LEAST_S / 120.0) ** 1.5
    assert found.with_copies[0] == pytest.approx((1 - miss[0] * copy_miss**2) * (1 - miss[1] * copy_miss**5))
    assert found.with_copies[0] > found.pocd[0, 5]
    assert np.isnan(look(seen([inf])).with_copies[0])
    assert look(seen([130.0], jobs={"deadline_s": 0.0})).with_copies[0] == 0.0


def test_jobs_do_not_share_a_pocd():
    """Two tasks of one job are less likely in time than the one of another."""
    found = look(seen([100.0, 100.0, 100.0], job=[0, 0, 1], stage=[0, 0, 1]))
    assert found.pocd[0, 0] == pytest.approx(found.pocd[1, 0] ** 2)


def test_copies_on_their_way_count_as_if_they_ran():
    """What was chosen is part of what is promised."""
    plain, with_one = look(seen([130.0])), look(seen([130.0]), ordered=1)
    assert with_one.pocd[0, :4] == pytest.approx(plain.pocd[0, 1:5])
    running_two = look(seen([130.0], running_attempts=2))
    assert running_two.pocd[0, 0] == pytest.approx(plain.pocd[0, 1])


def test_a_task_gets_no_more_than_it_may_have():
    """One more beside the one that is on its way, and none where its stage may not run twice."""
    found = look(seen([130.0], copies_left=2), ordered=1)
    assert found.pocd[0, 0] < found.pocd[0, 1] == found.pocd[0, 2]
    unsafe = look(seen([130.0], standing=Reason.UNSAFE_OUTPUT))
    assert unsafe.pocd[0].min() == unsafe.pocd[0].max() < 1.0
    assert unsafe.core_s[0].tolist() == [0.0] * CHOICES


def test_a_task_that_must_be_late_makes_its_job_hopeless():
    """It needs ten minutes at least, and so would a copy; its sibling is in time."""
    assert reason_of(seen([900.0, 50.0], t_fresh_s=[2000.0, 60.0], progress=0.1)) is Reason.HOPELESS
    assert look(seen([900.0, 50.0], t_fresh_s=[2000.0, 60.0], progress=0.1)).pocd[0, 0] == 0.0


def test_hopeless_is_said_while_tasks_wait_or_are_too_new():
    """It is known at once, and would be worth little at the end."""
    lost = {"t_fresh_s": [2000.0, 60.0], "progress": 0.1}
    assert reason_of(seen([900.0, 50.0], jobs={"waiting": 3}, **lost)) is Reason.HOPELESS
    assert reason_of(seen([900.0, 50.0], too_new=[False, True], **lost)) is Reason.HOPELESS
    assert reason_of(seen([inf], jobs={"deadline_s": 0.0})) is Reason.HOPELESS


def test_a_guess_makes_no_job_hopeless():
    """A task that has just begun, or whose progress nothing tells, may be faster than its siblings."""
    lost = {"t_fresh_s": 2000.0}
    assert reason_of(seen([900.0], too_new=True, progress=0.1, **lost)) is Reason.PACE_UNKNOWN
    assert reason_of(seen([900.0], progress=nan, **lost)) is Reason.PACE_UNKNOWN
    learned = look(seen([900.0, 50.0], too_new=[True, False], expected_s=2000.0, t_fresh_s=[2000.0, 60.0]))
    assert (Reason(learned.reason[0]), learned.pocd[0].max()) == (Reason.NONE, 0.0)


def test_a_task_faster_than_the_least_time_of_its_siblings_is_no_lost_one():
    """It needs 50 s of the 120 that are left, where no sibling's attempt has ended within 1,000."""
    found = look(seen([50.0], t_fresh_s=2000.0))
    assert found.pocd[0, 0] == 1.0


@pytest.mark.parametrize(
    ("view", "more", "want"),
    [
        (seen([130.0], jobs={"deadline_s": inf}, stages={"deadline_s": inf}), {}, Reason.NO_DEADLINE),
        (seen([130.0], jobs={"waiting": 1}), {}, Reason.TASKS_WAIT),
        (seen([130.0], jobs={"error_bound": 0.1}), {}, Reason.TASKS_OPTIONAL),
        (seen([130.0]), {"is_open_ended": True}, Reason.LATER_STAGES),
        (seen([130.0], stages={"deadline_s": inf}), {}, Reason.LATER_STAGES),
        (seen([inf]), {}, Reason.PACE_UNKNOWN),
        (seen([130.0], t_fresh_s=inf), {}, Reason.PACE_UNKNOWN),
        (seen([130.0])._replace(tasks=NO_TASKS), {}, Reason.PACE_UNKNOWN),
    ],
)
def test_it_is_said_why_nothing_is_foretold(view, more, want):
    """A number that the theorems do not give would be taken for theirs."""
    assert reason_of(view, **more) is want


TIMES_S = st.floats(1.0, 1e4)


@given(
    t_rem_s=st.lists(TIMES_S, min_size=1, max_size=6),
    progress=st.floats(0.0, 1.0),
    fresh_s=TIMES_S,
    tail_index=st.floats(0.5, 20.0),
    launch_s=st.floats(0.0, 100.0),
)
def test_more_attempts_never_make_a_deadline_less_likely_nor_cost_less_than_none(
    t_rem_s, progress, fresh_s, tail_index, launch_s
):
    """Each adds a chance to be in time."""
    pools = {"tail_index": tail_index, "startup_s": launch_s}
    found = look(seen(t_rem_s, pools=pools, progress=progress, t_fresh_s=launch_s + fresh_s))
    pocd, core_s = (each[0][~np.isnan(each[0])] for each in (found.pocd, found.core_s))
    assert pocd[-1] <= found.with_copies[0] + 1e-12
    assert len(pocd) == (1 if found.reason[0] == Reason.HOPELESS else CHOICES)
    assert (np.diff(pocd) >= -1e-12).all()
    assert (pocd >= 0.0).all()
    assert (pocd <= 1.0).all()
    assert core_s[0] == 0.0
    assert (core_s >= 0.0).all()
    assert np.isfinite(core_s).all()
