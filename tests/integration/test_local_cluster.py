"""Is the local cluster a real one, and does a paced read give the right result with true byte progress?"""

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from controlplane.processes import child_pids
from spark_listener.demo.world import testkit_jar as find_testkit_jar
from spark_listener.local_cluster import LocalCluster, installed_spark_home
from spark_listener.swim import TRACE_PATH

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]
SPARK_HOMES = {"4": installed_spark_home(), "3.5": ROOT / "build" / "spark-3.5" / "pyspark"}
SPLIT_BYTES = 256 * 1024
SPLITS = 8


@pytest.fixture(params=["4", pytest.param("3.5", marks=pytest.mark.full)])
def cluster(request):
    with LocalCluster(spark_home=SPARK_HOMES[request.param]) as cluster:
        yield cluster


def run_driver(cluster: LocalCluster, path: Path) -> dict:
    environment = {**os.environ, "SPARK_HOME": str(cluster.spark_home), "PYTHONPATH": str(cluster.spark_home.parent)}
    arguments = [cluster.master_url, str(find_testkit_jar()), str(path), str(SPLIT_BYTES)]
    script = Path(__file__).parent / "paced_job.py"
    ran = subprocess.run(
        [sys.executable, str(script), *arguments], env=environment, capture_output=True, text=True, timeout=400
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def test_a_paced_job_on_four_hosts_counts_right_and_its_bytes_rise_steadily(cluster, tmp_path) -> None:
    trace = TRACE_PATH.read_bytes()
    path = tmp_path / "input.tsv"
    path.write_bytes((trace * 11)[: SPLITS * SPLIT_BYTES])
    size_bytes = path.stat().st_size

    report = run_driver(cluster, path)

    assert report["rows"] == path.read_bytes().count(b"\n") + 1
    assert report["hosts"] == list(cluster.hosts)
    # Every split's reader reads on to the end of the line that its successor skips, one buffer at most.
    assert size_bytes <= report["final_bytes"] <= size_bytes + SPLITS * 64 * 1024
    rising = [seen for seen in report["seen_bytes"] if 0 < seen < size_bytes]
    assert rising == sorted(rising)
    assert len(set(rising)) >= 2, report["seen_bytes"]
    assert max(later - earlier for earlier, later in pairwise(rising)) < size_bytes / 2


@pytest.mark.full
def test_leaving_the_cluster_ends_all_its_processes() -> None:
    before = set(child_pids(os.getpid()))
    with LocalCluster(workers=2) as cluster:
        started = set(child_pids(os.getpid())) - before
        assert cluster.alive_workers() == 2
        assert len(started) == 3
    assert cluster.alive_workers() == 0
    assert not started & set(child_pids(os.getpid()))
