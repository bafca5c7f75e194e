"""How long do running attempts still need (t_rem), and a fresh one (t_new)? Also their rates and progress.

While an attempt reads, its rate counts; a bigger task is then no straggler. Reading alone never means done: in its
tail, rows that have come out count, or the tail that siblings had. If nothing is counted, its age is compared with the
siblings' durations. Without progress, all of its work is still to do. The attempt's own time is left out of
the times it is compared with.
Source: GRASS (NSDI'14) sections 3.1 and 5; Hopper (SIGCOMM'15) section 2.2.
"""

import math

import numpy as np
from numpy.typing import NDArray

from controlplane.compiled import kernel, rule
from controlplane.estimators.lateness import (
    fresh_startup_s,
    is_old,
    is_silent,
    is_starting,
    is_steady,
    net_age_s,
    usual_startup_s,
)
from controlplane.estimators.spread import Counts, bin_of
from controlplane.estimators.work_done import (
    SHORTEST_S,
    has_read,
    rows_left_s,
    running_cost,
    seen_size,
    share_done,
    shows_cost,
    silence_s,
    tail_of,
    total_work,
)
from controlplane.model.columns import Floats, Record
from controlplane.model.writers import Estimated, Reported, Scratch

STALL_TAIL_INDEX = 1.25
"""Largest tail index for unusual silence: a stopped attempt may never go on, however light the tail is."""


RUNNING = np.dtype(
    [
        ("n", np.float64),
        ("elapsed_sum_s", np.float64),
        ("n_costs", np.float64),
        ("log_cost_sum", np.float64),
        ("n_older", np.float64),  # older than the mean finished one
        ("older_sum_s", np.float64),
        ("work_sum", np.float64),
        ("out_sum", np.float64),
    ],
    align=True,
)
"""Sums over the running attempts of a stage."""


