"""Which of the wanted copies go first? The highest scores of each job, taken from a heap, as many as there is room for.

A heap is a job's part of a queue of places. The engine takes all that fit at once, the cluster simulator one by one as
slots come free.
"""

import numpy as np
from numpy.typing import NDArray

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Flags, Floats, Ints, Records
from controlplane.model.writers import Reported

N_RIVALS = 4
"""Best tasks of a job that are shown with the one that was copied."""


@kernel
def choose(rows: Ints, tasks: NDArray[Reported], rooms: Ints, refusal: Ints, answer: Records, rivals: Ints) -> Ints:
    """Places of the wanted copies that fit into their jobs' room, ascending, a task's once for each of its copies.

    A task none of whose copies fits gets a reason.

    `rooms` (2, n_jobs) are for copies and for restarts, the latter no smaller; `refusal` (n_jobs,) is the reason where
    there is none; `rivals` (n_jobs, N_RIVALS) is filled with the places of the best tasks of each job.
    """
    score, reason, kill, copies = answer["score"], answer["reason"], answer["kill"], answer["copies"]
    places, n_wanted, n_queued = np.flatnonzero(copies), 0, np.zeros(len(refusal), dtype=np.int64)
    job, n_fitting = np.empty(len(places), dtype=np.int64), np.zeros(len(copies), dtype=np.int64)
    for place in places:
        its_job = tasks[rows[place]]["job"]
        if rooms[int(kill[place]), its_job] <= 0:
            reason[place] = refusal[its_job]
            continue
        keep_best(int(place), score, rivals[its_job])
        places[n_wanted], job[n_wanted] = place, its_job
        n_wanted += 1
        n_queued[its_job] += copies[place]
        n_fitting[place] = copies[place]
    is_full = n_queued > rooms[0]
    if is_full.any():
        keep_fitting(places[:n_wanted], job[:n_wanted], is_full, rooms, refusal, answer, n_fitting)
    return np.repeat(np.arange(len(copies)), n_fitting)


@kernel
def keep_fitting(
    places: Ints, job: Ints, is_full: Flags, rooms: Ints, refusal: Ints, answer: Records, n_fitting: Ints
) -> None:
    """Take back the copies that do not fit into the jobs that are full; a task none of whose copies fits gets a reason.

    `n_fitting` (n_tasks,) are the copies that fit.
    """
    score, reason, kill, copies = answer["score"], answer["reason"], answer["kill"], answer["copies"]
    n_queued, queue = np.zeros(len(refusal), dtype=np.int64), np.empty(len(places), dtype=np.int64)
    for at in range(len(places)):
        n_queued[job[at]] += is_full[job[at]]
    first = np.cumsum(n_queued) - n_queued
    n_queued[:] = 0
    for at in range(len(places)):
        row = job[at]
        if is_full[row]:
            queue[first[row] + n_queued[row]] = places[at]
            n_queued[row] += 1
    for row in np.flatnonzero(is_full):
        n, n_before = n_queued[row], 0
        line_up(queue, first[row], n, score)
        while n > 0 and n_before < rooms[1, row]:
            place, n = take_best(queue, first[row], n, score), n - 1
            n_fitting[place] = max(min(rooms[int(kill[place]), row] - n_before, copies[place]), 0)
            n_before += n_fitting[place]
        for place in queue[first[row] : first[row] + n]:
            n_fitting[place] = 0
        for place in queue[first[row] : first[row] + n_queued[row]]:
            if n_fitting[place] == 0:
                reason[place] = refusal[row]


@rule
def goes_first(score: Floats, place: int, other: int) -> bool:
    """Whether a place goes before another: the higher score does, and the upper place if scores are equal."""
    return score[place] > score[other] or (score[place] == score[other] and place < other)


@rule
def line_up(queue: Ints, first: int, n: int, score: Floats) -> None:
    """Make the n places from `first` on a heap."""
    for at in range(n // 2 - 1, -1, -1):
        sink(queue, first, n, at, score)


@rule
def take_best(queue: Ints, first: int, n: int, score: Floats) -> int:
    """The place of a heap of n that goes first; the other n - 1 are a heap again, and it stands behind them.

    >>> queue, score = np.array([9, 0, 1, 2]), np.array([3.0, 5.0, 3.0])
    >>> line_up(queue, 1, 3, score)
    >>> [int(take_best(queue, 1, n, score)) for n in (3, 2, 1)], queue.tolist()
    ([1, 0, 2], [9, 2, 0, 1])
    """
    best, queue[first] = queue[first], queue[first + n - 1]
    queue[first + n - 1] = best
    sink(queue, first, n - 1, 0, score)
    return best


@rule
def sink(queue: Ints, first: int, n: int, at: int, score: Floats) -> None:
    """Move a place of a heap down, the one `at` behind its first, until it goes before those below it."""
    if at >= n:
        return
    place = queue[first + at]
    while 2 * at + 1 < n:
        below = 2 * at + 1
        if below + 1 < n and goes_first(score, queue[first + below + 1], queue[first + below]):
            below += 1
        if goes_first(score, place, queue[first + below]):
            break
        queue[first + at] = queue[first + below]
        at = below
    queue[first + at] = place


@rule
def keep_best(place: int, score: Floats, best: Ints) -> None:
    """Put a place into the list of highest scores, if it belongs there; -1 is no place."""
    at = len(best)
    while at > 0 and (best[at - 1] < 0 or score[best[at - 1]] < score[place]):
        at -= 1
        if at + 1 < len(best):
            best[at + 1] = best[at]
    if at < len(best):
        best[at] = place
