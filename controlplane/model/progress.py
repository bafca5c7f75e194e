"""How far are running attempts? Progress columns become work done, in one vectorised pass without an object each."""

import numpy as np

from controlplane.model import facts as f
from controlplane.model.applying import Applying
from controlplane.model.cluster import UNIT_BYTES, UNIT_RECORDS, UNIT_SHARE, Cluster
from controlplane.model.columns import Floats, Ints
from controlplane.model.errors import BadFact


def apply_progress(now: Applying, progress: f.Progress) -> None:
    """Totals only grow; unknown attempts are passed over. Raises BadFact for columns of different lengths."""
    ids, attempts = progress.attempt, now.cluster.attempts
    for name in f.PROGRESS_COLUMNS:
        length = len(getattr(progress, name))
        if length not in (0, len(ids)):
            raise BadFact(f"progress.{name}", length, f"0 or {len(ids)} values", now.source.name)
    get = now.source.attempts.get
    rows = np.array([get(i, -1) for i in ids], dtype=np.int64)
    known = rows >= 0
    rows = rows[known]
    if not len(rows):
        return

    def column(name: str) -> Floats:
        values = getattr(progress, name)
        return np.array(values, dtype=np.float64)[known] if values else np.full(len(rows), -1.0)

    for name in ("bytes_read", "bytes_written", "records_read", "records_written"):
        if getattr(progress, name):
            totals: Floats = getattr(attempts, name)
            totals[rows] = np.maximum(totals[rows], column(name))
    at_s = now.received_s - np.maximum(column("age_ms"), 0.0) / 1000
    work, unit = _work(now.cluster, rows, share=column("progress_ppm") / 1e6)
    grew = work > attempts.work[rows]
    fresh = grew & np.isnan(attempts.first_s[rows])
    attempts.work[rows] = np.maximum(work, attempts.work[rows])
    attempts.unit[rows] = unit
    attempts.advanced_s[rows[grew]] = at_s[grew]
    attempts.first_s[rows[fresh]] = at_s[fresh]
    attempts.first_work[rows[fresh]] = work[fresh]
    delays_s = at_s[fresh] - attempts.start_s[rows[fresh]]
    cold = attempts.cold[rows[fresh]]
    now.changes.startups += [(now.source.row, *one) for one in zip(delays_s.tolist(), cold.tolist(), strict=True)]


def _work(cluster: Cluster, rows: Ints, share: Floats) -> tuple[Floats, Ints]:
    """Work done and its unit: bytes where the input's size is known, else the host's share, else records."""
    attempts = cluster.attempts
    sized = ~np.isnan(cluster.tasks.input_bytes[attempts.task[rows]])
    read, records = attempts.bytes_read[rows], attempts.records_read[rows]
    choices = [sized & (read > 0), share > 0, records > 0]
    work = np.select(choices, [read, share, records], 0.0)
    unit = np.select(choices, [UNIT_BYTES, UNIT_SHARE, UNIT_RECORDS], attempts.unit[rows])
    return work, unit
