"""What happens on the simulated cluster, one event after the other? Jobs arrive, attempts end, cycles decide.

A job's phases run one after the other. As tasks end, their output moves to the next phase over a pipe of the job's own,
which moves a whole phase's output in `transfer_ratio` times a task's mean time; the next phase starts once it has all
of its input, and holds no slots while it waits. The first attempt of a task to end kills the others.
"""

from math import floor, inf
from typing import NamedTuple

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Flags, Floats, Record
from controlplane.model.finished import MOST_FINISHED, take_in
from controlplane.simulator.cluster.decisions import run_cycle
from controlplane.simulator.cluster.inputs import (
    bring_slot,
    bring_together,
    home_with_room,
    is_local,
    near_input,
    next_task,
    reads_input,
)
from controlplane.simulator.cluster.kills import leave_task, want_no_more
from controlplane.simulator.cluster.originals import restore_order
from controlplane.simulator.cluster.pair import PolicyPair
from controlplane.simulator.cluster.races import learn_of_race
from controlplane.simulator.cluster.state import (
    CLEANING,
    COPY,
    FREE,
    ORIGINAL,
    State,
    arrival_leaf,
    cycle_leaf,
    job_leaf,
    set_due,
)
from controlplane.simulator.cluster.turns import NO_JOB, need, next_restart, wants_copy, whose_turn
from controlplane.simulator.cluster.wanted import NO_TASK, next_copy
from controlplane.simulator.cluster.world import (
    Workload,
    World,
    attempt_work_s,
    machine_factor,
    machine_of,
    mean_factor,
    noise_factor,
)
from controlplane.simulator.draws import job_key

ANY_JOB = -2


class JobResults(NamedTuple):
    """What became of the jobs, shape (n_jobs,); nan for those still live when the run was stopped."""

    response_s: Floats
    cost_s: Floats
    """Slot time, copies and clean-up included."""
    met_short: Flags
    """Whether virtual sizes, its own among them, exceeded the slots when it arrived."""


@kernel
def play(work: Workload, world: World, policy: PolicyPair, state: State, counted: Floats, results: JobResults) -> bool:
    """Play all events. `counted` is the span of time whose slot time is summed up.

    False if it was stopped: there was no room for one more live job, or a policy has broken a law.
    """
    n_slots, n_jobs = len(state.slots), len(state.jobs)
    set_due(state, arrival_leaf(state), work.arrival_s[0])
    while state.due_s[state.tree[1]] < inf:
        leaf = state.tree[1]
        pass_time(state, counted, state.due_s[leaf])
        if leaf == cycle_leaf(state):
            run_cycle(work, world, policy, state)
            if not state.counts[0]["is_lawful"]:
                return False
            meet(state, results)
            end_beaten(work, world, state)
            plan_cycle(policy, state, True)
            hand_out(work, world, policy, state, ANY_JOB)
            continue
        changed = ANY_JOB
        if leaf < n_slots:
            changed = slot_due(work, world, state, leaf, results)
        elif leaf < n_slots + n_jobs:
            open_phase(work, world, policy, state, leaf - n_slots)
        elif state.counts[0]["n_active"] == n_jobs:
            return False
        else:
            arrive(work, world, policy, state)
        plan_cycle(policy, state, False)
        if policy.cycle_s > 0:
            hand_out(work, world, policy, state, changed)
    return True


@rule
def pass_time(state: State, counted: Floats, now_s: float) -> None:
    """Move the clock, and count what the slots did meanwhile."""
    counts = state.counts[0]
    span_s = min(now_s, counted[1]) - max(counts["now_s"], counted[0])
    if span_s > 0:
        counts["busy_s"] += span_s * (len(state.slots) - counts["n_free"])
        counts["copy_s"] += span_s * counts["copies"]
    counts["now_s"] = now_s
    counts["events"] += 1


@rule
def plan_cycle(policy: PolicyPair, state: State, is_over: bool) -> None:
    """Something has happened, or a cycle is over: when is the next cycle?"""
    leaf, now_s = cycle_leaf(state), state.counts[0]["now_s"]
    if policy.cycle_s == 0:
        set_due(state, leaf, inf if is_over else now_s)
    elif is_over and state.counts[0]["n_active"] == 0:
        set_due(state, leaf, inf)
    elif is_over or state.due_s[leaf] == inf:
        if state.counts[0]["review_s"] <= now_s:
            state.counts[0]["review_s"] = (floor(now_s / policy.cycle_s + 1e-9) + 1) * policy.cycle_s
        set_due(state, leaf, state.counts[0]["review_s"])


