"""Does the demo run on a real cluster, with control that really happens, and leave nothing behind?"""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from spark_listener.demo.contestants import contestants
from spark_listener.demo.control_plane import control_plane, store_of
from spark_listener.demo.report import rows_of
from spark_listener.demo.runner import run_rounds
from spark_listener.demo.world import SIZES, World
from spark_listener.event_log import read_attempts
from spark_listener.local_cluster import LocalCluster
from tests.integration.leftovers import processes_with
from tests.integration.plane_process import eventually

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "chosen",
    [pytest.param(slice(0, None, 3), id="first and last"), pytest.param(slice(None), id="all", marks=pytest.mark.full)],
)
def test_contestants_give_the_same_results_and_decisions_are_recorded(tmp_path, chosen) -> None:
    """Stock and `unified`, or all four."""
    playing = contestants()[chosen]
    ours = playing[-1]
    workload = SIZES["small"].workload()
    workload = replace(workload, jobs=workload.jobs[:3])
    with ExitStack() as started:
        addresses = {
            one.name: started.enter_context(control_plane(one, work_dir=tmp_path, report=tmp_path / "demo.json"))
            for one in playing
            if one.allocator
        }
        cluster = started.enter_context(LocalCluster(log_dir=tmp_path / "cluster"))
        outcomes = run_rounds(playing, [World(seed=1)], workload, addresses, cluster, tmp_path, Console())
        with urllib.request.urlopen(f"{addresses[ours.name]}/api/v1/decisions?limit=1000", timeout=10) as answer:
            decisions = json.load(answer)["items"]
    rows = rows_of(playing, outcomes, "independent")
    assert all(one.results_equal_stock and one.jobs == 3 for one in rows)
    granted = {decision["job"]: decision["mode"] for decision in reversed(decisions) if decision["action"] == "grant"}
    assert granted.pop("sql-0") == granted.pop("sql-1") == "off", "while executors are warmed"
    assert set(granted.values()) == {"control"}
    assert rows[0].copies_launched == 0
    assert store_of(ours, tmp_path).is_file()
    assert all(one.load > 0 for one in rows)
    for one in playing:
        (log,) = (tmp_path / f"1-{one.name}").glob("app-*")
        warm_up = [attempt for attempt in read_attempts(log) if attempt.stage <= 5]
        for stages in ({0, 3}, {2, 5}):  # map and reduce, twice
            assert {attempt.host for attempt in warm_up if attempt.stage in stages} == set(cluster.hosts), "a cold one"


def test_ctrl_c_ends_everything_that_the_demo_started(tmp_path) -> None:
    mark = f"GRASSHOPPER_TEST_RUN={tmp_path}"
    # Whoever runs the tests in the background may have told them to ignore Ctrl-C, which a child would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    program = "import pathlib, sys; from spark_listener import demo; demo.run(build_dir=pathlib.Path(sys.argv[1]))"
    demo = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "GRASSHOPPER_TEST_RUN": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: list(tmp_path.glob("demo/1-stock/app-*")), within_s=180)
        # The demo, two control planes, a master, four workers, a driver and its JVM, at least.
        assert len(processes_with(mark)) >= 10
    finally:
        demo.send_signal(signal.SIGINT)
        demo.wait(timeout=60)
    assert processes_with(mark) == []
