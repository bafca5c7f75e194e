"""How much sooner do the demo's jobs end than under stock Spark? Interleaved rounds in both worlds, most of an hour."""

import contextlib
import os
import statistics
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from spark_listener.demo.application import Outcome
from spark_listener.demo.contestants import Contestant, contestants
from spark_listener.demo.control_plane import control_plane
from spark_listener.demo.report import print_table, rows_of, write_json
from spark_listener.demo.runner import check_results, only_one, run_rounds
from spark_listener.demo.world import KINDS, Workload, World
from spark_listener.local_cluster import LocalCluster
from tests.bench.__main__ import ROOT
from tests.bench.statistics import ratio_row

ROUNDS = int(os.environ.get("DEMO_ROUNDS", "6"))
GOALS = {
    ("independent", "stock"): 0.5,
    ("independent", "stock-tuned"): 0.7,
    ("data", "stock"): 1.0,
    ("data", "stock-tuned"): 1.0,
}
OURS = ("fair+late", "hopper+ras")


def rows() -> list[dict]:
    """Rows `demo-ratio`: mean job time of ours over stock's, paired by round; the goal is for `hopper+ras`."""
    return [one for kind in KINDS for one in _world(kind)]


def _world(kind: str) -> list[dict]:
    work_dir = ROOT / "build" / f"demo-ratio-{kind}"
    four, console = contestants(), Console()
    worlds = [World(seed=seed, kind=kind) for seed in range(1, ROUNDS + 1)]
    with contextlib.ExitStack() as stack:
        stack.enter_context(only_one(work_dir))
        addresses = {
            one.name: stack.enter_context(control_plane(one, work_dir=work_dir, report=work_dir / "demo.json"))
            for one in four
            if one.allocator
        }
        cluster = stack.enter_context(LocalCluster(log_dir=work_dir / "cluster"))
        outcomes = run_rounds(four, worlds, Workload(), addresses, cluster, work_dir, console)
    means = mean_times(four, outcomes, kind, work_dir.with_suffix(".json"), console)
    return [
        ratio_row(
            f"demo-ratio {kind} {name}",
            means[name],
            peer,
            means[peer],
            goal=GOALS[kind, peer] if name == "hopper+ras" else None,
        )
        for name in OURS
        for peer in ("stock", "stock-tuned")
    ]


def mean_times(
    four: Sequence[Contestant],
    outcomes: dict[str, list[Outcome]],
    kind: str,
    report: Path,
    console: Console,
    subject: str = "job",
) -> dict[str, list[float]]:
    """Each contestant's mean job time of every round, in seconds; prints the table, and keeps it as a report.

    Raises SystemExit if any contestant's results differ from stock's.
    """
    table = rows_of(four, outcomes, kind)
    print_table(table, console, subject)
    write_json(table, report)
    check_results(table)
    return {name: [statistics.fmean(one.job_s.values()) for one in rounds] for name, rounds in outcomes.items()}
