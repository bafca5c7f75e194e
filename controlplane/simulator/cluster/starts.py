"""On which slot does a simulated attempt start, and when will it end?"""

from controlplane.compiled import rule
from controlplane.model.reasons import Reason
from controlplane.simulator.cluster.ends import drop
from controlplane.simulator.cluster.inputs import (
    bring_slot,
    bring_together,
    home_with_room,
    is_local,
    next_task,
    reads_input,
)
from controlplane.simulator.cluster.offsets import next_offset
from controlplane.simulator.cluster.pair import PolicyPair
from controlplane.simulator.cluster.state import COPY, ORIGINAL, State, set_due
from controlplane.simulator.cluster.wanted import next_copy
from controlplane.simulator.cluster.world import (
    Workload,
    World,
    attempt_work_s,
    machine_factor,
    machine_of,
    noise_factor,
)


@rule
def start_original(work: Workload, world: World, policy: PolicyPair, state: State, row: int) -> None:
    """Start the job's next task on the next free slot."""
    job, counts = state.jobs[row], state.counts[0]
    bring_together(state, job)
    slot = state.free[counts["n_free"] - 1]
    one = state.slots[slot]
    one["use"], one["original"], one["task"] = ORIGINAL, slot, job["first_task"] + next_task(state, job)
    one["newest"], one["attempts"], one["n_started"] = -1, 1, 1
    one["is_copy"] = one["restarts"] = one["compared"] = False
    one["wanted"], one["likeness"] = 0, 0.0
    job["n_started"] += 1
    counts["n_waiting"] -= 1
    start(work, world, policy, state, row, slot, 0, 0.0)


@rule
def start_copy(work: Workload, world: World, policy: PolicyPair, state: State, row: int) -> None:
    """Start a copy of the job's best wanted task."""
    job = state.jobs[row]
    task = next_copy(state, job)
    at = state.task_slots[task]
    state.slots[at]["wanted"] -= 1
    job["n_wanted"] -= 1
    state.counts[0]["n_wanted"] -= 1
    state.counts[0]["launched"] += 1
    state.counts[0]["switched"] += state.speculation[task]["reason"] == Reason.SWITCHED_TO_GS
    start_beside(work, world, policy, state, at, state.counts[0]["now_s"] + world.launch_s)


@rule
def restart(work: Workload, world: World, policy: PolicyPair, state: State, at: int) -> None:
    """Start a task again; once the new attempt runs, the old one, on this slot, ends and frees it."""
    state.jobs[state.slots[at]["job"]]["restart_room"] -= 1
    state.slots[at]["restarts"] = False
    state.counts[0]["n_restarts"] -= 1
    state.counts[0]["restarted"] += 1
    start_beside(work, world, policy, state, at, state.counts[0]["now_s"])
    state.slots[state.slots[at]["newest"]]["anew"] = True
    drop(world, state, at)


@rule
def start_beside(work: Workload, world: World, policy: PolicyPair, state: State, at: int, resumes_s: float) -> None:
    """Start a copy of the original on this slot, on another machine if one has a free slot.

    If one of those with its input has one, then there. Where copies resume, it begins where the task will stand at
    `resumes_s`.
    """
    row, counts = state.slots[at]["job"], state.counts[0]
    job = state.jobs[row]
    original, last = state.slots[at], counts["n_free"] - 1
    if reads_input(state, job):
        home = home_with_room(state, job, original["task"], machine_of(at, world.machines))
        if home >= 0:
            bring_slot(state, home)
    other = last
    while other > 0 and machine_of(state.free[other], world.machines) == machine_of(at, world.machines):
        other -= 1
    if machine_of(state.free[other], world.machines) != machine_of(at, world.machines):
        state.free[other], state.free[last] = state.free[last], state.free[other]
    slot = state.free[last]
    one = state.slots[slot]
    one["use"], one["original"], one["task"] = COPY, at, original["task"]
    one["older"], one["is_copy"] = original["newest"], True
    offset, original["newest"] = next_offset(world, state, at, resumes_s), slot
    job["copies"] += 1
    counts["copies"] += 1
    counts["copies_started_s"] += counts["now_s"]
    start(work, world, policy, state, row, slot, original["n_started"], offset)
    original["n_started"] += 1
    original["attempts"] += 1


@rule
def start(
    work: Workload, world: World, policy: PolicyPair, state: State, row: int, slot: int, attempt: int, offset: float
) -> None:
    """Start an attempt of a task on the last of the free slots, from a share of its work on."""
    job, one, counts = state.jobs[row], state.slots[slot], state.counts[0]
    machine = machine_of(slot, world.machines)
    is_near = is_local(state, job, one["task"], machine)
    counts["n_free"] -= 1
    state.free_on[machine] -= 1
    job["running"] += 1
    one["job"], one["started_s"], one["beaten"], one["anew"] = row, counts["now_s"], False, False
    work_s = attempt_work_s(work, world, job, one["task"], attempt)
    work_s *= machine_factor(world, machine) * (1.0 if is_near else world.remote_factor) * (1.0 - offset)
    if attempt == 0 and reads_input(state, job):
        counts["inputs"] += 1
        counts["local"] += is_near
    one["offset"] = offset
    one["noise"] = noise_factor(world, job["key"], one["task"], attempt)
    one["readable_s"] = counts["now_s"] + world.launch_s + world.detect_s
    one["end_s"] = counts["now_s"] + world.launch_s + work_s
    is_seen = policy.cycle_s == 0 and one["readable_s"] < one["end_s"]
    set_due(state, slot, one["readable_s"] if is_seen else one["end_s"])
