"""Is the demo fair and its report right? Same world and jobs for all, differences in configuration only."""

import json
import os
import shlex
import sys
import time
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from spark_listener.demo.application import COMMON_CONF, Outcome, was_steered
from spark_listener.demo.contestants import StockSetting, contestants
from spark_listener.demo.control_plane import store_of
from spark_listener.demo.report import print_table, row, rows_of, write_json
from spark_listener.demo.runner import only_one, take_turns, tell_store
from spark_listener.demo.world import SIZES, SPLIT_BYTES, World
from spark_listener.event_log import CopyCounts

pytestmark = pytest.mark.unit


def test_contestants_are_two_stock_and_two_grasshopper_settings() -> None:
    plain, tuned, hopper, unified = contestants()
    assert (plain.spark_conf["spark.speculation"], tuned.spark_conf["spark.speculation"]) == ("false", "true")
    assert (hopper.allocator, hopper.speculator) == ("hopper", "ras")
    assert (unified.allocator, unified.speculator) == ("unified", "unified")
    assert not hopper.spark_conf
    assert not unified.spark_conf


def test_no_contestant_changes_the_world_or_the_common_settings() -> None:
    shared = {*COMMON_CONF, *(key for key in World(seed=1).__dataclass_fields__)}
    for contestant in contestants():
        assert not shared & set(contestant.spark_conf)
        assert not any("paced" in key for key in contestant.spark_conf)


def test_stock_settings_say_what_they_set() -> None:
    setting = StockSetting(scheduler="FAIR", quantile=0.5, multiplier=1.1)
    assert setting.title == "FAIR, q=0.5 m=1.1"
    assert setting.spark_conf()["spark.speculation.quantile"] == "0.5"
    assert StockSetting().spark_conf() == {"spark.scheduler.mode": "FIFO", "spark.speculation": "false"}


def test_an_unknown_world_is_refused() -> None:
    with pytest.raises(ValueError, match="independent"):
        World(seed=1, kind="elsewhere")


def test_the_large_demo_has_40_jobs_of_272_tasks_and_a_nominal_task_takes_twice_as_long() -> None:
    """It has last waves, and a task is longer than detection takes; the list is fixed, so seeds can be compared."""
    small, large = SIZES["small"], SIZES["large"]
    jobs = large.workload().jobs
    assert (len(jobs), sum(job.tasks for job in jobs), max(job.tasks for job in jobs)) == (40, 272, 40)
    assert (jobs[0].arrival_s, jobs[-1].arrival_s) == (0.0, pytest.approx(62.0))
    assert jobs == large.workload().jobs
    assert [job.job_id for job in jobs[:10]] == [job.job_id for job in small.workload().jobs]
    paces = [size.world(seed=1, kind="half").bytes_per_second for size in (small, large)]
    assert paces == [1.5 * SPLIT_BYTES, 0.75 * SPLIT_BYTES]


def test_inputs_are_whole_lines_and_give_one_split_per_task(tmp_path) -> None:
    workload = SIZES["small"].workload()
    workload = replace(workload, jobs=workload.jobs[:2])
    for job, path in zip(workload.jobs, workload.write_inputs(tmp_path).values(), strict=True):
        content = path.read_bytes()
        assert content.endswith(b"\n")
        assert (job.tasks - 1) * SPLIT_BYTES < len(content) <= job.tasks * SPLIT_BYTES
        assert all(line.count(b"\t") == 5 for line in content.splitlines())


def outcome(
    seed: int, seconds: float, result: str = "same", load: float = 1.0, name: str = "x", longer: float = 3.0
) -> Outcome:
    """Two jobs, the second one `longer` times as long as the first."""
    return Outcome(
        contestant=name,
        seed=seed,
        job_s={"a": seconds, "b": longer * seconds},
        results={"a": result, "b": "same"},
        copies=CopyCounts(launched=4, won=2, losing_core_s=5.0, core_s=50.0),
        load=load,
    )


