"""How did the contestants of a demo compare? The report that `grasshopper demo` writes, as a chart and a table."""

from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from controlplane.api.formats import counted, seconds
from controlplane.machine_load import caution


class Contestant(Struct, frozen=True, kw_only=True):
    """The parts of a report's row that the page shows."""

    contestant: str
    title: str
    world: str
    rounds: int
    jobs: int
    mean_job_s: float
    mean_job_interval_s: tuple[float, float] | None = None
    """95 % interval of the rounds' means; None for one round."""
    median_job_s: float
    p95_job_s: float
    copies_launched: float
    copies_won: float
    losing_core_s: float
    load: float
    cores: int
    results_equal_stock: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartBar:
    """One contestant's bar, in percent of the width."""

    name: str
    ours: bool
    mean_s: float
    p95_s: float
    mean_pct: float
    p95_pct: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Everything that the page shows."""

    lead: str
    described: str
    bars: list[ChartBar]
    rows: list[Contestant]


CHART_PCT = 84.0
"""The longest line leaves room for its number."""


def read(report: Path) -> list[Contestant] | None:
    """The report's rows, or None if there is no readable one."""
    try:
        return msgspec.json.decode(report.read_bytes(), type=list[Contestant]) or None
    except (OSError, msgspec.DecodeError):
        return None


def comparison(rows: list[Contestant]) -> Comparison:
    """Scales the bars to the slowest contestant. Ours are those titled Grasshopper."""
    longest_s = max(max(row.mean_job_s, row.p95_job_s) for row in rows) or 1.0
    bars = [
        ChartBar(
            name=row.title,
            ours="grasshopper" in row.title.lower(),
            mean_s=row.mean_job_s,
            p95_s=row.p95_job_s,
            mean_pct=round(CHART_PCT * row.mean_job_s / longest_s, 2),
            p95_pct=round(CHART_PCT * row.p95_job_s / longest_s, 2),
        )
        for row in rows
    ]
    rounds = rows[0].rounds
    world = {
        "independent": "each attempt draws its own slowness",
        "half": "half of the tasks are slow because of their data",
        "data": "the slowness is in the data",
    }
    lead = f"{counted(rounds, 'round')} of the same jobs and seeds for all; {world.get(rows[0].world, rows[0].world)}."
    one_round = "One round shows how it works, not who is better." if rounds == 1 else ""
    said = " ".join(filter(None, (lead, one_round, caution([row.load for row in rows], rows[0].cores))))
    times = (f"{row.title} {seconds(row.mean_job_s)} and {seconds(row.p95_job_s)}" for row in rows)
    described = f"Mean and 95th percentile of job times: {', '.join(times)}"
    return Comparison(lead=said, described=described, bars=bars, rows=rows)
