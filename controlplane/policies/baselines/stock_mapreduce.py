"""Which running tasks deserve one more attempt? Stock MapReduce: of a stage, the one that a copy would help most.

The rule of Hadoop's `DefaultSpeculator` with its own defaults, so that simulated comparisons are with what users have.
Where the finished attempts are not known, `t_new_s` stands for their mean. Its estimators' threshold of slowness is
computed there, and never compared with anything; so it is not here.
"""

from math import inf

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Record, Records
from controlplane.model.reasons import Reason
from controlplane.policies.beaten import END_BEATEN
from controlplane.policies.row import COPYING, Kind, Row, Setting
from controlplane.policies.seen import Seen
from controlplane.policies.whole_slots import whole_up


@rule
def most_copied(stage_tasks: int, running: int, least: int, task_share: float, running_share: float) -> int:
    """Tasks of a stage that may have a copy at once: the largest of three numbers.

    >>> [most_copied(tasks, running, least=10, task_share=0.01, running_share=0.1) for tasks, running in
    ...     ((20, 20), (5000, 20), (5000, 900))]
    [10, 50, 90]
    """
    return max(least, int(task_share * stage_tasks), int(running_share * running))


@rule
def mean_finished_s(stage: Record, finished: Records, t_new_s: float) -> float:
    """Mean duration of a stage's finished attempts; inf if none has finished, `t_new_s` if they are not known."""
    first, last = stage["finished_from"], stage["finished_to"]
    if first < 0:
        return t_new_s
    total_s = 0.0
    for row in range(first, last):
        total_s += finished[row]["duration_s"]
    return total_s / (last - first) if last > first else inf


@kernel
def stock_mapreduce(seen: Seen, settings: Record, answer: Records) -> None:
    """The task of each stage whose copy would end sooner than it by most: one, `pause_s` after the last one.

    None while originals of its job wait.
    Source: Hadoop 3.4, DefaultSpeculator.maybeScheduleASpeculation and speculationValue.
    """
    tasks, n_stages = seen.tasks, len(seen.stages)
    running, copied = np.zeros(n_stages, dtype=np.int64), np.zeros(n_stages, dtype=np.int64)
    newest_s, best = np.full(n_stages, inf), np.full(n_stages, -1)
    for row in range(len(tasks)):
        at = tasks[row]["stage"]
        running[at] += 1
        is_ordered = tasks[row]["standing"] == Reason.ORDER_PENDING
        if tasks[row]["running_attempts"] > 1 or is_ordered:
            copied[at] += 1
            newest_s[at] = 0.0 if is_ordered else min(newest_s[at], tasks[row]["youngest_s"])
    for row in range(len(tasks)):
        task, one, at = tasks[row], answer[row], tasks[row]["stage"]
        stage, new_s = seen.stages[at], mean_finished_s(seen.stages[at], seen.finished, tasks[row]["t_new_s"])
        if stage["done"] < max(whole_up(slots=settings["least_done"] * stage["tasks"]), 1):
            one["reason"] = Reason.TOO_FEW_FINISHED
        elif task["running_attempts"] > 1:
            one["reason"] = Reason.ALREADY_COPIED
        elif seen.jobs[task["job"]]["waiting"] > 0:
            one["reason"] = Reason.ORIGINALS_WAIT
        elif not task["t_rem_s"] < inf or not new_s < inf:
            one["reason"] = Reason.UNKNOWN_DEMAND
        elif task["t_rem_s"] <= new_s:
            one["reason"] = Reason.ON_SCHEDULE
        else:
            one["reason"], one["score"] = Reason.SPECULATOR_CAP, task["t_rem_s"] - new_s
            if task["eligible"] and (best[at] < 0 or task["t_rem_s"] > tasks[best[at]]["t_rem_s"]):
                best[at] = row
    for at in np.flatnonzero(best >= 0):
        most = most_copied(
            stage_tasks=seen.stages[at]["tasks"],
            running=running[at],
            least=int(settings["least_copied"]),
            task_share=settings["task_share"],
            running_share=settings["running_share"],
        )
        if copied[at] < most and newest_s[at] >= settings["pause_s"]:
            answer["copies"][best[at]], answer["reason"][best[at]] = 1, Reason.ENDS_SOONER


ROW = Row(
    name="stock-mapreduce",
    kind=Kind.SPECULATOR,
    kernel=stock_mapreduce,
    about="The task that a copy would help most, one at a time, as MapReduce finds it by itself.",
    source="Hadoop 3.4, DefaultSpeculator",
    needs=COPYING,
    settings=(
        Setting(
            name="least_done",
            default=0.05,
            low=0.0,
            high=1.0,
            about="Share of a stage's tasks that must have finished before any is copied (at least one).",
        ),
        Setting(
            name="pause_s",
            default=15.0,
            low=0.0,
            high=1e6,
            about="Time from a stage's newest copy to its next one.",
        ),
        Setting(
            name="least_copied",
            default=10.0,
            low=0.0,
            high=1e6,
            about="Tasks of a stage that may have a copy at once, whatever the next two say.",
        ),
        Setting(
            name="task_share",
            default=0.01,
            low=0.0,
            high=1.0,
            about="The same, as a share of the stage's tasks.",
        ),
        Setting(
            name="running_share",
            default=0.1,
            low=0.0,
            high=1.0,
            about="The same, as a share of the stage's running tasks.",
        ),
        END_BEATEN,
    ),
    by_finished=True,
)
