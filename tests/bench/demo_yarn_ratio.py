"""How much sooner do jobs on YARN end than under the best stock order? Interleaved rounds; resumable."""

import os
import statistics
from pathlib import Path

from rich.console import Console

from controlplane.yarn_demo.contestants import STOCK_ORDERS, contestants, workload, worlds
from controlplane.yarn_demo.runner import run_rounds
from spark_listener.demo.application import Outcome
from tests.bench.__main__ import ROOT
from tests.bench.demo_rounds import mean_times, measured
from tests.bench.statistics import ratio_row

ROUNDS = int(os.environ.get("DEMO_ROUNDS", "6"))
FOLDER = ROOT / "build" / "demo-yarn-ratio"
GOAL = 0.75


def rows() -> list[dict]:
    """Rows `demo-yarn-ratio`: mean job time over the best stock order's; the goal is for `hopper+ras`.

    Each row has the same of application times, over the stock order that is best by those, and counts executors.
    """
    four = contestants()
    outcomes = measured(FOLDER, ROUNDS, four, run_round)
    jobs_s = mean_times(four, outcomes, "independent", FOLDER.with_suffix(".json"))
    applications_s = {
        name: [statistics.fmean(one.application_s.values()) for one in rounds] for name, rounds in outcomes.items()
    }
    executors = {name: statistics.fmean(one.executors_started for one in rounds) for name, rounds in outcomes.items()}
    return [
        over_best_stock(one.name, jobs_s, goal=GOAL if one.name == "hopper+ras" else None)
        | {"applications": over_best_stock(one.name, applications_s), "executors_started": executors}
        for one in four
        if one.allocator
    ]


def run_round(number: int, work_dir: Path) -> dict[str, list[Outcome]]:
    """Every contestant once, on one YARN."""
    rounds, report = worlds(first_seed=number, rounds=1), work_dir / "demo-yarn.json"
    return run_rounds(contestants(), rounds, workload(), work_dir, report, Console(), first_round=number)


def over_best_stock(name: str, times_s: dict[str, list[float]], *, goal: float | None = None) -> dict:
    """The row of a contestant's times, one a round, over those of the stock order with the smallest mean.

    >>> row = over_best_stock("hopper+ras", {"stock-fifo": [4.0], "stock-fair": [2.0], "hopper+ras": [1.0]}, goal=0.75)
    >>> row["peer"], row["ratio"], row["met"]
    ('stock-fair 2.00', 0.5, True)
    """
    best = min(STOCK_ORDERS, key=lambda order: statistics.fmean(times_s[order]))
    return ratio_row(f"demo-yarn-ratio {name}", times_s[name], best, times_s[best], goal=goal)
