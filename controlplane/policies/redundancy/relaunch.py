"""Which running tasks are started again? Once, those that are older than w times their expected duration."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Floats, Ints, Record, Records
from controlplane.model.reasons import Reason
from controlplane.policies.redundancy.rounding import rounded, rounded_load
from controlplane.policies.redundancy.theory.plan import Choices, Plan, plain_plan
from controlplane.policies.redundancy.theory.relaunch import latency_optimal_factor
from controlplane.policies.redundancy.theory.system import System
from controlplane.policies.redundancy.thresholds import best_factor
from controlplane.policies.row import COPYING, Kind, Row, Setting
from controlplane.policies.seen import Load, Seen
from controlplane.policies.whole_slots import TOLERANCE


@rule
def relaunch_reason(elapsed_s: float, expected_s: float, attempts_started: int, factor: float) -> Reason:
    """Why a task is started again, or why not.

    >>> [relaunch_reason(elapsed_s, 4.0, attempts_started=1, factor=3.0).label for elapsed_s in (11.9, 12.0)]
    ['not_long_enough', 'relaunched']
    """
    if math.isnan(expected_s):
        return Reason.UNKNOWN_DEMAND
    if attempts_started > 1:
        return Reason.ALREADY_RELAUNCHED
    if factor < math.inf and elapsed_s >= factor * expected_s * (1.0 - TOLERANCE):
        return Reason.RELAUNCHED
    return Reason.NOT_LONG_ENOUGH


@kernel
def relaunch(seen: Seen, settings: Record, answer: Records) -> None:
    """Kill and restart, the oldest first; with a `relaunch_factor` of 0 each stage has its own best one.

    The order is a copy with `kill`: the engine ends the old attempt when the new one runs, so that no task is ever
    without one.
    Source: Redundancy and relaunch, section V, "Straggler-relaunch".
    """
    tasks = seen.tasks
    factor = settings["relaunch_factor"]
    for row in range(len(tasks)):
        task = tasks[row]
        reason = relaunch_reason(
            elapsed_s=task["elapsed_s"],
            expected_s=task["expected_s"],
            attempts_started=task["attempts_started"],
            factor=factor if factor > 0 else seen.stages[task["stage"]]["prepared"],
        )
        answer["score"][row], answer["reason"][row] = task["elapsed_s"], reason
        answer["copies"][row] = reason == Reason.RELAUNCHED and task["eligible"]
        answer["kill"][row] = answer["copies"][row]


def prepare_factors(load: Load, stage_tasks: Ints, settings: Mapping[str, float]) -> Floats:
    """The best age to relaunch each stage's tasks at, over their expected duration; nan if one is set."""
    if settings["relaunch_factor"] > 0:
        return np.full(len(stage_tasks), np.nan)
    sizes, which = np.unique(stage_tasks, return_inverse=True)
    tail_index = rounded_load(load).tail_index
    return np.array([best_factor(rounded(size), tail_index) for size in sizes.tolist()])[which]


def plan_relaunch(system: System, offered_load: float, choices: Choices) -> Plan:
    """Every job's late tasks start once more: at the factor that was chosen, or at the best one for its size."""
    plan, tail_index = plain_plan(system), system.slowdown_tail_index
    if choices.relaunch_factor is None:
        factors = [latency_optimal_factor(tasks, tail_index) for tasks in range(1, system.max_tasks + 1)]
    else:
        factors = [choices.relaunch_factor] * system.max_tasks
    return replace(plan, relaunch_factor=np.array([math.inf, *factors]))


ROW = Row(
    name="relaunch",
    kind=Kind.SPECULATOR,
    kernel=relaunch,
    about="Tasks older than a multiple of their expected duration are killed and started again, once.",
    source="Redundancy and relaunch, section V",
    needs=COPYING | {"kill_copy"},
    settings=(
        Setting(
            name="relaunch_factor",
            default=0.0,
            low=0.0,
            high=100.0,
            about="That multiple of the expected duration; 0: the best for the stage's number of tasks.",
        ),
    ),
    before_waiting=True,
    prepare=prepare_factors,
    plan=plan_relaunch,
)
