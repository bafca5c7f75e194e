"""Is the number of copies that GRASS's Theorem 1 names the best there is, and are its rates those of drawn tasks?"""

import numpy as np
import pytest

from controlplane.policies.grass.theory.proactive import best_attempts, blow_up, early_attempts, service_rate
from controlplane.policies.grass.theory.task_times import mean_left, mean_time, mean_within, share_beyond
from controlplane.policies.redundancy.theory.replication import replicated

pytestmark = pytest.mark.unit

TAIL_INDICES = [1.05, 1.259, 1.6, 2.0, 3.0]
SLOTS = 12


@pytest.mark.parametrize("tail_index", TAIL_INDICES)
@pytest.mark.parametrize("remaining_tasks", [0.3, 1.0, 2.5, 7.0, 7.6, 9.0, 12.0, 40.0])
def test_no_other_number_of_attempts_gives_a_higher_rate(remaining_tasks, tail_index):
    """Theorem 1, by trying all numbers from 1 to the slots in steps of a hundredth: equation (2) against (1)."""
    rates = {k: service_rate(remaining_tasks, k, SLOTS, tail_index) for k in np.arange(1, SLOTS + 0.005, 0.01)}
    best = best_attempts(remaining_tasks, SLOTS, tail_index)
    assert service_rate(remaining_tasks, best, SLOTS, tail_index) >= max(rates.values()) * (1 - 1e-12)
    assert best == pytest.approx(max(rates, key=rates.__getitem__), abs=0.011)


def test_each_case_of_the_theorem_has_its_number():
    """Early waves, the last one, and the last task; at the edges two cases agree."""
    sigma = early_attempts(1.25)
    assert sigma == 1.6
    assert best_attempts(8.0, 8, 1.25) == best_attempts(8 / sigma, 8, 1.25) == sigma
    assert best_attempts(4.0, 8, 1.25) == 2.0
    assert best_attempts(1.0, 8, 1.25) == best_attempts(0.9, 8, 1.25) == 8.0


@pytest.mark.parametrize("attempts", [1, 2, 5])
@pytest.mark.parametrize("tail_index", [1.259, 3.0])
def test_work_over_work_spent_is_that_of_replicated_tasks(attempts, tail_index):
    """The redundancy paper's moments say the same in other words."""
    one, all_of_them = replicated(1, 1, tail_index), replicated(1, attempts, tail_index)
    assert blow_up(attempts, tail_index) == pytest.approx(one.cost / all_of_them.cost)


@pytest.mark.parametrize(("remaining_tasks", "used"), [(0.2, 0.2), (1.0, 0.2), (3.0, 0.6), (5.0, 1.0), (50.0, 1.0)])
def test_a_job_uses_what_its_attempts_fill_and_no_more_than_all(remaining_tasks, used):
    """Equation (1), first factor: between the attempts of one task and all ten slots."""
    assert service_rate(remaining_tasks, 2.0, 10, 3.0) == pytest.approx(used * blow_up(2.0, 3.0))


@pytest.mark.parametrize("time", [0.0, 0.5, 1.0, 1.3, 4.0])
def test_moments_are_those_of_drawn_tasks(time):
    """With a tail index of 5 all sampling errors are known."""
    drawn, tail_index = 1 + np.random.default_rng(3).pareto(5.0, 1_000_000), 5.0
    late = drawn[drawn >= time]
    assert drawn.mean() == pytest.approx(mean_time(tail_index), rel=2e-3)
    assert len(late) / len(drawn) == pytest.approx(share_beyond(time, tail_index), abs=2e-3)
    assert np.where(drawn < time, drawn, 0).mean() == pytest.approx(mean_within(time, tail_index), abs=2e-3)
    error = late.std() / len(late) ** 0.5
    assert (late - time).mean() == pytest.approx(mean_left(time, tail_index), abs=4 * error)


@pytest.mark.parametrize("tail_index", [1.0, 0.7, float("nan")])
def test_times_without_a_mean_are_refused(tail_index):
    """No rate is defined for them, neither with copies nor without."""
    for ask in (lambda: blow_up(2, tail_index), lambda: best_attempts(5, 9, tail_index)):
        with pytest.raises(ValueError, match=r"^tail_index: got .*, want > 1"):
            ask()
