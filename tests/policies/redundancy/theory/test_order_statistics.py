"""Do the moments of order statistics agree with the paper's table, with sampling, and with their own limits?"""

import json
from math import exp, inf, isinf
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom

from controlplane.policies.redundancy.theory.order_statistics import (
    expanded_tasks,
    free_expansion_rate,
    order_statistic,
    order_statistic_for_many,
    slot_time,
)

pytestmark = pytest.mark.unit

TABLE = json.loads((Path(__file__).parents[3] / "golden" / "redundancy_table_1.json").read_text())
CELLS = [
    (row["tasks"], row["started"], tail_index, error)
    for row in TABLE["rows"]
    for tail_index, error in zip(TABLE["tail_index"], row["error_percent"], strict=True)
]


def error_percent(tasks: int, started: int, tail_index: float) -> float:
    exact = order_statistic(started, tasks, tail_index)
    return 100 * abs(order_statistic_for_many(started, tasks, tail_index) - exact) / exact


def printed_slot_time(started: int, tasks: int, tail_index: float) -> float:
    """Equation (5) as printed."""
    statistic = order_statistic(started, tasks, tail_index)
    return started / (tail_index - 1) * (tail_index - (1 - tasks / started) * statistic)


def test_every_cell_of_table_1_comes_out():
    """All 192 printed errors, to their two decimals."""
    ours = [round(error_percent(tasks, started, tail_index), 2) for tasks, started, tail_index, _ in CELLS]
    assert len(CELLS) == 192
    assert ours == [error for *_, error in CELLS]


def test_the_approximation_is_within_ten_percent_but_for_one_spare_task():
    """The paper says within 10 % throughout; five cells are not."""
    far = [(tasks, started, tail_index) for tasks, started, tail_index, error in CELLS if error > 10]
    assert far == [(6, 7, 2), (10, 11, 2), (14, 15, 2), (18, 19, 2), (18, 19, 3)]


@pytest.mark.parametrize(("started", "tasks", "tail_index"), [(1, 1, 3.0), (5, 3, 2.5), (20, 10, 3.0), (4, 1, 0.8)])
def test_moments_are_those_of_drawn_samples(started, tasks, tail_index):
    """Drawing slowdowns and sorting them gives the same means, within four standard errors."""
    rng = np.random.default_rng([1, started])
    slowdowns = np.sort(rng.random((200_000, started)) ** (-1 / tail_index))
    kth = slowdowns[:, tasks - 1]
    costs = slowdowns[:, :tasks].sum(axis=1) + (started - tasks) * kth
    for sample, formula in ((kth, order_statistic), (costs, slot_time)):
        assert abs(sample.mean() - formula(started, tasks, tail_index)) < 4 * sample.std() / len(sample) ** 0.5
    if started - tasks + 1 > 4 / tail_index:
        squares = kth**2
        second = order_statistic(started, tasks, tail_index, moment=2)
        assert abs(squares.mean() - second) < 4 * squares.std() / len(squares) ** 0.5


@pytest.mark.parametrize("tail_index", [0.7, 1.5, 3.0, 10.0])
def test_slot_time_is_the_printed_closed_form(tail_index):
    """The sum that is reckoned and equation (5) are the same, except where the print divides by zero."""
    for started, tasks in ((6, 4), (7, 2), (1000, 600)):
        assert slot_time(started, tasks, tail_index) == pytest.approx(printed_slot_time(started, tasks, tail_index))


def test_slot_time_passes_through_a_tail_index_of_one():
    """At 1 the closed form is 0 / 0; one task of two that runs alone to its end takes twice its mean of 2."""
    assert slot_time(started=2, needed=1, tail_index=1.0) == pytest.approx(4.0)
    around = [slot_time(started=9, needed=4, tail_index=1.0 + step) for step in (-1e-9, 0.0, 1e-9)]
    assert around == pytest.approx([around[1]] * 3)


def test_without_spare_tasks_a_job_costs_the_mean_of_each_however_many_there_are():
    """Every task runs to its end then: the sum over all order statistics, which a billion tasks need not add up."""
    for tasks in (1, 2, 30):
        added = sum(order_statistic(tasks, ended, 1.5) for ended in range(1, tasks + 1))
        assert slot_time(tasks, tasks, 1.5) == pytest.approx(added)
    assert slot_time(10**9, 10**9, 1.5) == pytest.approx(3 * 10**9)


def test_moments_that_do_not_exist_are_infinite():
    """The mean of the largest needs a tail index above 1, its square above 2; one spare task halves the need."""
    assert isinf(order_statistic(5, 5, tail_index=1.0))
    assert isinf(slot_time(5, 5, tail_index=1.0))
    assert isinf(order_statistic(5, 5, tail_index=2.0, moment=2))
    assert order_statistic(5, 4, tail_index=1.0) < inf
    assert isinf(order_statistic(5, 4, tail_index=0.5))
    assert isinf(slot_time(5, 4, tail_index=0.5))


