"""Does Hopper give the slots that the paper's text, table and figure give?"""

import json
from pathlib import Path

import numpy as np
import pytest

from controlplane.policies.registry import allocator

pytestmark = pytest.mark.unit

GOLDEN = json.loads((Path(__file__).parents[2] / "golden/hopper_figure_2.json").read_text())
UNFAIR = {"fairness_epsilon": 1.0, "order_by_work": 0.0}
AS_PRINTED = UNFAIR | {"round_up": 0.0}
FAIR = {"fairness_epsilon": 0.0}
hopper = allocator("hopper")


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: f"tail_index={case['tail_index']}")
def test_figure_2_holds_for_just_the_tail_indices_that_give_a_its_spare_slot(pool, case):
    """floor(8 / tail_index) is 5 for 4/3 < tail_index <= 1.6 only: this pins the formula and its rounding."""
    view = pool(GOLDEN["slots"], GOLDEN["remaining_tasks"], tail_index=[case["tail_index"]] * 2)
    assert hopper.allocate(*view, AS_PRINTED)["target"].tolist() == case["target"]
    assert allocator("hopper-as-printed").allocate(*view)["target"].tolist() == case["target"]


def test_epsilon_fairness_is_iterated(pool):
    """One pass would leave the second job with 4 slots where its guarantee is 6."""
    view = pool(20, [10, 10, 10], tail_index=[2.0] * 3)
    assert hopper.allocate(*view, FAIR)["target"].tolist() == [8, 6, 6]


def test_a_job_keeps_no_more_of_its_fair_share_than_it_can_use(pool):
    """Literally a job of two tasks would hold 45 of 100 slots, idle."""
    view = pool(100, [2, 500], usable=[4, 1000])
    assert hopper.allocate(*view)["target"].tolist() == [4, 96]


def test_a_light_tail_never_gives_fewer_slots_than_tasks(pool):
    """The pseudocode's bare 2 / tail_index would: the text's threshold is max(2 / tail_index, 1)."""
    assert hopper.allocate(*pool(20, [8, 8], tail_index=[4.0, 4.0]), UNFAIR)["virtual_size"].tolist() == [8.0, 8.0]
    assert hopper.allocate(*pool(8, [8, 9], tail_index=[4.0, 4.0]), UNFAIR)["target"].tolist() == [8, 0]


def test_plenty_of_slots_is_split_in_proportion_to_virtual_sizes(pool):
    """Guideline 3: larger jobs meet more stragglers and get more of what is over."""
    assert hopper.allocate(*pool(90, [10, 20]), UNFAIR)["target"].tolist() == [30, 60]


def test_exactly_enough_slots_gives_everybody_the_virtual_size(pool):
    """At S = sum V both guidelines agree, so the regime's border is no jump."""
    view = pool(15, [3, 6], tail_index=[1.2, 1.2])
    assert hopper.allocate(*view, UNFAIR)["target"].tolist() == [5, 10]


def test_slots_are_short_by_what_jobs_can_use(pool):
    """V is 8 and 12, of which 4 and 9 can be used: 15 slots are no shortage, and Guideline 3 hands out the last two."""
    view = pool(15, [6, 9], tail_index=[1.5, 1.5], usable=[4, 11])
    assert hopper.allocate(*view, UNFAIR)["target"].tolist() == [4, 11]


@pytest.mark.parametrize(("order_by_work", "first"), [(0.0, [9.0, 12.0]), (1.0, [18.0, 15.0])])
def test_below_their_targets_the_smallest_goes_first(pool, order_by_work, first):
    """Free slots go in the order in which they were allocated: by max(V, V') as printed, or by the work left."""
    view = pool(6, [9, 3], tail_index=[2.0, 2.0], downstream_tasks=[0, 12], remaining_work_s=[18.0, 15.0])
    answer = hopper.allocate(*view, UNFAIR | {"order_by_work": order_by_work})
    assert answer["precedence"].tolist() == first
    assert answer["target"].tolist() == [[6, 0], [3, 3]][int(order_by_work)]


