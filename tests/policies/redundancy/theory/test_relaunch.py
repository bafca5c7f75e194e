"""Do relaunched jobs take what sampling says, and is the best time to relaunch the best?"""

import itertools
import json
from math import gamma, inf, isinf, isnan
from pathlib import Path

import numpy as np
import pytest

from controlplane.policies.redundancy.theory.execution import every_size, plain
from controlplane.policies.redundancy.theory.queue import busy_share, response_time_s
from controlplane.policies.redundancy.theory.relaunch import (
    best_common_factor,
    cost_optimal_factor,
    latency_optimal_factor,
    many_tasks_factor,
    relaunched,
    straggler_relaunch,
)
from controlplane.policies.redundancy.theory.system import System

pytestmark = pytest.mark.unit

OPTIMA = json.loads((Path(__file__).parents[3] / "golden" / "redundancy_optima.json").read_text())
SYSTEM = System()
SIZES = range(1, SYSTEM.max_tasks + 1)


def drawn(tasks: int, factor: float, tail_index: float, jobs: int = 400_000) -> tuple[np.ndarray, np.ndarray]:
    """Latencies and costs of jobs of unit service time whose unfinished tasks are redrawn."""
    rng = np.random.default_rng([5, tasks])
    first, second = 1 + rng.pareto(tail_index, (2, jobs, tasks))
    run = np.where(first > factor, factor + second, first)
    return run.max(axis=1), run.sum(axis=1)


def printed_cost(tasks: int, factor: float, tail_index: float) -> float:
    """E[Cost] of section V as printed."""
    return tasks * tail_index / (tail_index - 1) * (factor**-tail_index * (1 - factor) + 1)


def near(sample: np.ndarray, formula: float) -> bool:
    return abs(sample.mean() - formula) < 4 * sample.std() / len(sample) ** 0.5


@pytest.mark.parametrize(("tasks", "factor"), [(1, 2.0), (5, 1.2), (5, 3.0), (10, 0.5), (3, 1.0), (4, 0.0)])
def test_moments_are_those_of_drawn_jobs(tasks, factor):
    """With a tail index of 5 the square's sampling error is known, too."""
    latency, cost = drawn(tasks, factor, tail_index=5.0)
    run = relaunched(tasks, factor, tail_index=5.0)
    assert near(latency, run.latency)
    assert near(latency**2, run.latency_squared)
    assert near(cost, run.cost)


def test_the_printed_cost_forgets_what_relaunched_tasks_had_spent():
    """By it every relaunch saves slot time; sampling says otherwise, and so does the paper: w = 1.5 is unstable."""
    _, cost = drawn(tasks=5, factor=1.5, tail_index=5.0)
    assert near(cost, relaunched(5, 1.5, 5.0).cost)
    assert not near(cost, printed_cost(5, 1.5, 5.0))
    run = straggler_relaunch(SYSTEM, [1.5] * 10)
    assert busy_share(SYSTEM, 0.9, run) == pytest.approx(1.033, abs=5e-4)
    printed = 0.9 * printed_cost(1, 1.5, 3.0) / 1.5
    assert printed == pytest.approx(0.767, abs=5e-4)


def test_the_printed_square_has_a_factor_too_many():
    """Gamma(1 - 2/a) / Gamma(1 - 1/a) after f(2), which even without a relaunch gives another square."""
    spurious = gamma(1 - 2 / 5) / gamma(1 - 1 / 5)
    latency, _ = drawn(tasks=5, factor=1e9, tail_index=5.0)
    assert near(latency**2, relaunched(5, 1e9, 5.0).latency_squared)
    assert not near(latency**2, relaunched(5, 1e9, 5.0).latency_squared * spurious)


@pytest.mark.parametrize("best", OPTIMA["factors"], ids=lambda best: str(best["tasks"]))
def test_the_latency_optimal_factor_falls_with_the_tasks(best):
    """Tail index 3; one task is relaunched when that saves slot time, a^2 / (a - 1)."""
    found = latency_optimal_factor(best["tasks"], OPTIMA["slowdown_tail_index"])
    assert found == pytest.approx(best["relaunch_factor"], abs=5e-4)


