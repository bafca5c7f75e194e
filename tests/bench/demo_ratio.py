"""How much sooner do the demo's jobs end than under stock Spark? Interleaved rounds in both worlds, half an hour."""

import contextlib
import os
import shutil
import statistics

from rich.console import Console

from spark_listener.demo.application import Outcome
from spark_listener.demo.contestants import contestants
from spark_listener.demo.control_plane import control_plane
from spark_listener.demo.report import print_table, row
from spark_listener.demo.runner import check_results, run_rounds
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
    shutil.rmtree(work_dir, ignore_errors=True)
    work_dir.mkdir(parents=True)
    four, console = contestants(), Console()
    worlds = [World(seed=seed, kind=kind) for seed in range(1, ROUNDS + 1)]
    with contextlib.ExitStack() as stack:
        addresses = {
            one.name: stack.enter_context(control_plane(one, work_dir=work_dir, report=work_dir / "demo.json"))
            for one in four
            if one.allocator
        }
        cluster = stack.enter_context(LocalCluster(log_dir=work_dir / "cluster"))
        outcomes = run_rounds(four, worlds, Workload(), addresses, cluster, work_dir, console)
    table = [row(one, outcomes[one.name], outcomes["stock"], kind) for one in four]
    print_table(table, console)
    check_results(table)
    means = mean_times(outcomes)
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


def mean_times(outcomes: dict[str, list[Outcome]]) -> dict[str, list[float]]:
    """Each contestant's mean job time of every round, in seconds."""
    return {name: [statistics.fmean(one.job_s.values()) for one in rounds] for name, rounds in outcomes.items()}
