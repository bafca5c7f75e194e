"""Are means, errors, tails and size bins those of all jobs, though none is kept?"""

from math import exp

import numpy as np
import pytest

from controlplane.simulator.statistics import QUANTILES, STEP, Tally

pytestmark = pytest.mark.unit


def tally(service_s: np.ndarray, wait_s: np.ndarray, latency_s: np.ndarray, pieces: int = 3) -> Tally:
    """All jobs have two tasks; taken in a few pieces."""
    counted = Tally(len(service_s))
    for rows in np.array_split(np.arange(len(service_s)), pieces):
        counted.add(np.full(len(rows), 2), service_s[rows], wait_s[rows], latency_s[rows], 2 * latency_s[rows])
    return counted


def test_streamed_statistics_are_those_of_all_jobs_at_once():
    """No job is kept, and nothing is lost by it but a hundredth of a quantile."""
    rng = np.random.default_rng([11, 0])
    service_s = rng.uniform(0.01, 40, 5000)
    latency_s, wait_s = service_s * (1 + rng.pareto(3, 5000)), np.maximum(rng.normal(0, 5, 5000), 0)
    found = tally(service_s, wait_s, latency_s).summary(busy_share=0.5)
    slowdown = (wait_s + latency_s) / service_s
    means = (found.response_s, found.slowdown, found.wait_s, found.waited_share, found.cost_s)
    expected = (wait_s + latency_s, slowdown, wait_s, wait_s > 0, 2 * latency_s)
    assert means == pytest.approx([column.mean() for column in expected])
    for share, quantile in zip(QUANTILES, found.slowdown_quantiles, strict=True):
        assert np.quantile(slowdown, share) == pytest.approx(quantile, rel=0.06)
    for x, above in found.slowdown_tail:
        assert (slowdown > x).mean() <= above <= (slowdown > x * exp(-STEP)).mean()
    for size in found.sizes:
        inside = (2 * service_s >= size.from_s) & (2 * service_s < 2 * size.from_s)
        assert (size.jobs, size.slowdown) == (inside.sum(), pytest.approx(slowdown[inside].mean()))
    assert sum(size.jobs for size in found.sizes) == 5000


def test_batches_know_that_neighbours_are_alike():
    """Where jobs come in runs of equals, the error is far larger than that of as many independent draws."""
    level = np.repeat(np.random.default_rng([12, 0]).normal(10, 1, 50), 200)
    columns = np.ones(len(level)), np.zeros(len(level)), level
    naive = level.std() / len(level) ** 0.5
    assert tally(*columns).summary(busy_share=0.5).response_error_s > 5 * naive
    unordered = np.random.default_rng([13, 0]).permutation(level)
    found = tally(np.ones(len(level)), np.zeros(len(level)), unordered).summary(busy_share=0.5)
    assert found.response_error_s == pytest.approx(naive, rel=0.5)


def test_a_queue_that_never_empties_is_unstable():
    """One job of the second half that finds room shows that the queue has emptied."""
    waits = np.ones(1000)
    ones = np.ones(1000)
    assert not tally(ones, waits, ones).summary(busy_share=1.0).stable
    waits[600] = 0
    assert tally(ones, waits, ones).summary(busy_share=1.0).stable
    waits[:] = 1
    waits[:400] = 0
    assert not tally(ones, waits, ones).summary(busy_share=1.0).stable
