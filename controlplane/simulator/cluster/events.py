"""What happens on the simulated cluster, one event after the other? Jobs arrive, attempts end, cycles decide.

The first attempt of a task to end kills the others.
"""

from math import floor, inf

from controlplane.compiled import kernel, rule
from controlplane.deciding.bounds import needed_tasks
from controlplane.estimators.samples import count_end
from controlplane.estimators.shared_slowness import faded
from controlplane.model.columns import Floats
from controlplane.model.finished import MOST_FINISHED, take_in
from controlplane.simulator.cluster.decisions import run_cycle
from controlplane.simulator.cluster.ends import end_attempts, end_beaten, free_slot
from controlplane.simulator.cluster.inputs import near_input
from controlplane.simulator.cluster.pair import PolicyPair
from controlplane.simulator.cluster.phases import JobResults, arrive, end_phase, job_due, leave_undone
from controlplane.simulator.cluster.races import typical_s
from controlplane.simulator.cluster.starts import restart, start_copy, start_original
from controlplane.simulator.cluster.state import CLEANING, State, arrival_leaf, cycle_leaf, set_due
from controlplane.simulator.cluster.turns import NO_JOB, need, next_restart, wants_copy, whose_turn
from controlplane.simulator.cluster.wanted import NO_TASK
from controlplane.simulator.cluster.world import Workload, World, attempt_work_s, mean_factor

ANY_JOB = -2


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
            end_beaten(world, state)
            plan_cycle(policy, state, True)
            hand_out(work, world, policy, state, ANY_JOB)
            continue
        changed = ANY_JOB
        if leaf < n_slots:
            changed = slot_due(work, world, policy, state, leaf, results)
        elif leaf < n_slots + n_jobs:
            job_due(work, world, policy, state, leaf - n_slots, results)
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
    job's, where an attempt's end has made room in the budgets of all, or left a slot idle that is lent to any.
    """
    counts = state.counts[0]
    only = changed if counts["none_in_turn"] and not (policy.budgets or policy.shares_spare) else ANY_JOB
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
def slot_due(work: Workload, world: World, policy: PolicyPair, state: State, slot: int, results: JobResults) -> int:
    """An attempt can be read, or has ended, or its slot has been cleaned up; returns the job that has ended one."""
    one = state.slots[slot]
    if one["use"] == CLEANING:
        free_slot(state, slot)
    elif state.counts[0]["now_s"] < one["end_s"]:
        set_due(state, slot, one["end_s"])
    else:
        end_task(work, world, policy, state, slot, results)
        return one["job"]
    return ANY_JOB


@rule
def end_task(work: Workload, world: World, policy: PolicyPair, state: State, slot: int, results: JobResults) -> None:
    """The attempt on a slot has ended its task; the others are killed."""
    counts, original = state.counts[0], state.slots[slot]["original"]
    row = state.slots[slot]["job"]
    job = state.jobs[row]
    counts["won"] += state.slots[slot]["is_copy"] and not state.slots[slot]["anew"]
    if len(state.finished) > 0:
        keep_duration(world, state, row, slot)
    counts["seen_log"], counts["kept_log"] = faded(counts["seen_log"]), faded(counts["kept_log"])
    end_attempts(world, state, original, slot)
    job["n_done"] += 1
    if len(state.runs) > 0 and job["phase"] == 0:
        used = 1.0 - state.seen_pools[0]["idle"] / len(state.slots)
        count_end(state.runs[row], counts["now_s"] - job["arrival_s"], typical_s(work, world, job), used)
    if job["foreseen_s"] > 0:
        job["foreseen_s"] -= attempt_work_s(work, world, job, state.slots[slot]["task"], 0)
    if job["phase"] + 1 < job["n_phases"]:
        mean_s = work.service_s[job["id"]] * mean_factor(world.tail_index, world.tail_share)
        moving_s = work.transfer_ratio[job["id"]] * mean_s / job["n_tasks"]
        job["transferred_s"] = max(job["transferred_s"], counts["now_s"]) + moving_s
    error_bound = work.error_bound[job["id"]] if job["phase"] == 0 else 0.0
    if error_bound > 0 and needed_tasks(job["n_tasks"], job["n_done"], error_bound) == 0:
        leave_undone(work, world, state, row)
    if job["n_done"] == job["n_tasks"]:
        end_phase(work, policy, state, row, results)


@rule
def keep_duration(world: World, state: State, row: int, slot: int) -> None:
    """Keep what the attempt that has just ended a task of the job took, or would have from the start of its input on.

    All tasks of a phase are equal work.
    """
    job, one = state.jobs[row], state.slots[slot]
    duration_s = state.counts[0]["now_s"] - one["started_s"]
    if one["offset"] > 0:
        duration_s = world.launch_s + (duration_s - world.launch_s) / (1.0 - one["offset"])
    kept = state.finished[row * MOST_FINISHED : (row + 1) * MOST_FINISHED]
    job["n_finished"], job["finished_every"] = take_in(
        kept, job["n_finished"], job["finished_every"], job["n_done"], duration_s, duration_s
    )
