"""How much sooner do the large demo's jobs end than under stock Spark, who pays, and with what? Hours; resumable."""

import statistics
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from spark_listener.demo.application import Outcome
from spark_listener.demo.contestants import Contestant
from spark_listener.demo.report import interval_95, job_ratio, print_table, rows_of, write_json
from spark_listener.demo.runner import check_results
from spark_listener.demo.world import KINDS
from tests.bench.demo_rounds import COMPETITORS, FOLDER, SIZE, measured
from tests.bench.statistics import least_ratio, ratio_row

OURS, TUNED, DEFAULTS = "hopper+ras", "stock-tuned", "stock"
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
    """Rows `demo-ratio-<world>`, `fairness-<world>` and `losing-share-<world>` of `hopper+ras`, paired by round."""
    found = []
    for kind in KINDS:
        rounds = measured(kind)
        outcomes = {one.name: [each.outcomes[one.name] for each in rounds] for one in COMPETITORS}
        times_s = mean_times(COMPETITORS, outcomes, kind, FOLDER.with_name(f"demo-ratio-{kind}.json"), Console())
        found += [*ratios(kind, times_s, outcomes), *fairness(kind, outcomes), losing_share(kind, outcomes)]
    return found


def ratios(kind: str, times_s: dict[str, list[float]], outcomes: dict[str, list[Outcome]]) -> list[dict]:
    """Mean job time (`times_s`, by round) over either stock's; each job's over tuned stock's, by the geometric mean."""
    name = f"demo-ratio-{kind}"
    by_job = list(map(job_ratio, outcomes[OURS], outcomes[TUNED]))
    return [
        *(
            ratio_row(f"{name} {peer}", times_s[OURS], peer, times_s[peer], goal=GOALS.get((kind, peer)))
            for peer in (TUNED, DEFAULTS)
        ),
        ratio_row(f"{name} by job", by_job, TUNED, [1.0] * len(by_job), goal=None, unit="geometric mean"),
    ]


def fairness(kind: str, outcomes: dict[str, list[Outcome]]) -> list[dict]:
    """By jobs' size, mean job time over tuned stock's; and the job that is most surely slower than under it."""
    jobs = SIZE.workload().jobs

    def times_s(name: str, chosen: set[str]) -> list[float]:
        return [statistics.fmean(one.job_s[job] for job in chosen) for one in outcomes[name]]

    found = []
    for title, (fewest, most) in BINS.items():
        chosen = {job.job_id for job in jobs if fewest <= job.tasks <= most}
        ours_s, tuned_s = times_s(OURS, chosen), times_s(TUNED, chosen)
        found.append(ratio_row(f"fairness-{kind} {title}", ours_s, TUNED, tuned_s, goal=SLOWEST_BIN[kind]))
    surely = {
        job.job_id: least_ratio(times_s(OURS, {job.job_id}), times_s(TUNED, {job.job_id}), among=len(jobs))
        for job in jobs
    }
    worst = max(surely, key=surely.__getitem__)
    return [
        *found,
        {
            "name": f"fairness-{kind} any job",
            "value": round(surely[worst], 3),
            "unit": "lower bound",
            "peer": f"{worst} under {TUNED}",
            "ratio": None,
            "goal": SLOWEST_JOB,
            "met": surely[worst] <= SLOWEST_JOB,
            "runs": len(outcomes[OURS]),
            "spread": [],
        },
    ]


def losing_share(kind: str, outcomes: dict[str, list[Outcome]]) -> dict:
    """Core-seconds of copies that lost over those of all attempts; the goal is tuned stock's share.

    The spread is the interval of the difference, in percentage points; the goal is met where all of it is at most 0.
    """
    ours, tuned = (
        [100 * one.copies.losing_core_s / one.copies.core_s for one in outcomes[name]] for name in (OURS, TUNED)
    )
    more = [mine - theirs for mine, theirs in zip(ours, tuned, strict=True)]
    spread = interval_95(more) or ()
    return {
        "name": f"losing-share-{kind}",
        "value": round(statistics.fmean(ours), 2),
        "unit": "% of core-s",
        "peer": f"{TUNED} {statistics.fmean(tuned):.2f}",
        "ratio": None,
        "goal": round(statistics.fmean(tuned), 2),
        "met": max([statistics.fmean(more), *spread]) <= 0,
        "runs": len(more),
        "spread": [round(bound, 2) for bound in spread],
    }


def mean_times(
    contestants: Sequence[Contestant],
    outcomes: dict[str, list[Outcome]],
    kind: str,
    report: Path,
    console: Console,
) -> dict[str, list[float]]:
    """Each contestant's mean job time of every round, in seconds; prints the table, and keeps it as a report.

    Raises SystemExit if any contestant's results differ from stock's.
    """
    table = rows_of(contestants, outcomes, kind)
    print_table(table, console)
    write_json(table, report)
    check_results(table)
    return {name: [statistics.fmean(one.job_s.values()) for one in rounds] for name, rounds in outcomes.items()}
