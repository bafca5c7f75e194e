"""Do copies of every task shorten a job as sampling says, and are they started only while they pay?"""

from dataclasses import replace

import numpy as np
import pytest

from controlplane.policies.redundancy.execution import small_and_large
from controlplane.policies.redundancy.queue import response_time_s
from controlplane.policies.redundancy.redundant_small import unexpanded
from controlplane.policies.redundancy.replication import copies_at_start, replicated, replication_threshold_s
from controlplane.policies.redundancy.system import System

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


def test_small_jobs_get_copies_while_the_load_allows():
    """Demand is tasks times service time; what is unknown, or too large to be reckoned with, is not copied."""
    best = replication_threshold_s(SYSTEM, 0.7, 2)

    def copies(tasks: int, service_s: float, load: float = 0.7) -> int:
        return copies_at_start(SYSTEM, load, tasks, service_s, copies=2)

    assert [copies(2, best / 2 * share) for share in (0.99, 1.01)] == [2, 1]
    assert copies(1, 10.0, load=0.97) == 1
    assert [copies(3, service_s) for service_s in (0.0, float("nan"), float("inf"))] == [1, 1, 1]
    assert copies(11, 0.1) == 1


def test_every_job_is_copied_if_that_is_best():
    """At little load the threshold is infinite, even for jobs larger than the system reckons with."""
    idle = replace(SYSTEM, nodes=200)
    assert copies_at_start(idle, 0.1, tasks=50, service_s=1e6, copies=2) == 2
