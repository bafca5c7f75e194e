"""What does a SWIM trace say about its jobs? Bytes and arrival times; a replay adds a model of tasks.

Source: github.com/SWIMProjectUCB/SWIM, `workloadSuite`.
"""

import math
from dataclasses import dataclass

BLOCK_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceJob:
    """One row of the trace, as published."""

    job_id: str
    submit_s: int
    map_input_bytes: int
    shuffle_bytes: int
    output_bytes: int


def parse_trace(text: str) -> list[TraceJob]:
    """All rows in submit order.  Raises ValueError for a row that is not a SWIM row, naming its line."""
    jobs = []
    for number, line in enumerate(text.splitlines(), start=1):
        job_id, *numbers = line.split("\t")
        if len(numbers) != 5 or not all(each.isdecimal() for each in numbers):
            want = "a job's name and five whole numbers that are not negative, separated by tabs"
            raise ValueError(f"line {number}: got {line[:100]!r}, want {want}")
        submit_s, _gap_s, map_input_bytes, shuffle_bytes, output_bytes = map(int, numbers)
        jobs.append(
            TraceJob(
                job_id=job_id,
                submit_s=submit_s,
                map_input_bytes=map_input_bytes,
                shuffle_bytes=shuffle_bytes,
                output_bytes=output_bytes,
            )
        )
    return jobs


def blocks(n_bytes: int) -> int:
    """Blocks of 128 MiB, at least one.

    >>> blocks(0), blocks(128 * 1024 * 1024), blocks(128 * 1024 * 1024 + 1)
    (1, 1, 2)
    """
    return max(1, math.ceil(n_bytes / BLOCK_BYTES))
