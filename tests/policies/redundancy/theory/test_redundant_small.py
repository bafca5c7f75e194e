"""Do latency, cost and the best threshold come out as the paper's system demands?"""

import json
from dataclasses import replace
from math import inf, isinf, isnan
from pathlib import Path

import numpy as np
import pytest

from controlplane.policies.redundancy.theory.execution import Execution, coded, plain, small_and_large
from controlplane.policies.redundancy.theory.order_statistics import expanded_tasks
from controlplane.policies.redundancy.theory.queue import response_time_s
from controlplane.policies.redundancy.theory.redundant_small import (
    best_threshold_s,
    expanded,
    redundant_small,
    unexpanded,
)
from controlplane.policies.redundancy.theory.system import System, job_size_shares, mean_tasks, service_moment

pytestmark = pytest.mark.unit

OPTIMA = json.loads((Path(__file__).parents[3] / "golden" / "redundancy_optima.json").read_text())
SYSTEM = System()
FIVES = System(service_tail_index=5.0, slowdown_tail_index=5.0)
WIDE_FIVES = replace(FIVES, max_task_slots=3)


def drawn(system: System, rate: float, threshold_s: float, jobs: int = 400_000) -> tuple[np.ndarray, np.ndarray]:
    """Latencies and costs of jobs drawn one by one."""
    rng = np.random.default_rng([3, jobs])
    tasks = rng.choice(np.arange(1, system.max_tasks + 1), jobs, p=job_size_shares(system))
    service_s = system.min_service_s * (1 + rng.pareto(system.service_tail_index, jobs))
    task_slots = rng.integers(1, system.max_task_slots, jobs, endpoint=True)
    latency, cost = np.empty(jobs), np.empty(jobs)
    for k in range(1, system.max_tasks + 1):
        for small in (False, True):
            rows = np.flatnonzero((tasks == k) & ((tasks * task_slots * service_s <= threshold_s) == small))
            n = expanded_tasks(k, rate) if small else k
            slowdown = np.sort(1 + rng.pareto(system.slowdown_tail_index, (len(rows), n)))
            latency[rows] = service_s[rows] * slowdown[:, k - 1]
            each = slowdown[:, :k].sum(axis=1) + (n - k) * slowdown[:, k - 1]
            cost[rows] = task_slots[rows] * service_s[rows] * each
    return latency, cost


def literal(system: System, rate: float, threshold_s: float) -> tuple[float, float]:
    """Equations (3) and (4) as printed: sizes weighted as if nothing were known of the demand."""
    sizes, shares = range(1, system.max_tasks + 1), job_size_shares(system)
    chance = {k: service_moment(system, 0, up_to_s=threshold_s / k) for k in sizes}
    small = sum(share * chance[k] for k, share in zip(sizes, shares, strict=True))
    latency = cost = 0.0
    for k, share in zip(sizes, shares, strict=True):
        low = service_moment(system, up_to_s=threshold_s / k) / chance[k] if chance[k] else 0.0
        high = service_moment(system, above_s=threshold_s / k) / (1 - chance[k])
        run, kept = coded(k, expanded_tasks(k, rate), system.slowdown_tail_index), plain(k, system.slowdown_tail_index)
        latency += share * (small * low * run.latency + (1 - small) * high * kept.latency)
        cost += share * (small * low * run.cost + (1 - small) * high * kept.cost)
    return latency, cost


def test_the_default_system_has_its_known_moments():
    """Reckoned independently for N = 20, C = 10, kmax = 10, bmin = 10, both tail indices 3."""
    run = redundant_small(SYSTEM, 2.0, 0.0)
    known = [mean_tasks(SYSTEM), run.latency, run.latency_squared, run.cost]
    assert known == pytest.approx([3.41417, 29.9557, 1778.23, 76.8189], rel=5e-6)


def test_expanding_all_jobs_has_its_known_moments():
    """r = 2 and no threshold."""
    run = redundant_small(SYSTEM, 2.0, inf)
    assert (run.latency, run.cost) == (pytest.approx(18.4041, abs=5e-5), pytest.approx(121.862, abs=5e-4))


@pytest.mark.parametrize(
    ("system", "rate", "threshold_s"),
    [(SYSTEM, 2.0, 50.0), (FIVES, 2.0, 40.0), (FIVES, 1.1, 70.0), (WIDE_FIVES, 2.0, 90.0)],
)
def test_moments_are_those_of_drawn_jobs(system, rate, threshold_s):
    """Sizes are weighted with the chance of their own that the demand is small."""
    run = redundant_small(system, rate, threshold_s)
    for sample, formula in zip(drawn(system, rate, threshold_s), (run.latency, run.cost), strict=True):
        assert abs(sample.mean() - formula) < 4 * sample.std() / len(sample) ** 0.5


def test_the_printed_conditioning_is_wrong():
    """K and {K B <= d} depend on each other: with tail indices 5, r = 2 and d = 40 the print says 20.51 for 16.89."""
    run = redundant_small(FIVES, 2.0, 40.0)
    assert (run.latency, run.cost) == (pytest.approx(16.89, abs=0.005), pytest.approx(64.2, abs=0.05))
    assert literal(FIVES, 2.0, 40.0) == (pytest.approx(20.51, abs=0.005), pytest.approx(47.2, abs=0.05))


def test_without_small_jobs_the_cost_is_demand_times_slowdown():
    """The approximation of E[Cost] prints E[k] E[D] E[S], which counts the tasks twice: D is k B already."""
    demand_s = mean_tasks(SYSTEM) * service_moment(SYSTEM)
    cost = redundant_small(SYSTEM, 2.0, 0.0).cost
    assert cost == pytest.approx(demand_s * 1.5)
    assert cost < mean_tasks(SYSTEM) * demand_s * 1.5 / 3