@rule
def arrive(work: Workload, world: World, policy: PolicyPair, state: State) -> None:
    """The next job is there."""
    counts = state.counts[0]
    row, at = state.active[counts["n_active"]], counts["next_job"]
    job = state.jobs[row]
    job["id"], job["key"], job["arrival_s"] = at, job_key(world.seed, at), counts["now_s"]
    job["phase"], job["n_phases"] = -1, work.first_phase[at + 1] - work.first_phase[at]
    job["first_task"] = job["n_tasks"] = job["n_started"] = job["n_done"] = 0
    job["running"] = job["copies"] = job["n_wanted"] = job["target"] = 0
    job["restarts_queued"] = job["restart_room"] = 0
    job["most_copies"] = -1
    job["capped"], job["cost_s"], job["foreseen_s"] = False, 0.0, 0.0
    if policy.foresees_jobs:
        n_tasks = 0
        for phase in range(work.first_phase[at], work.first_phase[at + 1]):
            n_tasks += work.phase_tasks[phase]
        for task in range(n_tasks):
            job["foreseen_s"] += attempt_work_s(work, world, job, task, 0)
    counts["n_active"] += 1
    counts["next_job"] += 1
    open_phase(work, world, policy, state, row)
    last = counts["next_job"] == len(work.arrival_s)
    set_due(state, arrival_leaf(state), inf if last else work.arrival_s[counts["next_job"]])


@rule
def open_phase(work: Workload, world: World, policy: PolicyPair, state: State, row: int) -> None:
    """All of the next phase's input is there; its tasks wait until the allocator, at once, has been asked."""
    job = state.jobs[row]
    set_due(state, job_leaf(state, row), inf)
    job["phase"] += 1
    job["first_task"] += job["n_tasks"]
    job["n_tasks"] = work.phase_tasks[work.first_phase[job["id"]] + job["phase"]]
    job["n_started"] = job["n_done"] = job["n_finished"] = job["originals"] = 0
    job["finished_every"] = 1
    restore_order(state, job)
    job["transferred_s"] = state.counts[0]["now_s"]
    state.counts[0]["n_waiting"] += job["n_tasks"]
    set_due(state, cycle_leaf(state), state.counts[0]["now_s"])


@rule
def meet(state: State, results: JobResults) -> None:
    """Write down whether slots are short for the jobs that have arrived since the last cycle, all at this instant."""
    counts = state.counts[0]
    for job in range(counts["n_met"], counts["next_job"]):
        results.met_short[job] = counts["is_short"]
    counts["n_met"] = counts["next_job"]


@rule
def hand_out(work: Workload, world: World, policy: PolicyPair, state: State, changed: int) -> None:
    """Give each free slot to the job whose turn it is; first to restarts, which give it back.

    Where it was nobody's while slots were free, it can only be that of the one job that has changed since; but any
    job's, where an attempt's end has made room in the budgets of all.
    """
    counts = state.counts[0]
    only = changed if counts["none_in_turn"] and not policy.budgets else ANY_JOB
    while counts["n_free"] > 0 and counts["n_waiting"] + counts["n_wanted"] + counts["n_restarts"] > 0:
        task = next_restart(policy, state) if counts["n_restarts"] > 0 else NO_TASK
        if task != NO_TASK:
            restart(work, world, policy, state, state.task_slots[task])
            only = ANY_JOB
            continue
        row = only
        if only == ANY_JOB:
            row = whose_turn(work, policy, state)
        elif need(work, policy, state, state.jobs[only]) == inf:
            row = NO_JOB
        if row == NO_JOB:
            break
        if wants_copy(policy, state, state.jobs[row]):
            start_copy(work, world, policy, state, row)
        else:
            start_original(work, world, policy, state, near_input(policy, state, row))
    counts["none_in_turn"] = counts["n_free"] > 0


