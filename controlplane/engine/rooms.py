"""For how many copies has each job room: in its target, on its pool's idle slots, and on executors that may start?"""

import numpy as np
from numpy.typing import NDArray

from controlplane.compiled import kernel
from controlplane.deciding.room import (
    copy_room,
    free_for_copies,
    lent_room,
    no_room,
    restart_room,
    spare_room,
    starting_originals,
)
from controlplane.engine.budgets import Budgets
from controlplane.engine.cycle import Cycle
from controlplane.engine.growth import growth_of, tasks_of
from controlplane.model.cluster import SourceState
from controlplane.model.columns import Flags, Ints
from controlplane.model.reasons import Reason
from controlplane.model.writers import Decided, Reported, Scratch


def room_to_come(cycle: Cycle, due: list[SourceState], waiting: Ints, budgets: Budgets, full: Ints) -> Ints:
    """Copies for which executors would start beyond each job's target; if its queue allows none, `full` says so.

    None for a job whose target an operator has fixed under an allocator that uses it, or whose originals wait: the
    executors would be theirs.
    """
    coming = np.zeros(len(waiting), dtype=np.int64)
    for source in due:
        if source.attached.executor_limit:
            growth = growth_of(cycle.cluster, cycle.steering, source, cycle.now_s)
            tasks = tasks_of(cycle.cluster, source, budgets.ordered_by_job)
            rows = source.jobs.rows
            rows = rows[(waiting[rows] == 0) & ~is_fixed(cycle, source, rows)]
            coming[rows] = growth.copies(tasks)
            full[rows] = growth.refusal(tasks, Reason.NO_SLOT_IN_TARGET) or Reason.NO_SLOT_IN_TARGET
    return coming


def is_fixed(cycle: Cycle, source: SourceState, rows: Ints) -> Flags:
    """Whether an operator has fixed the targets of these jobs of a pool, under an allocator that uses them."""
    is_fixed: Flags = cycle.cluster.jobs.fixed_target[rows] >= 0
    return is_fixed & cycle.steering.allocator(source.name)[0].by_fixed


@kernel
def note_room(
    jobs_decided: NDArray[Decided], jobs_scratch: NDArray[Scratch], running: Ints, waiting: Ints, ordered: Ints
) -> None:
    """Note how many slots each job's target has left that no original waits for."""
    for row in range(len(jobs_decided)):
        free = jobs_decided[row]["target"] - running[row] - ordered[row]
        jobs_scratch[row]["room"] = spare_room(free, waiting[row], False)


@kernel
def job_rooms(
    jobs: NDArray[Reported],
    jobs_decided: NDArray[Decided],
    jobs_scratch: NDArray[Scratch],
    pools_scratch: NDArray[Scratch],
    running: Ints,
    waiting: Ints,
    copies: Ints,
    ordered: Ints,
) -> tuple[Ints, Ints, Ints]:
    """By job row: the room for copies and for restarts, (2, n_jobs); originals that want a slot; why there is no room.

    `copies` run, `ordered` ones do not.
    """
    n_jobs = len(jobs)
    rooms, starting = np.zeros((2, n_jobs), dtype=np.int64), np.zeros(n_jobs, dtype=np.int64)
    refusal = np.zeros(n_jobs, dtype=np.int64)
    for row in range(n_jobs):
        job, before = jobs_decided[row], jobs_scratch[row]["before_waiting"]
        free = job["target"] - running[row] - ordered[row]
        n_copies = copies[row] + ordered[row]
        left = free_for_copies(free, job["target"], job["originals"], n_copies)
        has_share = free_for_copies(1, job["target"], job["originals"], n_copies) > 0
        starting[row] = starting_originals(waiting[row], job["originals"], running[row] - copies[row])
        rooms[0, row] = copy_room(left, starting[row], ordered[row], before and has_share)
        if jobs_scratch[row]["shares_spare"]:
            idle, held = pools_scratch[jobs[row]["pool"]]["idle"], running[row] + ordered[row]
            rooms[0, row] = lent_room(rooms[0, row], idle, job["cap"], held)
        rooms[1, row] = max(restart_room(left, ordered[row]), rooms[0, row])
        refusal[row] = no_room(starting[row], before)
    return rooms, starting, refusal
