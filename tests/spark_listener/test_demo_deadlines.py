"""Are the deadlines of the demo those of other runs, its load what it says, and its report right?"""

import json
from io import StringIO

import pytest
from rich.console import Console

from spark_listener.demo.application import Outcome, driver_task
from spark_listener.demo.deadlines import (
    CALIBRATION_SEED,
    COMPETITORS,
    LOADS,
    SIZE,
    TASKS,
    calibration,
    deadline_of,
    deadline_rows,
    due,
    in_time,
    print_table,
    workload,
    write_json,
)
from spark_listener.event_log import CopyCounts

pytestmark = pytest.mark.unit


def outcome(name: str, *job_s: float, deadline_s: float | None = None, seed: int = 1, result: str = "same") -> Outcome:
    """Jobs that took these times, and had this deadline."""
    times = {f"job{at}": seconds for at, seconds in enumerate(job_s)}
    return Outcome(
        contestant=name,
        seed=seed,
        job_s=times,
        results=dict.fromkeys(times, result),
        copies=CopyCounts(launched=4, won=2, losing_core_s=5.0, core_s=50.0),
        load=1.0,
        deadline_s={} if deadline_s is None else dict.fromkeys(times, deadline_s),
    )


def test_stock_is_tuned_and_ours_set_nothing_but_their_policies() -> None:
    tuned, *ours = COMPETITORS
    assert (tuned.name, tuned.allocator, tuned.spark_conf["spark.speculation"]) == ("stock-tuned", None, "true")
    assert [(one.name, one.spark_conf) for one in ours] == [("fifo+shed-plus", {}), ("unified+unified", {})]


@pytest.mark.parametrize("load", LOADS)
def test_jobs_arrive_as_often_as_the_load_says(load) -> None:
    """18 slots of healthy hosts, 6 that run a quarter of the time; a split takes 1.33 s, slowed by 2.65 on average."""
    jobs = workload(load, 20).jobs
    assert jobs == workload(load, 20).jobs, "the same for each contestant and seed"
    assert {job.tasks for job in jobs} == {TASKS}
    assert jobs[0].arrival_s == 0.0
    gap_s = jobs[-1].arrival_s / 19
    assert TASKS * 4 / 3 * 2.654 / (gap_s * 19.5) == pytest.approx(load, rel=1e-3)


def test_a_deadline_is_a_share_of_the_median_that_tuned_stock_took_on_other_seeds() -> None:
    alone = [outcome("stock-tuned", 1.0, 30.0), outcome("stock-tuned", 10.0, 10.0)]
    assert deadline_of(alone) == 9.5
    assert [world.seed for world in calibration("half", rounds=2)] == [CALIBRATION_SEED, CALIBRATION_SEED + 1]
    assert {world.kind for world in calibration("half", rounds=2)} == {"half"}
    work = workload(0.4, 3)
    assert [job.deadline_s for job in work.jobs] == [None] * 3, "those that set the deadline have none"
    assert [job.deadline_s for job in due(work, 9.5).jobs] == [9.5] * 3
    assert [job.arrival_s for job in due(work, 9.5).jobs] == [job.arrival_s for job in work.jobs]


def test_the_users_program_is_given_each_jobs_deadline(tmp_path) -> None:
    """Under stock, too: it is the same program."""
    jobs = due(workload(0.4, 2), 9.5).jobs
    inputs = {job.job_id: tmp_path for job in jobs}
    task = json.loads(driver_task("x", conf={}, jobs=jobs, inputs=inputs, server=None, warm_slots=1))
    assert [(job["deadline_s"], job["is_approximate"]) for job in task["jobs"]] == [(9.5, False)] * 2


def test_the_report_counts_jobs_that_took_no_longer_than_their_deadline(tmp_path) -> None:
    """By load and contestant, over all rounds; a result that differs from stock's is said."""
    assert in_time(outcome("stock-tuned", 9.4, 9.5, 9.6, deadline_s=9.5)) == 2
    stock = [outcome("stock-tuned", 9.0, 10.0, deadline_s=9.5, seed=seed) for seed in (1, 2)]
    ours = [outcome("fifo+shed-plus", 9.0, late, deadline_s=9.5, seed=seed) for seed, late in ((1, 9.0), (2, 10.0))]
    best = [outcome("unified+unified", 9.0, 9.0, deadline_s=9.5, seed=seed) for seed in (1, 2)]
    rows = deadline_rows(0.8, {"stock-tuned": stock, "fifo+shed-plus": ours, "unified+unified": best}, "independent")
    assert [(one.offered_load, one.deadline_s, one.in_time, one.row.jobs) for one in rows] == [
        (0.8, 9.5, 2, 4),
        (0.8, 9.5, 3, 4),
        (0.8, 9.5, 4, 4),
    ]
    write_json(rows, tmp_path / "build" / "demo-deadlines.json")
    first, second, _ = json.loads((tmp_path / "build" / "demo-deadlines.json").read_text())
    assert (first["contestant"], first["in_time"], first["losing_core_s"]) == ("stock-tuned", 2, 5.0)
    assert (second["contestant"], second["in_time"], second["offered_load"]) == ("fifo+shed-plus", 3, 0.8)
    console = Console(file=StringIO(), width=80)
    print_table(rows, console)
    shown = next(line for line in console.file.getvalue().splitlines() if line.startswith("fifo+shed-plus "))
    assert "…" not in console.file.getvalue(), "whole where a terminal is narrow"
    assert shown.split()[1:8] == ["0.8", "9.5", "s", "3", "of", "4", "75"]
    assert shown.split()[-2:] == ["5.0", "equal"]
    many = [outcome("stock-tuned", *[9.0] * 100, deadline_s=19.5)]
    console = Console(file=StringIO(), width=80)
    print_table(deadline_rows(0.8, {one.name: many for one in COMPETITORS}, "independent"), console)
    assert "100 of 100" in console.file.getvalue(), "in one line"
    other = [outcome("fifo+shed-plus", 9.0, 9.0, deadline_s=9.5, result="other")]
    outcomes = {"stock-tuned": stock[:1], "fifo+shed-plus": other, "unified+unified": best[:1]}
    assert [one.row.results_equal_stock for one in deadline_rows(0.8, outcomes, "independent")] == [True, False, True]


def test_all_tasks_of_a_job_fit_into_the_healthy_hosts() -> None:
    """What makes jobs late is then a straggler, and not a second wave."""
    assert 3 * SIZE.cores_per_worker >= TASKS
