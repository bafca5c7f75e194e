"""Which copies count against the budgets in this cycle? The rules of budgets are in `deciding/budgets.py`."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controlplane.compiled import kernel
from controlplane.deciding.budgets import Limits, is_spent, likely_loss_core_s, over_budget, task_core_s
from controlplane.model.cluster import Cluster
from controlplane.model.columns import Floats, Ints
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Reason
from controlplane.model.writers import Decided, Reported


@dataclass(slots=True)
class Budgets:
    """One cycle's account of copies, by job row and by pool row: running and ordered ones count alike.

    A shadow copy, which a mode forbids, counts for its job and only against other shadow copies.
    """

    limits: Limits
    cluster: Cluster
    by_job: Ints
    by_pool: Ints
    shadow_by_pool: Ints
    ordered_by_job: Ints
    """The copies among them that are ordered and not yet started."""
    most_by_job: Ints
    """Most copies of each job by its copy budget, by job row; -1 for no limit."""
    copies_core_s: Floats
    """Core-seconds of the ordered copies that run, by pool row."""
    slots_everywhere: int

    @classmethod
    def of(cls, settings: EngineSettings, cluster: Cluster, now_s: float) -> "Budgets":
        """Count every copy that runs, and every ordered one whose order has not expired."""
        jobs, pools = cluster.jobs.size, cluster.pools.size
        by_job, ordered_by_job = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
        by_pool, copies_core_s = np.zeros(pools, dtype=np.int64), np.zeros(pools)
        count_copies(
            now_s,
            cluster.tasks.reported[: cluster.tasks.size],
            cluster.tasks.decided,
            cluster.attempts.reported,
            cluster.stages.reported,
            by_job,
            by_pool,
            ordered_by_job,
            copies_core_s,
        )
        in_queues = sum(int(cluster.pools.slots[queue.row]) for queue in cluster.queues.values())
        slots_everywhere = int(cluster.pools.slots.sum()) - in_queues
        return cls(
            Limits.of(settings),
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
        """Cost of a pool's losing copies, including running ones that will likely lose."""
        return likely_loss_core_s(
            losing_core_s=float(self.cluster.pools.losing_core_s[pool]), copies_core_s=float(self.copies_core_s[pool])
        )

    def refusal(self, job: int, pool: int, *, is_shadow: bool) -> Reason:
        """Why one more copy is over budget; `NONE` if it is not."""
        pools = self.cluster.pools
        by_pool = self.by_pool + self.shadow_by_pool if is_shadow else self.by_pool
        if is_spent(most=int(self.most_by_job[job]), copies=int(self.by_job[job])):
            return Reason.NO_BUDGET_JOB
        total_core_s = float(pools.total_core_s[pool])
        over = over_budget(
            self.limits,
            losing_core_s=self.likely_loss_core_s(pool),
            total_core_s=total_core_s,
            task_core_s=task_core_s(total_core_s=total_core_s, n_ended=int(pools.n_ended[pool])),
            copies=(int(self.by_job[job]), int(by_pool[pool]), int(by_pool.sum())),
            slots=(int(pools.slots[pool]), self.slots_everywhere),
        )
        return Reason(over)


@kernel
def count_copies(
    now_s: float,
    tasks: NDArray[Reported],
    tasks_decided: NDArray[Decided],
    attempts: NDArray[Reported],
    stages: NDArray[Reported],
    by_job: Ints,
    by_pool: Ints,
    ordered_by_job: Ints,
    copies_core_s: Floats,
) -> None:
    """Add the copies of all tasks to the counts; copies ordered for an ended task will not start.

    `copies_core_s` (n_pools,) are those of the copies that run by our orders.
    """
    for row in range(len(tasks)):
        task, decided = tasks[row], tasks_decided[row]
        ordered = decided["ordered_copies"] if decided["ordered_until_s"] > now_s and not task["done"] else 0
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
