"""What came out? One row per contestant: job times, copies, wasted core time, and whether results are equal."""

from __future__ import annotations

import json
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One contestant over all rounds; copies, core-seconds and the machine's load are means per round.

    The interval is a 95 % t-interval of the rounds' mean job times, None with a single round.
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
    copies_launched: float
    copies_won: float
    losing_core_s: float
    load: float
    cores: int
    results_equal_stock: bool
    job_s: list[dict[str, float]]


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


def percentile_95(values: Sequence[float]) -> float:
    """The value that 95 % of all values do not exceed (nearest rank).

    >>> percentile_95([float(value) for value in range(1, 101)])
    95.0
    """
    return sorted(values)[-(-95 * len(values) // 100) - 1]


def row(contestant: Contestant, outcomes: list[Outcome], stock: list[Outcome], world: str) -> Row:
    """Summarise one contestant's rounds, each compared with stock's results for the same seed."""
    times_s = [seconds for outcome in outcomes for seconds in outcome.job_s.values()]
    reference = {outcome.seed: outcome.results for outcome in stock}
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
        copies_launched=statistics.fmean(outcome.copies.launched for outcome in outcomes),
        copies_won=statistics.fmean(outcome.copies.won for outcome in outcomes),
        losing_core_s=statistics.fmean(outcome.copies.losing_core_s for outcome in outcomes),
        load=statistics.fmean(outcome.load for outcome in outcomes),
        cores=os.cpu_count() or 1,
        results_equal_stock=all(outcome.results == reference[outcome.seed] for outcome in outcomes),
        job_s=[outcome.job_s for outcome in outcomes],
    )


def rows_of(contestants: Sequence[Contestant], outcomes: Mapping[str, list[Outcome]], world: str) -> list[Row]:
    """A row for each contestant; the first one is stock, whose results are right."""
    stock = outcomes[contestants[0].name]
    return [row(one, outcomes[one.name], stock, world) for one in contestants]


def write_json(rows: list[Row], path: Path) -> None:
    """One JSON object per contestant, in the order of the table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


def print_table(rows: list[Row], console: Console, subject: str = "job") -> None:
    """`subject` is the thing that is timed."""
    rounds, world = rows[0].rounds, rows[0].world
    title = f"{rounds} round{'s' * (rounds > 1)}, slowness {world}; times are per {subject}"
    table = Table(title=title, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("contestant", no_wrap=True)
    for heading in ("mean", "median", "p95", "copies", "won", "lost core-s", "load", "result"):
        table.add_column(heading, justify="right")
    for one in rows:
        interval = one.mean_job_interval_s
        table.add_row(
            one.contestant,
            f"{one.mean_job_s:.1f} s" + (f" [{interval[0]:.1f}, {interval[1]:.1f}]" if interval else ""),
            f"{one.median_job_s:.1f} s",
            f"{one.p95_job_s:.1f} s",
            f"{one.copies_launched:.0f}",
            f"{one.copies_won:.0f}",
            f"{one.losing_core_s:.1f}",
            f"{one.load:.1f}",
            "equal" if one.results_equal_stock else "[bold red]DIFFERS[/]",
        )
    console.print(table)
    for one in rows:
        console.print(f"{one.contestant}: {one.title}", highlight=False)
    if said := caution([one.load for one in rows], rows[0].cores):
        console.print(said, highlight=False)
    if rounds == 1:
        console.print("One round is one round: it shows how it works, not who is better. More: --rounds N.")