def test_short_slots_go_to_the_smallest_job_whatever_the_rows(pool):
    """Guideline 2 is SRPT on virtual sizes."""
    assert hopper.allocate(*pool(6, [9, 3], tail_index=[2.0, 2.0]), UNFAIR)["target"].tolist() == [3, 3]


def test_a_large_downstream_phase_moves_a_job_back_but_gives_it_no_slots(pool):
    """max(V, V') orders; only V is handed out."""
    view = pool(5, [3, 4], downstream_tasks=[9, 0], tail_index=[2.0, 2.0])
    allocation = hopper.allocate(*view, UNFAIR)
    assert allocation["target"].tolist() == [1, 4]
    assert allocation["virtual_size"].tolist() == [3.0, 4.0]


def test_the_transfer_ratio_counts_by_its_square_root(pool):
    """V = max(2 / tail_index, 1) T sqrt(transfer ratio)."""
    assert hopper.allocate(*pool(9, [4], transfer_ratio=[0.25], tail_index=[2.0]))["virtual_size"].tolist() == [2.0]


def test_odd_slots_are_not_left_idle(pool):
    """Pseudocode 1 rounds down and would waste a slot here."""
    assert hopper.allocate(*pool(5, [2, 2], tail_index=[1.6, 1.6]), UNFAIR)["target"].tolist() == [3, 2]


@pytest.mark.parametrize(("tail_index", "multiplier"), [(1.0, 2.0), (0.5, 2.0), (0.01, 2.0), (2.0, 1.0), (9.0, 1.0)])
def test_the_multiplier_stays_between_one_and_its_cap(pool, tail_index, multiplier):
    """A tail index of 1 or less would ask for ever more copies; GRASS stops at two."""
    assert hopper.allocate(*pool(9, [4], tail_index=[tail_index]))["virtual_size"].tolist() == [4 * multiplier]


@pytest.mark.parametrize("unknown", [np.nan, 0.0, -1.0])
def test_an_unknown_tail_claims_one_slot_a_task(pool, unknown):
    """No evidence of stragglers is no reason to hold slots for copies."""
    assert hopper.allocate(*pool(9, [4], tail_index=[unknown]))["virtual_size"].tolist() == [4.0]


def test_every_job_has_a_slot_while_slots_last_even_if_its_size_rounds_to_nothing(pool):
    """A small transfer ratio makes V less than 1; the smallest job would starve."""
    view = pool(3, [1, 1, 50], transfer_ratio=[0.01, 0.01, 1.0])
    assert hopper.allocate(*view, UNFAIR)["target"].tolist() == [1, 1, 1]


def test_fewer_slots_than_jobs_serves_the_smallest(pool):
    """The fair share is 0 in whole slots then."""
    assert hopper.allocate(*pool(2, [3, 1, 2, 1]), {"round_up": 0.0})["target"].tolist() == [0, 1, 0, 1]


def test_the_last_task_of_a_small_job_has_a_slot_for_its_copy(pool):
    """Rounded down, 2 / tail_index times one task is one slot, and a straggler at the end is never copied."""
    view = pool(8, [1, 30], tail_index=[1.5, 1.5])
    assert hopper.allocate(*view, UNFAIR)["target"].tolist() == [2, 6]
    assert hopper.allocate(*view, AS_PRINTED)["target"].tolist() == [1, 7]


@pytest.mark.parametrize(("slots", "tasks"), [(5, []), (0, [3, 4]), (5, [0, 0])])
def test_nothing_to_share_or_nobody_to_share_it_is_no_error(pool, slots, tasks):
    """No division by zero, and no target beyond what can be used."""
    view = pool(slots, tasks, usable=tasks)
    assert hopper.allocate(*view)["target"].tolist() == [0] * len(tasks)


def test_equal_jobs_are_served_by_arrival(pool):
    """Whatever their rows."""
    view = pool(3, [3, 3], arrival_s=[2, 1], tail_index=[2.0, 2.0])
    assert hopper.allocate(*view, UNFAIR)["target"].tolist() == [0, 3]
