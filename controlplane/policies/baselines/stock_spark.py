"""Which running tasks deserve one more attempt? Stock Spark 4: those that run much longer than the median took.

The rule of `TaskSetManager.checkSpeculatableTasks` with Spark's own defaults, so that simulated comparisons are with
what users have. Spark's process rates are records per millisecond of finished tasks; here the records' own rates stand
for them. Copies because of a decommissioned executor are left out. Where the finished attempts are not known, `t_new_s`
stands for their median, whatever share of them has finished.
"""

from math import floor, inf

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Record, Records
from controlplane.model.reasons import Reason
from controlplane.policies.beaten import END_BEATEN
from controlplane.policies.copy_priority import COPY_PRIORITY
from controlplane.policies.row import COPYING, Kind, Row, Setting
from controlplane.policies.seen import Seen
from controlplane.policies.whole_slots import TOLERANCE

NOTHING, MEDIAN, DURATION = 0, 1, 2
"""The rule for the age from which a task is slow."""


@rule
def least_finished(stage_tasks: int, quantile: float) -> int:
    """Tasks of a stage that must have finished before any is copied: max(floor(quantile * n), 1).

    >>> [least_finished(stage_tasks=n, quantile=0.9) for n in (1, 5, 10, 100)]
    [1, 4, 9, 90]
    """
    return max(floor(quantile * stage_tasks + TOLERANCE), 1)


@rule
def judged_by(
    n_finished: int, stage_tasks: int, executor_slots: int, quantile: float, duration_threshold_s: float
) -> int:
    """Whether the median decides what is slow, or a set duration, or nothing yet.

    The duration is for stages that fit one executor and have finished too few; where its slots are not known, Spark
    counts one. A stage of one task is left alone unless it is set.

    >>> [judged_by(n, 10, executor_slots=16, quantile=0.9, duration_threshold_s=60) for n in (9, 8)]
    [1, 2]
    >>> [judged_by(n, 10, executor_slots=4, quantile=0.9, duration_threshold_s=60) for n in (9, 8)]
    [1, 0]
    """
    is_set = duration_threshold_s > 0
    if n_finished >= least_finished(stage_tasks=stage_tasks, quantile=quantile) and (stage_tasks > 1 or is_set):
        return MEDIAN
    return DURATION if is_set and stage_tasks <= max(executor_slots, 1) else NOTHING


@rule
def threshold_s(median_s: float, multiplier: float, min_runtime_s: float) -> float:
    """Age from which a task counts as slow: max(multiplier * median, minTaskRuntime).

    >>> [threshold_s(median_s=median_s, multiplier=3.0, min_runtime_s=0.1) for median_s in (2.0, 0.01)]
    [6.0, 0.1]
    """
    return max(multiplier * median_s, min_runtime_s)


@rule
def is_inefficient(
    elapsed_s: float, slow_s: float, rate: float, sibling_rate: float, rate_multiplier: float, long_run_factor: float
) -> bool:
    """Whether a slow task processes much less per second than its siblings, or has been slow for very long.

    An unknown rate is no evidence.

    >>> def inefficient(elapsed_s, rate):
    ...     return is_inefficient(elapsed_s, 6.0, rate, 1.0, rate_multiplier=0.75, long_run_factor=2.0)
    >>> [inefficient(elapsed_s=age_s, rate=rate) for age_s, rate in ((7.0, 0.9), (7.0, 0.5), (13.0, 0.9))]
    [False, True, True]
    """
    very_long = elapsed_s > long_run_factor * slow_s * (1.0 + TOLERANCE)
    return very_long or rate < rate_multiplier * sibling_rate * (1.0 - TOLERANCE)


