"""How much sooner do jobs on YARN end than under the best stock order? Interleaved rounds, forty minutes; resumable."""

import os
import statistics

from rich.console import Console

from controlplane.yarn_demo.contestants import STOCK_ORDERS, contestants, workload, worlds
from controlplane.yarn_demo.runner import run_rounds
from spark_listener.demo.runner import only_one
from tests.bench.__main__ import ROOT, commit
from tests.bench.demo_ratio import mean_times
from tests.bench.statistics import ratio_row

ROUNDS = int(os.environ.get("DEMO_ROUNDS", "6"))
GOAL = 0.75


def rows() -> list[dict]:
    """Rows `demo-yarn-ratio`: mean job time over the best stock order's; the goal is for `hopper+ras`.

    Each row has the same of application times, over the stock order that is best by those, and counts executors.
    """
    work_dir = ROOT / "build" / "demo-yarn-ratio"
    kept = work_dir / f"rounds-{commit()}.json"
    four, console, seeds = contestants(), Console(), worlds(first_seed=1, rounds=ROUNDS)
    with only_one(work_dir, kept=kept):
        outcomes = run_rounds(four, seeds, workload(), work_dir, work_dir / "demo-yarn.json", console, kept)
    jobs_s = mean_times(four, outcomes, seeds[0].kind, work_dir.with_suffix(".json"), console)
    applications_s = {
        name: [statistics.fmean(one.application_s.values()) for one in rounds] for name, rounds in outcomes.items()
    }
    kept.unlink()
    executors = {name: statistics.fmean(one.executors_started for one in rounds) for name, rounds in outcomes.items()}
    return [
        over_best_stock(one.name, jobs_s, goal=GOAL if one.name == "hopper+ras" else None)
        | {"applications": over_best_stock(one.name, applications_s), "executors_started": executors}
        for one in four
        if one.allocator
    ]


def over_best_stock(name: str, times_s: dict[str, list[float]], *, goal: float | None = None) -> dict:
    """The row of a contestant's times, one a round, over those of the stock order with the smallest mean.

    >>> row = over_best_stock("hopper+ras", {"stock-fifo": [4.0], "stock-fair": [2.0], "hopper+ras": [1.0]}, goal=0.75)
    >>> row["peer"], row["ratio"], row["met"]
    ('stock-fair 2.00', 0.5, True)
    """
    best = min(STOCK_ORDERS, key=lambda order: statistics.fmean(times_s[order]))
    return ratio_row(f"demo-yarn-ratio {name}", times_s[name], best, times_s[best], goal=goal)
