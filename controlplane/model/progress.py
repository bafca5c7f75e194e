"""How far are running attempts? Progress columns become work done, in one pass without an object each."""

import math
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from controlplane.compiled import kernel, rule
from controlplane.model import facts as f
from controlplane.model.cluster import UNIT_BYTES, UNIT_RECORDS, UNIT_SHARE
from controlplane.model.columns import Floats, Ints
from controlplane.model.errors import BadFact
from controlplane.model.intake import Intake
from controlplane.model.writers import Reported

AGE_MS, PROGRESS_PPM, BYTES_READ, BYTES_WRITTEN, RECORDS_READ, RECORDS_WRITTEN, ROWS_OUT, CPU_MS = range(
    len(f.PROGRESS_COLUMNS)
)


def apply_progress(now: Intake, progress: f.Progress) -> None:
    """Totals only grow; unknown attempts are skipped. Raises BadFact for columns of different lengths."""
    ids, attempts = progress.attempt, now.cluster.attempts
    columns = np.full((len(f.PROGRESS_COLUMNS), len(ids)), -1, dtype=np.int64)
    for place, name in enumerate(f.PROGRESS_COLUMNS):
        values = getattr(progress, name)
        if len(values) not in (0, len(ids)):
            raise BadFact(f"progress.{name}", len(values), f"0 or {len(ids)} values", now.source.name)
        if values:
            columns[place] = values
    rows = np.fromiter(map(now.source.attempts.get, ids, repeat(-1)), dtype=np.int64, count=len(ids))
    delays_s = advance(now.received_s, rows, columns, attempts.reported, now.cluster.tasks.reported)
    first = np.flatnonzero(~np.isnan(delays_s))
    cold = attempts.cold[rows[first]].tolist()
    now.changes.startups += list(zip(repeat(now.source.row), delays_s[first].tolist(), cold, strict=False))


@kernel
def advance(
    received_s: float, rows: Ints, columns: Ints, attempts: NDArray[Reported], tasks: NDArray[Reported]
) -> Floats:
    """Bring attempts `rows` up to date, those below 0 left out; returns their delays from launch to first progress.

    Work is bytes if the input's size is known, else the host's own share, else records; in a new unit it is counted
    from the beginning. CPU time alone does not move an attempt. Shapes: (n,), `columns`
    (n columns of progress, n) with -1 for unknown values; a delay is nan where progress has been seen before.
    """
    delays_s = np.full(len(rows), np.nan)
    for at, row in enumerate(rows):
        if row < 0:
            continue
        attempt, at_s = attempts[row], received_s - max(columns[AGE_MS, at], 0) / 1000
        before, rows_before = counted(attempt), attempt["rows_out"]
        attempt["bytes_read"] = max(attempt["bytes_read"], float(columns[BYTES_READ, at]))
        attempt["bytes_written"] = max(attempt["bytes_written"], float(columns[BYTES_WRITTEN, at]))
        attempt["records_read"] = max(attempt["records_read"], float(columns[RECORDS_READ, at]))
        attempt["records_written"] = max(attempt["records_written"], float(columns[RECORDS_WRITTEN, at]))
        attempt["rows_out"] = max(attempt["rows_out"], float(columns[ROWS_OUT, at]))
        if columns[CPU_MS, at] >= 0 and columns[CPU_MS, at] > attempt["cpu_s"] * 1000:
            attempt["cpu_s"], attempt["busy_s"] = columns[CPU_MS, at] / 1000, at_s
        if attempt["rows_out"] > max(rows_before, 0.0):
            attempt["out_s"] = at_s
            if math.isnan(attempt["first_out_s"]):
                attempt["first_out_s"], attempt["first_out"] = at_s, attempt["rows_out"]
        work, share, unit = 0.0, columns[PROGRESS_PPM, at] / 1e6, attempt["unit"]
        if attempt["bytes_read"] > 0 and not math.isnan(tasks[attempt["task"]]["input_bytes"]):
            work, attempt["unit"] = attempt["bytes_read"], UNIT_BYTES
        elif share > 0:
            work, attempt["unit"] = share, UNIT_SHARE
        elif attempt["records_read"] > 0:
            work, attempt["unit"] = attempt["records_read"], UNIT_RECORDS
        if attempt["unit"] != unit:
            attempt["work"] = attempt["first_work"] = 0.0
        if work > attempt["work"] or counted(attempt) > before:
            if attempt["moved_s"] > attempt["start_s"]:
                attempt["gap_s"] = max(attempt["gap_s"], at_s - attempt["moved_s"])
            attempt["moved_s"] = at_s
        if work > attempt["work"]:
            attempt["work"], attempt["advanced_s"] = work, at_s
            if math.isnan(attempt["first_s"]):
                attempt["first_s"], attempt["first_work"] = at_s, work
                delays_s[at] = at_s - attempt["start_s"]
    return delays_s


@rule
def counted(attempt: Reported) -> float:
    """Sum of all that an attempt has read, written and produced: it grows when any of them does."""
    volume = attempt["bytes_read"] + attempt["bytes_written"] + attempt["records_read"] + attempt["records_written"]
    return volume + max(attempt["rows_out"], 0.0)
