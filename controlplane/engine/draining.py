"""Which drivers should release executors, so that other applications of their queue get containers?

The ResourceManager starts containers in our order and holds caps; it cannot end a running one without harm. The driver
that holds it can, once it is idle. Lowering what a driver may hold is therefore how a slot changes hands.
"""

import numpy as np

from controlplane.engine.applications import driver_of, membership
from controlplane.engine.cycle import Cycle
from controlplane.model.cluster import SourceState
from controlplane.model.columns import Flags, Ints
from controlplane.model.facts import Mode, lowest
from controlplane.model.orders import CapExecutors
from controlplane.model.reasons import Action, Reason


def executor_limits(target: Ints, cap: Ints, running: Ints, pending: Ints, limited: Flags) -> Ints:
    """Containers that each application of a queue may hold, -1 for no limit; all shapes (n,).

    An application above its target is held to it while another waits for containers below its own; one with a
    cap is always held to that. `limited` are those already held: they stay so, or they would ask for everything again
    as soon as they are at their target.

    >>> columns = ([2, 6], [-1, -1], [6, 2], [2, 6])
    >>> executor_limits(*(np.array(column) for column in columns), limited=np.zeros(2, dtype=bool)).tolist()
    [2, -1]
    >>> alone = ([6], [-1], [2], [4])
    >>> executor_limits(*(np.array(column) for column in alone), limited=np.ones(1, dtype=bool)).tolist()
    [-1]
    """
    waits = (pending > 0) & (running < target)
    most = np.where(cap >= 0, cap, target)
    is_bound = (cap >= 0) | (waits.sum() - waits > 0)
    return np.where(is_bound & ((running > most) | limited), most, -1)


def drain_executors(cycle: Cycle, queue: SourceState) -> None:
    """Tell the drivers of a queue's applications how many executors they may hold.

    It is a lease like a grant, in the lower of both modes: renewed when half of its time is over, and withdrawn
    as soon as nobody waits. It is recorded when it changes, and when it is first given in a mode. A driver
    that cannot release executors is left alone, which is recorded.
    """
    cluster, jobs = cycle.cluster, cycle.cluster.jobs
    if queue.name not in cluster.queues:
        return
    drivers = [(row, driver_of(cluster, key, cycle.now_s)) for key, row in queue.jobs.items()]
    limited = [driver is not None and driver.most_executors is not None for _, driver in drivers]
    if not (cycle.settings.drain_executors or any(limited)):
        return
    rows = np.array([row for row, _ in drivers], dtype=np.int64)
    running, pending = jobs.containers_running[rows], jobs.containers_pending[rows]
    limits = executor_limits(jobs.target[rows], jobs.cap[rows], running, pending, np.array(limited, dtype=bool))
    for (row, driver), limit in zip(drivers, limits.tolist(), strict=True):
        if driver is not None:
            counts = membership(cluster, driver, cycle.now_s) is Reason.JOINED and cycle.settings.drain_executors
            _tell(cycle, queue, driver, row, limit if counts and limit >= 0 else None)


def _tell(cycle: Cycle, queue: SourceState, driver: SourceState, row: int, most: int | None) -> None:
    before, can = driver.most_executors, driver.attached.capabilities.cap_executors
    mode = lowest(cycle.steering.mode(queue), cycle.steering.mode(driver))
    if mode is Mode.OFF:
        driver.most_executors = None
        return
    is_news = most != before or (most is not None and mode is not driver.most_executors_in)
    is_stale = most is not None and cycle.is_half_over(driver.most_executors_s)
    if not (is_news or is_stale):
        return
    driver.most_executors, driver.most_executors_s, driver.most_executors_in = most, cycle.now_s, mode
    order = next(cycle.ids) if can and mode is Mode.CONTROL else 0
    record = None
    if is_news and (can or before is None):
        lowered = Reason.ABOVE_ITS_PART if can else Reason.EXECUTORS_FIXED
        reason = Reason.EXECUTORS_GIVEN_BACK if most is None else lowered
        held = float(cycle.cluster.jobs.containers_running[row])
        inputs = {"held": held} | ({} if most is None else {"executors": float(most)})
        key = cycle.cluster.job_infos[row].key
        record = cycle.record(
            queue, mode=mode, action=Action.CAP_EXECUTORS, reason=reason, job=key, order=order, inputs=inputs
        )
    if order:
        cap = CapExecutors(order=order, ttl_ms=cycle.settings.grant_ttl_ms, executors=most)
        cycle.send(driver, cap, record)
