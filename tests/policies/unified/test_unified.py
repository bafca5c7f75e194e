"""Does the unified index copy what is worth its price, and name both numbers?"""

from math import exp, inf

import numpy as np
import pytest

from controlplane.model.reasons import Reason
from controlplane.policies.beaten import MOST_ATTEMPTS
from controlplane.policies.registry import allocator, speculator

pytestmark = pytest.mark.unit

unified = speculator("unified")
FRESH_S = exp(0.5)
"""Siblings' geometric mean if the least time is 1 s and the tail index 2: a copy ends after 2 - 1 / r on average."""
POOL = {"slots": 10, "tail_index": 2.0, "tell_s": 0.5}
BUSY, IDLE = POOL | {"waiting_jobs": 1}, POOL | {"idle": 5, "tell_s": 1.0}


@pytest.fixture
def ask(running):
    """Its answers about tasks with these times left, in a pool, under settings."""

    def one(t_rem_s, pool, settings=None, **columns):
        usual = {"t_fresh_s": [FRESH_S] * len(t_rem_s), "slowness": [1.0] * len(t_rem_s)}
        view = running(t_rem_s, [FRESH_S] * len(t_rem_s), pools=pool, **usual | columns)
        return unified.speculate(view, settings)

    return one


def test_gain_and_price_of_a_copy_while_a_job_waits(ask):
    """By hand: it ends after 1.75 s instead of 4, adds 1.75 + 0.5 - 4 slot-seconds, and a slot-second costs 0.3."""
    answer = ask([4.0], BUSY)
    assert answer["copies"].tolist() == [1]
    assert Reason(answer["reason"][0]) is Reason.WORTH_ITS_PRICE
    assert answer["gain"][0] == pytest.approx(2.25)
    assert answer["price"][0] == pytest.approx(-0.525)
    assert answer["score"][0] == pytest.approx(2.775)


def test_a_job_gains_nothing_by_a_task_that_is_not_its_last(ask):
    """The copy still gives slot time back to the job that waits."""
    answer = ask([4.0, 9.0], BUSY)
    assert answer["gain"].tolist() == pytest.approx([0.0, 9.0 - 4.0])
    assert answer["copies"].tolist() == [1, 1]


def test_while_a_job_waits_a_copy_must_save_slot_time(ask):
    """At 2 s left it would end after 1.5 s, and add 1.5 + 0.5 - 2 = 0 slot-seconds."""
    answer = ask([2.0], BUSY)
    assert answer["copies"].tolist() == [0]
    assert Reason(answer["reason"][0]) is Reason.SAVES_TOO_LITTLE


def test_a_copy_of_a_task_that_is_not_its_jobs_last_costs_more_than_it_saves(ask):
    """At 1.9 s left it adds slot time, and the job ends no sooner."""
    answer = ask([1.9, 9.0], BUSY)
    assert answer["gain"][0] == 0.0 < answer["price"][0]
    assert Reason(answer["reason"][0]) is Reason.PRICE_TOO_HIGH


def test_waiting_originals_of_a_job_end_last(ask):
    """Its five wait for ten slots, alone: 1.5 rounds of 1.65 s are longer than the copy, and shorter than the task."""
    answer = ask([4.0], BUSY, jobs={"waiting": 5})
    assert answer["gain"][0] == pytest.approx(4.0 - 1.5 * FRESH_S)


def test_on_idle_slots_a_copy_need_not_save_slot_time(ask):
    """Nobody waits, so the price is 0 if slowness is not shared. It adds 1.6 + 1 - 2.5 slot-seconds."""
    answer = ask([2.5], IDLE)
    assert answer["copies"].tolist() == [1]
    assert (answer["gain"][0], answer["price"][0]) == pytest.approx((0.9, 0.0))


def test_small_savings_of_slot_time_and_small_leads_are_chance(ask):
    """At 2.1 s left, of which a copy would save 0.076 slot-seconds; and at less than 1.3 fresh copies on idle slots."""
    assert ask([2.1], BUSY)["copies"].tolist() == [0]
    assert ask([2.1], BUSY, {"least_saving": 0.0})["copies"].tolist() == [1]
    assert ask([2.1], IDLE)["copies"].tolist() == [0]
    assert ask([2.1], IDLE, {"sooner_times": 1.0, "sooner_by_s": 0.1})["copies"].tolist() == [1]


def test_idle_slots_bound_copies_that_add_slot_time(ask):
    """The one that gains most gets the only one; those that save slot time are not bound by it."""
    answer = ask([2.3, 2.4, 2.5, 9.0], IDLE | {"idle": 1})
    assert answer["copies"].tolist() == [0, 0, 1, 1]
    assert Reason(answer["reason"][0]) is Reason.ORIGINALS_WAIT


