"""Is one more copy over budget? Rules of a pool, for both the engine's cycle and a simulator's slots.

Hard limits, whatever a policy wants: how many copies may run at once, and how much losing ones may cost.
"""

import math
from typing import Any, NamedTuple

from controlplane.compiled import rule
from controlplane.model.reasons import Reason

NONE, NO_BUDGET_WASTE, NO_BUDGET_JOB, NO_BUDGET_POOL, NO_BUDGET_CLUSTER = (
    int(Reason.NONE),
    int(Reason.NO_BUDGET_WASTE),
    int(Reason.NO_BUDGET_JOB),
    int(Reason.NO_BUDGET_POOL),
    int(Reason.NO_BUDGET_CLUSTER),
)


class Limits(NamedTuple):
    """Five settings of `EngineSettings`, by the same names; it describes them."""

    job_copy_share: float
    pool_copy_share: float
    cluster_copy_share: float
    losing_share: float
    losing_allowance_tasks: float

    @classmethod
    def of(cls, settings: Any) -> "Limits":
        """The limits of an object that has fields of these names: `EngineSettings`, or a scenario."""
        return cls(*(float(getattr(settings, name)) for name in cls._fields))


@rule
def copy_limit(slots: int, share: float) -> int:
    """Copies that may run at once: a share of the slots, at least one where there are any slots and any share.

    >>> [copy_limit(slots=8, share=0.5), copy_limit(slots=3, share=0.1), copy_limit(slots=0, share=0.5)]
    [4, 1, 0]
    """
    if slots <= 0 or share <= 0:
        return 0
    return max(1, math.floor(slots * share + 1e-9))


@rule
def is_spent(most: int, copies: int) -> bool:
    """Whether a job has the most copies that its copy budget allows, running or ordered; -1 for no such limit.

    >>> [is_spent(most, copies=2) for most in (-1, 2, 3)]
    [False, True, False]
    """
    return 0 <= most <= copies


@rule
def task_core_s(total_core_s: float, n_ended: int) -> float:
    """Mean core-seconds of the attempts that have ended; 1 while none has.

    >>> task_core_s(total_core_s=12.0, n_ended=8), task_core_s(total_core_s=0.0, n_ended=0)
    (1.5, 1.0)
    """
    return total_core_s / n_ended if n_ended > 0 else 1.0


@rule
def waste_allowed_core_s(
    total_core_s: float, share: float, task_core_s: float, tasks_per_slot: float, slots: int
) -> float:
    """Core-seconds that losing copies may have cost by now: a share of all, or some typical tasks per slot.

    >>> waste_allowed_core_s(total_core_s=10.0, share=0.25, task_core_s=1.5, tasks_per_slot=0.5, slots=8)
    6.0
    """
    return max(tasks_per_slot * slots * task_core_s, share * total_core_s)


@rule
def likely_loss_core_s(losing_core_s: float, copies_core_s: float) -> float:
    """Core-seconds of copies that lost, and half of those of copies that run, because half of them lose.

    >>> likely_loss_core_s(losing_core_s=3.0, copies_core_s=4.0)
    5.0
    """
    return losing_core_s + copies_core_s / 2


@rule
def over_budget(
    limits: Limits,
    losing_core_s: float,
    total_core_s: float,
    task_core_s: float,
    copies: tuple[int, int, int],
    slots: tuple[int, int],
) -> int:
    """Why one more copy is over budget, as `Reason`; `NONE` if it is not.

    `losing_core_s`, `total_core_s` and a typical `task_core_s` are the pool's. `copies` run or are ordered in the
    job, the pool and everywhere; `slots` are in the pool and everywhere.

    >>> limits = Limits(0.5, 0.5, 0.5, losing_share=0.25, losing_allowance_tasks=0.5)
    >>> core_s = {"losing_core_s": 0.0, "total_core_s": 0.0, "task_core_s": 1.0}
    >>> [Reason(over_budget(limits, **core_s, copies=(n, 4, 4), slots=(8, 8))).label for n in (3, 4)]
    ['no_budget_pool', 'no_budget_job']
    """
    allowed_core_s = waste_allowed_core_s(
        total_core_s=total_core_s,
        share=limits.losing_share,
        task_core_s=task_core_s,
        tasks_per_slot=limits.losing_allowance_tasks,
        slots=slots[0],
    )
    of_job, of_pool, everywhere = copies
    pool_slots, all_slots = slots
    if losing_core_s > allowed_core_s:
        return NO_BUDGET_WASTE
    if of_job >= copy_limit(slots=pool_slots, share=limits.job_copy_share):
        return NO_BUDGET_JOB
    if of_pool >= copy_limit(slots=pool_slots, share=limits.pool_copy_share):
        return NO_BUDGET_POOL
    if everywhere >= copy_limit(slots=all_slots, share=limits.cluster_copy_share):
        return NO_BUDGET_CLUSTER
    return NONE
