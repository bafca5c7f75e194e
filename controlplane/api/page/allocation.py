"""How many slots did a job hold, should it have held, and could it have used, over time? Step lines for a chart."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

from controlplane.api.page.timeline import ticks
from controlplane.model.decisions import DecisionRecord
from controlplane.runtime.history import AttemptRecord

SAMPLES = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationChart:
    """SVG paths in a box of 100 by 100, time to the right and slots upwards."""

    slots: int
    ticks: list[tuple[float, str]]
    held: str
    """A closed area."""
    target: str
    virtual_size: str


def allocation_chart(
    held: Iterable[tuple[float, float]],
    grants: Sequence[DecisionRecord],
    *,
    begin_s: float,
    span_s: float,
    now_s: float,
) -> AllocationChart:
    """Draws what a job held, as (time, slots from then on), and what its grants (newest first) said it should.

    A grant is recorded when the target changes, so its lines step there. What exceeds the pool is drawn at its edge.
    """
    slots = max((grant.inputs.get("slots") or 0.0 for grant in grants), default=0.0) or 1.0
    end_pct = _clip(100 * (now_s - begin_s) / span_s)

    def line(points: Iterable[tuple[float, float]]) -> str:
        path = ""
        for at_s, value in points:
            x_pct = _clip(100 * (at_s - begin_s) / span_s)
            y_pct = _clip(100 - 100 * value / slots)
            path += f"H{x_pct:.2f}V{y_pct:.2f}" if path else f"M{x_pct:.2f} {y_pct:.2f}"
        return f"{path}H{end_pct:.2f}"

    def granted(name: str) -> str:
        return line((grant.at_s, grant.inputs.get(name) or 0.0) for grant in reversed(grants))

    return AllocationChart(
        slots=int(slots),
        ticks=ticks(span_s),
        held=f"{line(held)}V100H0Z",
        target=granted("target"),
        virtual_size=granted("virtual_size"),
    )


def held_by(attempts: Iterable[AttemptRecord], begin_s: float, end_s: float) -> list[tuple[float, float]]:
    """(time, attempts running then), wherever the number changes between evenly spaced samples."""
    attempts = list(attempts)
    starts = sorted(attempt.start_s for attempt in attempts)
    ends = sorted(inf if attempt.end_s is None else attempt.end_s for attempt in attempts)
    points: list[tuple[float, float]] = []
    for sample in range(SAMPLES):
        at_s = begin_s + (end_s - begin_s) * sample / SAMPLES
        held = bisect_right(starts, at_s) - bisect_right(ends, at_s)
        if not points or points[-1][1] != held:
            points.append((at_s, held))
    return points


def _clip(pct: float) -> float:
    return min(max(pct, 0.0), 100.0)
