"""Does the YARN demo run on real daemons, with grants that really happen, and leave nothing behind?"""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from controlplane.rest import RestClient
from controlplane.yarn_demo.contestants import QUEUE, contestants, workload, worlds
from controlplane.yarn_demo.runner import run_rounds
from spark_listener.demo.control_plane import control_plane
from spark_listener.demo.report import row
from spark_listener.demo.world import Workload
from tests.integration.leftovers import processes_with
from tests.integration.plane_process import eventually
from yarn_bridge.local_yarn import containers, is_up

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch):
    """No minute of compiling for a queue of one application."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")


def test_stock_and_hopper_give_the_same_results_and_the_queue_gets_grants(tmp_path) -> None:
    """In stock turns the plug-in covers no queue, so all the grants are Hopper's."""
    stock, _, _, hopper = contestants()
    jobs = [replace(workload().jobs[-1], tasks=4, arrival_s=0.0)]
    (world,) = worlds(first_seed=1, rounds=1)
    rounds = [replace(world, bytes_per_second=4 * world.bytes_per_second)]
    report = tmp_path / "demo-yarn.json"
    outcomes = run_rounds((stock, hopper), rounds, Workload(jobs=jobs), tmp_path, report, Console())
    ours = row(hopper, outcomes[hopper.name], outcomes[stock.name], outcomes[stock.name], "independent")
    assert ours.results_equal_stock
    assert ours.jobs == 1
    assert [list(times_s) for times_s in ours.application_s] == [["small"]]
    assert ours.executors_started >= 1, "those of the warm-up have gone"
    with control_plane(hopper, work_dir=tmp_path, report=report) as address:
        decisions = RestClient(address, what="control plane", timeout_s=30).get(
            "/api/v1/decisions?limit=1000", lambda said: said["items"]
        )
    granted = {one["job"] for one in decisions if one["source"].endswith(QUEUE) and one["action"] == "grant"}
    assert len(granted) == 1
    assert not is_up(tmp_path / "yarn")
    assert not containers(tmp_path / "yarn")


def test_ctrl_c_ends_everything_that_the_demo_started(tmp_path) -> None:
    """Daemons, drivers and masters, of which no two are in one process group."""
    mark = f"GRASSHOPPER_TEST_RUN={tmp_path}"
    # Whoever runs the tests in the background may have told them to ignore Ctrl-C, which a child would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    program = "from controlplane import yarn_demo; yarn_demo.run(build_dir=pathlib.Path(sys.argv[1]))"
    demo = subprocess.Popen(
        [sys.executable, "-c", f"import pathlib, sys; {program}", str(tmp_path)],
        cwd=ROOT, env={**os.environ, "GRASSHOPPER_TEST_RUN": str(tmp_path)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        eventually(lambda: containers(tmp_path / "demo-yarn" / "yarn"), within_s=180)
        # The demo, a resource manager, four nodes, a driver and its JVM, at least.
        assert len(processes_with(mark)) >= 8
    finally:
        demo.send_signal(signal.SIGINT)
        demo.wait(timeout=60)
    assert processes_with(mark) == []
    assert not containers(tmp_path / "demo-yarn" / "yarn")