def test_a_row_summarises_rounds_and_is_written_once_per_contestant(tmp_path) -> None:
    rounds = [outcome(1, 1.0), outcome(2, 3.0)]
    four = contestants()
    rows = rows_of(four, {contestant.name: rounds for contestant in four}, "independent")
    assert rows[0].mean_job_s == 4.0
    low, high = rows[0].mean_job_interval_s
    assert low < 4.0 < high
    assert (rows[0].median_job_s, rows[0].p95_job_s, rows[0].copies_launched) == (3.0, 9.0, 4.0)
    write_json(rows, tmp_path / "build" / "demo.json")
    names = [one["contestant"] for one in json.loads((tmp_path / "build" / "demo.json").read_text())]
    assert names == ["stock", "stock-tuned", "hopper+ras", "unified+unified"]


def test_times_are_compared_with_tuned_stock_by_mean_and_by_job(tmp_path) -> None:
    """A long job decides the ratio of means; in the geometric mean of all jobs' ratios it is one among others."""
    four = contestants()
    rounds = {one.name: [outcome(seed, 1.0, name=one.name) for seed in (1, 2)] for one in four}
    rounds["unified+unified"] = [outcome(2, 0.5, longer=7.0), outcome(1, 0.5, longer=7.0)]
    *_, hopper, ours = rows_of(four, rounds, "independent")
    assert (hopper.peer, hopper.mean_ratio, hopper.job_ratio) == ("stock-tuned", 1.0, 1.0)
    assert ours.mean_ratio == pytest.approx((0.5 + 3.5) / (1 + 3))
    assert ours.job_ratio == pytest.approx((0.5 * 3.5 / 3) ** 0.5)
    assert ours.mean_ratio_interval == pytest.approx((1.0, 1.0))
    assert rows_of(four, {one.name: [outcome(1, 1.0)] for one in four}, "half")[3].job_ratio_interval is None
    console = Console(file=StringIO(), width=80)
    print_table([hopper, ours], console)
    shown = console.file.getvalue()
    assert "time over stock-tuned's" in shown
    assert shown.splitlines()[-1].split() == ["unified+unified", "1.00", "[1.00,", "1.00]", "0.76", "[0.76,", "0.76]"]


def test_applications_that_share_a_queue_are_timed_too_and_their_executors_counted(tmp_path) -> None:
    """A start of an executor is work that no job's time shows."""
    three = contestants()[:3]
    shared = replace(outcome(1, 1.0), application_s={"large": 20.0, "small": 10.0}, executors_started=9)

    def told(one: Outcome) -> tuple[str, dict]:
        rows = rows_of(three, {contestant.name: [one] for contestant in three}, "independent")
        write_json(rows, tmp_path / "demo.json")
        console = Console(file=StringIO(), width=80)
        print_table(rows, console)
        return console.file.getvalue(), json.loads((tmp_path / "demo.json").read_text())[0]

    table, report = told(shared)
    assert all(heading in table for heading in ("per app ", "started ")), "whole where a terminal is narrow"
    assert (report["mean_application_s"], report["executors_started"]) == (15.0, 9)
    assert report["application_s"] == [{"large": 20.0, "small": 10.0}]
    assert next(line for line in table.splitlines() if line.startswith("stock ")).split()[3:6] == ["15.0", "s", "9"]
    table, report = told(outcome(1, 1.0))
    assert (report["mean_application_s"], report["executors_started"]) == (None, 0)
    assert "started" not in table


def test_the_table_and_the_report_tell_the_load_and_warn_where_it_may_have_decided(monkeypatch, tmp_path) -> None:
    """Contestants run one after the other, so what others do on the machine meets some of them only."""
    monkeypatch.setattr("spark_listener.demo.report.os.cpu_count", lambda: 8)
    four = contestants()

    def told(*loads: float) -> str:
        outcomes = {one.name: [outcome(1, 1.0, load=load)] for one, load in zip(four, loads, strict=True)}
        rows = rows_of(four, outcomes, "independent")
        write_json(rows, tmp_path / "demo.json")
        said = json.loads((tmp_path / "demo.json").read_text())
        assert [(one["load"], one["cores"]) for one in said] == [(load, 8) for load in loads]
        console = Console(file=StringIO(), width=80)
        print_table(rows, console)
        return console.file.getvalue()

    assert "load was" not in told(4.0, 5.0, 6.0, 7.5)
    assert "load was 5.0 to 9.5 on 8 cores" in told(5.0, 5.0, 6.0, 9.5), "more than there are cores"
    assert "load was 2.0 to 7.5 on 8 cores" in told(2.0, 5.0, 6.0, 7.5), "more than twice another's"
    shown = next(line for line in told(1.0, 1.0, 1.0, 12.3).splitlines() if line.startswith("unified+unified "))
    assert shown.split()[-2:] == ["12.3", "equal"], "whole also where a terminal is narrow"
    assert "equal: to stock's, job by job" in " ".join(told(1.0, 1.0, 1.0, 1.0).split())


