"""Which jobs did Facebook's cluster run in 2009? Rows of the SWIM trace, and a stated model that adds tasks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from controlplane.swim_trace import BLOCK_BYTES, TraceJob, blocks, parse_trace

TRACE_PATH = Path(__file__).parent / "traces" / "FB-2009_samples_24_times_1hr_0.tsv"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelJob:
    """One job to run: its arrival after the first job, its number of map tasks, and its deadline, if it has one."""

    job_id: str
    arrival_s: float
    tasks: int
    deadline_s: float | None = None
    is_approximate: bool = False
    """Whether it ends at its deadline, with what it has seen."""


def read_trace(path: Path = TRACE_PATH) -> list[TraceJob]:
    """All rows in submit order.  Raises ValueError for a row that is not a SWIM row."""
    return parse_trace(path.read_text())


def model_slice(
    trace: list[TraceJob], *, first: int, count: int, max_tasks: int, span_s: float, task_bytes: int = BLOCK_BYTES
) -> list[ModelJob]:
    """`count` successive jobs of several blocks, from the `first`-th on, with their arrivals compressed to `span_s`.

    The model: one task per `task_bytes` of input, cut at `max_tasks`; jobs of a single block (`blocks`) are left out:
    even with a task per block they have no siblings to straggle behind; gaps between arrivals keep their proportions.
    """
    chosen = [job for job in trace if blocks(job.map_input_bytes) > 1][first : first + count]
    start_s = chosen[0].submit_s
    compression = span_s / max(1, chosen[-1].submit_s - start_s)
    return [
        ModelJob(
            job_id=job.job_id,
            arrival_s=(job.submit_s - start_s) * compression,
            tasks=min(max_tasks, -(-job.map_input_bytes // task_bytes)),
        )
        for job in chosen
    ]
