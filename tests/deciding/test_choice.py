"""Are the copies that fit into their jobs' room the best ones? Selection against a full sort of all that is wanted."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.deciding.choice import N_RIVALS, choose, keep_best
from controlplane.model.columns import Tasks
from controlplane.policies.answer import SPECULATION

pytestmark = pytest.mark.unit

FULL = 99
candidates = st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3), st.integers(0, 3), st.booleans()), max_size=40)
rooms = st.lists(st.integers(-1, 6), min_size=4, max_size=4)


@settings(max_examples=200, deadline=None)
@given(candidates, rooms, rooms)
def test_what_fits_is_what_a_full_sort_puts_first(wishes, for_copies, for_restarts):
    """Of equal scores the upper place goes first; many are equal here, and rows are shuffled against places."""
    n = len(wishes)
    job, score, copies, kill = (np.array([wish[part] for wish in wishes]) for part in range(4))
    room = np.array([for_copies, np.maximum(for_copies, for_restarts)])
    rows, tasks = np.arange(n)[::-1].copy(), np.zeros(n, dtype=Tasks().reported.dtype)
    tasks["job"][rows] = job
    answer = np.zeros(n, dtype=SPECULATION)
    answer["score"], answer["copies"], answer["kill"] = score, copies, kill.astype(bool)
    rivals = np.full((4, N_RIVALS), -1)
    fit = choose(rows, tasks, room, np.full(4, FULL), answer, rivals)

    wanted = np.repeat(np.arange(n), copies.astype(np.int64) if n else 0)
    has_room = [place for place in wanted if room[int(kill[place]), job[place]] > 0]
    best_first = sorted(has_room, key=lambda place: -score[place])
    taken, fitting = Counter(), []
    for place in best_first:
        if taken[job[place]] < room[int(kill[place]), job[place]]:
            taken[job[place]] += 1
            fitting.append(place)
    assert fit.tolist() == sorted(fitting)
    assert np.flatnonzero(answer["reason"] == FULL).tolist() == sorted({*wanted} - {*fitting})
    for row in range(4):
        best = [place for place in dict.fromkeys(best_first) if job[place] == row]
        assert rivals[row].tolist() == (best + [-1] * N_RIVALS)[:N_RIVALS]


def test_the_highest_scores_are_kept_in_order():
    """Three places for four; equal ones stay in the order in which they came."""
    score, best = np.array([1.0, 3.0, 2.0, 3.0]), np.full(3, -1)
    for place in range(len(score)):
        keep_best(place, score, best)
    assert best.tolist() == [1, 3, 2]
