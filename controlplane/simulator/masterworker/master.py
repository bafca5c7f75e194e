"""How do jobs fare on a master with worker nodes, with spare tasks or relaunched ones? The paper's system, simulated.

1. Jobs wait in one queue, first in, first out; only its head is tried, nobody overtakes.
2. A job starts once as many nodes as it has tasks, spare ones included, have room for one, the free slots that its
   tasks take: never two of its tasks on one node, never a part of it. The least loaded nodes are taken, of equals the
   one with the lower number.
3. It ends with its k-th finished task; the others are cancelled at that instant, and hold their slots for `cancel_s`.
4. A job of demand tasks x slots of a task x estimated service time up to a threshold is expanded.
5. With relaunch, all tasks unfinished at `relaunch_factor` x estimated service time are cancelled and redrawn once, in
   place.
6. Its response time is its wait plus the longest of the k runs that count; slowdown is that over the service time.

In the paper's own system a task takes one slot, estimates are exact, and cancelling takes no time.

No decision depends on what runs, so a job's ends are known when it starts. The state is therefore one number per slot,
the time it is next free; a job starts at the latest of its arrival, the start before, and the time when its n-th node
has room. No event heap is needed.
Source: Redundancy and relaunch, sections II and VI.
"""

from dataclasses import dataclass

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Floats, Ints
from controlplane.policies.redundancy.theory.plan import Plan, is_small
from controlplane.simulator.draws import job_key, pareto_factor, uniform
from controlplane.simulator.masterworker.workloads import Jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTimes:
    """What became of consecutive jobs; columns of shape (n_jobs,)."""

    wait_s: Floats
    latency_s: Floats
    cost_s: Floats
    """Slot time."""


class MasterWorker:
    """One cluster under one policy; takes a stream of jobs block by block."""

    def __init__(
        self,
        nodes: int,
        slots_per_node: int,
        slowdown_tail_index: float,
        plan: Plan,
        seed: int,
        cancel_s: float = 0.0,
    ) -> None:
        self.now_s = 0.0
        """When the latest job started."""
        self._arrival_s = 0.0
        self._free_at_s = np.zeros((slots_per_node, nodes))
        self._slowdown_tail_index, self._plan, self._seed, self._cancel_s = slowdown_tail_index, plan, seed, cancel_s
        self._seen = 0

    @property
    def slots(self) -> int:
        """Slots of all nodes."""
        return self._free_at_s.size

    def run(self, jobs: Jobs) -> JobTimes:
        """Schedule the next jobs of the stream."""
        arrival_s = self._arrival_s + np.cumsum(jobs.gap_s)
        ended = JobTimes(**{name: np.empty(len(arrival_s)) for name in ("wait_s", "latency_s", "cost_s")})
        self.now_s = run_jobs(
            arrival_s, jobs.tasks, jobs.task_slots, jobs.service_s, jobs.estimated_s,
            self._plan.expanded_tasks, self._plan.threshold_s, self._plan.relaunch_factor,
            float(self._cancel_s), self._slowdown_tail_index, self._seed, self._seen,
            self.now_s, self._free_at_s,
            ended.wait_s, ended.latency_s, ended.cost_s,
        )  # fmt: skip
        self._arrival_s = float(arrival_s[-1])
        self._seen += len(arrival_s)
        return ended

    def unspent_s(self) -> float:
        """Slot time of started jobs that lies after the latest start."""
        return float(np.maximum(self._free_at_s - self.now_s, 0.0).sum())