@pytest.mark.parametrize("best", OPTIMA["thresholds"], ids=lambda best: str(best["offered_load"]))
def test_the_best_threshold_falls_with_the_load(best):
    """Figure 6: up to 0.5 all jobs may be expanded, at 0.9 none should be."""
    found_s = best_threshold_s(SYSTEM, best["offered_load"], expanded(SYSTEM, OPTIMA["expansion_rate"]))
    run = redundant_small(SYSTEM, OPTIMA["expansion_rate"], found_s)
    assert response_time_s(SYSTEM, best["offered_load"], run) == pytest.approx(best["response_s"], abs=1e-3)
    assert found_s == pytest.approx(inf if best["threshold_s"] is None else best["threshold_s"], abs=0.05)


@pytest.mark.parametrize(("offered_load", "threshold_s"), [(0.6, 108.9), (0.7, 62.0), (0.8, 30.0), (0.9, 0.0)])
def test_the_large_scale_formula_has_other_best_thresholds(offered_load, threshold_s):
    """With the load in place of the probability of queueing; 30 is a kink, at which a size of job comes in."""

    def at_large_scale(system: System, load: float, execution: Execution) -> float:
        return response_time_s(system, load, execution, at_large_scale=True)

    best = best_threshold_s(SYSTEM, offered_load, expanded(SYSTEM, 2.0), at_large_scale)
    assert best == pytest.approx(threshold_s, abs=0.1)


@pytest.mark.parametrize("system", [SYSTEM, replace(SYSTEM, max_tasks=1), replace(SYSTEM, service_tail_index=50.0)])
def test_no_threshold_on_a_fine_grid_is_better(system):
    """Kinks at every multiple of the least service time must not hide the best one, nor times that are nearly equal."""
    for offered_load in (0.55, 0.65, 0.75, 0.85):
        small = expanded(system, 2.0)
        best = redundant_small(system, 2.0, best_threshold_s(system, offered_load, small))
        grid = [redundant_small(system, 2.0, float(d)) for d in np.geomspace(10, 3000, 400)]
        least = min(response_time_s(system, offered_load, run) for run in grid)
        assert response_time_s(system, offered_load, best) <= least + 1e-9


@pytest.mark.parametrize("offered_load", [0.6, 0.7, 0.8])
def test_response_times_fall_though_every_expansion_costs_more(offered_load):
    """Condition (7), a lower cost, is sufficient only: the best threshold pays with slot time for less latency."""
    none, best = (
        redundant_small(SYSTEM, 2.0, d) for d in (0.0, best_threshold_s(SYSTEM, offered_load, expanded(SYSTEM, 2.0)))
    )
    assert best.cost > none.cost
    assert response_time_s(SYSTEM, offered_load, best) < response_time_s(SYSTEM, offered_load, none)


def test_an_overloaded_system_is_given_no_spare_tasks():
    """Every threshold is unstable, so none is better than expanding nothing."""
    assert best_threshold_s(SYSTEM, 1.2, expanded(SYSTEM, 2.0)) == 0.0


@pytest.mark.parametrize(
    "tails", [{"slowdown_tail_index": 1.8}, {"slowdown_tail_index": 0.9}, {"service_tail_index": 2.0}]
)
@pytest.mark.parametrize("threshold_s", [0.0, 40.0, inf])
def test_moments_without_end_are_infinite_and_never_not_a_number(tails, threshold_s):
    """A job that is never left unexpanded adds nothing, however infinite its moment."""
    run = redundant_small(replace(SYSTEM, **tails), 2.0, threshold_s)
    assert not any(isnan(value) for value in (run.latency, run.latency_squared, run.cost))
    assert isinf(redundant_small(replace(SYSTEM, **tails), 2.0, 0.0).latency_squared)


@pytest.mark.parametrize(("tail_index", "moment"), [(3.0, 1), (3.0, 2), (2.0, 2), (1.0, 1), (3.0, 0), (1.5, 2)])
@pytest.mark.parametrize("max_service_s", [inf, 500.0])
def test_parts_of_a_moment_are_the_integral_over_their_interval(tail_index, moment, max_service_s):
    """Including a moment equal to the tail index, where the power becomes a logarithm, and truncation."""
    system = System(service_tail_index=tail_index, max_service_s=max_service_s)
    grid = np.geomspace(20, 300, 200_001)
    kept = 1 - (10 / max_service_s) ** tail_index if max_service_s < inf else 1
    density = tail_index * 10**tail_index * grid ** (moment - tail_index - 1) / kept
    part = service_moment(system, moment, above_s=20, up_to_s=300)
    assert part == pytest.approx(np.trapezoid(density, grid), rel=1e-6)


def test_truncation_makes_moments_finite():
    """Section VI: with a tail index up to 2 the second moment of service times exists only if they are truncated."""
    assert isinf(service_moment(System(service_tail_index=1.5), 2))
    truncated = System(service_tail_index=1.5, max_service_s=1e4)
    assert service_moment(truncated, 0) == pytest.approx(1.0)
    assert service_moment(truncated, 2) < inf


def test_runs_of_small_and_large_jobs_meet_at_the_extremes():
    """All small or all large is one of the two tables alone."""
    small, large = expanded(SYSTEM, 2.0), unexpanded(SYSTEM)
    assert small_and_large(SYSTEM, inf, small, large) == small_and_large(SYSTEM, 0.0, large, small)
