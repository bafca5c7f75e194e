"""Do the benchmarks still run, and do they mean what they say? They are measured rarely."""

import pytest

from spark_listener.demo.world import World
from tests.bench import cycle
from tests.bench.__main__ import ROOT
from tests.bench.paced import slowdown

pytestmark = pytest.mark.unit


def test_a_cycle_is_timed_beside_its_memory():
    """A hundred tasks have a floor, and three cycles a percentile."""
    pool = cycle.Pool(jobs=10, tasks_per_job=10)
    row = cycle._row("cycle", pool.cycles_ms(3, warm_up=1), 50, pool.floor_ms())
    assert row["value"] > 0
    assert row["ratio"] > 0


def test_the_simulated_demo_draws_the_slowness_of_the_paced_file_system():
    """Otherwise it would predict another world. JUnit reads the same file (`WorldTest`)."""
    _, *lines = (ROOT / "tests" / "golden" / "paced_slowdowns.tsv").read_text().splitlines()
    for kind, seed, file_name, split, attempt, want in (line.split("\t") for line in lines):
        got = slowdown(World(seed=int(seed), kind=kind), file_name, int(split), int(attempt))
        assert got == pytest.approx(float(want), rel=1e-12)
