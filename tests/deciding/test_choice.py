"""Are the copies that are tried the best ones that fit into their jobs' room? The heaps against a full sort."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.deciding.choice import N_RIVALS, NOT_TRIED, drop_done, keep_best, pass_over, queue_wanted
from controlplane.model.columns import Tasks
from controlplane.policies.answer import SPECULATION

pytestmark = pytest.mark.unit

FULL, REFUSED = 99, 98
candidates = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-3, 3), st.integers(0, 3), st.booleans(), st.booleans()), max_size=40
)
rooms = st.lists(st.integers(-1, 6), min_size=4, max_size=4)


@settings(max_examples=300, deadline=None)
@given(candidates, rooms, rooms, st.integers(1, 30))
def test_what_is_tried_is_what_a_full_sort_puts_first(wishes, for_copies, for_restarts, most):
    """The upper place goes first among equal scores; many are equal here, and rows are shuffled against places.

    A refused task leaves its room to the next. A reason is kept by what is ordered and given to all else.
    """
    n = len(wishes)
    job, score, copies, kill, refused = (np.array([wish[part] for wish in wishes], dtype=np.int64) for part in range(5))
    room = np.array([for_copies, np.maximum(for_copies, for_restarts)])
    rows, tasks = np.arange(n)[::-1].copy(), np.zeros(n, dtype=Tasks().reported.dtype)
    tasks["job"][rows] = job
    answer, rivals, left = np.zeros(n, dtype=SPECULATION), np.full((4, N_RIVALS), -1), room.copy()
    answer["score"], answer["copies"], answer["kill"] = score, copies, kill
    queued = (rows, tasks, left, np.full(4, FULL), answer)
    queues, tried = queue_wanted(*queued, rivals), []
    n_heads = len(queues.heads)
    for _ in range(most):
        n_heads = drop_done(queues, n_heads, *queued)
        if n_heads == 0:
            break
        tried.append(place := queues.heads[0])
        if refused[place]:
            answer["reason"][place], queues.copies[place] = REFUSED, 0
        else:
            queues.copies[place] -= 1
            left[:, job[place]] -= 1
    else:
        pass_over(queues, n_heads, *queued)

    best_first, taken, expected = sorted(np.flatnonzero(copies), key=lambda place: -score[place]), Counter(), []
    for place in best_first:
        fitting = max(min(room[kill[place], job[place]] - taken[job[place]], copies[place]), 0)
        fitting = min([fitting, 1 if refused[place] else fitting, most - len(expected)])
        expected += [place] * fitting
        taken[job[place]] += 0 if refused[place] else fitting
    assert tried == expected
    for place in range(n):
        kept = REFUSED if refused[place] else 0
        passed_over = NOT_TRIED if left[kill[place], job[place]] > 0 else FULL
        assert answer["reason"][place] == (0 if not copies[place] else kept if place in tried else passed_over)
    for row in range(4):
        best = [place for place in best_first if job[place] == row and room[kill[place], row] > 0]
        assert rivals[row].tolist() == (best + [-1] * N_RIVALS)[:N_RIVALS]


def test_the_highest_scores_are_kept_in_order():
    """Three places for four; equal ones stay in the order in which they came."""
    score, best = np.array([1.0, 3.0, 2.0, 3.0]), np.full(3, -1)
    for place in range(len(score)):
        keep_best(place, score, best)
    assert best.tolist() == [1, 3, 2]
