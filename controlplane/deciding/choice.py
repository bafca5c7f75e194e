"""Which of the wanted copies go first? The highest scores of each job, taken from a heap, as many as there is room for.

A heap is a job's part of a queue of places. The engine takes the best of all jobs, one by one, as long as its job has
room; the cluster simulator takes a job's best whenever a slot comes free.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Floats, Ints, Records
from controlplane.model.reasons import Reason
from controlplane.model.writers import Reported

NOT_TRIED = int(Reason.NOT_TRIED)
N_RIVALS = 4
"""Best tasks of a job that are shown with the one that was copied."""


class Queues(NamedTuple):
    """The wanted tasks by their places in a view: a heap for each job, and one of the first places of all jobs."""

    places: Ints
    """(n_wanted,): one job's after the other's."""
    first: Ints
    """(n_jobs,): where each job's begin."""
    n_queued: Ints
    """(n_jobs,)"""
    heads: Ints
    copies: Ints
    """(n_tasks,): the copies of each task that have been neither ordered nor refused."""


@kernel
def queue_wanted(
    rows: Ints, tasks: NDArray[Reported], rooms: Ints, refusal: Ints, answer: Records, rivals: Ints
) -> Queues:
    """Queue the wanted tasks of jobs with room; the others get their job's reason.

    `rooms` (2, n_jobs) are for copies and for restarts, the latter no smaller; `refusal` (n_jobs,) is the reason where
    there is none; `rivals` (n_jobs, N_RIVALS) is filled with the places of the best tasks of each job.
    """
    score, reason, kill, n_jobs = answer["score"], answer["reason"], answer["kill"], len(refusal)
    wanted, n_wanted, n_queued = np.flatnonzero(answer["copies"]), 0, np.zeros(n_jobs, dtype=np.int64)
    for place in wanted:
        job = tasks[rows[place]]["job"]
        if rooms[int(kill[place]), job] <= 0:
            reason[place] = refusal[job]
            continue
        keep_best(int(place), score, rivals[job])
        wanted[n_wanted] = place
        n_wanted += 1
        n_queued[job] += 1
    places, first, heads = np.empty(n_wanted, dtype=np.int64), np.cumsum(n_queued) - n_queued, np.flatnonzero(n_queued)
    n_queued[:] = 0
    for place in wanted[:n_wanted]:
        job = tasks[rows[place]]["job"]
        places[first[job] + n_queued[job]] = place
        n_queued[job] += 1
    for at, job in enumerate(heads):
        line_up(places, first[job], n_queued[job], score)
        heads[at] = places[first[job]]
    line_up(heads, 0, len(heads), score)
    return Queues(places, first, n_queued, heads, answer["copies"].astype(np.int64))


@kernel
def drop_done(
    queues: Queues, n_heads: int, rows: Ints, tasks: NDArray[Reported], rooms: Ints, refusal: Ints, answer: Records
) -> int:
    """Take first places away until the best one is a task that is still wanted and has room.

    Those without room get their job's reason. Returns how many of `n_heads` are left.
    """
    score, kill, heads = answer["score"], answer["kill"], queues.heads
    while n_heads > 0:
        job = tasks[rows[heads[0]]]["job"]
        if queues.copies[heads[0]] > 0 and rooms[int(kill[heads[0]]), job] > 0:
            break
        if rooms[1, job] > 0:
            refuse_first(queues, job, 1, rooms, refusal, answer, 0)
            take_best(queues.places, queues.first[job], queues.n_queued[job], score)
            queues.n_queued[job] -= 1
        else:
            refuse_first(queues, job, queues.n_queued[job], rooms, refusal, answer, 0)
            queues.n_queued[job] = 0
        if queues.n_queued[job] == 0:
            n_heads -= 1
        heads[0] = heads[n_heads] if queues.n_queued[job] == 0 else queues.places[queues.first[job]]
        sink(heads, 0, n_heads, 0, score)
    return n_heads


@kernel
def pass_over(
    queues: Queues, n_heads: int, rows: Ints, tasks: NDArray[Reported], rooms: Ints, refusal: Ints, answer: Records
) -> None:
    """Say of all that is still queued that it was not tried, or that it has no room."""
    for place in queues.heads[:n_heads]:
        job = tasks[rows[place]]["job"]
        refuse_first(queues, job, queues.n_queued[job], rooms, refusal, answer, NOT_TRIED)


@rule
def refuse_first(queues: Queues, job: int, n: int, rooms: Ints, refusal: Ints, answer: Records, otherwise: int) -> None:
    """Give the job's first n places its reason, or the other where there is room; not if a copy has been ordered."""
    for place in queues.places[queues.first[job] : queues.first[job] + n]:
        if queues.copies[place] == answer["copies"][place]:
            has_room = rooms[int(answer["kill"][place]), job] > 0
            answer["reason"][place] = otherwise if has_room else refusal[job]


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
