"""How much sooner do the large demo's jobs end than under stock Spark, who pays, and with what? Hours; resumable."""

import os
import statistics
from dataclasses import replace
from functools import partial
from pathlib import Path

from spark_listener.demo.application import Outcome
from spark_listener.demo.contestants import contestants, grasshopper
from spark_listener.demo.report import interval_95, job_ratio
from spark_listener.demo.world import KINDS, SIZES
from tests.bench.__main__ import ROOT
from tests.bench.demo_rounds import mean_times, measured, on_one_cluster
from tests.bench.statistics import least_ratio, ratio_row

SIZE = SIZES["large"]
TWO_ATTEMPTS = replace(
    grasshopper("hopper", "ras", max_copies_per_task="1"),
    name="hopper+ras-two",
    title="Grasshopper hopper+ras, at most two attempts of a task",
)
"""The default under stock Spark's own cap."""
COMPETITORS = (*contestants(SIZE.best_stock), TWO_ATTEMPTS)
FIRST_SEED = 5001
"""No policy was changed after a look at these; earlier rounds, after which some were, began with 2001."""
ROUNDS = int(os.environ.get("DEMO_ROUNDS", "12"))
FOLDERS = {kind: ROOT / "build" / f"demo-ratio-{kind}-{FIRST_SEED}" for kind in KINDS}
OURS = tuple(one.name for one in COMPETITORS if one.allocator)
TUNED, DEFAULTS = "stock-tuned", "stock"
GOALS = {
    ("independent", TUNED): 0.65,
    ("independent", DEFAULTS): 0.35,
    ("half", TUNED): 0.9,
    ("data", TUNED): 0.92,
}
SLOWEST_BIN = {"independent": 1.0, "half": 1.1, "data": 1.1}
SLOWEST_JOB = 1.1
BINS = {"1 task": (1, 1), "2 to 5 tasks": (2, 5), "6 to 20 tasks": (6, 20), "21 to 40 tasks": (21, 40)}


def rows() -> list[dict]:
    """Rows `demo-ratio-<world>`, `fairness-<world>` and `losing-share-<world>` of each of ours, paired by round."""
    found = []
    for kind, folder in FOLDERS.items():
        outcomes = measured(folder, ROUNDS, COMPETITORS, partial(run_round, kind))
        times_s = mean_times(COMPETITORS, outcomes, kind, folder.with_suffix(".json"))
        for ours in OURS:
            found += ratios(ours, kind, times_s, outcomes)
            found += [*fairness(ours, kind, outcomes), losing_share(ours, kind, outcomes)]
    return found


def run_round(kind: str, number: int, work_dir: Path) -> dict[str, list[Outcome]]:
    """Every contestant once, on one cluster."""
    world = SIZE.world(seed=FIRST_SEED + number - 1, kind=kind)
    return on_one_cluster(COMPETITORS, SIZE, world, SIZE.workload(), number, work_dir)


def ratios(ours: str, kind: str, times_s: dict[str, list[float]], outcomes: dict[str, list[Outcome]]) -> list[dict]:
    """Mean job time (`times_s`, by round) over either stock's; each job's over tuned stock's, by the geometric mean."""
    name = f"demo-ratio-{kind} {ours}"
    by_job = list(map(job_ratio, outcomes[ours], outcomes[TUNED]))
    return [
        *(
            ratio_row(f"{name} {peer}", times_s[ours], peer, times_s[peer], goal=GOALS.get((kind, peer)))
            for peer in (TUNED, DEFAULTS)
        ),
        ratio_row(f"{name} by job", by_job, TUNED, [1.0] * len(by_job), goal=None, unit="geometric mean"),
    ]


def fairness(ours: str, kind: str, outcomes: dict[str, list[Outcome]]) -> list[dict]:
    """By jobs' size, mean job time over tuned stock's; and the job that is most surely slower than under it."""
    jobs = SIZE.workload().jobs

    def times_s(name: str, chosen: set[str]) -> list[float]:
        return [statistics.fmean(one.job_s[job] for job in chosen) for one in outcomes[name]]

    found = []
    for title, (fewest, most) in BINS.items():
        chosen = {job.job_id for job in jobs if fewest <= job.tasks <= most}
        ours_s, tuned_s = times_s(ours, chosen), times_s(TUNED, chosen)
        found.append(ratio_row(f"fairness-{kind} {ours} {title}", ours_s, TUNED, tuned_s, goal=SLOWEST_BIN[kind]))
    surely = {
        job.job_id: least_ratio(times_s(ours, {job.job_id}), times_s(TUNED, {job.job_id}), among=len(jobs))
        for job in jobs
    }
    worst = max(surely, key=surely.__getitem__)
    return [
        *found,
        {
            "name": f"fairness-{kind} {ours} any job",
            "value": round(surely[worst], 3),
            "unit": "lower bound",
            "peer": f"{worst} under {TUNED}",
            "ratio": None,
            "goal": SLOWEST_JOB,
            "met": surely[worst] <= SLOWEST_JOB,
            "runs": len(outcomes[ours]),
            "spread": [],
        },
    ]


def losing_share(ours: str, kind: str, outcomes: dict[str, list[Outcome]]) -> dict:
    """Core-seconds of copies that lost over those of all attempts; the goal is tuned stock's share.

    The spread is the interval of the difference, in percentage points; the goal is met where all of it is at most 0.
    """
    shares, tuned = (
        [100 * one.copies.losing_core_s / one.copies.core_s for one in outcomes[name]] for name in (ours, TUNED)
    )
    more = [mine - theirs for mine, theirs in zip(shares, tuned, strict=True)]
    spread = interval_95(more) or ()
    return {
        "name": f"losing-share-{kind} {ours}",
        "value": round(statistics.fmean(shares), 2),
        "unit": "% of core-s",
        "peer": f"{TUNED} {statistics.fmean(tuned):.2f}",
        "ratio": None,
        "goal": round(statistics.fmean(tuned), 2),
        "met": max([statistics.fmean(more), *spread]) <= 0,
        "runs": len(more),
        "spread": [round(bound, 2) for bound in spread],
    }
