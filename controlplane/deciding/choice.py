"""Which of the wanted copies fit into their jobs' room? The highest scores, found by selection."""

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Flags, Floats, Ints, Records
from controlplane.policies.selection import quickselect

N_RIVALS = 4
"""Best tasks of a job that are shown with the one that was copied."""


@kernel
def choose(rows: Ints, tasks: Records, rooms: Ints, refusal: Ints, answer: Records, rivals: Ints) -> Ints:
    """Places of the wanted copies that fit into their jobs' room, ascending, a task's once for each of its copies.

    A task none of whose copies fits gets a reason.

    `rooms` (2, n_jobs) are for copies and for restarts, `refusal` (n_jobs,) is the reason of those without it; `rivals`
    (n_jobs, N_RIVALS) is filled with the places of the best tasks of each job. Among equal scores the upper place goes
    first; all copies of a task have its score.
    """
    score, reason, kill, copies = answer["score"], answer["reason"], answer["kill"], answer["copies"]
    n_wanted, n = copies.sum(), 0
    places, job = np.empty(n_wanted, dtype=np.int64), np.empty(n_wanted, dtype=np.int64)
    for place in np.flatnonzero(copies):
        its_job = tasks[rows[place]]["job"]
        if rooms[int(kill[place]), its_job] <= 0:
            reason[place] = refusal[its_job]
            continue
        keep_best(int(place), score, rivals[its_job])
        for _ in range(copies[place]):
            places[n], job[n] = place, its_job
            n += 1
    places, job = places[:n], job[:n]
    fits = fitting(job, score[places], rooms[0])
    if kill[places].any():
        fits = np.where(kill[places], fitting(job, score[places], rooms[1]), fits)
    for at in np.flatnonzero(~fits):
        if at == 0 or places[at - 1] != places[at]:
            reason[places[at]] = refusal[job[at]]
    return places[fits]


@kernel
def fitting(job: Ints, score: Floats, room: Ints) -> Flags:
    """Which tasks are among the best of their job, as many as it has room for; among equal scores the upper ones are.

    >>> fitting(np.array([0, 0, 0, 1]), np.array([3.0, 5.0, 3.0, 1.0]), np.array([2, 0]))
    array([ True,  True, False, False])
    """
    least, n_equal = least_that_fits(job, score, room)
    fits = score > least[job]
    for at in np.flatnonzero(score == least[job]):
        fits[at] = n_equal[job[at]] > 0
        n_equal[job[at]] -= 1
    return fits


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


@kernel
def least_that_fits(job: Ints, score: Floats, room: Ints) -> tuple[Floats, Ints]:
    """By job row, the least score with room among its tasks, and how many tasks with exactly that score have room.

    Found by selection: a job's tasks need not be sorted to know which of them fit.

    >>> least_that_fits(np.array([0, 0, 0, 1]), np.array([5.0, 3.0, 3.0, 1.0]), np.array([2, 4, 0]))
    (array([  3., -inf,  inf]), array([1, 0, 0]))
    """
    n_wanted = np.bincount(job, minlength=len(room))
    end = np.cumsum(n_wanted)
    place, by_job = end - n_wanted, np.empty(len(job))
    for at in range(len(job)):
        by_job[place[job[at]]] = score[at]
        place[job[at]] += 1
    least, n_equal = np.full(len(room), -np.inf), np.zeros(len(room), dtype=np.int64)
    for row in range(len(room)):
        if room[row] <= 0:
            least[row] = np.inf
        elif n_wanted[row] > room[row]:
            mine = by_job[end[row] - n_wanted[row] : end[row]]
            least[row] = quickselect(mine, n_wanted[row] - room[row])
            n_equal[row] = room[row] - np.count_nonzero(mine > least[row])
    return least, n_equal