def test_a_task_that_has_had_all_its_attempts_takes_no_idle_slot(ask):
    """It gains more than the other one, which may be copied."""
    answer = ask([2.4, 2.5], IDLE | {"idle": 1}, attempts_started=[1, MOST_ATTEMPTS])
    assert answer["copies"].tolist() == [1, 0]
    assert Reason(answer["reason"][1]) is Reason.MOST_ATTEMPTS


def test_the_more_slowness_is_kept_the_less_a_copy_is_worth(ask):
    """An attempt that is six times as slow has 4 s left; an equally slow copy ends no sooner, and is ended."""
    gains = [ask([4.0], BUSY | {"kept_slowness": kept}, slowness=[6.0])["gain"][0] for kept in (0.0, 0.4, 0.7)]
    assert gains == pytest.approx([2.25, 0.6 * 2.25, 0.3 * 2.25])


def test_idle_slots_cost_nothing(ask):
    """Half of the slowness kept: the copy adds (0.1 + 1) / 2 slot-seconds that nobody waits for."""
    answer = ask([2.5], IDLE | {"kept_slowness": 0.5}, slowness=[6.0])
    assert (answer["price"][0], answer["gain"][0]) == pytest.approx((0.0, 0.45))
    assert answer["copies"].tolist() == [1]


def test_a_task_whose_copy_was_as_slow_gets_no_further_one(ask):
    """Its own evidence counts above what its application shows, and the other way round."""
    pool = BUSY | {"kept_slowness": 0.5}
    assert ask([9.0], pool, slowness=[8.0])["copies"].tolist() == [1]
    assert ask([9.0], pool, slowness=[8.0], likeness=[3.0])["copies"].tolist() == [0]
    unlike = ask([9.0], pool, slowness=[8.0], likeness=[-5.0])
    assert unlike["gain"][0] == pytest.approx(ask([9.0], BUSY, slowness=[8.0])["gain"][0], rel=0.02)


@pytest.mark.parametrize("t_rem_s", [2.0, 3.0, 3.5, 8.0])
def test_where_slowness_is_most_likely_shared_ras_decides(running, t_rem_s):
    """A copy is predicted to take the geometric mean of both times, as the engine's `t_new_s` does."""
    t_new_s = FRESH_S * 2.0**0.8
    columns = {"t_fresh_s": [FRESH_S], "slowness": [2.0]}
    view = running([t_rem_s], [t_new_s], pools=BUSY | {"kept_slowness": 0.8}, **columns)
    assert unified.speculate(view)["copies"] == speculator("ras").speculate(view)["copies"]


def test_without_kills_all_attempts_run_to_the_end(ask):
    """Two slots for 1.75 s are less than one for 4 s, and for 1.7 s more than one for 3.3 s."""
    keep = {"end_beaten": 0.0}
    assert ask([4.0], BUSY, keep)["price"][0] == pytest.approx(0.3 * (2 * 1.75 - 4.0))
    assert ask([3.3], BUSY, keep)["price"][0] == pytest.approx(0.3 * (2 * (2 - 1 / 3.3) - 3.3))


def test_while_originals_wait_a_copy_that_adds_slot_time_gains_many_times_its_price(ask):
    """Half of the slowness kept, an equally slow copy runs for 3.3 s in vain: 1.7 slot-seconds, at .3 a waiting job."""
    keep, half = {"end_beaten": 0.0}, {"kept_slowness": 0.5}
    dear, cheap = (BUSY | half | {"slots": slots} for slots in (10, 100))
    for pool, copies in ((dear, [0]), (cheap, [1])):
        answer = ask([3.3], pool, keep, slowness=[6.0])
        assert answer["copies"].tolist() == copies
        assert answer["gain"][0] > answer["price"][0] > 0.0
    assert ask([3.3], dear, keep | {"worth_times": 1.0}, slowness=[6.0])["copies"].tolist() == [1]
    assert ask([3.3], cheap | {"kept_slowness": 0.8}, keep, slowness=[6.0])["copies"].tolist() == [0]


def test_unknown_times_promise_nothing(ask):
    answer = ask([inf, 4.0], BUSY, t_fresh_s=[FRESH_S, inf])
    assert [Reason(code) for code in answer["reason"]] == [Reason.UNKNOWN_DEMAND] * 2
    assert not answer["copies"].any()


def test_a_bigger_task_is_no_straggler(ask):
    """It is as fast as its siblings, so a copy on an idle slot would be no faster."""
    columns = {"relative_size": [1.0, 3.0], "elapsed_s": [1.0, 1.0], "sibling_rate": [1.0, 1.0]}
    answer = ask([0.5, 3.0], IDLE | {"tell_s": 2.0}, progress_rate=[1.0, 1.0], **columns)
    assert Reason(answer["reason"][1]) is Reason.SKEW_NOT_STRAGGLER


