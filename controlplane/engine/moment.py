"""What is a snapshot taken of? The state at one moment, kept so that it can be described later."""

from dataclasses import dataclass
from typing import NamedTuple

from controlplane.engine.learning import Learning
from controlplane.engine.ledger import Ledger
from controlplane.engine.steering import Steering
from controlplane.estimators.host_slowness import HostHealth
from controlplane.model.cluster import Cluster, TaskKey
from controlplane.model.columns import Floats, Records


class Waiting(NamedTuple):
    """The parts of a stage by which its waiting tasks are known."""

    done: bytes
    """1 for each finished task, by its index; empty while there is none."""
    named: list[int]
    named_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The source and time of a snapshot. Learned state is read at once, the cluster when it is described."""

    cluster: Cluster
    steering: Steering
    cycle: int
    now_s: float
    with_tasks: bool
    health: HostHealth
    confidence: Floats
    ordered_hosts: dict[tuple[str, TaskKey], list[str]]
    """By source and task, the hosts that orders name whose copies have not started."""
    dying: set[tuple[str, int]]
    """(source, attempt) of the attempts whose end has been ordered."""
    tail_samples: dict[int, int]
    """By row of a pool."""
    accuracy: dict[str, float]
    finished: dict[int, Records]
    """By row of an open stage, a copy of its finished attempts; empty without tasks."""
    samples: dict[str, list[float]]
    """As `Samples.dump` has them."""
    waiting: dict[int, Waiting]
    """By row of an open stage in which originals wait; empty without tasks."""


def moment(
    cluster: Cluster,
    learning: Learning,
    ledger: Ledger,
    steering: Steering,
    *,
    cycle: int,
    now_s: float,
    with_tasks: bool = True,
) -> Moment:
    """Everything live, at one moment; without tasks and attempts it takes a hundredth of the time to describe."""
    ordered_hosts: dict[tuple[str, TaskKey], list[str]] = {}
    for source in cluster.sources:
        for order in ledger.on_their_way(source, now_s):
            ordered_hosts.setdefault((order.source, order.task), []).append(order.host)
    return Moment(
        cluster=cluster,
        steering=steering,
        cycle=cycle,
        now_s=now_s,
        with_tasks=with_tasks,
        health=learning.host_health(cluster, now_s),
        confidence=learning.hosts.confidence(now_s, cluster.hosts.size),
        ordered_hosts=ordered_hosts,
        dying=ledger.all_dying(now_s),
        tail_samples={source.row: learning.tail_samples(source.row) for source in cluster.sources.values()},
        accuracy=learning.accuracy.summary(),
        finished=_copy_finished(cluster) if with_tasks else {},
        samples=learning.samples.dump(),
        waiting=_copy_waiting(cluster) if with_tasks else {},
    )


def _copy_finished(cluster: Cluster) -> dict[int, Records]:
    closing, infos = cluster.stages.closing, cluster.stage_infos.items()
    return {row: info.finished.records.copy() for row, info in infos if len(info.finished) and not closing[row]}


def _copy_waiting(cluster: Cluster) -> dict[int, Waiting]:
    rows = cluster.stages.rows()
    rows = rows[~cluster.stages.closing[rows] & (cluster.stages.waiting(rows) > 0)]
    infos = [cluster.stage_infos[row] for row in rows.tolist()]
    return {info.row: Waiting(bytes(info.done), info.named, info.named_s) for info in infos}
