"""Does Mantri duplicate what likely saves slot time, and no more than three times?"""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.model.reasons import Reason
from controlplane.policies.baselines.mantri import undercut_rank
from controlplane.policies.registry import speculator
from controlplane.policies.seen import FINISHED

pytestmark = pytest.mark.unit

mantri = speculator("mantri")


def finished(*unit_s):
    """Finished attempts of one stage by their seconds per unit of work, in ascending order."""
    rows = np.zeros(len(unit_s), dtype=FINISHED)
    rows["unit_s"] = unit_s
    return rows


def known(*unit_s):
    """Columns of tasks of ten units of work whose finished siblings took `unit_s` per unit."""
    return {
        "work": 10.0,
        "stages": {"finished_from": 0, "finished_to": len(unit_s)},
        "finished": finished(*unit_s),
    }


def judge(running, t_rem_s, unit_s, settings=None, **columns):
    """The reason for one task of ten units of work whose finished siblings took `unit_s` per unit."""
    seen = running([t_rem_s], [inf], **(known(*unit_s) | columns))
    answer = mantri.speculate(seen, settings)
    assert answer["copies"].tolist() == [answer["reason"][0] == Reason.LIKELY_SAVES]
    return Reason(answer["reason"][0])


def test_one_attempt_must_have_more_than_twice_as_long_to_go(running):
    """With c = 1 a copy is worth its slot below t_rem / 2: siblings took 20 s for this much work."""
    assert judge(running, 40.0, [2.0] * 4) is Reason.CHEAPER_TO_WAIT
    assert judge(running, 40.1, [2.0] * 4) is Reason.LIKELY_SAVES


def test_the_chance_must_exceed_a_quarter(running):
    """One of four siblings below 15 s is just a quarter; two of five are more."""
    assert judge(running, 30.0, [1.0, 2.0, 2.0, 2.0]) is Reason.CHEAPER_TO_WAIT
    assert judge(running, 30.0, [1.0, 1.0, 2.0, 2.0, 2.0]) is Reason.LIKELY_SAVES


def test_a_second_copy_must_save_more_and_a_third_is_never_made(running):
    """c / (c + 1) is 2/3 with two running: 20 s < 31 s * 2/3. Mantri stops at three attempts."""
    assert judge(running, 31.0, [2.0] * 4, running_attempts=[2]) is Reason.LIKELY_SAVES
    assert judge(running, 29.0, [2.0] * 4, running_attempts=[2]) is Reason.CHEAPER_TO_WAIT
    assert judge(running, 90.0, [2.0] * 4, running_attempts=[3]) is Reason.ALREADY_COPIED


def test_without_a_time_to_go_or_a_sibling_nothing_is_promised(running):
    """A probability over no samples is none."""
    assert judge(running, inf, [2.0]) is Reason.UNKNOWN_DEMAND
    assert judge(running, 40.0, []) is Reason.TOO_FEW_FINISHED


def test_a_bigger_task_is_held_against_what_its_work_takes(running):
    """Durations are normalised by input: twice the work may take twice as long."""
    assert judge(running, 60.0, [2.0] * 4, work=[20.0]) is Reason.CHEAPER_TO_WAIT
    assert judge(running, 60.0, [2.0] * 4, work=[10.0]) is Reason.LIKELY_SAVES


@pytest.mark.parametrize("work", [0.0, np.nan])
def test_without_work_to_measure_by_the_estimate_stands_for_the_siblings(running, work):
    """Nothing to do would take no time, by which every task would be worth a copy."""
    for t_rem_s, reason in ((40.0, Reason.CHEAPER_TO_WAIT), (40.1, Reason.LIKELY_SAVES)):
        seen = running([t_rem_s], [20.0], **known(*[2.0] * 4) | {"work": work})
        assert mantri.speculate(seen)["reason"].tolist() == [reason]


FULL, ROOM = ({"pools": {"idle": idle}, "attempts_started": [1]} for idle in (0, 1))


@pytest.mark.parametrize(
    ("t_rem_s", "columns", "killed"),
    [
        (81.0, FULL, True),
        (63.0, FULL | {"work": [1.0]}, True),
        (80.0, FULL, False),
        (81.0, ROOM, False),
        (81.0, FULL | {"attempts_started": [3]}, False),
        (inf, FULL, False),
    ],
)
def test_in_a_full_pool_a_task_starts_anew_that_needs_a_minute_more_than_a_fresh_attempt(
    running, t_rem_s, columns, killed
):
    """Siblings took 20 s on average for ten units of work: E[t_new] + Delta is 80 s. A third start is the last."""
    seen = running([t_rem_s], [inf], **(known(1.0, 2.0, 3.0) | columns))
    answer = mantri.speculate(seen)
    assert answer["kill"].tolist() == [killed]
    assert (answer["reason"][0] == Reason.ENDS_SOONER_ANEW) == killed


