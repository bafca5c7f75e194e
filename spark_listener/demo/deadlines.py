"""Which jobs have which deadlines in `demo --deadlines`, and how many of them are in time?

All jobs have the same shape, so a single time bounds them all: a share of the median that jobs like them took under
tuned stock, at the same load, in a run of its own whose draws of slowness no contestant meets.
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from controlplane.machine_load import caution
from spark_listener.demo.application import Outcome
from spark_listener.demo.contestants import contestants, grasshopper
from spark_listener.demo.report import Row, rows_of
from spark_listener.demo.world import SIZES, Workload, World
from spark_listener.swim import ModelJob

SIZE = SIZES["large"]
"""The cluster, the pace of a nominal task, and stock's best setting; not its jobs."""
HEALTHY_HOSTS = 3
"""The fourth one is sick."""
LOADS = (0.4, 0.8)
TASKS = 10
"""Of each job; they fit into the slots of the healthy hosts."""
ARRIVALS_SEED = 7
CALIBRATION_SEED = 1101
"""From here on; the seeds of contestants are lower in the demo, and higher in benchmarks."""
SHARE_OF_MEDIAN = 0.95
TUNED = next(one for one in contestants(SIZE.best_stock) if one.name == "stock-tuned")
SHED_PLUS, UNIFIED = grasshopper("fifo", "shed-plus"), grasshopper("unified", "unified")
OURS = (SHED_PLUS, UNIFIED)
COMPETITORS = (TUNED, *OURS)


def workload(load: float, n_jobs: int) -> Workload:
    """Jobs that read for `load` of the time of all effective slots, those of the sick host counting by its duty.

    Gaps between arrivals are exponential, always the same, and stretched so that the load is exact on average.
    """
    world = SIZE.world(seed=0, kind="independent")
    slots = SIZE.cores_per_worker * (HEALTHY_HOSTS + world.sick_duty)
    gap_s = TASKS * world.mean_read_s() / (load * slots)
    draws = random.Random(ARRIVALS_SEED)  # noqa: S311  # no secret
    gaps = [draws.expovariate(1.0) for _ in range(n_jobs - 1)]
    stretched = (gap * gap_s / statistics.fmean(gaps) for gap in gaps)
    arrivals_s = accumulate(stretched, initial=0.0)
    jobs = [ModelJob(job_id=f"job{at}", arrival_s=at_s, tasks=TASKS) for at, at_s in enumerate(arrivals_s)]
    return Workload(jobs=jobs)


def calibration(kind: str, rounds: int = 1) -> list[World]:
    """The worlds in which tuned stock alone runs, to learn how long jobs take."""
    return [SIZE.world(seed=CALIBRATION_SEED + number, kind=kind) for number in range(rounds)]


def deadline_of(alone: Iterable[Outcome]) -> float:
    """A job's deadline, from what tuned stock took for the jobs of the calibration.  Units: seconds.

    Source: Shed+ (section VI.A) goes by the median time of Hadoop's jobs, too.
    """
    return SHARE_OF_MEDIAN * statistics.median(seconds for one in alone for seconds in one.job_s.values())


def due(work: Workload, deadline_s: float) -> Workload:
    """The same jobs with this deadline."""
    return Workload(jobs=[replace(job, deadline_s=deadline_s) for job in work.jobs])


def in_time(outcome: Outcome) -> int:
    """How many jobs took no longer than their deadline, from submission to result."""
    return sum(outcome.job_s[job] <= deadline_s for job, deadline_s in outcome.deadline_s.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineRow:
    """One contestant at one load, over all rounds: how many of its jobs were in time, and all else of a demo's row."""

    offered_load: float
    deadline_s: float
    in_time: int
    row: Row


def deadline_rows(load: float, outcomes: Mapping[str, list[Outcome]], kind: str) -> list[DeadlineRow]:
    """A row for each contestant."""
    return [
        DeadlineRow(
            offered_load=load,
            deadline_s=next(iter(outcomes[row.contestant][0].deadline_s.values())),
            in_time=sum(map(in_time, outcomes[row.contestant])),
            row=row,
        )
        for row in rows_of(COMPETITORS, outcomes, kind)
    ]


def write_json(rows: Sequence[DeadlineRow], path: Path) -> None:
    """One JSON object for each contestant and load: what is said of deadlines, and the fields of a demo's row."""
    objects = [
        {"offered_load": one.offered_load, "deadline_s": one.deadline_s, "in_time": one.in_time} | asdict(one.row)
        for one in rows
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(objects, indent=2) + "\n")


def print_table(rows: Sequence[DeadlineRow], console: Console) -> None:
    """For each load and contestant, the jobs in time, their share, and what the copies cost."""
    first = rows[0].row
    title = f"{first.rounds} round{'s' * (first.rounds > 1)}, slowness {first.world}; jobs that ended by their deadline"
    table = Table(title=title, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    table.add_column("contestant", no_wrap=True)
    for heading in ("load", "due", "in time", "share", "copies", "won", "lost core-s", "result"):
        table.add_column(heading, justify="right")
    for one in rows:
        table.add_row(
            one.row.contestant,
            f"{one.offered_load:g}",
            f"{one.deadline_s:.1f} s",
            f"{one.in_time} of {one.row.jobs}",
            f"{100 * one.in_time / one.row.jobs:.0f} %",
            f"{one.row.copies_launched:.0f}",
            f"{one.row.copies_won:.0f}",
            f"{one.row.losing_core_s:.1f}",
            "equal" if one.row.results_equal_stock else "[bold red]DIFFERS[/]",
        )
    console.print(table)
    for contestant in COMPETITORS:
        console.print(f"{contestant.name}: {contestant.title}", highlight=False)
    if said := caution([one.row.load for one in rows], first.cores):
        console.print(said, highlight=False)
    if first.rounds == 1:
        console.print("One round is one round: it shows how it works, not who is better. More: --rounds N.")