def test_the_closed_form_is_worse_than_no_relaunch_for_common_jobs():
    """Equation (12) is for tasks without end: at a tail index of 3 it lengthens every job of less than 24 tasks."""
    worse = [
        tasks
        for tasks in range(1, 30)
        if relaunched(tasks, many_tasks_factor(tasks, 3.0), 3.0).latency > plain(tasks, 3.0).latency
    ]
    assert worse == list(range(1, 24))
    printed = every_size(SYSTEM, [relaunched(tasks, many_tasks_factor(tasks, 3.0), 3.0) for tasks in SIZES])
    assert response_time_s(SYSTEM, 0.5, printed) == pytest.approx(37.3, abs=0.05)
    assert isinf(response_time_s(SYSTEM, 0.9, printed))


def test_the_closed_form_is_right_for_very_many_tasks():
    """Within 5 % from about 40 tasks on."""
    for tasks in (60, 200, 1000):
        assert many_tasks_factor(tasks, 3.0) == pytest.approx(latency_optimal_factor(tasks, 3.0), rel=0.05)


@pytest.mark.parametrize("tasks", [1, 5, 50])
def test_the_cost_optimal_factor_is_the_same_for_all_sizes(tasks):
    """Equation (12) is not it; and relaunching saves slot time only later than the tail index."""
    best = cost_optimal_factor(3.0)
    costs = {factor: relaunched(tasks, factor, 3.0).cost for factor in (best - 0.01, best, best + 0.01, 2.9, 3.1)}
    assert min(costs, key=costs.__getitem__) == best
    assert costs[2.9] > plain(tasks, 3.0).cost > costs[3.1]


@pytest.mark.parametrize("best", OPTIMA["common_factors"], ids=lambda best: str(best["offered_load"]))
def test_one_factor_for_all_jobs(best):
    """Figures 8 and 10; with the printed cost it would be 3.78 at 0.9."""
    found = best_common_factor(SYSTEM, best["offered_load"])
    assert found == pytest.approx(best["relaunch_factor"], abs=2e-3)
    run = straggler_relaunch(SYSTEM, [found] * 10)
    assert response_time_s(SYSTEM, best["offered_load"], run) == pytest.approx(best["response_s"], abs=5e-3)


def latency_by_quadrature(tasks: int, factor: float, tail_index: float) -> float:
    """E[max] as the integral of 1 - F^k, F of a task that is redrawn at the factor; in pieces, for F has kinks."""
    late = factor**-tail_index
    ends = (1.0, factor, factor + 1.0, factor + 1e4, factor + 1e15)
    total = 1.0
    for low, high in itertools.pairwise(ends):
        at = low + np.geomspace(1e-6, high - low + 1e-6, 200_001) - 1e-6
        still = np.where(at < factor, at**-tail_index, late * np.maximum(at - factor, 1.0) ** -tail_index)
        total += float(np.trapezoid(-np.expm1(tasks * np.log1p(-np.minimum(still, 1.0 - 1e-16))), at))
    return total


@pytest.mark.parametrize("tail_index", [1.5, 3.0])
def test_a_million_tasks_take_what_quadrature_says_and_their_factor_is_the_best(tail_index):
    """Gamma functions of a million lose some digits: the mean keeps six, and the valley is where it should be."""
    best = latency_optimal_factor(10**6, tail_index)
    at_best = latency_by_quadrature(10**6, best, tail_index)
    assert relaunched(10**6, best, tail_index).latency == pytest.approx(at_best, rel=1e-5)
    for other in (0.5, 0.8, 1.25, 2.0):
        assert latency_by_quadrature(10**6, best * other, tail_index) > at_best


@pytest.mark.parametrize("tail_index", [0.8, 1.0, 1.5, 2.0, 3.0, inf])
@pytest.mark.parametrize("factor", [0.0, 0.5, 1.0, 1.0000001, 2.0, 1e9, 1e200, inf])
@pytest.mark.parametrize("tasks", [1, 1000])
def test_no_input_gives_what_is_not_a_number(tail_index, factor, tasks):
    """Moments that do not exist are infinite."""
    run = relaunched(tasks, factor, tail_index)
    assert not any(isnan(value) for value in (run.latency, run.latency_squared, run.cost))
    assert isinf(run.latency) == (tail_index <= 1)
    assert isinf(run.latency_squared) == (tail_index <= 2)


def test_never_relaunching_changes_nothing():
    """Nor does relaunching before anything has been done."""
    assert relaunched(7, inf, 3.0) == plain(7, 3.0) == relaunched(7, 0.0, 3.0)


def test_a_tail_without_a_mean_is_never_relaunched():
    """No factor makes an infinite latency finite."""
    assert latency_optimal_factor(5, 1.0) == inf
    assert best_common_factor(System(slowdown_tail_index=1.0), 0.5) == inf
