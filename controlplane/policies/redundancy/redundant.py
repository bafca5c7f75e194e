"""Which tasks start with copies? Those of every job, or of jobs that are small enough for the present load.

Copies, not coding: no host can make coded tasks from an application's. A job's demand is the tasks of its open
stages, done or not, times their service time, as the paper's k b: without start-up, and without slowdowns.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Floats, Ints, Record, Records
from controlplane.model.reasons import Reason
from controlplane.policies.redundancy.rounding import rounded_load
from controlplane.policies.redundancy.theory.plan import Choices, Plan, expanding_plan, is_small
from controlplane.policies.redundancy.theory.redundant_small import best_threshold_s
from controlplane.policies.redundancy.theory.system import System
from controlplane.policies.redundancy.thresholds import small_demand_s
from controlplane.policies.row import COPYING, Kind, Row, Setting
from controlplane.policies.seen import Load, Seen

ATTEMPTS_AT_START = Setting(
    name="attempts_at_start",
    default=2.0,
    low=1.0,
    high=16.0,
    about="Attempts that a task starts with, its original among them.",
)


@rule
def start_reason(running_attempts: int, attempts_at_start: int, demand_s: float, small_s: float) -> Reason:
    """Why a task starts with a further copy, or why not; below an infinite threshold every demand is small.

    >>> start_reason(running_attempts=1, attempts_at_start=2, demand_s=math.nan, small_s=40.0).label
    'unknown_demand'
    """
    if small_s < math.inf:
        if math.isnan(demand_s):
            return Reason.UNKNOWN_DEMAND
        if not is_small(demand_s, small_s):
            return Reason.NOT_SMALL
    return Reason.STARTS_WITH_COPIES if running_attempts < attempts_at_start else Reason.ALREADY_COPIED


@kernel
def redundant_all(seen: Seen, settings: Record, answer: Records) -> None:
    """Copies for every task, the one with fewest attempts first; its score is one over their number.

    Source: Redundancy and relaunch, section III, "Redundant-all".
    """
    attempts_at_start = int(settings["attempts_at_start"])
    for row in range(len(seen.tasks)):
        answer_start(seen, attempts_at_start, math.inf, answer, row)


@kernel
def redundant_small(seen: Seen, settings: Record, answer: Records) -> None:
    """Copies for every task of a small job. A job with more than `max_tasks` is only known to be large.

    Source: Redundancy and relaunch, section IV, "Redundant-small policy".
    """
    attempts_at_start, max_tasks = int(settings["attempts_at_start"]), settings["max_tasks"]
    for row in range(len(seen.tasks)):
        task = seen.tasks[row]
        small_s = seen.stages[task["stage"]]["prepared"]
        if seen.jobs[task["job"]]["tasks"] > max_tasks and small_s < math.inf:
            small_s = 0.0
        answer_start(seen, attempts_at_start, small_s, answer, row)


def prepare_small(load: Load, stage_tasks: Ints, settings: Mapping[str, float]) -> Floats:
    """Slot-seconds up to which jobs of a pool start with copies, for each of its stages."""
    return np.full(len(stage_tasks), small_demand_s(settings, *rounded_load(load)))


@rule
def answer_start(seen: Seen, attempts_at_start: int, small_s: float, answer: Records, row: int) -> None:
    """Fill in the answer about one task."""
    task = seen.tasks[row]
    reason = start_reason(
        running_attempts=task["running_attempts"],
        attempts_at_start=attempts_at_start,
        demand_s=seen.jobs[task["job"]]["tasks"] * task["service_s"],
        small_s=small_s,
    )
    answer["score"][row], answer["reason"][row] = 1.0 / max(task["running_attempts"], 1), reason
    answer["copies"][row] = reason == Reason.STARTS_WITH_COPIES and task["eligible"]


def plan_small(system: System, offered_load: float, choices: Choices) -> Plan:
    """Jobs up to the threshold that was chosen, or the best one, are expanded."""
    plan, threshold_s = expanding_plan(system, choices), choices.threshold_s
    if threshold_s is None:
        threshold_s = best_threshold_s(system, offered_load, plan.expanded(system.slowdown_tail_index))
    return replace(plan, threshold_s=threshold_s)


REDUNDANT_ALL = Row(
    name="redundant-all",
    kind=Kind.SPECULATOR,
    kernel=redundant_all,
    about="Every task starts with copies.",
    source="Redundancy and relaunch, section III",
    needs=COPYING,
    settings=(ATTEMPTS_AT_START,),
    at_start=True,
    plan=lambda system, _load, choices: expanding_plan(system, choices),
)


REDUNDANT_SMALL = Row(
    name="redundant-small",
    kind=Kind.SPECULATOR,
    kernel=redundant_small,
    about="Tasks of jobs with little demand start with copies; how little follows from the load.",
    source="Redundancy and relaunch, section IV",
    needs=COPYING,
    settings=(
        ATTEMPTS_AT_START,
        Setting(
            name="max_tasks",
            default=10.0,
            low=1.0,
            high=100.0,
            about="The most tasks that a job of the usual kind has; larger ones are small only if all are.",
        ),
        Setting(
            name="min_service_s",
            default=10.0,
            low=1e-3,
            high=1e9,
            about="Least time that a task of such a job takes.",
        ),
        Setting(
            name="service_tail_index",
            default=3.0,
            low=0.1,
            high=100.0,
            about="Tail index of such tasks' times, stragglers aside.",
        ),
    ),
    at_start=True,
    prepare=prepare_small,
    plan=plan_small,
)