@kernel
def estimate(
    now_s: float,
    startup_prior_s: float,
    duration_prior_s: float,
    host_log: Floats,
    attempts: NDArray[Reported],
    attempts_estimated: NDArray[Estimated],
    tasks: NDArray[Reported],
    stages: NDArray[Reported],
    stages_estimated: NDArray[Estimated],
    pools_estimated: NDArray[Estimated],
    pools_scratch: NDArray[Scratch],
    durations: Counts,
    cold_durations: Counts,
    gaps: Counts,
) -> None:
    """Estimates for the live attempts in pools that are due, all running attempts of their stages among them.

    An attempt is compared with the others of its stage, finished and running; one on a cold executor with finished
    ones on such executors, any other with those on warm ones, if there are any. Where those are less than half of the
    finished ones, it is also late by all of them: first ones take longer, if anything, so a cold attempt's age counts
    less by what first ones took on average, or by the start-up prior. `durations` of warm ones, `cold_durations` and
    `gaps` are those of finished ones, shape (n_stages, BINS).
    """
    running = np.zeros(len(stages), dtype=RUNNING)
    all_durations = durations + cold_durations
    ages, silences = np.zeros_like(durations), np.zeros_like(gaps)
    for at in range(len(attempts)):
        attempt, estimates = attempts[at], attempts_estimated[at]
        if attempt["alive"] and pools_scratch[attempt["pool"]]["due"]:
            stage, task = stages_estimated[attempt["stage"]], tasks[attempt["task"]]
            idle = pools_scratch[attempt["pool"]]["idle"] > 0
            age_s = net_age_s(now_s, attempt, pools_estimated[attempt["pool"]], idle)
            cost = running_cost(now_s, total_work(attempt, task, stage), attempt)
            estimates["log_cost"] = math.log(cost) if shows_cost(attempt, task) else math.nan
            is_older = age_s > believed_s(stage, duration_prior_s)
            add_running(now_s, age_s, is_older, attempt, estimates["log_cost"], 1.0, running[attempt["stage"]])
            ages[attempt["stage"], bin_of(age_s)] += 1
            if attempt["moved_s"] > attempt["start_s"]:
                silences[attempt["stage"], bin_of(max(attempt["gap_s"], now_s - attempt["moved_s"]))] += 1
    for at in range(len(attempts)):
        attempt, estimates = attempts[at], attempts_estimated[at]
        if attempt["alive"] and pools_scratch[attempt["pool"]]["due"]:
            row, idle = attempt["stage"], pools_scratch[attempt["pool"]]["idle"] > 0
            stage, task, pool = stages_estimated[row], tasks[attempt["task"]], pools_estimated[attempt["pool"]]
            age_s, believed = net_age_s(now_s, attempt, pool, idle), believed_s(stage, duration_prior_s)
            others, log_cost = running[row], estimates["log_cost"]
            add_running(now_s, age_s, age_s > believed, attempt, log_cost, -1.0, others)
            n = others["n_costs"] + stage["n_costs"]
            sibling_log = (others["log_cost_sum"] + stage["log_cost_sum"]) / n if n > 0 else stage["prior_log_cost"]
            n_warm = stage["n_finished"] - stage["n_cold"]
            is_warm = not attempt["cold"] and n_warm > 0
            usual_s = typical_s(
                sum_s=stage["net_sum_s"] - stage["cold_sum_s"] * is_warm + others["older_sum_s"],
                n=(n_warm if is_warm else stage["n_finished"]) + others["n_older"],
                prior_s=believed if stage["n_finished"] == 0 else stage["prior_duration_s"],
            )
            is_cold = stage["n_cold"] > 0 and (attempt["cold"] or n_warm == 0)
            siblings = cold_durations[row] if is_cold else durations[row]
            worked_s = age_s - startup_prior_s if attempt["on_new_executor"] and not is_cold else age_s
            is_late = is_old(now_s, worked_s, usual_s, attempt, task, stage, others, idle, siblings, ages[row])
            if 2 * (stage["n_cold"] if is_cold else n_warm) < stage["n_finished"]:
                cold_s = max(startup_prior_s, stage["cold_sum_s"] / stage["n_cold"]) if attempt["cold"] else 0.0
                worked_s, siblings = age_s - cold_s, all_durations[row]
                is_late |= is_old(now_s, worked_s, usual_s, attempt, task, stage, others, idle, siblings, ages[row])
            is_stuck = is_silent(now_s, attempt, task, stage, pool, others, gaps[row], silences[row])
            estimates["own_log"] = log_cost - sibling_log - host_log[attempt["host"]]
            write_times(
                now_s,
                age_s,
                usual_s,
                is_late,
                is_stuck,
                sibling_log,
                stages[row]["n_done"],
                attempt,
                estimates,
                task,
                stage,
                pool,
            )
            is_new = is_starting(now_s, startup_prior_s, attempt, pool, idle)
            is_known = is_late or is_stuck or is_steady(now_s, usual_s, attempt, task, stage, pool)
            estimates["too_new"] = is_new or not is_known
            if not is_new and math.isnan(estimates["estimated_s"]):
                # The first estimate is compared with the outcome.
                estimates["estimated_s"], estimates["foretold_end_s"] = now_s, now_s + estimates["t_rem_s"]
            add_running(now_s, age_s, age_s > believed, attempt, log_cost, 1.0, others)


@rule
def add_running(
    now_s: float, age_s: float, is_older: bool, attempt: Reported, log_cost: float, sign: float, running: Record
) -> None:
    """Count an attempt among its stage's running ones, or, with a sign of -1, leave it out."""
    running["n"] += sign
    running["elapsed_sum_s"] += sign * (now_s - attempt["start_s"])
    running["work_sum"] += sign * attempt["work"]
    running["out_sum"] += sign * max(attempt["rows_out"], 0.0)
    if is_older:
        running["n_older"] += sign
        running["older_sum_s"] += sign * age_s
    if not math.isnan(log_cost):
        running["n_costs"] += sign
        running["log_cost_sum"] += sign * log_cost


@rule
def believed_s(stage: Estimated, duration_prior_s: float) -> float:
    """Expected duration of a stage's task by finished ones, else by its past, else by that of all stages."""
    if stage["n_finished"] > 0:
        return stage["net_sum_s"] / stage["n_finished"]
    return duration_prior_s if math.isnan(stage["prior_duration_s"]) else stage["prior_duration_s"]


@rule
def typical_s(sum_s: float, n: float, prior_s: float) -> float:
    """Mean of n durations, with the prior as one more; a prior of nan is none.

    >>> [typical_s(sum_s=6.0, n=2, prior_s=prior_s) for prior_s in (9.0, math.nan)]
    [5.0, 3.0]
    """
    return sum_s / n if math.isnan(prior_s) else (sum_s + prior_s) / (n + 1)


