"""Which hosts shall originals stay off? Tells each driver its sick ones, and how long a queue outweighs that."""

import numpy as np

from controlplane.engine.cycle import Cycle
from controlplane.estimators.host_slowness import HostHealth, waves_worth_waiting
from controlplane.model.cluster import SourceState
from controlplane.model.columns import Ints
from controlplane.model.facts import Mode
from controlplane.model.orders import AvoidHosts
from controlplane.model.reasons import Action, Reason

PATIENCE_MS = 10_000
"""So long a stage may wait for a healthy slot in vain: what keeps it off all others is not ours to know."""


def avoid_sick_hosts(cycle: Cycle, source: SourceState) -> None:
    """A changed list is ordered where we may, and is a lease: it is said again when half of its time is over.

    Every host that falls sick or recovers is recorded, the first one with the order; one that only leaves the list,
    because it has left the pool or no healthy host is left in it, is not. Off decides nothing and forgets the list.
    """
    if not source.attached.capabilities.avoid_hosts:
        return
    mode = cycle.steering.mode(source)
    if mode is Mode.OFF:
        source.avoided = {}
        return
    health = cycle.health
    if not (source.avoided or health.sick.any()):
        return
    ttl_ms = cycle.settings.grant_ttl_ms
    hosts = _hosts(cycle, source)
    waves, known = _waves(cycle, hosts, health), source.avoided
    healthy = {cycle.cluster.host_names[row] for row in hosts[~health.sick[hosts]].tolist()}
    is_stale = bool(waves) and cycle.now_s - source.avoided_s >= ttl_ms / 2000
    if waves == known and not is_stale:
        return
    controls = mode is Mode.CONTROL
    order, record = next(cycle.ids) if controls else 0, None
    for host in sorted(waves.keys() - known.keys() | known.keys() & healthy):
        change = cycle.record(
            source,
            action=Action.AVOID_HOST,
            reason=Reason.SICK_HOST if host in waves else Reason.HOST_RECOVERED,
            host=host,
            order=order if record is None else 0,
            inputs={
                "slowness": float(health.slowness[cycle.cluster.host_rows[host]]),
                "waves": float(waves.get(host, 0)),
            },
        )
        record = record or change
    source.avoided = waves
    if controls:
        source.avoided_s = cycle.now_s
        avoid = AvoidHosts(
            order=order, ttl_ms=ttl_ms, patience_ms=PATIENCE_MS, hosts=list(waves), waves=list(waves.values())
        )
        cycle.send(source, avoid, record)


def _hosts(cycle: Cycle, source: SourceState) -> Ints:
    """Rows of the hosts that the pool has executors on."""
    of_pool = np.fromiter(source.executors.values(), dtype=np.int64, count=len(source.executors))
    return np.unique(cycle.cluster.executors.host[of_pool])


def _waves(cycle: Cycle, hosts: Ints, health: HostHealth) -> dict[str, int]:
    """Whole waves by name of the pool's sick hosts; none where all are sick."""
    sick = hosts[health.sick[hosts]]
    if len(sick) == len(hosts):
        return {}
    waves = waves_worth_waiting(health.slowness[sick], cycle.settings.slow_host_patience)
    whole = zip(sick.tolist(), np.rint(waves).astype(np.int64).tolist(), strict=True)
    return {cycle.cluster.host_names[row]: each for row, each in whole if each > 0}
