"""Are GRASS's rates with copies of late tasks those of drawn tasks, and do its waits and Figure 4 come out?"""

import numpy as np
import pytest
from scipy.optimize import brentq

from controlplane.policies.grass.theory import proactive
from controlplane.policies.grass.theory.reactive import (
    early_rate,
    gs_wait,
    last_wave_tasks,
    race_left,
    ras_wait,
    response_time,
    service_rate,
)
from controlplane.policies.grass.theory.task_times import mean_left, mean_time, share_beyond
from controlplane.policies.redundancy.theory.search import least

pytestmark = pytest.mark.unit

TAIL_INDEX, SLOTS = 1.259, 100
"""Those of the paper's Figures 3 and 4; the number of slots hardly matters."""


def drawn(tail_index: float, tasks: int = 1_000_000) -> tuple[np.ndarray, np.ndarray]:
    """Times of originals and of their copies."""
    first, second = 1 + np.random.default_rng(4).pareto(tail_index, (2, tasks))
    return first, second


def near(sample: np.ndarray, formula: float) -> bool:
    return abs(sample.mean() - formula) < 4 * sample.std() / len(sample) ** 0.5


@pytest.mark.parametrize("tail_index", [TAIL_INDEX, 1.6, 3.0])
@pytest.mark.parametrize("wait", [0.0, 0.4, 1.0, 1.259, 2.518, 5.0])
def test_the_early_rate_is_that_of_drawn_tasks(wait, tail_index):
    """What a task costs that is copied when late; the lesser of two has a variance even where one has none."""
    first, second = drawn(tail_index)
    cost = np.where(first < wait, first, wait + 2 * (np.minimum(first, second + wait) - wait))
    assert near(cost, mean_time(tail_index) / early_rate(wait, tail_index))
    late = first >= wait
    assert near((np.minimum(first, second + wait) - wait)[late], race_left(wait, tail_index))


def test_a_wait_of_nothing_is_two_attempts_at_once_and_one_without_end_is_none():
    """Both ends of equation (3) are cases of (1)."""
    assert early_rate(0.0, TAIL_INDEX) == pytest.approx(proactive.blow_up(2, TAIL_INDEX))
    assert early_rate(1e12, 3.0) == pytest.approx(1.0)


@pytest.mark.parametrize("wait", [0.5, 1.259, 4.0])
def test_the_last_wave_begins_where_tasks_and_their_copies_leave_slots_over(wait):
    """From there on tasks start with as many attempts as fill the slots."""
    tasks = last_wave_tasks(wait, SLOTS, TAIL_INDEX)
    assert tasks * ((1 - share_beyond(wait, TAIL_INDEX)) + 2 * share_beyond(wait, TAIL_INDEX)) == pytest.approx(SLOTS)
    assert service_rate(tasks + 1e-9, wait, SLOTS, TAIL_INDEX) == early_rate(wait, TAIL_INDEX)
    best = proactive.best_attempts(tasks - 1e-9, SLOTS, TAIL_INDEX)
    last = service_rate(tasks - 1e-9, wait, SLOTS, TAIL_INDEX)
    assert last == proactive.service_rate(tasks - 1e-9, best, SLOTS, TAIL_INDEX)


@pytest.mark.parametrize("tail_index", [1.1, TAIL_INDEX, 1.9])
@pytest.mark.parametrize(("wait", "times"), [(gs_wait, 1.0), (ras_wait, 2.0)])
def test_gs_and_ras_wait_until_what_is_left_is_one_or_two_new_tasks(wait, times, tail_index):
    """The one root above the shortest task's time, found numerically."""
    found = brentq(lambda time: mean_left(time, tail_index) - times * mean_time(tail_index), 1.0, 100.0)
    assert wait(tail_index) == pytest.approx(found)


@pytest.mark.parametrize("tasks", [40, 70, 300])
def test_a_response_time_is_the_work_over_its_rate(tasks):
    """By small steps through the tasks that are left, each at its own rate."""
    left = (np.arange(20_000) + 0.5) * tasks / 20_000
    rates = [service_rate(one, 2.0, SLOTS, TAIL_INDEX) for one in left]
    stepped = mean_time(TAIL_INDEX) / SLOTS * np.mean(1 / np.array(rates)) * tasks
    assert response_time(tasks, 2.0, SLOTS, TAIL_INDEX) == pytest.approx(stepped, rel=1e-5)


@pytest.mark.parametrize(
    ("waves", "gs", "ras"), [(1, 1.0011, 1.0032), (2, 1.0129, 1.0001), (3, 1.0211, 1.0000), (5, 1.0302, 1.0003)]
)
def test_figure_4(waves, gs, ras):
    """Response times over the least of any wait up to 5, against numbers that another program found."""
    best = least(lambda wait: response_time(waves * SLOTS, wait, SLOTS, TAIL_INDEX), 0.05, 5.0)
    least_time = response_time(waves * SLOTS, best, SLOTS, TAIL_INDEX)
    for wait, ratio in ((gs_wait, gs), (ras_wait, ras)):
        mine = response_time(waves * SLOTS, wait(TAIL_INDEX), SLOTS, TAIL_INDEX)
        assert mine / least_time == pytest.approx(ratio, abs=6e-5)


@pytest.mark.parametrize(
    "ask",
    [
        lambda tail_index: early_rate(2.0, tail_index),
        lambda tail_index: service_rate(1.0, 2.0, SLOTS, tail_index),
        lambda tail_index: response_time(200, 2.0, SLOTS, tail_index),
        gs_wait,
        ras_wait,
    ],
)
def test_times_without_a_mean_are_refused(ask):
    """A job of such tasks has no response time, and GS and RAS no wait."""
    with pytest.raises(ValueError, match=r"^tail_index: got 1.0, want > 1"):
        ask(1.0)


def test_with_light_tails_late_copies_still_pay():
    """Guideline 1 is about copies from the start: those of late tasks gain at a tail index of 2.5, too, if few."""
    assert early_rate(ras_wait(2.5), 2.5) > 1.01
    assert early_rate(gs_wait(2.5), 2.5) < 1.0
    assert proactive.best_attempts(1000, SLOTS, 2.5) == 1.0
