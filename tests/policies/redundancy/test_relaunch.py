"""Are late tasks started anew once, at the age that pays?"""

from math import inf, nan

import numpy as np
import pytest

from controlplane.model.reasons import Reason
from controlplane.policies.redundancy.thresholds import best_factor
from controlplane.policies.registry import speculator

pytestmark = pytest.mark.unit

relaunch = speculator("relaunch")


def judge(running, settings, prepared=inf, **columns):
    """The reason for one task; what is relaunched is wanted, and kills."""
    usual = {"attempts_started": [1], "expected_s": [4.0], "stages": {"prepared": prepared}}
    answer = relaunch.speculate(running([5.0], [4.0], **(usual | columns)), settings)
    reason = Reason(answer["reason"][0])
    assert answer["copies"].tolist() == answer["kill"].tolist() == [reason is Reason.RELAUNCHED]
    return reason


def test_one_factor_for_all_counts_from_what_was_expected(running):
    """Twice the expected 4 s."""
    assert judge(running, {"relaunch_factor": 2.0}, elapsed_s=[7.9]) is Reason.NOT_LONG_ENOUGH
    assert judge(running, {"relaunch_factor": 2.0}, elapsed_s=[8.0]) is Reason.RELAUNCHED


def test_without_a_factor_each_stage_has_its_own(running):
    """The number of its tasks and the tail decide; with no good factor nothing is relaunched."""
    assert judge(running, {}, elapsed_s=[12.0], prepared=3.0) is Reason.RELAUNCHED
    assert judge(running, {}, elapsed_s=[12.0], prepared=3.1) is Reason.NOT_LONG_ENOUGH
    assert judge(running, {}, elapsed_s=[1e9]) is Reason.NOT_LONG_ENOUGH


def test_a_task_is_started_anew_once(running):
    """The paper's rule; a second relaunch would throw away what the first one has done."""
    assert judge(running, {"relaunch_factor": 2.0}, elapsed_s=[80.0], attempts_started=[2]) is Reason.ALREADY_RELAUNCHED


def test_nothing_is_relaunched_on_a_guess(running):
    """Before anything of its stage has finished, nobody knows what is late."""
    assert judge(running, {"relaunch_factor": 2.0}, elapsed_s=[80.0], expected_s=[nan]) is Reason.UNKNOWN_DEMAND


@pytest.mark.parametrize("tasks", [1, 5, 30])
def test_the_best_factor_beats_its_neighbours_in_sampling(tasks):
    """Slowdowns drawn, late ones drawn anew at w: earlier or later by a third takes longer, or no less."""
    tail_index = 3.0
    rng = np.random.default_rng([11, tasks])
    first, second = (1 + rng.pareto(tail_index, (200_000, tasks)) for _ in range(2))

    def latency(factor):
        age = factor * tail_index / (tail_index - 1.0)
        ends = np.where(first > age, age + second, first).max(axis=1)
        return ends.mean(), ends.std() / len(ends) ** 0.5

    best = best_factor(tasks, tail_index)
    at_best, error = latency(best)
    assert all(at_best < latency(best * other)[0] + 4 * error for other in (0.67, 1.5))
    assert latency(best * 0.4)[0] > at_best
