"""Does the benchmark of the cluster simulator still run? It is measured rarely, and its records change often."""

import pytest

from tests.bench import simulator_cluster

pytestmark = pytest.mark.unit


def test_a_simulated_cluster_is_timed_beside_its_memory(monkeypatch):
    """Ten jobs on forty slots."""
    monkeypatch.setitem(simulator_cluster.JOBS, 40, 10)
    monkeypatch.setitem(simulator_cluster.GOALS, 40, {"srpt+late": 1})
    row = simulator_cluster._row(40, "srpt+late", 0.1)
    assert row["met"]
    assert row["ratio"] > 0
