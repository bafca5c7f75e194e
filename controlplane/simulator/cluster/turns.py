"""Whose turn is it when a slot of the simulated cluster is free? By the answers of the last cycle, as the shim does.

Jobs below their target go first, by attempts over target, then the others, by attempts over weight.
"""

from math import inf

from controlplane.compiled import rule
from controlplane.deciding.room import free_for_copies, spare_room, starting_originals
from controlplane.model.columns import Record
from controlplane.simulator.cluster.decisions import PolicyPair
from controlplane.simulator.cluster.state import State, waiting
from controlplane.simulator.cluster.world import Workload

NO_JOB = -1


@rule
def starting(job: Record) -> int:
    """How many originals of the job wait that its share allows."""
    return starting_originals(waiting(job), job["originals"], job["running"] - job["copies"])


@rule
def wants_copy(policy: PolicyPair, job: Record) -> bool:
    """Whether the job's next slot is for a copy; where originals have a share of their own, copies have the rest."""
    free = free_for_copies(job["target"] - job["running"], job["target"], job["originals"], job["copies"])
    if 0 <= job["most_copies"] <= job["copies"]:
        return False
    return job["n_wanted"] > 0 and spare_room(free, starting(job), policy.copies_first) > 0


@rule
def need(work: Workload, policy: PolicyPair, job: Record) -> float:
    """How soon it is the job's turn, the least first; infinite if it is not."""
    if not (starting(job) > 0 or wants_copy(policy, job)):
        return inf
    if job["running"] < job["target"]:
        return job["running"] / job["target"] - 1.0
    if job["capped"]:
        return inf
    return job["running"] / work.weight[job["id"]]


@rule
def whose_turn(work: Workload, policy: PolicyPair, state: State) -> int:
    """Row of the job that gets the next free slot; NO_JOB if it stays free."""
    best, least = NO_JOB, inf
    for place in range(state.counts[0]["n_asking"]):
        its = need(work, policy, state.jobs[state.asking[place]])
        if its < least:
            best, least = state.asking[place], its
    return best
