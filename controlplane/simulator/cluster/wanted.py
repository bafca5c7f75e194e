"""Which task of a job is copied or started again next? What a review wants waits in heaps until the next one.

A job's copies and its restarts have a heap each, of rows of `State.tasks`, in the order that the engine chooses by.
"""

from controlplane.compiled import kernel, rule
from controlplane.deciding.choice import line_up, take_best
from controlplane.deciding.room import free_for_copies, restart_room
from controlplane.model.columns import Record
from controlplane.policies.answer import FURTHEST
from controlplane.simulator.cluster.state import State

NO_TASK = -1


@kernel
def keep_wanted(state: State, n_tasks: int) -> None:
    """Queue what the speculator wants, and mark what ends.

    A job's part of the queue is as long as it has running tasks: copies stand at its beginning, restarts at its end.
    """
    counts, score, end = state.counts[0], state.speculation["score"], 0
    for place in range(counts["n_active"]):
        job = state.jobs[state.active[place]]
        job["n_wanted"] = job["copies_queued"] = job["restarts_queued"] = 0
        job["first_copy"], end = end, end + job["n_started"] - job["n_done"]
        job["first_restart"] = end
    counts["n_wanted"] = counts["n_restarts"] = 0
    for row in range(n_tasks):
        answer, original = state.speculation[row], state.slots[state.task_slots[row]]
        original["wanted"], original["restarts"] = 0, False
        if answer["keep"] > 0 and original["last"] >= 0:
            kept = original["furthest"] if answer["keep"] == FURTHEST else original["soonest"]
            end_all_but(state, original["original"], kept)
        elif answer["end_last"] and original["last"] >= 0:
            state.slots[original["last"]]["beaten"] = True
            counts["n_beaten"] += 1
        if answer["copies"] > 0:
            job = state.jobs[original["job"]]
            if answer["kill"]:
                original["restarts"] = True
                counts["n_restarts"] += 1
                job["restarts_queued"] += 1
                job["first_restart"] -= 1
                state.queue[job["first_restart"]] = row
            else:
                original["wanted"] = answer["copies"]
                counts["n_wanted"] += answer["copies"]
                job["n_wanted"] += answer["copies"]
                state.queue[job["first_copy"] + job["copies_queued"]] = row
                job["copies_queued"] += 1
    for place in range(counts["n_active"]):
        job = state.jobs[state.active[place]]
        line_up(state.queue, job["first_copy"], job["copies_queued"], score)
        line_up(state.queue, job["first_restart"], job["restarts_queued"], score)


@rule
def end_all_but(state: State, original: int, kept: int) -> None:
    """Mark all attempts of a task but one for their end."""
    at = original
    while at >= 0:
        if at != kept:
            state.slots[at]["beaten"] = True
            state.counts[0]["n_beaten"] += 1
        at = state.slots[at]["newest"] if at == original else state.slots[at]["older"]


@rule
def note_restart_room(state: State) -> None:
    """Write down how many tasks of each job may be started again until the next review, by its target."""
    for place in range(state.counts[0]["n_active"]):
        job = state.jobs[state.active[place]]
        free = free_for_copies(job["target"] - job["running"], job["target"], job["originals"], job["copies"])
        job["restart_room"] = restart_room(free, 0)


@rule
def next_copy(state: State, job: Record) -> int:
    """The task to be copied next, of those that are still wanted; there must be one."""
    row = state.queue[job["first_copy"]]
    while state.slots[state.task_slots[row]]["wanted"] == 0:
        take_best(state.queue, job["first_copy"], job["copies_queued"], state.speculation["score"])
        job["copies_queued"] -= 1
        row = state.queue[job["first_copy"]]
    return row


@rule
def next_restart_of(state: State, job: Record) -> int:
    """The task to be started again next, of those that are still wanted; `NO_TASK` if there is none, or no room."""
    while job["restart_room"] > 0 and job["restarts_queued"] > 0:
        row = state.queue[job["first_restart"]]
        if state.slots[state.task_slots[row]]["restarts"]:
            return row
        take_best(state.queue, job["first_restart"], job["restarts_queued"], state.speculation["score"])
        job["restarts_queued"] -= 1
    return NO_TASK
