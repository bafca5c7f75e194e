"""What is known of the simulated cluster at an instant? Slots, live jobs, free rows, and what happens next.

An attempt is the slot that it holds, and a task is the slot of its original: no rows beyond the slots are needed. Every
slot and job has at most one event of its own ahead of it; a tournament over these gives the next one.
"""

from math import inf
from typing import NamedTuple

import numpy as np

from controlplane.compiled import rule
from controlplane.estimators.samples import RUN_LENGTH
from controlplane.model.columns import Floats, Ints, Record, Records
from controlplane.model.finished import FINISHED, MOST_FINISHED
from controlplane.policies import seen
from controlplane.policies.answer import ALLOCATION, COPY_BUDGET, SPECULATION

FREE, ORIGINAL, COPY, CLEANING = range(4)
"""Uses of a slot. A killed attempt's slot is cleaned up before it is free."""

SLOT = np.dtype(
    [
        ("use", np.int64),
        ("job", np.int64),
        ("task", np.int64),  # counted over all phases of the job
        ("original", np.int64),  # slot of the task's original
        ("newest", np.int64),  # of an original: slot of its task's newest copy; -1 for none
        ("older", np.int64),  # of a copy: slot of the next one; -1 for none
        ("attempts", np.int64),  # of an original, as are all up to `restarts`: live attempts of its task
        ("n_started", np.int64),  # attempts of its task, live or not
        ("last", np.int64),  # slot of the one that seems to end last; -1 where one cannot be judged yet
        ("soonest", np.int64),  # slot of the one that seems to end first
        ("furthest", np.int64),  # slot of the one that has done most
        ("wanted", np.int64),  # further attempts that are wanted
        ("restarts", np.bool_),  # one more attempt is wanted in place of this one
        ("is_copy", np.bool_),  # it stays one when its original is killed
        ("anew", np.bool_),  # it was started in place of another one
        ("compared", np.bool_),  # of an original: a copy of its task has been compared with it
        ("beaten", np.bool_),  # it ends now, for another attempt of its task ends long before it
        ("started_s", np.float64),
        ("readable_s", np.float64),  # from here on its rate can be read
        ("end_s", np.float64),
        ("noise", np.float64),  # factor on the estimate of its remaining time
        ("offset", np.float64),  # share of its task's work at which it begins
        ("likeness", np.float64),  # of an original: log odds that its task's attempts share their slowness
    ],
    align=True,
)
JOB = np.dtype(
    [
        ("id", np.int64),
        ("key", np.uint64),  # of its draws
        ("phase", np.int64),
        ("n_phases", np.int64),
        ("first_task", np.int64),  # of the phase, counted over all phases
        ("n_tasks", np.int64),  # of the phase, as are the next two; equal while it waits for its input
        ("n_started", np.int64),
        ("n_done", np.int64),
        ("n_finished", np.int64),  # of the phase's finished attempts, those in `State.finished`
        ("finished_every", np.int64),  # each of which is one of so many
        ("running", np.int64),  # attempts
        ("copies", np.int64),
        ("target", np.int64),
        ("originals", np.int64),  # the most of them that originals may hold; -1 for no such limit
        ("most_copies", np.int64),  # that its copy budget allows; -1 for no such limit
        ("size", np.float64),  # its virtual size as the allocator has it
        ("precedence", np.float64),  # by the allocator: of two jobs below their targets, the lower goes first
        ("n_wanted", np.int64),  # copies
        ("first_copy", np.int64),  # where its tasks to be copied begin in `State.queue`, as of the last review
        ("copies_queued", np.int64),  # how many of them there are
        ("first_restart", np.int64),  # the same for tasks to be started again
        ("restarts_queued", np.int64),
        ("restart_room", np.int64),  # how many of them may be, until the next review
        ("capped", np.bool_),  # nothing is lent to it beyond its target
        ("arrival_s", np.float64),
        ("foreseen_s", np.float64),  # what originals of all unfinished tasks take; 0 where nobody foresees
        ("transferred_s", np.float64),  # when all output there is will have reached the next phase
        ("cost_s", np.float64),
    ],
    align=True,
)
COUNTS = np.dtype(
    [
        ("now_s", np.float64),
        ("n_active", np.int64),
        ("n_asking", np.int64),
        ("n_claimants", np.int64),  # that the allocator was asked about in the last cycle
        ("n_free", np.int64),
        ("next_job", np.int64),
        ("n_waiting", np.int64),  # originals of open phases
        ("n_wanted", np.int64),  # copies
        ("n_restarts", np.int64),  # wanted
        ("n_beaten", np.int64),
        ("copies", np.int64),  # running
        ("copies_started_s", np.float64),  # sum of the times at which they started
        ("n_ended", np.int64),  # attempts, ever
        ("total_core_s", np.float64),  # that they ran for, at a core a slot
        ("losing_core_s", np.float64),  # of it, that of copies that were killed
        ("seen_log", np.float64),  # what races of originals with copies have shown, as `SharedSlowness` keeps it
        ("kept_log", np.float64),
        ("launched", np.int64),  # copies, ever
        ("won", np.int64),  # of them
        ("switched", np.int64),  # of them, those ordered because samples have called for a switch
        ("restarted", np.int64),  # tasks, ever
        ("events", np.int64),
        ("cycles", np.int64),
        ("review_s", np.float64),  # the next cycle that asks the speculator
        ("busy_s", np.float64),  # slot time in the window that is counted, as is the next one
        ("copy_s", np.float64),
        ("is_short", np.bool_),  # virtual sizes exceed the slots, as of the last cycle
        ("n_met", np.int64),  # jobs that a cycle has allocated slots to
        ("none_in_turn", np.bool_),  # slots were left free when they were last handed out
        ("inputs", np.int64),  # originals started whose input lies somewhere
        ("local", np.int64),  # of them, those beside it
        ("n_logged", np.int64),
        ("is_lawful", np.bool_),  # no policy's answer has broken a law
    ],
    align=True,
)
LOGGED = np.dtype(
    [
        ("slot", np.int64),
        ("job", np.int64),
        ("is_copy", np.bool_),
        ("started_s", np.float64),
        ("ended_s", np.float64),
    ],
    align=True,
)
"""An attempt that has ended, or was killed."""