def test_thousands_of_tasks_do_not_overflow():
    """Gamma(10,001) is beyond any float; the ratio is not, and close to the large-scale formula."""
    assert order_statistic(10_000, 5_000, 3.0) == pytest.approx(order_statistic_for_many(10_000, 5_000, 3.0), rel=1e-3)


def test_without_variability_everything_takes_its_service_time():
    """An infinite tail index means a slowdown of 1."""
    assert (order_statistic(9, 4, inf), slot_time(9, 4, inf)) == (pytest.approx(1.0), 9.0)


@pytest.mark.parametrize(("started", "tasks"), [(7, 6), (10, 6), (40, 20)])
def test_gautschis_bounds_hold_and_the_upper_one_is_defined_at_one_spare_task(started, tasks):
    """As printed, with n for n + 1, the upper bound is looser, and 1 / 0 at n = k + 1."""
    low = (1 - (tasks - 1) / started) ** (-1 / 3)
    high = (1 - (tasks + 1) / (started + 1)) ** (-1 / 3)
    assert low < order_statistic(started, tasks, 3.0) < high < inf
    printed = (1 - (tasks + 1) / started) ** (-1 / 3) if started > tasks + 1 else inf
    assert high < printed


@pytest.mark.parametrize(("tail_index", "first"), [(3.0, 36), (2.0, 4), (1.5, 2)])
def test_spare_tasks_lower_the_cost_of_large_jobs_only(tail_index, first):
    """Condition (7) is for tasks without end: below this size no number of spare tasks lowers the cost."""

    def pays(tasks: int) -> bool:
        without = slot_time(tasks, tasks, tail_index)
        return any(slot_time(started, tasks, tail_index) < without for started in range(tasks + 1, 3 * tasks + 2))

    assert [tasks for tasks in range(1, first + 1) if pays(tasks)] == [first]


def slot_time_for_many(rate: float, tail_index: float) -> float:
    """The paper's f(a, r): E[C_{n,k}] per task for k without end, before equation (7)."""
    return rate / (tail_index - 1) * (tail_index - (1 - 1 / rate) ** (1 - 1 / tail_index))


def test_at_the_free_rate_expanding_costs_what_it_saves():
    """Equation (7) is where f(a, r) meets the mean slowdown."""
    for tail_index in (1.5, 2.0, 3.0):
        rate = free_expansion_rate(tail_index)
        assert slot_time_for_many(rate, tail_index) == pytest.approx(tail_index / (tail_index - 1), abs=1e-9)


def test_many_tasks_cost_what_the_limit_says():
    """E[C] / k tends to f(a, r)."""
    assert slot_time(20_000, 10_000, 3.0) / 10_000 == pytest.approx(slot_time_for_many(2.0, 3.0), rel=1e-3)


def test_rounding_adds_no_task():
    """100 x 1.1 is 110.00000000000001 in floating point."""
    sizes = [expanded_tasks(tasks, rate) for tasks, rate in ((100, 1.1), (10, 1.1), (10, 1.11), (3, 1.0), (1, 1.5))]
    assert sizes == [110, 11, 12, 3, 2]


@pytest.mark.parametrize(
    ("started", "tasks", "tail_index"),
    [(1, 1, 3.0), (2, 1, 1.5), (5, 3, 2.5), (10, 10, 3.0), (20, 10, 1.2), (40, 39, 3.0)],
)
def test_moments_are_the_integrals_of_the_tail(started, tasks, tail_index):
    """E[S_{n:k}], its square and E[C_{n,k}]: the k-th ends after x if more than n - k slowdowns are longer."""

    def integral(needed, moment):
        """1 plus the integral of m x^(m-1) Pr{S_{n:k} > x} from 1 on, over y = ln x."""

        def later(y):
            return moment * exp(moment * y) * binom.sf(started - needed, started, exp(-tail_index * y))

        return 1 + sum(quad(later, *piece, epsabs=0, limit=200)[0] for piece in ((0, 1), (1, 4), (4, 40), (40, 300)))

    for moment in (1, 2):
        if started - tasks + 1 > moment / tail_index:
            assert order_statistic(started, tasks, tail_index, moment) == pytest.approx(integral(tasks, moment))
    means = [integral(ended, 1) for ended in range(1, tasks + 1)]
    cost = sum(means) + (started - tasks) * means[-1]
    assert slot_time(started, tasks, tail_index) == pytest.approx(cost)
