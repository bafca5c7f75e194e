"""In which order do the originals of a phase start? By their numbers, unless the speculator orders those that wait."""

from math import inf

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Record
from controlplane.policies.answer import PRECEDENCE
from controlplane.policies.dispatch import order_waiting
from controlplane.policies.seen import WAITING_TASK, Seen
from controlplane.simulator.cluster.inputs import reads_input
from controlplane.simulator.cluster.pair import PolicyPair
from controlplane.simulator.cluster.state import State, waiting
from controlplane.simulator.cluster.world import Workload, World, attempt_work_s, mean_factor


@rule
def restore_order(state: State, job: Record) -> None:
    """Let the originals of the job's phase start by their numbers."""
    first = state.first_order[job["id"]]
    for task in range(job["n_tasks"] if len(state.start_order) > 0 else 0):
        state.start_order[first + task] = task


@kernel
def order_originals(work: Workload, world: World, policy: PolicyPair, state: State) -> None:
    """Ask the speculator about the originals that wait, of phases with more than one.

    The named ones start first, by descending score, then by number; the rest follow by number.
    """
    shown, n_shown, order = np.zeros(state.counts[0]["n_waiting"], dtype=WAITING_TASK), 0, state.start_order
    for place in range(state.counts[0]["n_active"]):
        row = state.active[place]
        first, end = waiting_places(state, state.jobs[row])
        for task in np.sort(order[first:end]):
            view_original(work, world, policy, state, row, task, shown[n_shown])
            n_shown += 1
    answer, weights = np.zeros(n_shown, dtype=PRECEDENCE), policy.speculator_weights
    pools, jobs, stages, finished = state.seen_pools, state.seen_jobs, state.seen_stages, state.finished
    seen = Seen(0, state.claimants[:0], pools, jobs, stages, state.tasks[:0], finished, weights, shown[:n_shown])
    order_waiting(policy.speculator, seen, policy.speculator_settings, answer)
    rank, start = np.where(answer["named"], -answer["score"], inf), 0
    for place in range(state.counts[0]["n_active"]):
        first, end = waiting_places(state, state.jobs[state.active[place]])
        stop = start + end - first
        best_first = np.argsort(rank[start:stop], kind="mergesort")
        order[first:end] = shown["index"][start:stop][best_first]
        start = stop


@rule
def waiting_places(state: State, job: Record) -> tuple[int, int]:
    """Where the originals of the job's phase that wait begin in `start_order`, and where they end.

    They are the same place if a single one waits: there is nothing to order.
    """
    first = state.first_order[job["id"]]
    end = first + job["n_tasks"]
    return (first + job["n_started"] if waiting(job) > 1 else end), end


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
