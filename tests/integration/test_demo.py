"""Does the demo run on a real cluster, with control that really happens, and leave nothing behind?"""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from spark_listener.demo.contestants import contestants
from spark_listener.demo.control_plane import control_plane, control_planes, store_of
from spark_listener.demo.deadlines import SHED_PLUS, TUNED, UNIFIED, deadline_rows, due, in_time, workload
from spark_listener.demo.deadlines_runner import run_load
from spark_listener.demo.report import rows_of
from spark_listener.demo.runner import run_rounds
from spark_listener.demo.world import SIZES, World
from spark_listener.event_log import read_attempts
from spark_listener.local_cluster import LocalCluster
from tests.bench import accuracy_demo
from tests.integration.leftovers import processes_with
from tests.integration.plane_process import eventually

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "chosen",
    [pytest.param(slice(0, None, 3), id="first and last"), pytest.param(slice(None), id="all", marks=pytest.mark.full)],
)
def test_contestants_give_the_same_results_and_decisions_are_recorded(tmp_path, chosen) -> None:
    """Stock and `unified`, or all four; jobs have deadlines, which the control plane knows."""
    playing = contestants()[chosen]
    ours = playing[-1]
    work = SIZES["small"].workload()
    work = due(replace(work, jobs=work.jobs[:3]), deadline_s=300.0)
    with (
        control_planes(playing, work_dir=tmp_path, report=tmp_path / "demo.json") as addresses,
        LocalCluster(log_dir=tmp_path / "cluster") as cluster,
    ):
        outcomes = run_rounds(playing, [World(seed=1)], work, addresses, cluster, tmp_path, Console())
        with urllib.request.urlopen(f"{addresses[ours.name]}/api/v1/decisions?limit=1000", timeout=10) as answer:
            decisions = json.load(answer)["items"]
        with urllib.request.urlopen(f"{addresses[ours.name]}/api/v1/promises", timeout=10) as answer:
            promises = json.load(answer)
    rows = rows_of(playing, outcomes, "independent")
    assert all(one.results_equal_stock and one.jobs == 3 for one in rows)
    granted = {decision["job"]: decision["mode"] for decision in reversed(decisions) if decision["action"] == "grant"}
    assert granted.pop("sql-0") == granted.pop("sql-1") == "off", "while executors are warmed"
    assert set(granted.values()) == {"control"}
    assert (promises["jobs"], promises["kept"]) == (3, 3)
    assert all(in_time(one) == 3 for one in outcomes[ours.name])
    assert rows[0].copies_launched == 0
    assert store_of(ours, tmp_path).is_file()
    assert all(one.load > 0 for one in rows)
    for one in playing:
        (log,) = (tmp_path / f"1-{one.name}").glob("app-*")
        warm_up = [attempt for attempt in read_attempts(log) if attempt.stage <= 5]
        for stages in ({0, 3}, {2, 5}):  # map and reduce, twice
            assert {attempt.host for attempt in warm_up if attempt.stage in stages} == set(cluster.hosts), "a cold one"


@pytest.mark.full
def test_jobs_with_deadlines_take_turns_after_a_run_that_sets_these(tmp_path) -> None:
    """Tuned stock alone first, in another world; then all contestants, whose results are equal."""
    with (
        control_planes((SHED_PLUS, UNIFIED), work_dir=tmp_path, report=tmp_path / "demo.json") as addresses,
        LocalCluster(log_dir=tmp_path / "cluster") as cluster,
    ):
        outcomes = run_load(0.8, workload(0.8, 3), [World(seed=1)], addresses, cluster, tmp_path, Console())
    rows = deadline_rows(0.8, outcomes, "independent")
    assert [(one.row.contestant, one.row.jobs, one.row.results_equal_stock) for one in rows] == [
        (one.name, 3, True) for one in (TUNED, SHED_PLUS, UNIFIED)
    ]
    runs = sorted(place.name for place in (tmp_path / "load-0.8").iterdir() if place.name != "inputs")
    assert runs == ["0-stock-tuned", "1-fifo+shed-plus", "1-stock-tuned", "1-unified+unified"]
    assert len({one.deadline_s for one in rows}) == 1


@pytest.mark.full
def test_approximate_jobs_end_at_their_deadline_and_partitions_have_one_answer(tmp_path) -> None:
    """Of 48 tasks on eight slots some are left; the warm-up is nobody's."""
    world = accuracy_demo.SIZE.world(seed=1, kind="independent")
    work = replace(accuracy_demo.workload(), jobs=accuracy_demo.workload().jobs[:2])
    tuned, ours = accuracy_demo.TUNED, accuracy_demo.OURS
    with (
        control_plane(ours, work_dir=tmp_path, report=tmp_path / "demo.json") as address,
        LocalCluster(log_dir=tmp_path / "cluster") as cluster,
    ):
        outcomes = run_rounds((tuned, ours), [world], work, {ours.name: address}, cluster, tmp_path, Console())
        with urllib.request.urlopen(f"{address}/api/v1/decisions?limit=1000", timeout=10) as answer:
            copied = {one["job"] for one in json.load(answer)["items"] if one["action"] == "launch_copy"}
    assert copied <= {"group-part0", "group-part1"}
    ((stock,), (steered,)) = outcomes[tuned.name], outcomes[ours.name]
    assert not accuracy_demo.differs(steered, stock)
    for one in (stock, steered):
        assert 0 < accuracy_demo.seen_share(one) < 1
        assert all(one.job_s[job] == pytest.approx(within_s, abs=5) for job, within_s in one.deadline_s.items())


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
