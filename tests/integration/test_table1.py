"""Does Hopper's Table 1 come out on real Spark?"""

import time

import pytest
from rich.console import Console

from spark_listener.demo.contestants import grasshopper
from spark_listener.demo.control_plane import control_plane
from spark_listener.demo.table1 import SCHEDULES, SLOTS
from spark_listener.demo.table1_runner import MEMORY_MB, print_table, run_schedules, write_report
from spark_listener.local_cluster import LocalCluster

pytestmark = [pytest.mark.integration, pytest.mark.full]


def test_the_schedules_end_near_the_papers_numbers(tmp_path, record_property):
    """Six numbers within four units, which is what launching, reporting and a busy machine may take."""
    began_s = time.monotonic()
    with (
        control_plane(grasshopper("srpt", "ras"), work_dir=tmp_path, report=tmp_path / "demo.json") as address,
        LocalCluster(
            workers=1, cores_per_worker=SLOTS, memory_per_worker_mb=MEMORY_MB, log_dir=tmp_path / "cluster"
        ) as cluster,
    ):
        outcomes, equal = run_schedules(cluster, address, tmp_path, Console())
    print_table(outcomes, Console())
    write_report(outcomes, equal, tmp_path)
    record_property("table1_took_s", round(time.monotonic() - began_s))
    assert equal
    for one, schedule in zip(outcomes, SCHEDULES, strict=True):
        assert one.measured == pytest.approx(schedule.paper, abs=4.0), one
    assert (tmp_path / "demo-table1.svg").read_text().startswith("<svg")
