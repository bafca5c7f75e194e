"""How many copies may run at once, and how much may losing ones cost? Hard limits, whatever a policy wants."""

import math
from dataclasses import dataclass

import numpy as np

from controlplane.compiled import kernel
from controlplane.model.cluster import Cluster
from controlplane.model.columns import Floats, Ints, Records
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


def waste_allowed_core_s(
    total_core_s: float, share: float, task_core_s: float, tasks_per_slot: float, slots: int
) -> float:
    """Core-seconds that losing copies may have cost by now: a share of all, or some typical tasks for each slot.

    >>> waste_allowed_core_s(total_core_s=10.0, share=0.25, task_core_s=1.5, tasks_per_slot=0.5, slots=8)
    6.0
    """
    return max(tasks_per_slot * slots * task_core_s, share * total_core_s)


def likely_loss_core_s(losing_core_s: float, copies_core_s: float) -> float:
    """What losing copies have cost, and what those that run have cost so far, of which half lose.

    >>> likely_loss_core_s(losing_core_s=3.0, copies_core_s=4.0)
    5.0
    """
    return losing_core_s + copies_core_s / 2


def over_budget(
    settings: EngineSettings,
    *,
    losing_core_s: float,
    total_core_s: float,
    task_core_s: float,
    copies: tuple[int, int, int],
    slots: tuple[int, int],
) -> Reason:
    """Why one more copy is over budget; `NONE` if it is not.

    `losing_core_s`, `total_core_s` and a typical `task_core_s` are the pool's. `copies` run or are ordered in the
    job, the pool and everywhere; `slots` are in the pool and everywhere.

    >>> core_s = {"losing_core_s": 0.0, "total_core_s": 0.0, "task_core_s": 1.0}
    >>> over_budget(EngineSettings(), **core_s, copies=(0, 0, 0), slots=(8, 8)).label
    'none'
    """
    allowed_core_s = waste_allowed_core_s(
        total_core_s=total_core_s,
        share=settings.losing_share,
        task_core_s=task_core_s,
        tasks_per_slot=settings.losing_allowance_tasks,
        slots=slots[0],
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


@dataclass(slots=True)
class Budgets:
    """One cycle's account of copies, by job row and by pool row: running and ordered ones count alike.

    A shadow copy, which a mode forbids, counts for its job and against other shadow copies alone.
    """

    settings: EngineSettings
    cluster: Cluster
    by_job: Ints
    by_pool: Ints
    shadow_by_pool: Ints
    ordered_by_job: Ints
    """Of those, the ones ordered and not yet started."""
    most_by_job: Ints
    """Most copies of each job by its copy budget, by job row; -1 for no limit."""
    copies_core_s: Floats
    """Core-seconds of the ordered copies that run, by pool row."""
    slots_everywhere: int

    @classmethod
    def of(cls, settings: EngineSettings, cluster: Cluster, now_s: float) -> "Budgets":
        """Count every copy that runs, and every one ordered whose order has not expired."""
        jobs, pools = cluster.jobs.size, cluster.pools.size
        by_job, ordered_by_job = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
        by_pool, copies_core_s = np.zeros(pools, dtype=np.int64), np.zeros(pools)
        count_copies(
            now_s,
            cluster.tasks.records[: cluster.tasks.size],
            cluster.attempts.records,
            cluster.stages.records,
            by_job,
            by_pool,
            ordered_by_job,
            copies_core_s,
        )
        in_queues = sum(int(cluster.pools.slots[queue.row]) for queue in cluster.queues.values())
        slots_everywhere = int(cluster.pools.slots.sum()) - in_queues
        return cls(
            settings,
            cluster,
            by_job=by_job,
            by_pool=by_pool,
            shadow_by_pool=np.zeros_like(by_pool),
            ordered_by_job=ordered_by_job,
            most_by_job=np.full(jobs, -1),
            copies_core_s=copies_core_s,
            slots_everywhere=slots_everywhere,
        )

    def order(self, job: int, pool: int, *, is_shadow: bool) -> None:
        """Count one more copy that is ordered, or would be."""
        self.ordered_by_job[job] += 1
        self.by_job[job] += 1
        (self.shadow_by_pool if is_shadow else self.by_pool)[pool] += 1

    def likely_loss_core_s(self, pool: int) -> float:
        """What losing copies of a pool have cost, those counted that run and will likely lose."""
        return likely_loss_core_s(
            losing_core_s=float(self.cluster.pools.losing_core_s[pool]), copies_core_s=float(self.copies_core_s[pool])
        )

    def refusal(self, job: int, pool: int, *, is_shadow: bool) -> Reason:
        """Why one more copy is over budget; `NONE` if it is not."""
        pools = self.cluster.pools
        by_pool = self.by_pool + self.shadow_by_pool if is_shadow else self.by_pool
        if 0 <= self.most_by_job[job] <= self.by_job[job]:
            return Reason.NO_BUDGET_JOB
        return over_budget(
            self.settings,
            losing_core_s=self.likely_loss_core_s(pool),
            total_core_s=float(pools.total_core_s[pool]),
            task_core_s=task_core_s(self.cluster, pool),
            copies=(int(self.by_job[job]), int(by_pool[pool]), int(by_pool.sum())),
            slots=(int(pools.slots[pool]), self.slots_everywhere),
        )


def task_core_s(cluster: Cluster, pool: int) -> float:
    """Core-seconds of a typical attempt of a pool; one while none has ended."""
    n_ended = int(cluster.pools.n_ended[pool])
    return float(cluster.pools.total_core_s[pool]) / n_ended if n_ended else 1.0


@kernel
def count_copies(
    now_s: float,
    tasks: Records,
    attempts: Records,
    stages: Records,
    by_job: Ints,
    by_pool: Ints,
    ordered_by_job: Ints,
    copies_core_s: Floats,
) -> None:
    """Add the copies of all tasks to the counts; what was ordered for a task that has ended will not start.

    `copies_core_s` (n_pools,) are those of the copies that run by our orders.
    """
    for task in tasks:
        ordered = task["ordered_copies"] if task["ordered_until_s"] > now_s and not task["done"] else 0
        if task["alive"] and task["n_copies"] + ordered > 0:
            by_job[task["job"]] += task["n_copies"] + ordered
            by_pool[task["pool"]] += task["n_copies"] + ordered
            ordered_by_job[task["job"]] += ordered
        at = task["newest"] if task["alive"] and task["n_copies"] > 0 else -1
        while at >= 0:
            attempt = attempts[at]
            if attempt["speculative"] and attempt["order"] > 0:
                copies_core_s[task["pool"]] += (now_s - attempt["start_s"]) * stages[task["stage"]]["cores"]
            at = attempt["older"]