def test_its_allocator_serves_the_least_work_first(pool):
    """As `srpt`, whose kernel it is."""
    slots, claimants = pool(10, [9.0, 3.0, 5.0], usable=[9, 3, 5])
    targets = allocator("unified").allocate(slots, claimants)["target"]
    assert targets.tolist() == [2, 3, 5]
    np.testing.assert_array_equal(targets, allocator("srpt").allocate(slots, claimants)["target"])


BEFORE_DEADLINE = {"stages": {"deadline_s": 5.0, "finished_from": -1, "finished_to": -1}, "jobs": {"age_s": 3.0}}
"""Five of eight seconds are left, of which a fresh attempt takes 1 s at least: it is late in 1 of 25 cases."""


def test_a_job_gains_its_whole_deadline_by_being_in_time(ask):
    """One task will be late for sure, and its copy is not in 96 % of cases; the other is in time by itself."""
    answer = ask([9.0, 4.9], IDLE, **BEFORE_DEADLINE)
    assert answer["gain"].tolist() == pytest.approx([0.96 * 8.0, 0.0])
    assert answer["copies"].tolist() == [1, 0]


def test_uncertain_estimates_make_a_task_late_that_seems_to_be_in_time(ask):
    """By Laplace's law: half of (3 / 5) squared with an error of a half."""
    answer = ask([3.0], IDLE | {"foretold_error": 0.5}, **BEFORE_DEADLINE)
    assert answer["gain"][0] == pytest.approx(0.5 * 0.6**2 * 0.96 * 8.0)
    assert answer["copies"].tolist() == [1]


def test_a_further_copy_gains_by_what_the_first_leaves(ask):
    """The first is late in 4 % of cases."""
    answer = ask([9.0], IDLE, running_attempts=[2], **BEFORE_DEADLINE)
    assert answer["gain"][0] == pytest.approx(0.04 * 0.96 * 8.0)


def test_a_little_more_likely_is_chance(ask):
    """With an error of a quarter the task is late in 1.9 % of cases, and the copy adds slot time."""
    pool = IDLE | {"foretold_error": 0.25}
    assert ask([2.2], pool, **BEFORE_DEADLINE)["copies"].tolist() == [0]
    assert ask([2.2], pool, {"least_more_likely": 0.01}, **BEFORE_DEADLINE)["copies"].tolist() == [1]


def test_an_equally_slow_copy_is_in_time_or_not(ask):
    """Half of the slowness is kept: at six times the usual time the copy would be as late, at twice it would not."""
    slow, less_slow = (
        ask([9.0], IDLE | {"kept_slowness": 0.5}, slowness=[slowness], **BEFORE_DEADLINE) for slowness in (6.0, 2.0)
    )
    assert slow["gain"][0] == pytest.approx(0.5 * 0.96 * 8.0)
    assert less_slow["gain"][0] == pytest.approx((0.5 * 0.96 + 0.5) * 8.0)


def test_an_equally_slow_copy_is_as_late_though_its_original_may_be_in_time(ask):
    """The original has 4 s to go by uncertain estimates; at six times the usual time a copy needs 9.9 s, and has 5."""
    pool = IDLE | {"foretold_error": 0.5, "kept_slowness": 0.6}
    answer = ask([4.0], pool, slowness=[6.0], **BEFORE_DEADLINE)
    assert answer["gain"][0] == pytest.approx(0.5 * 0.8**2 * 0.4 * 0.96 * 8.0)


@pytest.mark.parametrize("deadline_s", [1.0, -2.0])
def test_a_job_that_is_late_whatever_it_gets_is_one_without_a_deadline(ask, deadline_s):
    late = BEFORE_DEADLINE | {"stages": {"deadline_s": deadline_s, "finished_from": -1, "finished_to": -1}}
    assert ask([4.0], BUSY, **late).tobytes() == ask([4.0], BUSY).tobytes()


def test_a_copy_for_a_deadline_need_not_save_slot_time_while_a_job_waits(ask):
    """Neither would end long before the other, but estimates are wrong by a half."""
    pool = BUSY | {"foretold_error": 0.5}
    assert ask([2.0], pool)["copies"].tolist() == [0]
    sooner = {"stages": {"deadline_s": 2.5, "finished_from": -1, "finished_to": -1}}
    assert ask([2.0], pool, **BEFORE_DEADLINE | sooner)["copies"].tolist() == [1]