@rule
def write_times(
    now_s: float,
    age_s: float,
    usual_s: float,
    is_late: bool,
    is_stuck: bool,
    sibling_log: float,
    n_done: int,
    attempt: Reported,
    estimates: Estimated,
    task: Reported,
    stage: Estimated,
    pool: Estimated,
) -> None:
    """Fill in t_rem, t_new, rates and progress. A late start's work is still to do.

    `usual_s` is what siblings take after start-up, `sibling_log` the log of their seconds per unit of work. A copy
    keeps a part of the attempt's own slowness.
    """
    total, tail_index, elapsed_s = total_work(attempt, task, stage), pool["tail_index"], now_s - attempt["start_s"]
    startup_s = fresh_startup_s(pool)
    tail_s = tail_of(attempt, task, stage)
    by_work_s = total * math.exp(sibling_log) + (0.0 if math.isnan(tail_s) else tail_s)
    work_known = not math.isnan(by_work_s)
    estimates["relative_size"] = seen_size(attempt, task, stage)
    needed_s = by_work_s if work_known else usual_s * max(estimates["relative_size"], 1.0)
    if n_done == 0 and not work_known and not is_late and not is_stuck and age_s > needed_s:
        # No task has ended, and others are as old: the stage takes longer than expected, and so would a copy.
        needed_s = age_s + residual_s(elapsed_s=age_s, tail_index=tail_index)
    silent_s, (rows_s, rows_share) = now_s - attempt["moved_s"], rows_left_s(now_s, attempt, task, stage)
    progress = share_done(work=attempt["work"], total=total)
    if math.isnan(attempt["first_s"]) and work_known:
        own_startup_s = usual_startup_s(attempt["cold"], pool)
        t_rem_s = needed_s + starting_s(elapsed_s=elapsed_s, startup_s=own_startup_s, tail_index=tail_index)
    elif attempt["work"] > 0 and not math.isnan(total) and not has_read(attempt, total):
        left_s = (1.0 - progress) * total * running_cost(now_s, total, attempt)
        t_rem_s = max(left_s, silence_s(now_s, attempt)) + (0.0 if math.isnan(tail_s) else tail_s)
        progress = rows_share if rows_share < progress else progress
    else:
        progress = rows_share
        in_tail = has_read(attempt, total) and not math.isnan(tail_s)
        t_rem_s = max(tail_s - silent_s if in_tail else needed_s - age_s, 0.0)
        t_rem_s = rows_s if rows_s > t_rem_s else t_rem_s
        t_rem_s = max(t_rem_s, residual_s(elapsed_s=age_s, tail_index=tail_index)) if is_late else t_rem_s
    if is_stuck:
        t_rem_s = max(t_rem_s, residual_s(elapsed_s=silent_s, tail_index=min(tail_index, STALL_TAIL_INDEX)))
    size = total if work_known else 1.0
    own_log = estimates["own_log"]
    kept_times = math.exp(pool["kept_slowness"] * own_log) if own_log > 0 else 1.0
    estimates["t_rem_s"], estimates["t_new_s"] = t_rem_s, startup_s + needed_s * kept_times
    estimates["t_fresh_s"] = startup_s + needed_s
    estimates["progress"], estimates["rate"] = progress, size / (max(elapsed_s, SHORTEST_S) + t_rem_s)
    estimates["sibling_rate"] = size / max(startup_s + needed_s, SHORTEST_S)


@rule
def residual_s(elapsed_s: float, tail_index: float) -> float:
    """Time still needed by a late attempt: the mean residual life of a Pareto tail.

    Source: GRASS section 3.1 and formulas of its theorem: w / (tail_index - 1).  Units: seconds.

    >>> residual_s(elapsed_s=6.0, tail_index=1.5)
    12.0
    """
    return elapsed_s / min(max(tail_index - 1.0, 0.1), 10.0)


@rule
def starting_s(elapsed_s: float, startup_s: float, tail_index: float) -> float:
    """Time to the first progress of an attempt that has shown none: the rest of the usual time, or the residual.

    >>> [starting_s(elapsed_s=elapsed_s, startup_s=4.0, tail_index=1.5) for elapsed_s in (1.0, 6.0)]
    [3.0, 12.0]
    """
    return startup_s - elapsed_s if elapsed_s < startup_s else residual_s(elapsed_s=elapsed_s, tail_index=tail_index)
