"""Which running tasks deserve one more attempt? LATE: a stage's slowest quarter, the last to end first."""

import math

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Flags, Record, Records
from controlplane.model.reasons import Reason
from controlplane.policies.beaten import END_BEATEN
from controlplane.policies.copy_priority import COPY_PRIORITY
from controlplane.policies.row import COPYING, Kind, Row, Setting
from controlplane.policies.seen import Seen
from controlplane.policies.selection import quickselect
from controlplane.policies.skew import EFFICIENT_RATE_SHARE, has_more_to_do
from controlplane.policies.whole_slots import TOLERANCE, whole

LONGEST_S = float(np.finfo(np.float64).max)
"""The score of a task whose end is not in sight."""


@kernel
def late(seen: Seen, settings: Record, answer: Records) -> None:
    """Longest Approximate Time to End: slow tasks without a copy, while the pool has room for copies.

    The minimum age and the choice of a host that is not slow are the engine's. A task that has not moved at
    all while its siblings do has no end in sight and goes first; among equally long ones the upper row goes
    first.
    Source: LATE (OSDI'08), section 4: SpeculativeCap and SlowTaskThreshold.
    """
    tasks = seen.tasks
    copy_share, slow_task_share = settings["copy_share"], settings["slow_task_share"]
    outlasts = np.empty(len(tasks), dtype=np.bool_)
    for row in range(len(tasks)):
        outlasts[row] = not tasks[row]["t_rem_s"] <= tasks[row]["t_new_s"] * (1.0 + TOLERANCE)
    slow, has_more = is_slow(tasks, outlasts, slow_task_share), has_more_to_do(tasks)
    candidate = np.zeros(len(tasks), dtype=np.bool_)
    score, reason = answer["score"], answer["reason"]
    for row in range(len(tasks)):
        t_rem_s = tasks[row]["t_rem_s"]
        score[row] = t_rem_s if t_rem_s < LONGEST_S else LONGEST_S
        if slow[row]:
            single = tasks[row]["running_attempts"] == 1
            reason[row] = Reason.SPECULATOR_CAP if single else Reason.ALREADY_COPIED
            candidate[row] = single and tasks[row]["eligible"]
        elif math.isnan(t_rem_s) or math.isinf(t_rem_s):
            reason[row] = Reason.UNKNOWN_DEMAND
        else:
            reason[row] = Reason.SKEW_NOT_STRAGGLER if has_more[row] else Reason.ON_SCHEDULE
    take_first(seen, candidate, copy_share, answer)


@kernel
def is_slow(tasks: Records, among: Flags, slow_task_share: float) -> Flags:
    """Tasks among some whose rate is below the given percentile of the rates of their stage's running tasks.

    The percentile is the rate that `slow_task_share` of the tasks lie below. Where so few run that not one
    could lie below (the last task of a stage), a task is slow below three quarters of its siblings' rate
    instead, for LATE's own percentile runs over finished tasks too. Rates of a stage without any of those
    tasks are not looked at.
    """
    stage, rate = tasks["stage"], tasks["progress_rate"]
    n_running = np.bincount(stage.copy())
    is_asked = np.zeros(len(n_running), dtype=np.bool_)
    for at in np.flatnonzero(among):
        is_asked[stage[at]] = True
    end = np.cumsum(n_running * is_asked)
    place, by_stage = end - n_running, np.empty(len(rate))
    for row in range(len(rate)):
        if is_asked[stage[row]]:
            by_stage[place[stage[row]]] = np.maximum(rate[row], 0.0)
            place[stage[row]] += 1
    threshold = np.full(len(end), np.nan)
    for group in range(len(end)):
        if not is_asked[group]:
            continue
        n_slow = min(whole(slots=slow_task_share * n_running[group]), n_running[group] - 1)
        if n_slow > 0:
            threshold[group] = quickselect(by_stage[end[group] - n_running[group] : end[group]], n_slow)
    slow = np.zeros(len(rate), dtype=np.bool_)
    for at in np.flatnonzero(among):
        limit = threshold[stage[at]]
        if math.isnan(limit):
            limit = EFFICIENT_RATE_SHARE * tasks[at]["sibling_rate"]
        slow[at] = np.maximum(rate[at], 0.0) < limit * (1 - TOLERANCE)
    return slow


@rule
def pool_copies_left(pool_slots: int, pool_copies: int, copy_share: float) -> int:
    """Copies that a pool may still start: a share of its slots, at least one, less those that run.

    >>> [pool_copies_left(slots, copies, copy_share=0.1) for slots, copies in ((100, 4), (5, 0), (0, 0))]
    [6, 1, 0]
    """
    return (max(whole(slots=copy_share * pool_slots), 1) if pool_slots > 0 else 0) - pool_copies


@kernel
def take_first(seen: Seen, candidate: Flags, copy_share: float, answer: Records) -> None:
    """Want the candidates of each pool with the highest score, as many as it has room for."""
    rows, n_taken = np.flatnonzero(candidate), np.zeros(len(seen.pools), dtype=np.int64)
    for row in rows[np.argsort(-answer["score"][rows], kind="mergesort")]:
        number = seen.tasks[row]["pool"]
        pool = seen.pools[number]
        if n_taken[number] < pool_copies_left(
            pool_slots=pool["slots"], pool_copies=pool["copies"], copy_share=copy_share
        ):
            n_taken[number] += 1
            answer["copies"][row], answer["reason"][row] = 1, Reason.LONGEST_TO_END


ROW = Row(
    name="late",
    kind=Kind.SPECULATOR,
    kernel=late,
    about="Tasks slower than most of their stage, the one that ends last first.",
    source="LATE (OSDI'08), section 4",
    needs=COPYING,
    settings=(
        Setting(
            name="copy_share",
            default=0.1,
            low=0.0,
            high=1.0,
            about="Copies that may run at once, as a share of the pool's slots (at least one).",
        ),
        Setting(
            name="slow_task_share",
            default=0.25,
            low=0.0,
            high=1.0,
            about="Share of a stage's running tasks that count as slow, by progress rate.",
        ),
        COPY_PRIORITY,
        END_BEATEN,
    ),
)