@kernel
def run_jobs(
    arrival_s: Floats, tasks: Ints, task_slots: Ints, service_s: Floats, estimated_s: Floats,
    expanded_tasks: Ints, threshold_s: float, relaunch_factor: Floats,
    cancel_s: float, tail_index: float, seed: int, first_job: int,
    now_s: float, free_at_s: Floats,
    wait_s: Floats, latency_s: Floats, cost_s: Floats,
) -> float:  # fmt: skip
    """Starts jobs of shape (n_jobs,) on slots of shape (slots_per_node, n_nodes); fills the last row of arguments.

    Returns when the last job started.
    """
    slots_per_node, nodes = free_at_s.shape
    busy, free_slot, order = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    run_s, fastest_s = np.empty(nodes), np.empty(nodes)
    for job in range(len(arrival_s)):
        needed, slots, service = tasks[job], task_slots[job], service_s[job]
        demand_s = needed * slots * estimated_s[job]
        started = expanded_tasks[needed] if is_small(demand_s, threshold_s) else needed
        now_s = max(now_s, arrival_s[job])
        if count_busy(free_at_s, now_s, slots, busy, free_slot) < started:
            now_s = time_of_room(free_at_s, started, slots, fastest_s)
            count_busy(free_at_s, now_s, slots, busy, free_slot)
        least_loaded_first(busy, slots_per_node, order)
        key = job_key(seed, first_job + job)
        cancelled_at = relaunch_factor[needed] * (estimated_s[job] / service)
        restarted_at = cancelled_at + cancel_s / service
        for task in range(started):
            run_s[task] = service * relaunched_factor(key, task, cancelled_at, restarted_at, tail_index)
        longest_s = nth_smallest(run_s, started, needed, fastest_s)
        cost = 0.0
        for task in range(started):
            ran_s = run_s[task] if run_s[task] <= longest_s else longest_s + cancel_s
            cost += ran_s
            node = order[task]
            if slots == 1:
                free_at_s[free_slot[node], node] = now_s + ran_s
            else:
                take_slots(free_at_s, node, slots, now_s, now_s + ran_s)
        wait_s[job], latency_s[job], cost_s[job] = now_s - arrival_s[job], longest_s, cost * slots
    return now_s


@rule
def count_busy(free_at_s: Floats, now_s: float, slots: int, busy: Ints, free_slot: Ints) -> int:
    """Counts each node's busy slots into `busy`, one that is free into `free_slot`.

    Returns how many nodes have room for a task of `slots`.
    """
    slots_per_node, nodes = free_at_s.shape
    busy[:] = 0
    for slot in range(slots_per_node):
        for node in range(nodes):
            taken = free_at_s[slot, node] > now_s
            busy[node] += taken
            free_slot[node] = free_slot[node] if taken else slot
    with_room = 0
    for node in range(nodes):
        with_room += busy[node] + slots <= slots_per_node
    return with_room


@rule
def take_slots(free_at_s: Floats, node: int, slots: int, now_s: float, until_s: float) -> None:
    """Takes `slots` of the node's free ones."""
    left = slots
    for slot in range(len(free_at_s)):
        if left > 0 and free_at_s[slot, node] <= now_s:
            free_at_s[slot, node] = until_s
            left -= 1


@kernel
def time_of_room(free_at_s: Floats, wanted: int, slots: int, fastest_s: Floats) -> float:
    """When `wanted` nodes have `slots` free ones each: the wanted-th smallest of the nodes' own times."""
    slots_per_node, nodes = free_at_s.shape
    room_s = free_at_s[0].copy()
    if slots == 1:
        for slot in range(1, slots_per_node):
            for node in range(nodes):
                room_s[node] = min(room_s[node], free_at_s[slot, node])
    else:
        earliest_s = np.empty(slots)
        for node in range(nodes):
            room_s[node] = nth_smallest(free_at_s[:, node], slots_per_node, slots, earliest_s)
    return nth_smallest(room_s, nodes, wanted, fastest_s)


@kernel
def least_loaded_first(busy: Ints, slots_per_node: int, order: Ints) -> None:
    """Fills `order` with the nodes by their busy slots, equals by number (a counting sort)."""
    place = np.zeros(slots_per_node + 2, np.int64)
    for node in range(len(busy)):
        place[busy[node] + 1] += 1
    for load in range(slots_per_node):
        place[load + 1] += place[load]
    for node in range(len(busy)):
        order[place[busy[node]]] = node
        place[busy[node]] += 1


@rule
def relaunched_factor(key: np.uint64, task: int, cancelled_at: float, restarted_at: float, tail_index: float) -> float:
    """What a task takes in units of its service time; drawn anew if it is not done when it would be cancelled."""
    first = pareto_factor(uniform(key, task, 0), tail_index)
    if first <= cancelled_at:
        return first
    return restarted_at + pareto_factor(uniform(key, task, 1), tail_index)


@rule
def largest(values: Floats, length: int) -> float:
    """The largest of the first `length` values."""
    found = values[0]
    for row in range(1, length):
        found = max(found, values[row])
    return found


@kernel
def nth_smallest(values: Floats, length: int, wanted: int, fastest: Floats) -> float:
    """The wanted-th smallest of the first `length` values; `fastest` is room to keep the smallest ones sorted."""
    if wanted == length:
        return largest(values, length)
    for row in range(length):
        value = values[row]
        place = min(row, wanted - 1)
        if row >= wanted and value >= fastest[place]:
            continue
        while place > 0 and fastest[place - 1] > value:
            fastest[place] = fastest[place - 1]
            place -= 1
        fastest[place] = value
    return fastest[wanted - 1]