def test_a_task_gets_as_many_copies_at_once_as_each_make_it_more_likely(ask):
    """With 1 and 3/4 s for a fresh one: a copy is late in 9 of 16 cases, and adds .44, .25, .14, .08, .04."""
    near = {"stages": {"deadline_s": 4.0 / 3.0, "finished_from": -1, "finished_to": -1}}
    answer = ask([9.0], IDLE, copies_left=[5], **BEFORE_DEADLINE | near)
    assert answer["copies"].tolist() == [4]
    assert ask([9.0], IDLE, copies_left=[2], **BEFORE_DEADLINE | near)["copies"].tolist() == [2]


def bounded(needed, undone, **columns):
    """A stage of this many tasks that have not ended, of which its job's error bound needs so many."""
    return {
        "stages": {"tasks": undone, "needed": needed, "deadline_s": inf, "finished_from": -1, "finished_to": -1}
    } | columns


def test_a_task_that_an_error_bound_does_not_need_gets_no_copy(ask):
    """The two that end first meet the bound, sooner than a copy of the third could."""
    answer = ask([0.5, 1.0, 9.0], IDLE, **bounded(2, 3))
    assert answer["copies"].tolist() == [0, 0, 0]
    assert Reason(answer["reason"][2]) is Reason.NOT_NEEDED
    assert ask([0.5, 1.0, 9.0], IDLE, **bounded(3, 3))["copies"].tolist() == [0, 0, 1]


def test_an_idle_slot_takes_a_copy_that_may_meet_the_bound_sooner(ask):
    """It takes 1.65 s as a rule and 1 s at least, so it may be the second to end within 1.2 s, in 1.17 s on average."""
    answer = ask([0.5, 1.2, 9.0], IDLE, **bounded(2, 3))
    assert answer["copies"].tolist() == [0, 0, 1]
    assert answer["gain"][2] == pytest.approx(1.2 - (2.0 - 1.0 / 1.2))


def test_a_bound_that_is_met_needs_no_copy(ask):
    answer = ask([9.0], IDLE, **bounded(0, 1))
    assert (answer["copies"].tolist(), Reason(answer["reason"][0])) == ([0], Reason.NOT_NEEDED)


def test_a_copy_is_worth_the_time_by_which_the_bound_is_met_sooner(ask):
    """The second of three ends in 4 s and meets it, with a copy of it in 1.75; so with one of the third."""
    answer = ask([1.0, 4.0, 9.0], BUSY, **bounded(2, 3))
    assert answer["gain"].tolist() == pytest.approx([0.0, 2.25, 2.25])
    assert ask([1.0, 4.0, 9.0], BUSY)["gain"].tolist() == pytest.approx([0.0, 0.0, 5.0])


def test_no_attempt_costs_slot_time_after_the_bound_is_met(ask):
    """The third would run for 9 s, but is ended after 4: a copy saves no more by it than by the second."""
    answer = ask([1.0, 4.0, 9.0], BUSY, **bounded(2, 3))
    assert answer["price"][2] == pytest.approx(answer["price"][1]) == pytest.approx(-0.525)


def test_of_two_tasks_that_end_together_either_may_be_the_one_that_meets_the_bound(ask):
    answer = ask([4.0, 4.0], BUSY, **bounded(1, 2))
    assert answer["gain"].tolist() == pytest.approx([2.25, 2.25])


@pytest.mark.parametrize(("needed", "gain"), [(1, 2.25), (4, 4.0 - 1.3 * FRESH_S), (6, 4.0 - 1.5 * FRESH_S)])
def test_originals_that_an_error_bound_does_not_need_delay_nothing(ask, needed, gain):
    """Of five that wait behind the one that runs, none, three or all must end, too, ten at a time."""
    answer = ask([4.0], BUSY, jobs={"waiting": 5}, **bounded(needed, 6))
    assert answer["gain"][0] == pytest.approx(gain)


def test_originals_of_the_jobs_other_stages_still_delay_its_end(ask):
    """Of six that wait, one is of the stage that needs a single one of its three tasks, and two of those run."""
    answer = ask([4.0, 9.0], BUSY, jobs={"waiting": 6}, **bounded(1, 3))
    assert answer["gain"][0] == pytest.approx(4.0 - 1.5 * FRESH_S)


def test_before_a_deadline_a_task_is_as_late_as_the_bound_is_met(ask):
    """The first of two meets it in 3 s, in time but for the estimates' error; the second's own 9 s do not matter."""
    stages = {"tasks": 2, "needed": 1} | BEFORE_DEADLINE["stages"]
    pool = IDLE | {"foretold_error": 0.5}
    answer = ask([3.0, 9.0], pool, **BEFORE_DEADLINE | {"stages": stages})
    assert answer["gain"].tolist() == pytest.approx([0.5 * 0.6**2 * 0.96 * 8.0] * 2)
