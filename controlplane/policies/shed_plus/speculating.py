"""Which tasks will end after their job's deadline, and how many further attempts does each get? Shed+."""

import math

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Floats, Ints, Record, Records
from controlplane.model.reasons import Reason
from controlplane.policies.answer import FURTHEST, SOONEST
from controlplane.policies.row import COPYING, Kind, Row, Setting
from controlplane.policies.seen import Seen
from controlplane.policies.shed_plus.assigning import (
    AS_PRINTED,
    LEAST_FIRST,
    SPARE_SLOTS,
    STRAGGLER,
    assign,
    pocd_with,
)
from controlplane.policies.shed_plus.forecast import forecast, log_of, stage_progress, unknown_reason
from controlplane.policies.shed_plus.pocd import check_every_s, spare_slots

SPARE = (
    Setting(
        name="slot_share",
        default=1.0,
        low=0.0,
        high=1.0,
        about="Share of the pool's slots that originals and copies may fill together (the papers' lambda).",
    ),
    Setting(
        name="most_copies",
        default=5.0,
        low=0.0,
        high=100.0,
        about="The most further attempts of one task (the papers' MAX).",
    ),
    Setting(
        name="masters",
        default=0.0,
        low=0.0,
        high=1.0,
        about="1: each job's master takes a slot, as in MapReduce; 0: none does, as in Spark.",
        switch=True,
    ),
)
"""What limits further attempts."""
BY_HOST = -1.0
"""The `keep_furthest` that follows the host, as any below 0 does."""
KEEP_FURTHEST = Setting(
    name="keep_furthest",
    default=BY_HOST,
    low=BY_HOST,
    high=1.0,
    about="Of several attempts, 0 keeps the one that ends first, 1 the one that has done most, as printed; -1 does "
    "that where copies resume at a byte offset, in simulations: Spark and YARN start a copy from the beginning.",
)


@rule
def kept(settings: Record, pool: Record) -> int:
    """Which of a task's attempts is kept when it is looked at again."""
    by_host = settings["keep_furthest"] < 0
    return FURTHEST if settings["keep_furthest"] > 0 or (by_host and pool["resumes"]) else SOONEST


@rule
def straggler_reason(
    miss: float, copy_miss: float, running_attempts: int, progress: float, first_check: float
) -> Reason:
    """Why a straggler gets no further attempt; for want of a spare slot if it may get one.

    >>> straggler_reason(miss=0.5, copy_miss=0.2, running_attempts=1, progress=0.05, first_check=0.1).label
    'before_first_check'
    >>> straggler_reason(1.0, 1.0, 1, 0.5, 0.1).label
    'hopeless'
    """
    if miss >= 1.0 and copy_miss >= 1.0:
        return Reason.HOPELESS
    if running_attempts > 1:
        return Reason.LOOKED_AT_LATER
    if copy_miss >= 1.0:
        return Reason.COPY_TOO_LATE
    return Reason.BEFORE_FIRST_CHECK if progress < first_check else Reason.NO_SPARE_SLOT


@kernel
def shed_plus(seen: Seen, settings: Record, answer: Records) -> None:
    """Further attempts for stragglers of jobs with a deadline, as many as make their jobs' PoCD best.

    A task with several attempts is looked at when the newest of them is `check_every_s` old: one is kept, and the
    others end, whether it is a straggler or not. A task with one attempt is looked at in every cycle, from its stage's
    `first_check` on.
    Source: Shed+, sections IV and V, where all tasks are looked at together, at fixed times and when a job comes.
    """
    found, progress = forecast(seen), stage_progress(seen)
    others_log, rows, n = np.zeros(len(seen.jobs)), np.zeros(len(seen.tasks), dtype=np.int64), 0
    for row in range(len(seen.tasks)):
        task, one, mine = seen.tasks[row], answer[row], found[row]
        if not mine["is_known"]:
            one["reason"] = unknown_reason(seen.stages[task["stage"]]["deadline_s"])
            continue
        if task["running_attempts"] > 1 and task["youngest_s"] >= every_s(task, seen, settings):
            one["keep"] = kept(settings, seen.pools[task["pool"]])
        one["reason"] = Reason.IN_TIME
        if mine["is_straggler"]:
            one["reason"] = straggler_reason(
                miss=mine["miss"],
                copy_miss=mine["copy_miss"],
                running_attempts=task["running_attempts"],
                progress=progress[task["stage"]],
                first_check=settings["first_check"],
            )
        if one["reason"] == Reason.NO_SPARE_SLOT and task["eligible"]:
            rows[n] = row
            n += 1
        else:
            others_log[task["job"]] += log_of(1.0 - mine["miss"])
    rows = rows[:n][np.argsort(-seen.tasks["t_rem_s"][rows[:n]], kind="mergesort")]
    queue = seen.pools["queue"][seen.tasks["pool"][rows]]
    for each in np.unique(queue):
        share_out(seen, settings, found, others_log, rows[queue == each], answer)


