"""Does an executor start for a copy? If a driver's executors are allocated on demand, a copy is demand.

The host's rule says for how many copies executors start: see `Kind.copies_to_come`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from controlplane.engine.applications import container_slots, drivers_of, listings, queue_of
from controlplane.engine.steering import Steering
from controlplane.hosts import kind_of
from controlplane.hosts.kind import Kind
from controlplane.model.cluster import Cluster, SourceState
from controlplane.model.columns import Ints
from controlplane.model.facts import Mode
from controlplane.model.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """The executors that a driver has, of `slots` each, and those that it may have."""

    kind: Kind
    executors: int
    slots: int
    limit: int
    """Limit by its own settings; 0 if they are allocated statically."""
    queue_limit: int
    """Limit by its queue; -1 for as many as it likes."""

    def copies(self, tasks: int) -> int:
        """Copies for which executors would start, beyond the given number of tasks that run, wait or are ordered."""
        limit = self.limit if self.queue_limit < 0 else min(self.limit, self.queue_limit)
        return self.kind.copies_to_come(executors=self.executors, slots=self.slots, tasks=tasks, limit=limit)

    def refusal(self, tasks: int, otherwise: Reason) -> Reason:
        """`NONE` if an executor starts for one more copy; the queue's reason, or `otherwise` if it has none."""
        if self.copies(tasks):
            return Reason.NONE
        would_come = self.kind.copies_to_come(executors=self.executors, slots=self.slots, tasks=tasks, limit=self.limit)
        return Reason.NO_ROOM_IN_QUEUE if would_come else otherwise


def growth_of(cluster: Cluster, steering: Steering, source: SourceState, now_s: float) -> Growth:
    """How far a source's executors may grow."""
    executors = len(source.executors)
    return Growth(
        kind=kind_of(source.name),
        executors=executors,
        slots=slots_each(slots=int(cluster.pools.slots[source.row]), executors=executors),
        limit=source.attached.executor_limit,
        queue_limit=queue_limit(cluster, steering, source, now_s),
    )


def slots_each(slots: int, executors: int) -> int:
    """Slots of one of these executors, which are all alike.

    >>> slots_each(slots=8, executors=2), slots_each(slots=0, executors=0)
    (4, 1)
    """
    return max(1, slots // max(1, executors))


def queue_limit(cluster: Cluster, steering: Steering, source: SourceState, now_s: float) -> int:
    """Executors that its queue allows a driver: a cap, or its ordered limit; -1 for no limit."""
    if source.membership is not Reason.JOINED:
        return -1
    limits = [
        limit
        for listed in listings(cluster, source, now_s)
        if steering.mode(cluster.sources[listed.source]) is Mode.CONTROL
        for limit in (int(cluster.jobs.cap[listed.row]), source.most_executors)
        if limit is not None and limit >= 0
    ]
    return min(limits, default=-1)


class ToCome(NamedTuple):
    """Slots and executors that a pool may get for copies."""

    pool: int
    """Its row."""
    slots: int
    queue: int
    """Row of the leaf queue whose containers these executors are; its own if there is none."""
    executors: int
    """Executors that may start in all pools of its queue together; as many as slots where it is alone."""


def to_come(
    cluster: Cluster, steering: Steering, sources: Iterable[SourceState], ordered_by_job: Ints, now_s: float
) -> Iterator[ToCome]:
    """The slots and executors that each of these pools may get; pools with statically allocated executors are left out.

    A pool that is not in control shares with nobody: what it wants is not ordered, and others may have it.
    """
    free: dict[str, int] = {}
    for source in sources:
        growth = growth_of(cluster, steering, source, now_s)
        if not growth.limit:
            continue
        slots = growth.copies(tasks_of(cluster, source, ordered_by_job))
        queue = queue_of(cluster, source, now_s)
        if queue is None or steering.mode(source) is not Mode.CONTROL:
            yield ToCome(pool=source.row, slots=slots, queue=source.row, executors=slots)
            continue
        if queue.name not in free:
            free[queue.name] = free_containers(cluster, queue, ordered_by_job, now_s)
        yield ToCome(pool=source.row, slots=slots, queue=queue.row, executors=free[queue.name])


def free_containers(cluster: Cluster, queue: SourceState, ordered_by_job: Ints, now_s: float) -> int:
    """Containers of a queue that none of its applications holds, asks for, or needs for copies on their way."""
    jobs, rows = cluster.jobs, queue.jobs.rows
    wanted = int((jobs.containers_running[rows] + jobs.containers_pending[rows]).sum())
    for row, driver in drivers_of(cluster, queue, now_s):
        filled = ceil(tasks_of(cluster, driver, ordered_by_job) / container_slots(cluster, driver))
        wanted += max(0, filled - int(jobs.containers_running[row] + jobs.containers_pending[row]))
    return max(0, int(cluster.pools.slots[queue.row]) - wanted)


def tasks_of(cluster: Cluster, source: SourceState, ordered_by_job: Ints) -> int:
    """A source's running attempts, waiting originals and ordered copies."""
    stages, rows = cluster.stages, source.stages.rows
    rows = rows[~stages.closing[rows]]
    return len(source.attempts) + int(stages.waiting(rows).sum()) + int(ordered_by_job[source.jobs.rows].sum())
