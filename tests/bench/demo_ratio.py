"""How much sooner do the demo's jobs end than under stock Spark? Interleaved rounds in both worlds, half an hour."""

import os
import shutil
import statistics

from rich.console import Console

from spark_listener.demo.contestants import contestants
from spark_listener.demo.control_plane import control_plane
from spark_listener.demo.report import print_table, row
from spark_listener.demo.runner import run_rounds
from spark_listener.demo.world import KINDS, Workload, World
from spark_listener.local_cluster import LocalCluster
from tests.bench.__main__ import ROOT
from tests.bench.statistics import ratio_interval

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
    outcomes: dict[str, list] = {one.name: [] for one in four}
    with LocalCluster(log_dir=work_dir / "cluster") as cluster:
        servers = {
            one.name: control_plane(one, work_dir=work_dir, report=work_dir / "demo.json")
            for one in four
            if one.allocator
        }
        addresses = {name: server.__enter__() for name, server in servers.items()}
        try:
            outcomes = run_rounds(four, worlds, Workload(), addresses, cluster, work_dir, console)
        finally:
            for server in servers.values():
                server.__exit__(None, None, None)
    table = [row(one, outcomes[one.name], outcomes["stock"], kind) for one in four]
    print_table(table, console)
    if not all(one.results_equal_stock for one in table):
        raise SystemExit("a contestant's results differ from stock Spark's")
    means = {name: [statistics.fmean(one.job_s.values()) for one in rounds] for name, rounds in outcomes.items()}
    return [_row(kind, name, peer, means) for name in OURS for peer in ("stock", "stock-tuned")]


def _row(kind: str, name: str, peer: str, means: dict[str, list[float]]) -> dict:
    ratio, interval = ratio_interval(means[name], means[peer])
    goal = GOALS[kind, peer] if name == "hopper+ras" else None
    return {
        "name": f"demo-ratio {kind} {name}",
        "value": round(statistics.fmean(means[name]), 2),
        "unit": "s",
        "peer": f"{peer} {statistics.fmean(means[peer]):.2f}",
        "ratio": round(ratio, 3),
        "goal": goal,
        "met": None if goal is None else interval[1] <= goal,
        "runs": ROUNDS,
        "spread": [round(bound, 3) for bound in interval],
    }
