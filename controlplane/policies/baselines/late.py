"""Which running tasks deserve one more attempt? The slowest quarter of a stage, longest time to end first (LATE)."""

from collections.abc import Mapping

import numpy as np

from controlplane.model.reasons import Reason
from controlplane.policies.interfaces import Flags, Floats, Ints, RunningTasks, Speculation
from controlplane.policies.skew import EFFICIENT_RATE_SHARE, has_more_to_do
from controlplane.policies.whole_slots import TOLERANCE, whole


def late(view: RunningTasks, settings: Mapping[str, float]) -> Speculation:
    """Longest Approximate Time to End: slow tasks without a copy, while the pool has fewer copies than its cap.

    The minimum age and the choice of a host that is not slow are the engine's. A task that has not moved at all
    while its siblings do has no end in sight and goes first; of equally long ones the upper row goes first.
    Source: LATE (OSDI'08), section 4: SpeculativeCap and SlowTaskThreshold.
    """
    rate = np.nan_to_num(view.progress_rate, nan=0.0)
    slow = rate < slow_rate(view.stage, rate, view.sibling_rate, settings["slow_task_share"]) * (1 - TOLERANCE)
    t_rem_s = np.nan_to_num(view.t_rem_s, nan=np.inf, posinf=np.finfo(float).max)
    single = view.running_attempts == 1
    candidate = view.eligible & slow & single
    wanted = candidate & first_in_pool(candidate, view.pool, t_rem_s, copy_room(view, settings["copy_share"]))
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

    The percentile is the rate that `slow_task_share` of the tasks lie below. Where so few run that not one could
    lie below (the last task of a stage), a task is slow below three quarters of its siblings' rate instead, for
    LATE's own percentile runs over finished tasks too.
    """
    n_running = np.bincount(stage)
    n_slow = np.minimum(whole(slow_task_share * n_running), np.maximum(n_running - 1, 0))
    first = np.cumsum(n_running) - n_running
    sorted_rate = rate[_by_stage_and_rate(stage, rate)]
    percentile = sorted_rate[np.minimum(first + n_slow, len(rate) - 1)]
    return np.where(n_slow[stage] > 0, percentile[stage], EFFICIENT_RATE_SHARE * sibling_rate)


def _by_stage_and_rate(stage: Ints, rate: Floats) -> Ints:
    """Rows sorted by stage, then by rate. Small stage numbers are sorted as 16 bits, which is a radix sort."""
    by_rate = np.argsort(rate)
    small = len(stage) == 0 or stage.max() < 2**16
    return by_rate[np.argsort(stage[by_rate].astype(np.uint16 if small else np.int64), kind="stable")]


def copy_room(view: RunningTasks, copy_share: float) -> Ints:
    """Copies that each task's pool may still start: a share of its slots, at least one, less those that run."""
    cap = np.where(view.pool_slots > 0, np.maximum(whole(copy_share * view.pool_slots), 1), 0)
    return cap - view.pool_copies


def first_in_pool(candidate: Flags, pool: Ints, t_rem_s: Floats, room: Ints) -> Flags:
    """The candidates of each pool with the longest time to end, as many as it has room for."""
    rows = np.flatnonzero(candidate & (room > 0))
    rows = rows[np.lexsort((-t_rem_s[rows], pool[rows]))]
    n_before = np.searchsorted(pool[rows], pool[rows])
    chosen = rows[np.arange(len(rows)) - n_before < room[rows]]
    first = np.zeros(len(candidate), dtype=bool)
    first[chosen] = True
    return first
