"""Which running tasks deserve one more attempt? LATE: a stage's slowest quarter, the last to end first."""

from collections.abc import Mapping

import numpy as np

from controlplane.model.reasons import Reason
from controlplane.policies.groups import regroup
from controlplane.policies.interfaces import Flags, Floats, Ints, RunningTasks, Speculation
from controlplane.policies.skew import EFFICIENT_RATE_SHARE, has_more_to_do
from controlplane.policies.whole_slots import TOLERANCE, whole


def late(view: RunningTasks, settings: Mapping[str, float]) -> Speculation:
    """Longest Approximate Time to End: slow tasks without a copy, while the pool has room for copies.

    The minimum age and the choice of a host that is not slow are the engine's. A task that has not moved at
    all while its siblings do has no end in sight and goes first; of equally long ones the upper row goes
    first.
    Source: LATE (OSDI'08), section 4: SpeculativeCap and SlowTaskThreshold.
    """
    rate = np.nan_to_num(view.progress_rate, nan=0.0)
    threshold = slow_rate(view.stage, rate, view.sibling_rate, settings["slow_task_share"])
    slow = rate < threshold * (1 - TOLERANCE)
    t_rem_s = np.nan_to_num(view.t_rem_s, nan=np.inf, posinf=np.finfo(float).max)
    single = view.running_attempts == 1
    candidate = view.eligible & slow & single
    wanted = first_of_each_pool(candidate, view, t_rem_s, settings["copy_share"])
    reason = np.select(
        [wanted, slow & ~single, slow, ~np.isfinite(view.t_rem_s), has_more_to_do(view)],
        [
            Reason.LONGEST_TO_END,
            Reason.ALREADY_COPIED,
            Reason.NO_BUDGET_POOL,
            Reason.UNKNOWN_DEMAND,
            Reason.SKEW_NOT_STRAGGLER,
        ],
        default=Reason.ON_SCHEDULE,
    )
    return Speculation(wanted=wanted, score=t_rem_s, reason=reason.astype(np.int16))


def slow_rate(stage: Ints, rate: Floats, sibling_rate: Floats, slow_task_share: float) -> Floats:
    """Rate below which a task is slow: the given percentile of the rates of its stage's running tasks.

    The percentile is the rate that `slow_task_share` of the tasks lie below. Where so few run that not one
    could lie below (the last task of a stage), a task is slow below three quarters of its siblings' rate
    instead, for LATE's own percentile runs over finished tasks too.
    """
    n_running = np.bincount(stage)
    n_slow = np.minimum(whole(slow_task_share * n_running), np.maximum(n_running - 1, 0))
    first = np.cumsum(n_running) - n_running
    sorted_rate = rate[regroup(np.argsort(rate), group=stage)]
    percentile = sorted_rate[np.minimum(first + n_slow, len(rate) - 1)]
    return np.where(n_slow[stage] > 0, percentile[stage], EFFICIENT_RATE_SHARE * sibling_rate)


def copy_room(pool_slots: Ints, pool_copies: Ints, copy_share: float) -> Ints:
    """Copies that a pool may still start: a share of its slots, at least one, less those that run.

    >>> copy_room(np.array([100, 5, 0]), np.array([4, 0, 0]), copy_share=0.1)
    array([6, 1, 0])
    """
    return np.where(pool_slots > 0, np.maximum(whole(copy_share * pool_slots), 1), 0) - pool_copies


def first_of_each_pool(candidate: Flags, view: RunningTasks, t_rem_s: Floats, copy_share: float) -> Flags:
    """The candidates of each pool with the longest time to end, as many as it has room for."""
    rows = np.flatnonzero(candidate)
    rows = regroup(rows[np.argsort(-t_rem_s[rows], kind="stable")], group=view.pool)
    pool = view.pool[rows]
    n_before = np.arange(len(rows)) - np.searchsorted(pool, pool)
    fits = n_before < copy_room(view.pool_slots[rows], view.pool_copies[rows], copy_share)
    first = np.zeros(len(candidate), dtype=bool)
    first[rows[fits]] = True
    return first
