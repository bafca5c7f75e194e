"""What came out? One row per contestant: job times, copies, wasted core time, and whether results are equal."""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from controlplane.machine_load import caution
from spark_listener.demo.application import Outcome
from spark_listener.demo.contestants import Contestant

LEGEND = "lost core-s: core-seconds of losing copies; load: the machine's load average; equal: to stock's, job by job"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One contestant over all rounds; copies, core-seconds and the machine's load are means per round.

    Ratios are over `peer`, the last stock contestant, paired by round: of mean job times, and the geometric mean of
    each job's own. Intervals are 95 % t-intervals over the rounds, None with a single round. Application times are None
    or empty where jobs share one application.
    """

    contestant: str
    title: str
    world: str
    rounds: int
    jobs: int
    mean_job_s: float
    mean_job_interval_s: tuple[float, float] | None
    median_job_s: float
    p95_job_s: float
    peer: str
    mean_ratio: float
    mean_ratio_interval: tuple[float, float] | None
    job_ratio: float
    job_ratio_interval: tuple[float, float] | None
    copies_launched: float
    copies_won: float
    losing_core_s: float
    load: float
    cores: int
    results_equal_stock: bool
    job_s: list[dict[str, float]]
    mean_application_s: float | None
    executors_started: float
    application_s: list[dict[str, float]]


def interval_95(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % t-interval of the mean of independent values.

    >>> [round(bound, 2) for bound in interval_95([1.0, 2.0, 3.0])]
    [-0.48, 4.48]
    >>> interval_95([1.0]) is None
    True
    """
    if len(values) < 2:
        return None
    from scipy.stats import t

    mean = statistics.fmean(values)
    half = float(t.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / len(values) ** 0.5
    return mean - half, mean + half


def geometric_95(ratios: Sequence[float]) -> tuple[float, tuple[float, float] | None]:
    """Geometric mean of independent ratios, and the 95 % t-interval of their logarithms' mean, as ratios.

    >>> geometric_95([0.5, 0.5])
    (0.5, (0.5, 0.5))
    >>> round(geometric_95([0.25, 1.0])[0], 3), geometric_95([0.25])
    (0.5, (0.25, None))
    """
    logs = [math.log(ratio) for ratio in ratios]
    interval = interval_95(logs)
    return math.exp(statistics.fmean(logs)), interval and (math.exp(interval[0]), math.exp(interval[1]))


def percentile_95(values: Sequence[float]) -> float:
    """The value that 95 % of all values do not exceed (nearest rank).

    >>> percentile_95([float(value) for value in range(1, 101)])
    95.0
    """
    return sorted(values)[-(-95 * len(values) // 100) - 1]


def mean_ratio(outcome: Outcome, peer: Outcome) -> float:
    """Mean job time over the peer's."""
    return statistics.fmean(outcome.job_s.values()) / statistics.fmean(peer.job_s.values())


def job_ratio(outcome: Outcome, peer: Outcome) -> float:
    """Geometric mean of each job's time over its time under the peer."""
    return statistics.geometric_mean(seconds / peer.job_s[job] for job, seconds in outcome.job_s.items())


def row(contestant: Contestant, outcomes: list[Outcome], stock: list[Outcome], peers: list[Outcome], world: str) -> Row:
    """Summarise one contestant's rounds: results compared with stock's, times with the peer's for the same seed."""
    times_s = [seconds for outcome in outcomes for seconds in outcome.job_s.values()]
    applications_s = [seconds for outcome in outcomes for seconds in outcome.application_s.values()]
    reference = {outcome.seed: outcome.results for outcome in stock}
    beside = {outcome.seed: outcome for outcome in peers}
    of_means, of_means_interval = geometric_95([mean_ratio(one, beside[one.seed]) for one in outcomes])
    of_jobs, of_jobs_interval = geometric_95([job_ratio(one, beside[one.seed]) for one in outcomes])
    return Row(
        contestant=contestant.name,
        title=contestant.title,
        world=world,
        rounds=len(outcomes),
        jobs=len(times_s),
        mean_job_s=statistics.fmean(times_s),
        mean_job_interval_s=interval_95([statistics.fmean(one.job_s.values()) for one in outcomes]),
        median_job_s=statistics.median(times_s),
        p95_job_s=percentile_95(times_s),
        peer=peers[0].contestant,
        mean_ratio=of_means,
        mean_ratio_interval=of_means_interval,
        job_ratio=of_jobs,
        job_ratio_interval=of_jobs_interval,
        copies_launched=statistics.fmean(outcome.copies.launched for outcome in outcomes),
        copies_won=statistics.fmean(outcome.copies.won for outcome in outcomes),
        losing_core_s=statistics.fmean(outcome.copies.losing_core_s for outcome in outcomes),
        load=statistics.fmean(outcome.load for outcome in outcomes),
        cores=os.cpu_count() or 1,
        results_equal_stock=all(outcome.results == reference[outcome.seed] for outcome in outcomes),
        job_s=[outcome.job_s for outcome in outcomes],
        mean_application_s=statistics.fmean(applications_s) if applications_s else None,
        executors_started=statistics.fmean(outcome.executors_started for outcome in outcomes),
        application_s=[outcome.application_s for outcome in outcomes],
    )


def rows_of(contestants: Sequence[Contestant], outcomes: Mapping[str, list[Outcome]], world: str) -> list[Row]:
    """A row for each contestant; the first one is stock, whose results are right, the last stock one is the peer."""
    stocks = [outcomes[one.name] for one in contestants if not one.allocator]
    return [row(one, outcomes[one.name], stocks[0], stocks[-1], world) for one in contestants]


def write_json(rows: list[Row], path: Path) -> None:
    """One JSON object per contestant, in the order of the table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


def print_table(rows: list[Row], console: Console) -> None:
    """Where there are several applications, their times and executors take the place of median and p95."""
    rounds, world = rows[0].rounds, rows[0].world
    several = rows[0].mean_application_s is not None
    times = "mean times per job and per application, executors started" if several else "times are per job"
    title = f"{rounds} round{'s' * (rounds > 1)}, slowness {world}; {times}"
    table = Table(title=title, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    table.add_column("contestant", no_wrap=True)
    shown = ("per app", "started") if several else ("median", "p95")
    for heading in ("mean", *shown, "copies", "won", "lost core-s", "load", "result"):
        table.add_column(heading, justify="right")
    for one in rows:
        interval = one.mean_job_interval_s
        table.add_row(
            one.contestant,
            f"{one.mean_job_s:.1f} s" + (f" [{interval[0]:.1f}, {interval[1]:.1f}]" if interval else ""),
            *(
                (f"{one.mean_application_s:.1f} s", f"{one.executors_started:.0f}")
                if several
                else (f"{one.median_job_s:.1f} s", f"{one.p95_job_s:.1f} s")
            ),
            f"{one.copies_launched:.0f}",
            f"{one.copies_won:.0f}",
            f"{one.losing_core_s:.1f}",
            f"{one.load:.1f}",
            "equal" if one.results_equal_stock else "[bold red]DIFFERS[/]",
        )
    console.print(table)
    console.print(LEGEND, highlight=False)
    for one in rows:
        console.print(f"{one.contestant}: {one.title}", highlight=False)
    print_ratios(rows, console)
    if said := caution([one.load for one in rows], rows[0].cores):
        console.print(said, highlight=False)
    if rounds == 1:
        console.print("One round is one round: it shows how it works, not who is better. More: --rounds N.")


def print_ratios(rows: list[Row], console: Console) -> None:
    """Each contestant's times over the peer's: long jobs decide a ratio of means, all count alike in that of each."""
    table = Table(title=f"time over {rows[0].peer}'s", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("contestant", no_wrap=True)
    for heading in ("mean job time", "each job, geometric mean"):
        table.add_column(heading, justify="right")
    for one in rows:
        if one.contestant != one.peer:
            of_means = with_interval(one.mean_ratio, one.mean_ratio_interval)
            table.add_row(one.contestant, of_means, with_interval(one.job_ratio, one.job_ratio_interval))
    console.print(table)


def with_interval(ratio: float, interval: tuple[float, float] | None) -> str:
    """A ratio as shown.

    >>> with_interval(0.5, (0.4, 0.62)), with_interval(0.5, None)
    ('0.50 [0.40, 0.62]', '0.50')
    """
    return f"{ratio:.2f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")