def test_the_end_says_where_decisions_stay_and_how_to_see_them_again(tmp_path, monkeypatch) -> None:
    """A command that is broken in two by the terminal, or by a blank in a folder's name, cannot be copied from it."""
    monkeypatch.chdir(Path(sys.prefix).parent)
    store = store_of(contestants()[-1], tmp_path / "with a blank [red]" / ("long" * 20))
    console = Console(file=StringIO(), width=40)
    tell_store(store, console)
    told, command = console.file.getvalue().splitlines()
    assert f" {store} until the next demo" in told
    program = os.path.relpath(Path(sys.executable).with_name("grasshopper"))
    assert shlex.split(command) == [program, "serve", "--store", str(store)]
    assert Path(program).is_file()


@pytest.mark.parametrize("terminal", [False, True])
def test_each_contestant_that_is_done_is_told_at_once(terminal) -> None:
    """A log file says so in a line with its mean; nothing that ended well is called stopped."""
    console = Console(file=StringIO(), width=120, force_terminal=terminal)
    told: list[str] = []

    def run(contestant, world, folder, on_event) -> Outcome:
        told.append(console.file.getvalue())
        for event in ("finished", "finished", "stopped"):
            on_event({"event": event, "job": "a"})
        time.sleep(0.3 * terminal)  # bars are drawn ten times a second
        return outcome(world.seed, 1.0)

    take_turns(contestants()[:2], [World(seed=1)], run, n_jobs=2, console=console)
    said = console.file.getvalue()
    assert "stock-tuned: done, mean 2.0 s" in said
    assert "stopped" not in said
    if not terminal:
        first = ["round 1  stock: starting Spark", "round 1  stock: done, mean 2.0 s; 2 jobs in 0 s"]
        assert told[1].splitlines() == [*first, "round 1  stock-tuned: starting Spark"]


def test_a_result_that_differs_from_stock_on_the_same_seed_is_noticed() -> None:
    stock = [outcome(1, 1.0), outcome(2, 1.0)]
    one = contestants()[3]
    assert row(one, [outcome(2, 2.0), outcome(1, 2.0)], stock, stock, "independent").results_equal_stock
    assert not row(one, [outcome(1, 2.0), outcome(2, 2.0, "other")], stock, stock, "independent").results_equal_stock


@pytest.mark.parametrize(("items", "steered"), [([{"id": 1}], True), ([], False)])
def test_a_run_without_any_decision_was_not_steered(monkeypatch, items, steered) -> None:
    """Its row would show stock Spark under our name."""
    answer = SimpleNamespace(json=lambda: {"items": items}, raise_for_status=lambda: None)
    monkeypatch.setattr("spark_listener.demo.application.requests.get", lambda *_, **__: answer)
    assert was_steered("http://127.0.0.1:1", "app-1") is steered


def test_a_second_demo_in_the_same_folder_is_refused(tmp_path) -> None:
    """Both would write into the same folders; the first one's end lets the next one start, in an empty one."""
    work_dir = tmp_path / "demo"
    with only_one(work_dir):
        (work_dir / "driver.log").touch()
        with pytest.raises(SystemExit, match="another demo is running"), only_one(tmp_path / "demo-yarn"):
            pass
        assert list(work_dir.iterdir())
    with only_one(work_dir):
        assert not list(work_dir.iterdir())