@pytest.mark.parametrize("columns", [FULL, ROOM])
def test_what_may_not_be_copied_is_not_killed_either(running, columns):
    """A kill starts the task anew, which is one more attempt: write safety and opt-out hold for it, too."""
    for eligible in (True, False):
        seen = running([81.0], [inf], eligible=[eligible], **known(1.0, 2.0, 3.0), **columns)
        answer = mantri.speculate(seen)
        assert answer["copies"].tolist() == [eligible]
        assert answer["kill"].tolist() == [eligible and columns is FULL]


def test_the_margin_is_set(running):
    """Short jobs need a shorter one than a minute."""
    seen = running([25.1], [inf], **known(2.0), **FULL)
    for margin_s, killed in ((5.0, True), (6.0, False)):
        assert mantri.speculate(seen, {"kill_margin_s": margin_s})["kill"].tolist() == [killed]


@pytest.mark.parametrize(("t_new_s", "times", "killed"), [(4.0, 1.0, True), (4.0, 1.5, False), (400.0, 0.01, True)])
def test_the_margin_is_no_longer_than_some_fresh_attempts(running, t_new_s, times, killed):
    """A minute is forever among tasks of seconds: 5.1 s more than a fresh one's 20 are too much for margins below."""
    seen = running([25.1], [t_new_s], **known(2.0), **FULL)
    assert mantri.speculate(seen, {"kill_margin_times": times})["kill"].tolist() == [killed]


def test_a_restart_is_not_held_back_with_the_copies(running):
    """Last in line is who takes a slot from an original; a restart gives one back."""
    seen = running([81.0], [inf], **known(2.0), **FULL)
    answer = mantri.speculate(seen, {"copy_priority": 1.0})
    assert answer["copies"].tolist() == answer["kill"].tolist() == [True]


@pytest.mark.parametrize(
    ("attempts", "worst_rem_s", "ends"), [(2, 101.0, True), (2, 100.0, False), (1, 101.0, False), (2, inf, False)]
)
def test_an_attempt_ends_that_another_of_its_task_beats_by_a_minute(running, attempts, worst_rem_s, ends):
    """The better one needs 40 s. Alone it goes on, and where nothing is known of it, too."""
    seen = running([40.0], [50.0], running_attempts=[attempts], worst_rem_s=[worst_rem_s])
    assert mantri.speculate(seen)["end_last"].tolist() == [ends]


def test_where_tasks_count_as_equal_each_has_one_unit_of_work(running):
    """Then siblings' seconds are what a copy takes."""
    assert judge(running, 5.0, [2.0] * 4, work=[1.0]) is Reason.LIKELY_SAVES
    assert judge(running, 4.0, [2.0] * 4, work=[1.0]) is Reason.CHEAPER_TO_WAIT


def test_the_longest_to_run_goes_first(running):
    """The one that holds its job up most."""
    seen = running([50.0, 90.0], [10.0, 10.0])
    assert np.argmax(mantri.speculate(seen)["score"]) == 1


@given(
    duration_s=st.lists(st.integers(1, 9), min_size=1, max_size=12).map(sorted),
    limit_s=st.integers(1, 10),
    confidence=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 0.99]),
)
def test_the_rank_asks_the_same_as_the_probability(duration_s, limit_s, confidence):
    """P(t_new < limit) > confidence, counted out."""
    likely = sum(each < limit_s for each in duration_s) / len(duration_s) > confidence
    rank = undercut_rank(n_finished=len(duration_s), confidence=confidence)
    assert (duration_s[rank] < limit_s) == likely


def test_a_sibling_without_a_size_does_not_hide_what_a_fresh_attempt_takes_on_average(running):
    """All slots are busy: an attempt with ten minutes to go starts anew, for siblings took 10 s."""
    seen = running([600.0], [inf], **known(1.0, 1.0, 1.0, inf), pools={"slots": 8, "idle": 0})
    answer = mantri.speculate(seen)
    assert (answer["copies"][0], answer["kill"][0], answer["reason"][0]) == (1, True, Reason.ENDS_SOONER_ANEW)