class State(NamedTuple):
    """All that changes. Shapes: one row a slot in the first four and `tasks`; one a live job in those between."""

    slots: Records
    free: Ints
    """The first `n_free` are free, the last of them is taken next."""
    task_slots: Ints
    """Slots of the originals in `tasks`, as of the last review."""
    queue: Ints
    """Rows of `tasks` that were wanted at the last review, a heap for each job's copies and one for its restarts."""
    jobs: Records
    active: Ints
    """The first `n_active` rows are live, in order of arrival; the rest are free."""
    asking: Ints
    """The first `n_asking` rows had something to start at the last cycle, in order of arrival."""
    claimants: Records
    allocation: Records
    copy_budgets: Records
    seen_pools: Records
    """One record."""
    seen_jobs: Records
    seen_stages: Records
    """A job's open phase is its stage."""
    tasks: Records
    speculation: Records
    finished: Records
    """Durations of the finished attempts of open phases, or of a sample, MOST_FINISHED rows a job; empty where nobody
    asks."""
    counts: Records
    """One record."""
    due_s: Floats
    """Time of the next event of every leaf: slots, jobs, the next arrival, the next cycle."""
    tree: Ints
    """`tree[1]` is the leaf whose event is next; below it, the winners of each half, quarter, ..."""
    first_input: Ints
    """(jobs + 1,): where a job's rows in the next one begin."""
    homes: Ints
    """(tasks of first phases, replicas): machines that hold their input; empty where all machines do."""
    first_order: Ints
    """(jobs + 1,): where a job's part of the next one begins."""
    start_order: Ints
    """The tasks of a job's open phase in the order in which they start; empty where it is that of their numbers."""
    free_on: Ints
    """Free slots of each machine."""
    samples: Floats
    """Samples by which the speculator switches; empty where it goes by none."""
    runs: Floats
    """(live jobs, RUN_LENGTH): the tallies that samples are made of; no rows where there are none."""
    log: Records
    """The first `n_logged` attempts that ended, as far as there is room; empty where nobody asks."""


