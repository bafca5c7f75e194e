"""Does the trace arrive as published, and does the model add tasks as stated?"""

from itertools import pairwise

import pytest

from controlplane.swim_trace import BLOCK_BYTES, TraceJob
from spark_listener.swim import model_slice, read_trace

pytestmark = pytest.mark.unit


def test_the_trace_is_the_published_one() -> None:
    trace = read_trace()
    assert len(trace) == 5894
    assert trace[0] == TraceJob(
        job_id="job0", submit_s=49, map_input_bytes=740773, shuffle_bytes=2339561, output_bytes=627471
    )
    assert all(earlier.submit_s <= later.submit_s for earlier, later in pairwise(trace))


def test_a_row_that_is_no_swim_row_is_refused(tmp_path) -> None:
    broken = tmp_path / "trace.tsv"
    broken.write_text("job0\t49\t49\n")
    with pytest.raises(ValueError, match="line 1: got"):
        read_trace(broken)


def job(job_id: str, submit_s: int, blocks: int) -> TraceJob:
    return TraceJob(
        job_id=job_id, submit_s=submit_s, map_input_bytes=blocks * BLOCK_BYTES, shuffle_bytes=0, output_bytes=0
    )


def test_a_slice_keeps_sizes_up_to_the_cut_and_the_proportions_of_arrivals() -> None:
    trace = [job("a", 0, 5), job("b", 100, 3), job("tiny", 150, 1), job("c", 200, 90), job("d", 500, 4)]
    chosen = model_slice(trace, first=1, count=3, max_tasks=40, span_s=10.0)
    assert [(one.job_id, one.tasks, one.arrival_s) for one in chosen] == [("b", 3, 0), ("c", 40, 2.5), ("d", 4, 10)]
    larger = model_slice(trace, first=1, count=3, max_tasks=40, span_s=10.0, task_bytes=4 * BLOCK_BYTES)
    assert [one.tasks for one in larger] == [1, 23, 1]


def test_a_single_job_arrives_at_once() -> None:
    assert model_slice([job("a", 7, 2)], first=0, count=1, max_tasks=40, span_s=10.0)[0].arrival_s == 0