@rule
def every_s(task: Record, seen: Seen, settings: Record) -> float:
    """Time from a task's newest launch until it is looked at again."""
    job = seen.jobs[task["job"]]
    whole_s = seen.stages[task["stage"]]["deadline_s"] + job["age_s"]
    launch_s = seen.pools[task["pool"]]["startup_s"]
    return check_every_s(launch_s=launch_s, deadline_s=whole_s, margin_share=settings["check_share"])


@kernel
def share_out(seen: Seen, settings: Record, found: Records, others_log: Floats, rows: Ints, answer: Records) -> None:
    """Share the spare slots of a queue's pools out to the stragglers in `rows` (n,) of the tasks, the longest first.

    A pool that is in no queue is alone.
    """
    pools, asked = np.unique(seen.tasks["pool"][rows]), np.zeros(len(rows), dtype=STRAGGLER)
    spare, executors = np.zeros(len(pools), dtype=SPARE_SLOTS), seen.pools[pools[0]]["queue_executors"]
    for place in range(len(pools)):
        pool, one = seen.pools[pools[place]], spare[place]
        one["idle"], one["each"] = spare_in_pool(seen, settings, pools[place], 0), max(pool["executor_slots"], 1)
        one["to_come"] = spare_in_pool(seen, settings, pools[place], pool["to_come"]) - one["idle"]
    for place in range(len(rows)):
        task, one = seen.tasks[rows[place]], asked[place]
        one["pool"] = np.searchsorted(pools, task["pool"])
        one["job"], one["most"] = task["job"], min(int(settings["most_copies"]), task["copies_left"])
        one["miss"], one["copy_miss"] = found[rows[place]]["miss"], found[rows[place]]["copy_miss"]
    further = assign(asked, others_log, spare, executors, settings["fairness"], settings["one_each"] > 0)
    for place in range(len(rows)):
        one, straggler = answer[rows[place]], asked[place]
        one["copies"], one["price"] = further[place], further[place]
        one["gain"] = pocd_with(straggler, further[place]) - pocd_with(straggler, 0)
        one["score"], one["reason"] = max(one["gain"], 0.0), Reason.RAISES_POCD
        if one["gain"] <= 0.0:
            is_lost = others_log[straggler["job"]] == -math.inf
            one["copies"], one["reason"] = 0, Reason.HOPELESS if is_lost else Reason.NO_SPARE_SLOT


@kernel
def spare_in_pool(seen: Seen, settings: Record, pool: int, to_come: int) -> int:
    """Slots that a pool can spare for further attempts with `to_come` more; jobs count that have running tasks."""
    n_jobs = 0
    if settings["masters"] > 0:
        n_jobs = len(np.unique(seen.tasks["job"][seen.tasks["pool"] == pool]))
    slots, idle = seen.pools[pool]["slots"], seen.pools[pool]["idle"]
    return spare_slots(share=settings["slot_share"], slots=slots + to_come, held=slots - idle, masters=n_jobs)


ROW = Row(
    name="shed-plus",
    kind=Kind.SPECULATOR,
    kernel=shed_plus,
    about="As many copies of each task that will end after its job's deadline as make the jobs' PoCD best.",
    source="Shed+, sections IV and V",
    needs=COPYING,
    settings=(
        Setting(
            name="first_check",
            default=0.1,
            low=0.0,
            high=1.0,
            about="Progress of a stage from which its tasks are looked at (the paper's xi).",
        ),
        Setting(
            name="check_share",
            default=0.05,
            low=0.0,
            high=1.0,
            about="Share of the deadline, less a launch, between two looks at a task (the paper's theta').",
        ),
        *SPARE,
        Setting(
            name="fairness",
            default=0.0,
            low=AS_PRINTED,
            high=LEAST_FIRST,
            about="Alpha of the utility: 0 the sum of PoCD, 1 of its logarithm, 10 its least; below 0 as Algorithm 1.",
        ),
        Setting(
            name="one_each",
            default=0.0,
            low=0.0,
            high=1.0,
            about="1: no straggler gets a second copy before each that a copy helps has one.",
            switch=True,
        ),
        KEEP_FURTHEST,
    ),
    by_finished=True,
    shares_spare=True,
)
