"""How many copies may run at once, and how much may losing ones cost? Hard limits, whatever a policy wants."""

import math
from dataclasses import dataclass

import numpy as np

from controlplane.compiled import kernel
from controlplane.model.cluster import Cluster
from controlplane.model.columns import Flags, Ints, Records
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Reason


def copy_limit(slots: int, share: float) -> int:
    """Copies that may run at once: a share of the slots, at least one where there are any slots and any share.

    >>> [copy_limit(slots=8, share=0.5), copy_limit(slots=3, share=0.1), copy_limit(slots=0, share=0.5)]
    [4, 1, 0]
    """
    if slots <= 0 or share <= 0:
        return 0
    return max(1, math.floor(slots * share + 1e-9))


def waste_allowed_core_s(total_core_s: float, share: float, allowance_core_s: float) -> float:
    """Core-seconds that losing copies may have cost by now.

    >>> waste_allowed_core_s(total_core_s=100.0, share=0.25, allowance_core_s=30.0)
    30.0
    """
    return max(allowance_core_s, share * total_core_s)


def over_budget(
    settings: EngineSettings,
    *,
    losing_core_s: float,
    total_core_s: float,
    copies: tuple[int, int, int],
    slots: tuple[int, int],
) -> Reason:
    """Why one more copy is over budget; `NONE` if it is not.

    `losing_core_s` and `total_core_s` are those of the pool, `copies` run or are ordered in its job, its pool and
    everywhere, `slots` are in its pool and everywhere.

    >>> over_budget(EngineSettings(), losing_core_s=0.0, total_core_s=0.0, copies=(0, 0, 0), slots=(8, 8)).label
    'none'
    """
    allowed_core_s = waste_allowed_core_s(
        total_core_s=total_core_s,
        share=settings.losing_share,
        allowance_core_s=settings.losing_allowance_core_s,
    )
    of_job, of_pool, everywhere = copies
    pool_slots, all_slots = slots
    if losing_core_s > allowed_core_s:
        return Reason.NO_BUDGET_WASTE
    if of_job >= copy_limit(slots=pool_slots, share=settings.job_copy_share):
        return Reason.NO_BUDGET_JOB
    if of_pool >= copy_limit(slots=pool_slots, share=settings.pool_copy_share):
        return Reason.NO_BUDGET_POOL
    if everywhere >= copy_limit(slots=all_slots, share=settings.cluster_copy_share):
        return Reason.NO_BUDGET_CLUSTER
    return Reason.NONE


def within_originals(
    free: Ints, waiting: Ints, *, target: Ints, originals: Ints, running: Ints, copies: Ints
) -> tuple[Ints, Ints]:
    """What is free for copies, and which originals wait for a slot, where originals have a share of their own.

    Shapes (n_jobs,); `originals` is -1 where they have not. `copies` run or are ordered; `running` are all attempts
    that run. An original beyond its share waits for another original's end, not for a slot.

    >>> shares = {"target": np.array([7]), "running": np.array([4]), "copies": np.array([0])}
    >>> within_originals(np.array([3]), np.array([1]), originals=np.array([4]), **shares)
    (array([3]), array([0]))
    """
    has_share = originals >= 0
    may_start = np.clip(originals - (running - copies), 0, waiting)
    return (
        np.where(has_share, np.minimum(free, target - originals - copies), free),
        np.where(has_share, may_start, waiting),
    )


def spare_room(free: Ints, waiting: Ints) -> Ints:
    """Slots of each job's target that are there for copies, as no original waits for them; shapes (n_jobs,).

    `free` is the target less what runs and what is ordered.

    >>> spare_room(np.array([2, 2, -1]), waiting=np.array([0, 1, 0]))
    array([2, 0, 0])
    """
    return np.where(waiting > 0, 0, np.maximum(free, 0))


