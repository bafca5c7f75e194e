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
def note_race(world: World, state: State, original: int, original_log: float, left: float, copy_log: float) -> None:
    """Take what a task's attempts show: the log by which each is slow, and the share of its original still to come."""
    state.slots[original]["compared"], counts = True, state.counts[0]
    real = real_share(world.tail_index, state.seen_pools[0]["foretold_error"], left)
    counts["seen_log"], counts["kept_log"] = race_seen(
        counts["seen_log"], counts["kept_log"], original_log, copy_log, real
    )
