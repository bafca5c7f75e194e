"""Which hosts should originals stay off? Tells each driver its sick ones, and how long a queue outweighs that."""

import numpy as np

from controlplane.engine.cycle import Cycle
from controlplane.estimators.host_slowness import waves_worth_waiting
from controlplane.model.cluster import SourceState
from controlplane.model.columns import Ints
from controlplane.model.facts import Mode
from controlplane.model.orders import AvoidHosts
from controlplane.model.reasons import Action, Reason

PATIENCE_MS = 10_000
"""How long a stage may wait in vain for a healthy slot: we cannot know what keeps it off all others."""


def avoid_sick_hosts(cycle: Cycle, source: SourceState) -> None:
    """A changed list is ordered if we may, and is a lease: it is renewed when half of its time is over.

    Every host that falls sick, recovers or is no longer worth avoiding is recorded, the first one with the order;
    one that has left the pool, or that has no healthy neighbour left, is not. Off decides nothing and forgets the list.
    """
    if not source.attached.capabilities.avoid_hosts:
        return
    mode = cycle.steering.mode(source)
    if mode is Mode.OFF:
        source.avoided = {}
        return
    if not (source.avoided or cycle.health.sick.any()):
        return
    of_pool = source.executors.rows
    waves, known = _waves(cycle, source, of_pool), source.avoided
    is_stale = bool(waves) and cycle.is_half_over(source.avoided_s)
    if waves == known and not is_stale:
        return
    hosts = np.unique(cycle.cluster.executors.host[of_pool])
    is_sick = {cycle.cluster.host_names[row]: bool(cycle.health.sick[row]) for row in hosts.tolist()}
    changed = () if all(is_sick.values()) else sorted((waves.keys() ^ known.keys()) & is_sick.keys())
    controls = mode is Mode.CONTROL
    order, record = next(cycle.ids) if controls else 0, None
    for host in changed:
        left = Reason.HEALTHY_SLOTS_HELD if is_sick[host] else Reason.HOST_RECOVERED
        change = cycle.record(
            source,
            action=Action.AVOID_HOST,
            reason=Reason.SICK_HOST if host in waves else left,
            host=host,
            order=order if record is None else 0,
            inputs={
                "slowness": float(cycle.health.slowness[cycle.cluster.host_rows[host]]),
                "waves": float(waves.get(host, 0)),
            },
        )
        record = record or change
    source.avoided = waves
    if controls:
        source.avoided_s = cycle.now_s
        avoid = AvoidHosts(
            order=order,
            ttl_ms=cycle.settings.grant_ttl_ms,
            patience_ms=PATIENCE_MS,
            hosts=list(waves),
            waves=list(waves.values()),
        )
        cycle.send(source, avoid, record)


def _waves(cycle: Cycle, source: SourceState, of_pool: Ints) -> dict[str, int]:
    """By name, how many waves of a job's waiting tasks outweigh avoiding each sick host of the pool, rounded.

    Only healthy slots that come free in time help waiting originals; without them, nothing should wait.
    """
    executors, health = cycle.cluster.executors, cycle.health
    rows = np.unique(executors.host[of_pool])
    sick = rows[health.sick[rows]]
    slots, is_healthy = executors.slots[of_pool], ~health.sick[executors.host[of_pool]]
    serving = max(0, slots[is_healthy].sum() - _held_long(cycle, source)) / max(1, slots.sum())
    waves = serving * waves_worth_waiting(health.slowness[sick], cycle.settings.slow_host_patience)
    whole = zip(sick.tolist(), np.rint(waves).astype(np.int64).tolist(), strict=True)
    return {cycle.cluster.host_names[row]: each for row, each in whole if each > 0}


def _held_long(cycle: Cycle, source: SourceState) -> int:
    """Attempts on healthy hosts that have held their slots for longer than the patience, and may well keep them."""
    attempts = cycle.cluster.attempts
    rows = np.fromiter(source.attempts.values(), dtype=np.int64, count=len(source.attempts))
    rows = rows[~cycle.health.sick[attempts.host[rows]]]
    is_old = cycle.now_s - attempts.start_s[rows] >= PATIENCE_MS / 1000
    return int(np.count_nonzero(is_old & (attempts.t_rem_s[rows] > PATIENCE_MS / 1000)))
