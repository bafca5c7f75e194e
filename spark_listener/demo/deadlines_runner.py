"""How does `demo --deadlines` proceed? At each load tuned stock sets the deadlines, then contestants take turns."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from spark_listener.demo.application import Outcome
from spark_listener.demo.control_plane import store_of
from spark_listener.demo.deadlines import (
    COMPETITORS,
    LOADS,
    OURS,
    SIZE,
    TUNED,
    calibration,
    deadline_of,
    deadline_rows,
    due,
    print_table,
    workload,
    write_json,
)
from spark_listener.demo.runner import begin, check_results, keep_page, only_one, run_rounds, served, tell_store
from spark_listener.demo.world import Workload, World
from spark_listener.local_cluster import LocalCluster

JOBS = 10
"""At each load."""


def run_deadlines(*, rounds: int, world_kind: str, build_dir: Path) -> None:
    """All contestants at both loads, the table, `build_dir`/demo-deadlines.json; keeps the decision page.

    Raises FileNotFoundError or ClusterError, before anything is started, for what is missing.
    """
    console = begin()
    report = build_dir / "demo-deadlines.json"
    work_dir = build_dir / "demo-deadlines"
    worlds = [SIZE.world(seed=number, kind=world_kind) for number in range(1, rounds + 1)]
    with only_one(work_dir), served(OURS, work_dir, work_dir / "no-report.json", console) as addresses:
        with LocalCluster(cores_per_worker=SIZE.cores_per_worker, log_dir=work_dir / "cluster") as cluster:
            rows = [
                row
                for load in LOADS
                for row in deadline_rows(
                    load,
                    run_load(load, workload(load, JOBS), worlds, addresses, cluster, work_dir, console),
                    world_kind,
                )
            ]
        print_table(rows, console)
        write_json(rows, report)
        console.print(f"Written: {report}; logs and event logs: {work_dir}")
        keep_page(addresses[OURS[-1].name], console)
    tell_store(store_of(OURS[-1], work_dir), console)
    check_results([one.row for one in rows])


def run_load(
    load: float,
    work: Workload,
    worlds: list[World],
    addresses: dict[str, str],
    cluster: LocalCluster,
    work_dir: Path,
    console: Console,
) -> dict[str, list[Outcome]]:
    """Round 0 is tuned stock alone, in a world of its own, and sets the deadline of the jobs of the others."""
    folder = work_dir / f"load-{load:g}"
    alone = run_rounds([TUNED], calibration(worlds[0].kind), work, {}, cluster, folder, console, first_round=0)
    deadline_s = deadline_of(alone[TUNED.name])
    console.print(f"Load {load:g}: jobs are due {deadline_s:.1f} s after their submission.", highlight=False)
    return run_rounds(COMPETITORS, worlds, due(work, deadline_s), addresses, cluster, folder, console)
