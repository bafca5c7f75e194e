"""Is the order by the larger of two phases as good as any on a cluster of half the speed, as Hopper's footnote 6 says?

Two resources, one for each phase: a task of a job's first phase in a step, and a task of its second, which may be ahead
of the first in no proportion. Without stragglers, a job's virtual size is its tasks, and its place is max(T, T').
"""

from functools import cache
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.policies.hopper.virtual_size import precedence

pytestmark = pytest.mark.unit

Job = tuple[int, int, int]
"""Step of arrival, tasks of the first phase, tasks of the second."""
Left = tuple[tuple[int, int], ...]
"""Tasks of both phases that each job has left."""

JOBS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(0, 3)), min_size=1, max_size=3)


def usable(jobs: list[Job], left: Left, step: int) -> tuple[list[int], list[int]]:
    """The jobs that can use each resource in a step."""
    here = [row for row, (arrival, _, _) in enumerate(jobs) if arrival <= step]
    first = [row for row in here if left[row][0] > 0]
    second = []
    for row in here:
        _, tasks, downstream = jobs[row]
        moved, done = downstream - left[row][1], tasks - left[row][0]
        if left[row][1] > 0 and (moved + 1) * tasks <= downstream * done:
            second.append(row)
    return first, second


def served(left: Left, first: int | None, second: int | None) -> Left:
    """What is left after a step that serves these jobs."""
    return tuple((a - (row == first), b - (row == second)) for row, (a, b) in enumerate(left))


def present(jobs: list[Job], left: Left, step: int) -> int:
    """Jobs that have come and have not ended."""
    return sum(arrival <= step and (a > 0 or b > 0) for (arrival, _, _), (a, b) in zip(jobs, left, strict=True))


def least_total(jobs: list[Job]) -> int:
    """The least sum of response times, by trying everything; serving somebody is never worse than serving nobody."""

    @cache
    def to_go(step: int, left: Left) -> int:
        if not any(a or b for a, b in left):
            return 0
        first, second = usable(jobs, left, step)
        after = {served(left, a, b) for a in first or [None] for b in second or [None]}
        return present(jobs, left, step) + min(to_go(step + 1, one) for one in after)

    return to_go(0, tuple((tasks, downstream) for _, tasks, downstream in jobs))


def total_by_precedence(jobs: list[Job], speed: int) -> float:
    """The sum of response times when each resource serves the first by `precedence`, so many tasks in a step."""
    jobs = [(arrival * speed, tasks, downstream) for arrival, tasks, downstream in jobs]
    left: Left = tuple((tasks, downstream) for _, tasks, downstream in jobs)
    step, total = 0, 0
    while any(a or b for a, b in left):

        def place(row: int, left: Left = left) -> tuple[float, int]:
            return precedence(left[row][0], left[row][1], tail_index=inf, transfer_ratio=1.0, cap=2.0), row

        first, second = usable(jobs, left, step)
        total += present(jobs, left, step)
        left = served(left, min(first, key=place, default=None), min(second, key=place, default=None))
        step += 1
    return total / speed


@given(jobs=JOBS)
def test_twice_as_fast_it_is_as_good_as_any_order(jobs):
    """Mean completion time of max(T, T') at speed 2 against the best of all schedules at speed 1."""
    assert total_by_precedence(jobs, speed=2) <= least_total(jobs)


def test_at_the_same_speed_another_order_can_be_better():
    """So twice the speed is needed: a job with one task and many to move behind should go before one with three."""
    jobs = [(0, 1, 3), (0, 2, 0)]
    assert total_by_precedence(jobs, speed=1) > least_total(jobs)
