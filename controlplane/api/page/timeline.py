"""Where is each attempt on the time axis? Rows, bars and ticks in percent of the width; no drawing here."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import ceil

from controlplane.api.formats import seconds
from controlplane.model.facts import Outcome
from controlplane.runtime.history import AttemptRecord

LANE_PX = 14
ROW_GAP_PX = 6
WINDOW_ROWS = 1000
"""More rows than this are never drawn; the page says how many are left out."""

TICK_STEPS_S = tuple(m * 10.0**e for e in range(-2, 7) for m in (1, 2, 5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """An attempt with its place: horizontally in percent, vertically in pixels."""

    record: AttemptRecord
    state: str
    """`running`, or the outcome's label."""
    x_pct: float
    width_pct: float
    y_px: int
    ghost_pct: float
    """Width of the estimated rest, drawn as a dotted line; 0 for none."""
    won: bool
    """Finished first in a race of at least two attempts."""
    sick: bool
    label: str
    """One sentence for tooltips and screen readers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A task with its attempts, the oldest on top."""

    stage: int
    stage_attempt: int
    index: int
    y_px: int
    bars: list[Bar]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Everything that the drawing needs."""

    rows: list[Row]
    ticks: list[tuple[float, str]]
    """(percent, label)"""
    height_px: int
    left_out: int
    begin_s: float
    span_s: float


def layout(
    attempts: Iterable[AttemptRecord],
    *,
    begin_s: float,
    now_s: float,
    t_rem_s: Mapping[int, float],
    sick_hosts: Collection[str],
    max_rows: int,
) -> Timeline:
    """Places the attempts of one job. Tasks that raced come first, then those that run, then the slowest.

    The axis starts at `begin_s`, or where the first attempt does if that is earlier. `t_rem_s` holds the estimated
    time to the end of running attempts, where there is one.
    """
    tasks = [
        sorted(group, key=lambda record: (record.start_s, record.attempt))
        for _, group in groupby(sorted(attempts, key=task_of), key=task_of)
    ]
    if not tasks:
        return Timeline(rows=[], ticks=[], height_px=0, left_out=0, begin_s=begin_s, span_s=0.0)
    tasks.sort(key=lambda records: _interest(records, now_s))
    begin_s = min(begin_s, *(records[0].start_s for records in tasks))
    last_s = max(_end_s(record, now_s) for records in tasks for record in records)
    axis = _Axis(begin_s=begin_s, span_s=max(last_s - begin_s, 0.1) * 1.04, now_s=now_s)
    rows: list[Row] = []
    y_px = 0
    for records in tasks[:max_rows]:
        bars = [
            _bar(record, axis, y_px + lane * LANE_PX, t_rem_s.get(record.attempt, 0.0), sick_hosts, len(records) > 1)
            for lane, record in enumerate(records)
        ]
        stage, stage_attempt, index = task_of(records[0])
        rows.append(Row(stage=stage, stage_attempt=stage_attempt, index=index, y_px=y_px, bars=bars))
        y_px += len(records) * LANE_PX + ROW_GAP_PX
    return Timeline(
        rows=rows,
        ticks=ticks(axis.span_s),
        height_px=y_px,
        left_out=len(tasks) - len(rows),
        begin_s=begin_s,
        span_s=axis.span_s,
    )


def most_interesting(timeline: Timeline) -> int | None:
    """The attempt to explain first: the newest copy of the first task that raced, None without a race."""
    if not timeline.rows or len(timeline.rows[0].bars) < 2:
        return None
    return timeline.rows[0].bars[-1].record.attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    begin_s: float
    span_s: float
    now_s: float

    def pct(self, duration_s: float) -> float:
        return round(100 * duration_s / self.span_s, 3)


def task_of(record: AttemptRecord) -> tuple[int, int, int]:
    """(stage, stage attempt, index) of the attempt's task."""
    return record.stage, record.stage_attempt, record.index


def _end_s(record: AttemptRecord, now_s: float) -> float:
    return now_s if record.end_s is None else record.end_s


def _interest(records: list[AttemptRecord], now_s: float) -> tuple[bool, bool, float]:
    """Puts first what somebody on call asks about first."""
    running = any(record.end_s is None for record in records)
    longest_s = max(_end_s(record, now_s) - record.start_s for record in records)
    return len(records) < 2, not running, -longest_s


def _bar(
    record: AttemptRecord, axis: _Axis, y_px: int, t_rem_s: float, sick_hosts: Collection[str], raced: bool
) -> Bar:
    end_s = max(_end_s(record, axis.now_s), record.start_s)
    room_s = axis.begin_s + axis.span_s - end_s
    state = record.outcome.value if record.outcome else "running"
    sick = record.host in sick_hosts
    return Bar(
        record=record,
        state=state,
        x_pct=axis.pct(record.start_s - axis.begin_s),
        width_pct=max(axis.pct(end_s - record.start_s), 0.15),
        y_px=y_px + ROW_GAP_PX // 2,
        ghost_pct=axis.pct(min(t_rem_s, room_s)) if record.end_s is None else 0.0,
        won=raced and record.outcome is Outcome.SUCCESS,
        sick=sick,
        label=label(record, now_s=axis.now_s, sick=sick, raced=raced),
    )


def label(record: AttemptRecord, *, now_s: float, sick: bool, raced: bool) -> str:
    """One sentence about an attempt; only a task with several attempts has a winner."""
    kind = "copy" if record.speculative else "original"
    where = f"{record.host} (sick)" if sick else record.host
    won = raced and record.outcome is Outcome.SUCCESS
    state = "won" if won else record.outcome.value if record.outcome else "running"
    because = f": {record.reason}" if record.reason and record.outcome is not Outcome.SUCCESS else ""
    duration_s = max(_end_s(record, now_s) - record.start_s, 0.0)
    return f"Task {record.index}, {kind} on {where}, {state} after {seconds(duration_s)}{because}"


def ticks(span_s: float) -> list[tuple[float, str]]:
    """Up to seven round times from 0 on.

    >>> [text for _, text in ticks(10.0)]
    ['0', '2 s', '4 s', '6 s', '8 s']
    """
    step_s = next((step for step in TICK_STEPS_S if span_s / step <= 6), span_s / 6)
    digits = 0 if step_s >= 1 else 1 if step_s >= 0.1 else 2
    return [
        (round(100 * n * step_s / span_s, 3), f"{n * step_s:.{digits}f} s" if n else "0")
        for n in range(ceil(span_s / step_s))
    ]