@rule
def start_original(work: Workload, world: World, policy: PolicyPair, state: State, row: int) -> None:
    """Start the job's next task on the next free slot."""
    job, counts = state.jobs[row], state.counts[0]
    bring_together(state, job)
    slot = state.free[counts["n_free"] - 1]
    one = state.slots[slot]
    one["use"], one["original"], one["task"] = ORIGINAL, slot, job["first_task"] + next_task(state, job)
    one["newest"], one["attempts"], one["n_started"] = -1, 1, 1
    one["is_copy"] = one["restarts"] = False
    one["wanted"], one["likeness"] = 0, 0.0
    job["n_started"] += 1
    counts["n_waiting"] -= 1
    start(work, world, policy, state, row, slot, 0)


@rule
def start_copy(work: Workload, world: World, policy: PolicyPair, state: State, row: int) -> None:
    """Start a copy of the job's best wanted task."""
    job = state.jobs[row]
    at = state.task_slots[next_copy(state, job)]
    state.slots[at]["wanted"] -= 1
    job["n_wanted"] -= 1
    state.counts[0]["n_wanted"] -= 1
    state.counts[0]["launched"] += 1
    start_beside(work, world, policy, state, at)


@rule
def restart(work: Workload, world: World, policy: PolicyPair, state: State, at: int) -> None:
    """Start a task again; once the new attempt runs, the old one, on this slot, ends and frees it."""
    state.jobs[state.slots[at]["job"]]["restart_room"] -= 1
    state.slots[at]["restarts"] = False
    state.counts[0]["n_restarts"] -= 1
    state.counts[0]["restarted"] += 1
    start_beside(work, world, policy, state, at)
    state.slots[state.slots[at]["newest"]]["anew"] = True
    drop(world, state, at)


