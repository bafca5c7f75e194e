"""Do copies of every task shorten a job as sampling says, and is the threshold below which they pay the best one?"""

import numpy as np
import pytest

from controlplane.policies.redundancy.theory.execution import small_and_large
from controlplane.policies.redundancy.theory.queue import response_time_s
from controlplane.policies.redundancy.theory.redundant_small import unexpanded
from controlplane.policies.redundancy.theory.replication import replicated, replication_threshold_s
from controlplane.policies.redundancy.theory.system import System

pytestmark = pytest.mark.unit

SYSTEM = System()


def test_a_job_of_copied_tasks_takes_what_sampling_says():
    """Each task ends with the first of its copies, and so do the copies."""
    rng = np.random.default_rng([7, 0])
    fastest = (1 + rng.pareto(2.5, (200_000, 6, 2))).min(axis=2)
    run = replicated(tasks=6, copies=2, tail_index=2.5)
    for sample, formula in (
        (fastest.max(axis=1), run.latency),
        (fastest.max(axis=1) ** 2, run.latency_squared),
        (2 * fastest.sum(axis=1), run.cost),
    ):
        assert abs(sample.mean() - formula) < 4 * sample.std() / len(sample) ** 0.5


def test_copies_give_a_tail_without_a_mean_one():
    """Two Pareto variables of tail index 0.8 have a minimum of tail index 1.6."""
    assert replicated(tasks=1, copies=2, tail_index=0.8).latency == pytest.approx(1.6 / 0.6)


def test_the_threshold_is_the_best_for_replication():
    """No other threshold of a fine grid has a smaller response time."""

    def response_s(threshold_s: float) -> float:
        small = [replicated(tasks, 2, SYSTEM.slowdown_tail_index) for tasks in range(1, 11)]
        return response_time_s(SYSTEM, 0.7, small_and_large(SYSTEM, threshold_s, small, unexpanded(SYSTEM)))

    best = replication_threshold_s(SYSTEM, 0.7, 2)
    assert 10 < best < 1000
    assert response_s(best) <= min(response_s(float(d)) for d in np.geomspace(10, 2000, 300)) + 1e-9
