"""How much sooner do applications on YARN end than under the best stock order? Interleaved rounds, forty minutes."""

import os
import statistics

from rich.console import Console

from controlplane.yarn_demo.contestants import STOCK_ORDERS, contestants, workload, worlds
from controlplane.yarn_demo.runner import run_rounds
from spark_listener.demo.runner import only_one
from tests.bench.__main__ import ROOT
from tests.bench.demo_ratio import mean_times
from tests.bench.statistics import ratio_row

ROUNDS = int(os.environ.get("DEMO_ROUNDS", "6"))
GOAL = 0.7


def rows() -> list[dict]:
    """Rows `demo-yarn-ratio`: mean application time over the best stock order's; the goal is for `hopper+ras`."""
    work_dir = ROOT / "build" / "demo-yarn-ratio"
    four, console, seeds = contestants(), Console(), worlds(first_seed=1, rounds=ROUNDS)
    with only_one(work_dir):
        outcomes = run_rounds(four, seeds, workload(), work_dir, work_dir / "demo-yarn.json", console)
    means = mean_times(four, outcomes, seeds[0].kind, work_dir.with_suffix(".json"), console, "application")
    best = min(STOCK_ORDERS, key=lambda name: statistics.fmean(means[name]))
    return [
        ratio_row(
            f"demo-yarn-ratio {one.name}",
            means[one.name],
            best,
            means[best],
            goal=GOAL if one.name == "hopper+ras" else None,
        )
        for one in four
        if one.allocator
    ]
