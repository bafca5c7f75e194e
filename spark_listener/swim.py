"""Which jobs did Facebook's cluster run in 2009? Rows of the SWIM trace, and a stated model that adds tasks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

TRACE_PATH = Path(__file__).parent / "traces" / "FB-2009_samples_24_times_1hr_0.tsv"
BLOCK_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceJob:
    """One row of the trace, as published."""

    job_id: str
    submit_s: int
    map_input_bytes: int
    shuffle_bytes: int
    output_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelJob:
    """One job to run: its arrival after the slice's first job, and its number of map tasks."""

    job_id: str
    arrival_s: float
    tasks: int


def read_trace(path: Path = TRACE_PATH) -> list[TraceJob]:
    """All rows in submit order.  Raises ValueError for a row that is not a SWIM row."""
    jobs = []
    for line in path.read_text().splitlines():
        job_id, submit_s, _gap_s, map_input_bytes, shuffle_bytes, output_bytes = line.split("\t")
        jobs.append(
            TraceJob(
                job_id=job_id,
                submit_s=int(submit_s),
                map_input_bytes=int(map_input_bytes),
                shuffle_bytes=int(shuffle_bytes),
                output_bytes=int(output_bytes),
            )
        )
    return jobs


def blocks(map_input_bytes: int) -> int:
    """The map tasks of a job: one per 128 MiB block of input, at least one.

    >>> blocks(0), blocks(128 * 1024 * 1024), blocks(128 * 1024 * 1024 + 1)
    (1, 1, 2)
    """
    return max(1, math.ceil(map_input_bytes / BLOCK_BYTES))


def model_slice(trace: list[TraceJob], *, first: int, count: int, max_tasks: int, span_s: float) -> list[ModelJob]:
    """`count` successive multi-task jobs, from the `first`-th on, with their arrivals compressed to `span_s`.

    The model: one task per input block (`blocks`), cut at `max_tasks`; jobs of a single block are left out, as
    they have no siblings to straggle behind; the gaps between arrivals keep their proportions.
    """
    chosen = [job for job in trace if blocks(job.map_input_bytes) > 1][first : first + count]
    start_s = chosen[0].submit_s
    compression = span_s / max(1, chosen[-1].submit_s - start_s)
    return [
        ModelJob(
            job_id=job.job_id,
            arrival_s=(job.submit_s - start_s) * compression,
            tasks=min(max_tasks, blocks(job.map_input_bytes)),
        )
        for job in chosen
    ]
