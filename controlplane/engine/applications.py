"""Which attached driver is which application of a leaf queue, and what follows for its size and its orders?

A driver's source is named by its application's id, so a queue that lists that id links both. All of it is looked up
when it is needed: nothing is kept that could outlive a driver or a queue.
"""

import math
from collections.abc import Iterator

import numpy as np

from controlplane.engine.cycle import Cycle
from controlplane.engine.seeing import JobSums, pool_view
from controlplane.hosts import driver_sources, kind_of
from controlplane.model.cluster import SILENT_S, Cluster, JobInfo, SourceState
from controlplane.model.columns import Floats, Ints, Records
from controlplane.model.reasons import Action, Reason


def review_memberships(cycle: Cycle, due: list[SourceState]) -> None:
    """Ask the queues about the drivers that are due; a changed answer is recorded."""
    cluster, known = cycle.cluster, _known_ids(cycle.cluster, cycle.now_s)
    for source in due:
        if source.name in cluster.queues or not (cluster.queues or source.membership):
            continue
        found = membership(cluster, source, cycle.now_s, known)
        if found is not source.membership:
            source.membership = found
            if found:
                inputs = join_inputs(cluster, source) if found is Reason.JOINED else {}
                cycle.record(source, action=Action.JOIN, reason=found, inputs=inputs)


def _known_ids(cluster: Cluster, now_s: float) -> tuple[str, ...]:
    """Prefixes of application ids whose ResourceManager lists all of its applications."""
    heard = [each for each in cluster.queues.values() if each.cluster_unix_ms and _is_heard(each, now_s)]
    return tuple({kind_of(each.name).application_prefix(each.cluster_unix_ms) for each in heard})


def membership(cluster: Cluster, driver: SourceState, now_s: float, known: tuple[str, ...] = ()) -> Reason:
    """The queues' verdict on a driver's application; `NONE` if none of them needs to know it.

    An id that begins with one of `known` must be in one of them.
    """
    queued = [info.queued for info in listings(cluster, driver, now_s) if info.queued]
    if not queued:
        return Reason.UNLISTED if _application(driver).startswith(known) else Reason.NONE
    if len(queued) > 1:
        return Reason.LISTED_TWICE
    return Reason.OTHER_USER if queued[0].user not in ("", driver.attached.user) else Reason.JOINED


def listings(cluster: Cluster, driver: SourceState, now_s: float) -> list[JobInfo]:
    """A driver's application in each of the queues that list its id."""
    infos = [cluster.job_infos[row] for row in cluster.queued.get(_application(driver), ())]
    return [info for info in infos if _is_heard(cluster.sources[info.source], now_s)]


def queue_of(cluster: Cluster, driver: SourceState, now_s: float) -> SourceState | None:
    """The leaf queue that a driver's application is in; None if it is in none, or counts in none."""
    if driver.membership is not Reason.JOINED:
        return None
    return next((cluster.sources[info.source] for info in listings(cluster, driver, now_s)), None)


def drivers_of(cluster: Cluster, queue: SourceState, now_s: float) -> Iterator[tuple[int, SourceState]]:
    """The drivers that count in a leaf queue, each with its application's row there."""
    for application, row in queue.jobs.items():
        driver = driver_of(cluster, application, now_s)
        if driver is not None and driver.membership is Reason.JOINED:
            yield row, driver


def _application(driver: SourceState) -> str:
    return driver.name.partition(":")[2]


def driver_of(cluster: Cluster, application: str, now_s: float) -> SourceState | None:
    """The driver that reports under an application's id, whether or not it may."""
    found = (cluster.sources.get(name) for name in driver_sources(application))
    return next((driver for driver in found if driver is not None and _is_heard(driver, now_s)), None)


def join_inputs(cluster: Cluster, driver: SourceState) -> dict[str, float]:
    """The numbers behind `JOINED`, by the names that its sentence uses."""
    open_rows = [row for row in driver.stages.values() if not cluster.stages.closing[row]]
    left = float(cluster.stages.left(open_rows).sum())
    return {"remaining_tasks": left, "container_slots": container_slots(cluster, driver)}


def container_slots(cluster: Cluster, driver: SourceState) -> float:
    """Slots of one container of a driver: its executors' mean or, before the first of them, what it reports."""
    if driver.executors:
        return float(cluster.pools.slots[driver.row]) / len(driver.executors) or 1.0
    return float(driver.attached.executor_slots or 1)


def claimants_of(
    cluster: Cluster, source: SourceState, sums: JobSums, max_copies: int, now_s: float
) -> tuple[Ints, Records]:
    """The claimants of a pool, as in `pool_view`; an application whose driver reports counts by its driver's jobs."""
    rows, claimants = pool_view(cluster, source, sums, max_copies, now_s)
    if source.name not in cluster.queues:
        return rows, claimants
    keys = (cluster.job_infos[row].key for row in rows.tolist())
    drivers = [driver_of(cluster, key, now_s) for key in keys]
    joined = [
        (place, driver)
        for place, driver in enumerate(drivers)
        if driver is not None and membership(cluster, driver, now_s) is Reason.JOINED
    ]
    if joined:
        places = np.array([place for place, _ in joined])
        pools = np.array([driver.row for _, driver in joined])
        slots = np.array([container_slots(cluster, driver) for _, driver in joined])
        _count_jobs(cluster, sums, claimants, places, pools, slots)
    return rows, claimants


def _count_jobs(cluster: Cluster, sums: JobSums, claimants: Records, places: Ints, pools: Ints, slots: Floats) -> None:
    """Give the claimants in `places` the sums over the jobs of their drivers' `pools`, in containers of `slots`.

    The virtual size of the sums is the sum of the jobs' virtual sizes, max(2 / tail_index, 1) * T * sqrt(ratio) / slots
    each: their tail index is one, and the square root of their ratio is the mean over their tasks.
    Source: Hopper (SIGCOMM'15), section 4.2.
    """
    jobs = cluster.jobs
    rows = jobs.rows()
    ratio = jobs.transfer_ratio[rows]
    factor = np.sqrt(np.where((ratio > 0) & (ratio < math.inf), ratio, 1.0))
    left, after = sums.remaining_tasks[rows], jobs.downstream_tasks[rows]

    def total(values: Floats) -> Floats:
        return np.bincount(jobs.pool[rows], weights=values, minlength=cluster.pools.size)[pools] / slots

    tasks, weighed = total(left), total(left * factor)
    claimants["remaining_tasks"][places] = tasks
    claimants["downstream_tasks"][places] = total(np.maximum(left, after))
    claimants["remaining_work_s"][places] = total(sums.remaining_work_s[rows])
    claimants["tail_index"][places] = cluster.pools.tail_index[pools]
    mean_factor = np.divide(weighed, tasks, out=np.ones(len(tasks)), where=tasks > 0)
    claimants["transfer_ratio"][places] = mean_factor**2


def _is_heard(source: SourceState, now_s: float) -> bool:
    return now_s - source.heard_s <= SILENT_S
