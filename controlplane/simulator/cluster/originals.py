"""In which order do the originals of a phase start? By their numbers, unless the speculator orders those that wait."""

from math import inf

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Record, Records
from controlplane.policies.answer import PRECEDENCE
from controlplane.policies.dispatch import order_waiting
from controlplane.policies.seen import WAITING_TASK, Seen
from controlplane.simulator.cluster.inputs import reads_input
from controlplane.simulator.cluster.pair import PolicyPair
from controlplane.simulator.cluster.state import State
from controlplane.simulator.cluster.world import Workload, World, attempt_work_s, mean_factor


@rule
def restore_order(state: State, job: Record) -> None:
    """Let the originals of the job's phase start by their numbers."""
    first = state.first_order[job["id"]]
    for task in range(job["n_tasks"] if len(state.start_order) > 0 else 0):
        state.start_order[first + task] = task


@kernel
def see_originals(work: Workload, world: World, policy: PolicyPair, state: State) -> Records:
    """A `WAITING_TASK` for each original that waits and that the speculator sees; none if it orders none."""
    shown, n_shown = np.zeros(state.counts[0]["n_waiting"] * policy.orders_waiting, dtype=WAITING_TASK), 0
    for place in range(state.counts[0]["n_active"] if policy.orders_waiting else 0):
        row = state.active[place]
        first, end = waiting_places(work, policy, state, state.jobs[row])
        for task in np.sort(state.start_order[first:end]):
            view_original(work, world, policy, state, row, task, shown[n_shown])
            n_shown += 1
    return shown[:n_shown]


@kernel
def order_originals(work: Workload, policy: PolicyPair, state: State, seen: Seen) -> None:
    """Ask the speculator about the originals that it sees.

    The named ones of a phase start first, by descending score, then by number; the rest follow by number.
    """
    answer = np.zeros(len(seen.waiting), dtype=PRECEDENCE)
    order_waiting(policy.speculator, seen, policy.speculator_settings, answer)
    rank, start = np.where(answer["named"], -answer["score"], inf), 0
    for place in range(state.counts[0]["n_active"]):
        first, end = waiting_places(work, policy, state, state.jobs[state.active[place]])
        stop = start + end - first
        best_first = np.argsort(rank[start:stop], kind="mergesort")
        state.start_order[first:end] = seen.waiting["index"][start:stop][best_first]
        start = stop


@rule
def waiting_places(work: Workload, policy: PolicyPair, state: State, job: Record) -> tuple[int, int]:
    """Where the originals of the job's phase that wait begin in `start_order`, and where they end.

    They are the same place if the speculator sees none of them.
    """
    first = state.first_order[job["id"]]
    end = first + job["n_tasks"]
    has_bound = work.error_bound[job["id"]] > 0 or work.deadline_s[job["id"]] < inf
    return (end if policy.orders_bounded and not has_bound else first + job["n_started"]), end


@rule
def view_original(
    work: Workload, world: World, policy: PolicyPair, state: State, row: int, task: int, seen: Record
) -> None:
    """Fill in a `WAITING_TASK` for a task of the job in a row, counted within its phase."""
    job = state.jobs[row]
    seen["stage"], seen["job"], seen["pool"], seen["index"] = row, row, 0, task
    seen["work"] = seen["relative_size"] = 1.0
    work_s = work.service_s[job["id"]] * mean_factor(world.tail_index, world.tail_share)
    if policy.foresees_attempts:
        work_s = attempt_work_s(work, world, job, job["first_task"] + task, 0)
    seen["t_new_s"] = world.launch_s + work_s
    if reads_input(state, job):
        seen["local_hosts"] = state.homes.shape[1]
        for replica in range(state.homes.shape[1]):
            home = state.homes[state.first_input[job["id"]] + task, replica]
            seen["local_free_slots"] += state.free_on[home]