def copy_room(free: Ints, waiting: Ints, ordered: Ints, before_waiting: Flags) -> Ints:
    """How many more copies each job may order; shapes (n_jobs,).

    While originals wait, a speculator that puts copies first may use what is free, or queue one for the next slot that
    comes free; one that does not has no room.

    >>> copy_room(np.array([2, 2, 0]), np.array([0, 1, 1]), np.array([0, 0, 0]), np.array([False, False, True]))
    array([2, 0, 1])
    """
    queued = np.where((free == 0) & (ordered == 0), 1, np.maximum(free, 0))
    return np.where((waiting > 0) & before_waiting, queued, spare_room(free, waiting))


def restart_room(free: Ints, ordered: Ints) -> Ints:
    """How many more attempts that take another's place each job may order; shapes (n_jobs,).

    Each gives a slot back: what is free, or one for the next slot that comes free, even beyond the job's target.

    >>> restart_room(np.array([2, 0, 0, -1]), ordered=np.array([0, 0, 1, 0]))
    array([2, 1, 0, 1])
    """
    return np.where((free <= 0) & (ordered == 0), 1, np.maximum(free, 0))


def no_room(waiting: Ints, before_waiting: Flags) -> Ints:
    """Why a job has no room for a copy, as `Reason`; shapes (n_jobs,).

    >>> [Reason(code).label for code in no_room(np.array([0, 3]), np.array([False, False]))]
    ['no_slot_in_target', 'originals_wait']
    """
    return np.where((waiting > 0) & ~before_waiting, int(Reason.ORIGINALS_WAIT), int(Reason.NO_SLOT_IN_TARGET))


@dataclass(slots=True)
class Budgets:
    """One cycle's account of copies, by job row and by pool row: running and ordered ones count alike."""

    settings: EngineSettings
    cluster: Cluster
    by_job: Ints
    by_pool: Ints
    ordered_by_job: Ints
    """Of those, the ones ordered and not yet started."""
    slots_everywhere: int

    @classmethod
    def of(cls, settings: EngineSettings, cluster: Cluster, now_s: float) -> "Budgets":
        """Count every copy that runs, and every one ordered whose order has not expired."""
        jobs, pools = cluster.jobs.size, cluster.pools.size
        by_job, ordered_by_job = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
        by_pool = np.zeros(pools, dtype=np.int64)
        count_copies(now_s, cluster.tasks.records[: cluster.tasks.size], by_job, by_pool, ordered_by_job)
        in_queues = sum(int(cluster.pools.slots[queue.row]) for queue in cluster.queues.values())
        slots_everywhere = int(cluster.pools.slots.sum()) - in_queues
        return cls(settings, cluster, by_job, by_pool, ordered_by_job, slots_everywhere)

    def order(self, job: int, pool: int) -> None:
        """Count one more copy that is ordered."""
        self.ordered_by_job[job] += 1
        self.by_job[job] += 1
        self.by_pool[pool] += 1

    def refusal(self, job: int, pool: int) -> Reason:
        """Why one more copy is over budget; `NONE` if it is not."""
        pools = self.cluster.pools
        return over_budget(
            self.settings,
            losing_core_s=float(pools.losing_core_s[pool]),
            total_core_s=float(pools.total_core_s[pool]),
            copies=(int(self.by_job[job]), int(self.by_pool[pool]), int(self.by_pool.sum())),
            slots=(int(pools.slots[pool]), self.slots_everywhere),
        )


@kernel
def count_copies(now_s: float, tasks: Records, by_job: Ints, by_pool: Ints, ordered_by_job: Ints) -> None:
    """Add the copies of all tasks to the counts; what was ordered for a task that has ended will not start."""
    for task in tasks:
        ordered = task["ordered_copies"] if task["ordered_until_s"] > now_s and not task["done"] else 0
        if task["alive"] and task["n_copies"] + ordered > 0:
            by_job[task["job"]] += task["n_copies"] + ordered
            by_pool[task["pool"]] += task["n_copies"] + ordered
            ordered_by_job[task["job"]] += ordered
