"""Where does the input of tasks lie on the simulated cluster, and who goes first for its sake?

The tasks of a job's first phase read input that `replicas` machines hold, drawn at random; elsewhere they take
`remote_factor` times as long. Later phases read what the earlier ones have put out, which comes from everywhere. Of the
job whose turn it is, a task goes first whose input a machine with a free slot holds.
"""

from math import inf

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Ints, Record
from controlplane.policies.locality import n_allowed
from controlplane.simulator.cluster.pair import PolicyPair
from controlplane.simulator.cluster.state import State
from controlplane.simulator.cluster.turns import starting
from controlplane.simulator.cluster.world import Workload, World, home_of, machine_of
from controlplane.simulator.draws import job_key


def with_inputs(state: State, work: Workload, world: World, is_ordered: bool) -> State:
    """The same cluster with the input of all jobs on its machines; without any, if every machine holds all.

    `is_ordered` if originals may start in another order for another reason.
    """
    n_inputs = work.phase_tasks[work.first_phase[:-1]] * (world.replicas > 0)
    first = np.concatenate([[0], np.cumsum(n_inputs)]).astype(np.int64)
    homes = np.empty((first[-1], world.replicas), dtype=np.int64)
    draw_homes(world, first, homes)
    widest = np.maximum.reduceat(work.phase_tasks, work.first_phase[:-1]) * (world.replicas > 0 or is_ordered)
    first_order = np.concatenate([[0], np.cumsum(widest)]).astype(np.int64)
    n_free = np.bincount(np.arange(len(state.slots)) % world.machines, minlength=world.machines)
    return state._replace(
        first_input=first,
        homes=homes,
        first_order=first_order,
        start_order=np.zeros(first_order[-1], dtype=np.int64),
        free_on=n_free.astype(np.int64),
    )


@kernel
def draw_homes(world: World, first: Ints, homes: Ints) -> None:
    """Draw the machines that hold each task's input, no machine twice; a task has the next one instead."""
    for job in range(len(first) - 1):
        key = job_key(world.seed, job)
        for row in range(first[job], first[job + 1]):
            for replica in range(world.replicas):
                machine = home_of(world, key, row - first[job], replica)
                while np.any(homes[row, :replica] == machine):
                    machine = (machine + 1) % world.machines
                homes[row, replica] = machine


@rule
def reads_input(state: State, job: Record) -> bool:
    """Whether tasks of the job's phase have input that lies somewhere."""
    return len(state.homes) > 0 and job["phase"] == 0


@rule
def is_local(state: State, job: Record, task: int, machine: int) -> bool:
    """Whether the machine holds the input of a task of the job's phase."""
    if not reads_input(state, job):
        return True
    for replica in range(state.homes.shape[1]):
        if state.homes[state.first_input[job["id"]] + task, replica] == machine:
            return True
    return False


@rule
def home_with_room(state: State, job: Record, task: int, but: int) -> int:
    """A machine with a free slot that holds the task's input, and is not `but`; -1 if there is none."""
    for replica in range(state.homes.shape[1]):
        home = state.homes[state.first_input[job["id"]] + task, replica]
        if home != but and state.free_on[home] > 0:
            return home
    return -1


@rule
def local_place(state: State, job: Record) -> int:
    """Place, in `start_order`, of the job's first waiting task that a free slot is local to; -1 if none is."""
    if not reads_input(state, job):
        return -1
    first = state.first_order[job["id"]]
    for place in range(first + job["n_started"], first + job["n_tasks"]):
        if home_with_room(state, job, state.start_order[place], -1) >= 0:
            return place
    return -1


@rule
def near_input(policy: PolicyPair, state: State, row: int) -> int:
    """Whose original goes next if it is this job's turn: itself, if it has a task that a free slot is local to.

    Else, while slots are short (Guideline 2), the smallest with one among the smallest k % that wait and hold less than
    their virtual size; itself again if there is none.
    Source: Hopper (SIGCOMM'15), section 4.4.
    """
    is_remote = reads_input(state, state.jobs[row]) and local_place(state, state.jobs[row]) < 0
    if not (is_remote and state.counts[0]["is_short"]):
        return row
    last_size, last_at = -inf, -1
    for _ in range(n_allowed(n_jobs=state.counts[0]["n_active"], locality_percent=policy.locality_percent)):
        at = next_larger(state, last_size, last_at)
        if at < 0:
            return row
        job = state.jobs[state.asking[at]]
        if local_place(state, job) >= 0:
            return state.asking[at]
        last_size, last_at = job["size"], at
    return row


@rule
def next_larger(state: State, size: float, at: int) -> int:
    """Place among those asking of the smallest job after one of this size and place, by size and then by arrival.

    Only jobs in which an original waits, and whose size and cap allow one more; -1 if there is none.
    """
    best = -1
    for place in range(state.counts[0]["n_asking"]):
        job = state.jobs[state.asking[place]]
        is_after = job["size"] > size or (job["size"] == size and place > at)
        is_first = best < 0 or job["size"] < state.jobs[state.asking[best]]["size"]
        is_full = job["running"] >= job["size"] or (job["capped"] and job["running"] >= job["target"])
        if is_after and is_first and starting(job) > 0 and not is_full:
            best = place
    return best


@rule
def bring_together(state: State, job: Record) -> None:
    """If there is a free slot beside a waiting task's input, make the slot and the task the next ones to be taken."""
    place = local_place(state, job)
    if place < 0:
        return
    front, order = state.first_order[job["id"]] + job["n_started"], state.start_order
    order[front], order[place] = order[place], order[front]
    bring_slot(state, home_with_room(state, job, order[front], -1))


@rule
def bring_slot(state: State, machine: int) -> None:
    """Make a free slot of the machine, which has one, the next one to be taken."""
    last, free = state.counts[0]["n_free"] - 1, state.free
    place = last
    while machine_of(free[place], len(state.free_on)) != machine:
        place -= 1
    free[place], free[last] = free[last], free[place]


@rule
def next_task(state: State, job: Record) -> int:
    """The job's next task, counted within its phase."""
    if len(state.start_order) == 0:
        return job["n_started"]
    return state.start_order[state.first_order[job["id"]] + job["n_started"]]
