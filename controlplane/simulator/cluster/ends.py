"""What becomes of a simulated attempt that ends? Its slot is free, after a clean-up if it was killed."""

from math import inf

from controlplane.compiled import rule
from controlplane.model.columns import Record
from controlplane.simulator.cluster.kills import leave_task, want_no_more
from controlplane.simulator.cluster.state import CLEANING, FREE, State, set_due
from controlplane.simulator.cluster.world import World, machine_of


@rule
def end_attempts(world: World, state: State, original: int, winner: int) -> None:
    """End all attempts of a task; all but the winner are killed, whose slot it is, or -1."""
    job, at = state.jobs[state.slots[original]["job"]], state.slots[original]["newest"]
    want_no_more(state, original)
    while at >= 0:
        older = state.slots[at]["older"]
        end_attempt(world, state, job, at, at != winner)
        at = older
    end_attempt(world, state, job, original, original != winner)


@rule
def end_beaten(world: World, state: State) -> None:
    """End the attempts that are marked so."""
    slot = 0
    while state.counts[0]["n_beaten"] > 0:
        if state.slots[slot]["beaten"]:
            state.slots[slot]["beaten"] = False
            state.counts[0]["n_beaten"] -= 1
            drop(world, state, slot)
        slot += 1


@rule
def drop(world: World, state: State, slot: int) -> None:
    """Kill an attempt of a task that has another one."""
    leave_task(state, slot)
    end_attempt(world, state, state.jobs[state.slots[slot]["job"]], slot, True)


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