@rule
def start_beside(work: Workload, world: World, policy: PolicyPair, state: State, at: int) -> None:
    """Start a copy of the original on this slot, on another machine if one has a free slot.

    If one of those with its input has one, then there.
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
    original["newest"] = slot
    job["copies"] += 1
    counts["copies"] += 1
    counts["copies_started_s"] += counts["now_s"]
    start(work, world, policy, state, row, slot, original["n_started"])
    original["n_started"] += 1
    original["attempts"] += 1


@rule
def start(work: Workload, world: World, policy: PolicyPair, state: State, row: int, slot: int, attempt: int) -> None:
    """Start an attempt of a task on the last of the free slots."""
    job, one, counts = state.jobs[row], state.slots[slot], state.counts[0]
    machine = machine_of(slot, world.machines)
    is_near = is_local(state, job, one["task"], machine)
    counts["n_free"] -= 1
    state.free_on[machine] -= 1
    job["running"] += 1
    one["job"], one["started_s"], one["beaten"], one["anew"] = row, counts["now_s"], False, False
    work_s = attempt_work_s(work, world, job, one["task"], attempt)
    work_s *= machine_factor(world, machine) * (1.0 if is_near else world.remote_factor)
    if attempt == 0 and reads_input(state, job):
        counts["inputs"] += 1
        counts["local"] += is_near
    one["noise"] = noise_factor(world, job["key"], one["task"], attempt)
    one["readable_s"] = counts["now_s"] + world.launch_s + world.detect_s
    one["end_s"] = counts["now_s"] + world.launch_s + work_s
    is_seen = policy.cycle_s == 0 and one["readable_s"] < one["end_s"]
    set_due(state, slot, one["readable_s"] if is_seen else one["end_s"])


@rule
def slot_due(work: Workload, world: World, state: State, slot: int, results: JobResults) -> int:
    """An attempt can be read, or has ended, or its slot has been cleaned up; returns the job that has ended one."""
    one = state.slots[slot]
    if one["use"] == CLEANING:
        free_slot(state, slot)
    elif state.counts[0]["now_s"] < one["end_s"]:
        set_due(state, slot, one["end_s"])
    else:
        end_task(work, world, state, slot, results)
        return one["job"]
    return ANY_JOB


@rule
def end_task(work: Workload, world: World, state: State, slot: int, results: JobResults) -> None:
    """The attempt on a slot has ended its task; the others are killed."""
    counts, original = state.counts[0], state.slots[slot]["original"]
    row = state.slots[slot]["job"]
    job = state.jobs[row]
    counts["won"] += state.slots[slot]["is_copy"] and not state.slots[slot]["anew"]
    if len(state.finished) > 0:
        keep_duration(state, row, counts["now_s"] - state.slots[slot]["started_s"])
    learn_of_race(work, world, state, slot)
    want_no_more(state, original)
    at = state.slots[original]["newest"]
    while at >= 0:
        older = state.slots[at]["older"]
        end_attempt(world, state, job, at, at != slot)
        at = older
    end_attempt(world, state, job, original, original != slot)
    job["n_done"] += 1
    if job["foreseen_s"] > 0:
        job["foreseen_s"] -= attempt_work_s(work, world, job, state.slots[slot]["task"], 0)
    has_next = job["phase"] + 1 < job["n_phases"]
    if has_next:
        mean_s = work.service_s[job["id"]] * mean_factor(world.tail_index, world.tail_share)
        moving_s = work.transfer_ratio[job["id"]] * mean_s / job["n_tasks"]
        job["transferred_s"] = max(job["transferred_s"], counts["now_s"]) + moving_s
    if job["n_done"] == job["n_tasks"]:
        if has_next:
            set_due(state, job_leaf(state, row), job["transferred_s"])
        else:
            end_job(state, row, results)


@rule
def end_beaten(work: Workload, world: World, state: State) -> None:
    """End the attempts that are marked so."""
    slot = 0
    while state.counts[0]["n_beaten"] > 0:
        if state.slots[slot]["beaten"]:
            state.slots[slot]["beaten"] = False
            state.counts[0]["n_beaten"] -= 1
            learn_of_race(work, world, state, slot)
            drop(world, state, slot)
        slot += 1


@rule
def drop(world: World, state: State, slot: int) -> None:
    """Kill an attempt of a task that has another one."""
    leave_task(state, slot)
    end_attempt(world, state, state.jobs[state.slots[slot]["job"]], slot, True)


@rule
def keep_duration(state: State, row: int, duration_s: float) -> None:
    """Keep what the attempt that has just ended a task of the job took; all tasks of a phase are equal work."""
    job = state.jobs[row]
    kept = state.finished[row * MOST_FINISHED : (row + 1) * MOST_FINISHED]
    job["n_finished"], job["finished_every"] = take_in(
        kept, job["n_finished"], job["finished_every"], job["n_done"], duration_s, duration_s
    )


@rule
def end_attempt(world: World, state: State, job: Record, slot: int, is_killed: bool) -> None:
    """One attempt less; a killed one's slot is cleaned up first."""
    one, counts = state.slots[slot], state.counts[0]
    age_s = counts["now_s"] - one["started_s"]
    job["running"] -= 1
    job["cost_s"] += age_s
    counts["n_ended"] += 1
    counts["total_core_s"] += age_s
    if one["is_copy"]:
        job["copies"] -= 1
        counts["copies"] -= 1
        counts["copies_started_s"] -= one["started_s"]
        if is_killed:
            counts["losing_core_s"] += age_s
    if counts["n_logged"] < len(state.log):
        log_attempt(state, job, slot)
    if is_killed and world.kill_s > 0:
        one["use"] = CLEANING
        job["cost_s"] += world.kill_s
        set_due(state, slot, counts["now_s"] + world.kill_s)
    else:
        free_slot(state, slot)


@rule
def log_attempt(state: State, job: Record, slot: int) -> None:
    """Write down an attempt that ends."""
    counts, one = state.counts[0], state.slots[slot]
    row = state.log[counts["n_logged"]]
    row["slot"], row["job"], row["is_copy"] = slot, job["id"], one["is_copy"]
    row["started_s"], row["ended_s"] = one["started_s"], counts["now_s"]
    counts["n_logged"] += 1


@rule
def free_slot(state: State, slot: int) -> None:
    """The slot is free, and is the next one to be taken."""
    counts = state.counts[0]
    state.slots[slot]["use"] = FREE
    set_due(state, slot, inf)
    state.free[counts["n_free"]] = slot
    state.free_on[machine_of(slot, len(state.free_on))] += 1
    counts["n_free"] += 1


@rule
def end_job(state: State, row: int, results: JobResults) -> None:
    """The job's last task has ended."""
    job, counts = state.jobs[row], state.counts[0]
    results.response_s[job["id"]] = counts["now_s"] - job["arrival_s"]
    results.cost_s[job["id"]] = job["cost_s"]
    place = 0
    while state.active[place] != row:
        place += 1
    counts["n_active"] -= 1
    for at in range(place, counts["n_active"]):
        state.active[at] = state.active[at + 1]
    state.active[counts["n_active"]] = row