@kernel
def stock_spark(seen: Seen, settings: Record, answer: Records) -> None:
    """Tasks with one attempt that is older than the threshold, the oldest first; at most one copy.

    Spark looks at them in no order.
    """
    tasks, finished = seen.tasks, seen.finished
    quantile, multiplier, min_runtime_s = settings["quantile"], settings["multiplier"], settings["min_runtime_s"]
    duration_threshold_s, checks_rate = settings["duration_threshold_s"], settings["efficiency"] > 0
    rate_multiplier, long_run_factor = settings["process_rate_multiplier"], settings["long_run_factor"]
    for row in range(len(tasks)):
        task, stage = tasks[row], seen.stages[tasks[row]["stage"]]
        first, n_known = stage["finished_from"], stage["finished_to"] - stage["finished_from"]
        elapsed_s, median_s = task["elapsed_s"], task["t_new_s"]
        judge = MEDIAN if median_s < inf else NOTHING
        if first >= 0:
            median_s = finished[first + n_known // 2]["duration_s"] if n_known > 0 else inf
            judge = judged_by(
                n_finished=stage["done"],
                stage_tasks=stage["tasks"],
                executor_slots=seen.pools[task["pool"]]["executor_slots"],
                quantile=quantile,
                duration_threshold_s=duration_threshold_s,
            )
        slow_s = duration_threshold_s if judge == DURATION else inf
        if judge == MEDIAN:
            slow_s = threshold_s(median_s=median_s, multiplier=multiplier, min_runtime_s=min_runtime_s)
        inefficient = is_inefficient(
            elapsed_s=elapsed_s,
            slow_s=slow_s,
            rate=task["progress_rate"],
            sibling_rate=task["sibling_rate"],
            rate_multiplier=rate_multiplier,
            long_run_factor=long_run_factor,
        )
        if elapsed_s <= slow_s * (1.0 + TOLERANCE):
            reason = Reason.TOO_FEW_FINISHED if judge == NOTHING else Reason.NOT_LONG_ENOUGH
        elif checks_rate and judge == MEDIAN and not inefficient:
            reason = Reason.SKEW_NOT_STRAGGLER
        else:
            reason = Reason.RUNS_TOO_LONG if task["running_attempts"] == 1 else Reason.ALREADY_COPIED
        answer["score"][row], answer["reason"][row] = elapsed_s, reason
        answer["copies"][row] = reason == Reason.RUNS_TOO_LONG and task["eligible"]


ROW = Row(
    name="stock-spark",
    kind=Kind.SPECULATOR,
    kernel=stock_spark,
    about="Tasks that have run much longer than the median of their stage, as Spark 4 finds them by itself.",
    source="Spark 4, TaskSetManager.checkSpeculatableTasks",
    needs=COPYING,
    settings=(
        Setting(
            name="quantile",
            default=0.9,
            low=0.0,
            high=1.0,
            about="Share of a stage's tasks that must have finished before any is copied.",
        ),
        Setting(
            name="multiplier",
            default=3.0,
            low=1.0,
            high=100.0,
            about="A task is slow once it has run this many times the median duration.",
        ),
        Setting(
            name="min_runtime_s",
            default=0.1,
            low=0.0,
            high=1e9,
            about="A task is left alone for at least this long.",
        ),
        Setting(
            name="duration_threshold_s",
            default=0.0,
            low=0.0,
            high=1e9,
            about="While few have finished of a stage that fits one executor, a task is slow after this long.",
        ),
        Setting(
            name="efficiency",
            default=1.0,
            low=0.0,
            high=1.0,
            about="1 excuses slow tasks that keep pace with their siblings; 0 does not ask.",
            switch=True,
        ),
        Setting(
            name="process_rate_multiplier",
            default=0.75,
            low=0.0,
            high=1.0,
            about="A task keeps pace from this share of its siblings' rate on.",
        ),
        Setting(
            name="long_run_factor",
            default=2.0,
            low=1.0,
            high=100.0,
            about="After this many thresholds no pace excuses a task.",
        ),
        COPY_PRIORITY,
        END_BEATEN,
    ),
    by_finished=True,
)
