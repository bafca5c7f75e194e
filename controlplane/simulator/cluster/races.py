"""How much of a task's slowness do its attempts share, as a driver would see it? Learned as the engine learns it."""

from math import log

from controlplane.compiled import rule
from controlplane.estimators.shared_slowness import race_seen, real_share
from controlplane.model.columns import Record
from controlplane.simulator.cluster.state import State
from controlplane.simulator.cluster.world import Workload, World, typical_factor


@rule
def typical_s(work: Workload, world: World, job: Record) -> float:
    """Typical duration of the job's attempts, from launch to end.  Units: seconds."""
    return world.launch_s + work.service_s[job["id"]] * typical_factor(world.tail_index, world.tail_share)


@rule
def slowness_log(world: World, duration_s: float, fresh_s: float, offset: float) -> float:
    """Log of an attempt's pace over the typical one of its siblings; it has begun at a share of its task's work.

    Durations count from the launch on, the attempt's for what it does, the siblings' for all.
    """
    return log(max(duration_s - world.launch_s, 1e-9) / (1.0 - offset) / (fresh_s - world.launch_s))


@rule
def learn_of_race(work: Workload, world: World, state: State, slot: int) -> None:
    """An attempt is about to end: what do it and the newest of the other kind show of how slowness is shared?"""
    one, counts = state.slots[slot], state.counts[0]
    rival, at = -1, one["original"]
    while at >= 0 and rival < 0:
        if state.slots[at]["is_copy"] != one["is_copy"] and counts["now_s"] >= state.slots[at]["readable_s"]:
            rival = at
        at = state.slots[at]["newest"] if at == one["original"] else state.slots[at]["older"]
    if rival >= 0:
        original, copy = (rival, slot) if one["is_copy"] else (slot, rival)
        original_log, left = seen_slowness(work, world, state, original)
        copy_log, _ = seen_slowness(work, world, state, copy)
        real = real_share(world.tail_index, state.seen_pools[0]["foretold_error"], left)
        counts["seen_log"], counts["kept_log"] = race_seen(
            counts["seen_log"], counts["kept_log"], original_log, copy_log, real
        )


@rule
def seen_slowness(work: Workload, world: World, state: State, slot: int) -> tuple[float, float]:
    """Log of an attempt's estimated duration over its siblings', and the share of it that is still to come.

    A live engine knows the pace of what is done instead: no part of it is an estimate of what is still to come.
    """
    one, now_s = state.slots[slot], state.counts[0]["now_s"]
    left_s = (one["end_s"] - now_s) * one["noise"]
    whole_s = now_s - one["started_s"] + left_s
    fresh_s = typical_s(work, world, state.jobs[one["job"]])
    return slowness_log(world, whole_s, fresh_s, one["offset"]), left_s / whole_s
