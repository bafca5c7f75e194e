"""Whose turn is it when a slot of the simulated cluster is free? By the answers of the last cycle, as the shim does.

Jobs below their target go first, then the others. Within both the allocator's precedence decides, and of equal jobs
attempts over target, or over weight.
"""

from math import inf

from controlplane.compiled import rule
from controlplane.deciding.budgets import NONE, is_spent, likely_loss_core_s, over_budget, task_core_s
from controlplane.deciding.choice import goes_first
from controlplane.deciding.room import free_for_copies, lent_room, spare_room, starting_originals
from controlplane.model.columns import Record
from controlplane.simulator.cluster.pair import PolicyPair
from controlplane.simulator.cluster.state import State, waiting
from controlplane.simulator.cluster.wanted import NO_TASK, next_restart_of
from controlplane.simulator.cluster.world import Workload

NO_JOB = -1


@rule
def starting(job: Record) -> int:
    """How many originals of the job wait that its share allows."""
    return starting_originals(waiting(job), job["originals"], job["running"] - job["copies"])


@rule
def is_over_budget(policy: PolicyPair, state: State, job: Record) -> bool:
    """Whether one more copy would exceed the job's copy budget, or a limit if limits apply.

    All slots are of one pool, and of a core.
    """
    if is_spent(most=job["most_copies"], copies=job["copies"]):
        return True
    if not policy.budgets:
        return False
    counts, slots = state.counts[0], len(state.slots)
    copies_core_s = counts["copies"] * counts["now_s"] - counts["copies_started_s"]
    over = over_budget(
        policy.limits,
        losing_core_s=likely_loss_core_s(losing_core_s=counts["losing_core_s"], copies_core_s=copies_core_s),
        total_core_s=counts["total_core_s"],
        task_core_s=task_core_s(total_core_s=counts["total_core_s"], n_ended=counts["n_ended"]),
        copies=(job["copies"], counts["copies"], counts["copies"]),
        slots=(slots, slots),
    )
    return over != NONE


@rule
def wants_copy(policy: PolicyPair, state: State, job: Record) -> bool:
    """Whether the job's next slot is for a copy; where originals have a share of their own, copies have the rest.

    Idle slots are lent to copies of a speculator that shares them out.
    """
    free = free_for_copies(job["target"] - job["running"], job["target"], job["originals"], job["copies"])
    room = spare_room(free, starting(job), policy.before_waiting)
    if policy.shares_spare:
        idle = state.counts[0]["n_free"] - state.counts[0]["n_waiting"]
        room = lent_room(room, idle, job["target"] if job["capped"] else -1, job["running"])
    if job["n_wanted"] == 0 or room == 0:
        return False
    return not is_over_budget(policy, state, job)


@rule
def next_restart(policy: PolicyPair, state: State) -> int:
    """The task of any job to be started again next, within the budgets; `NO_TASK` for none."""
    best = NO_TASK
    for place in range(state.counts[0]["n_active"]):
        job = state.jobs[state.active[place]]
        row = next_restart_of(state, job)
        if row == NO_TASK or is_over_budget(policy, state, job):
            continue
        if best == NO_TASK or goes_first(state.speculation["score"], row, best):
            best = row
    return best


@rule
def need(work: Workload, policy: PolicyPair, state: State, job: Record) -> float:
    """How soon it is the job's turn, the least first; infinite if it is not."""
    if not (starting(job) > 0 or wants_copy(policy, state, job)):
        return inf
    return turn(job["running"], job["target"], job["capped"], work.weight[job["id"]])


@rule
def turn(running: int, target: int, capped: bool, weight: float) -> float:
    """When it is the turn of a job that has something to start, the least first; infinite beyond its cap.

    >>> [turn(running, target=2, capped=capped, weight=2.0) for running, capped in ((1, True), (4, False), (4, True))]
    [-0.5, 2.0, inf]
    """
    if running < target:
        return running / target - 1.0
    return inf if capped else running / weight


@rule
def whose_turn(work: Workload, policy: PolicyPair, state: State) -> int:
    """Row of the job that gets the next free slot; NO_JOB if it stays free."""
    best, least, first = NO_JOB, inf, inf
    for place in range(state.counts[0]["n_asking"]):
        job = state.jobs[state.asking[place]]
        its = need(work, policy, state, job)
        if goes_before(its, job["precedence"], least, first):
            best, least, first = state.asking[place], its, job["precedence"]
    return best


@rule
def goes_before(need: float, precedence: float, other_need: float, other_precedence: float) -> bool:
    """Whether a job goes before another, by their needs (`turn`) and precedence.

    >>> [goes_before(need, 5.0, -0.9, other) for need, other in ((-0.2, 7.0), (-0.2, 5.0), (0.0, 7.0))]
    [True, False, False]
    >>> [goes_before(need, 5.0, 1.0, 7.0) for need in (3.0, inf)]
    [True, False]
    """
    if (need < 0) != (other_need < 0) or need == inf or precedence == other_precedence:
        return need < other_need
    return precedence < other_precedence
