"""Does the benchmark of a cycle still run? It is measured rarely, and what it reads of tables changes often."""

import pytest

from tests.bench import cycle

pytestmark = pytest.mark.unit


def test_a_cycle_is_timed_beside_its_memory():
    """A hundred tasks have a floor, and three cycles a percentile."""
    pool = cycle.Pool(jobs=10, tasks_per_job=10)
    row = cycle._row("cycle", pool.cycles_ms(3, warm_up=1), 50, pool.floor_ms())
    assert row["value"] > 0
    assert row["ratio"] > 0