def empty_state(n_slots: int, n_jobs: int, by_finished: bool = False) -> State:
    """A cluster with room for so many live jobs, and none there; `by_finished` if somebody asks what has finished."""
    slots, jobs = np.zeros(n_slots, dtype=SLOT), np.zeros(n_jobs, dtype=JOB)
    width = 1 << (n_slots + n_jobs + 1).bit_length()
    tree = np.empty(2 * width, dtype=np.int64)
    tree[width:] = np.arange(width)
    for node in range(width - 1, 0, -1):
        tree[node] = tree[2 * node]
    counts = np.zeros(1, dtype=COUNTS)
    counts["n_free"], counts["is_lawful"] = n_slots, True
    return State(
        slots=slots,
        free=np.arange(n_slots)[::-1].copy(),
        task_slots=np.zeros(n_slots, dtype=np.int64),
        queue=np.zeros(n_slots, dtype=np.int64),
        jobs=jobs,
        active=np.arange(n_jobs),
        asking=np.zeros(n_jobs, dtype=np.int64),
        claimants=np.zeros(n_jobs, dtype=seen.CLAIMANT),
        allocation=np.zeros(n_jobs, dtype=ALLOCATION),
        copy_budgets=np.zeros(n_jobs, dtype=COPY_BUDGET),
        seen_pools=np.zeros(1, dtype=seen.POOL),
        seen_jobs=np.zeros(n_jobs, dtype=seen.JOB),
        seen_stages=np.zeros(n_jobs, dtype=seen.STAGE),
        tasks=np.zeros(n_slots, dtype=seen.RUNNING_TASK),
        speculation=np.zeros(n_slots, dtype=SPECULATION),
        finished=np.zeros(n_jobs * MOST_FINISHED * by_finished, dtype=FINISHED),
        counts=counts,
        due_s=np.full(width, inf),
        tree=tree,
        first_input=np.zeros(0, dtype=np.int64),
        homes=np.zeros((0, 0), dtype=np.int64),
        first_order=np.zeros(0, dtype=np.int64),
        start_order=np.zeros(0, dtype=np.int64),
        free_on=np.zeros(0, dtype=np.int64),
        samples=np.zeros(0),
        runs=np.zeros((0, RUN_LENGTH)),
        log=empty_log(0),
    )


def empty_log(most: int) -> Records:
    """Room for so many attempts."""
    return np.zeros(most, dtype=LOGGED)


@rule
def job_leaf(state: State, row: int) -> int:
    """Of the event that opens the job's next phase, or of its first one's deadline."""
    return len(state.slots) + row


@rule
def arrival_leaf(state: State) -> int:
    """Of the next job's arrival."""
    return len(state.slots) + len(state.jobs)


@rule
def cycle_leaf(state: State) -> int:
    """Of the next cycle; the last leaf, so that a cycle sees all that happens at its instant."""
    return len(state.slots) + len(state.jobs) + 1


@rule
def set_due(state: State, leaf: int, at_s: float) -> None:
    """Move a leaf's event. Of events at one instant the one with the lower leaf comes first."""
    due_s, tree = state.due_s, state.tree
    due_s[leaf] = at_s
    node = (leaf + len(due_s)) >> 1
    while node > 0:
        left, right = tree[2 * node], tree[2 * node + 1]
        winner = left if due_s[left] <= due_s[right] else right
        if winner == tree[node] and winner != leaf:
            return
        tree[node] = winner
        node >>= 1


@rule
def waiting(job: Record) -> int:
    """Originals of the job's open phase that have not started."""
    return job["n_tasks"] - job["n_started"]
