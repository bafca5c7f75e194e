"""When does a job switch from RAS to GS? Once samples of jobs like it say that GS from now on is best (GRASS)."""

import math
from collections.abc import Mapping

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.estimators.samples import (
    ACCURACIES,
    BUCKETS,
    FIRST,
    LEARNED,
    PER_WAVE,
    POINTS,
    SECOND,
    UTILIZATIONS,
    accuracy_level,
    bucket,
    place_of,
    utilization_level,
    value_at,
)
from controlplane.model.columns import Flags, Floats, Ints, Record, Records
from controlplane.model.reasons import Reason
from controlplane.policies.grass.bounds import shortest_waiting_s, windows_s
from controlplane.policies.grass.gs import order_bounded, weigh_gs
from controlplane.policies.grass.ras import ROW as RAS_ROW
from controlplane.policies.grass.ras import weigh_ras
from controlplane.policies.row import COPYING, Kind, Row, Setting
from controlplane.policies.seen import Seen
from controlplane.policies.skew import has_more_to_do

GS, RAS = FIRST, SECOND
GOLDEN = 0.6180339887498949
"""Multiples of it spread evenly over [0, 1), less whole numbers: seeds turn all draws by one."""


def explores(draws: Floats, settings: Mapping[str, float]) -> Ints:
    """Which jobs try GS or RAS wholly, half of the explorers each, by their draws from [0, 1), shape (n_jobs,).

    Source: GRASS (NSDI'14), section 4.2.

    >>> explores(np.array([0.07, 0.1, 0.2]), {"explorer_share": 0.15, "explorer_seed": 0.0}).tolist() == [GS, RAS, 0]
    True
    """
    turned = (draws + GOLDEN * settings["explorer_seed"]) % 1.0
    half = settings["explorer_share"] / 2.0
    return np.select([turned < half, turned < 2.0 * half], [GS, RAS], LEARNED).astype(np.int64)


@kernel
def curve(
    samples: Floats, policy: int, has_deadline: bool, tasks: int, levels: tuple[int, int], settings: Record
) -> Floats:
    """The mean curve of jobs of one bucket that ran wholly under one policy; nan where too few did; (POINTS,).

    `levels` are those of utilization and accuracy. A factor that is left out by settings tells no samples apart.
    """
    weights, sums = np.zeros(POINTS), np.zeros(POINTS)
    for utilization in range(UTILIZATIONS):
        for accuracy in range(ACCURACIES):
            is_other = settings["by_utilization"] > 0.0 and utilization != levels[0]
            if is_other or (settings["by_accuracy"] > 0.0 and accuracy != levels[1]):
                continue
            at = place_of(bucket(has_deadline, tasks, utilization, accuracy), policy)
            weights += samples[at : at + POINTS]
            sums += samples[at + POINTS : at + 2 * POINTS]
    sums[weights < settings["least_samples"]] = np.nan
    return sums / weights


@kernel
def switch_values(gs: Floats, ras: Floats, left: float, has_deadline: bool) -> tuple[float, float]:
    """What is left comes to this if the job switches now, and at best to that if later or never; nan if unknown.

    `left` is the time to the deadline, in task times, and both are the waves that will be done; else it is the waves
    that the job still needs, and both are task times.
    Source: GRASS (NSDI'14), section 4.1.
    """
    if not left * PER_WAVE <= POINTS:
        return math.nan, math.nan
    now, best = value_at(gs, left), value_at(ras, left)
    for point in range(1, math.ceil(left * PER_WAVE)):
        later = value_at(ras, point / PER_WAVE) + value_at(gs, left - point / PER_WAVE)
        if later == later:
            best = max(best, later) if has_deadline else min(best, later)
    return now, best


@kernel
def mean_values(gs: Floats, ras: Floats) -> tuple[float, float]:
    """The same where the bound is left out: the means of both curves, over the points that both have."""
    n, gs_sum, ras_sum = 0, 0.0, 0.0
    for point in range(len(gs)):  # compiled code would add up np.mean in another order than numpy
        if not (math.isnan(gs[point]) or math.isnan(ras[point])):
            n, gs_sum, ras_sum = n + 1, gs_sum + gs[point], ras_sum + ras[point]
    return (gs_sum / n, ras_sum / n) if n > 0 else (math.nan, math.nan)


@rule
def is_better(now: float, later: float, has_deadline: bool) -> bool:
    """Whether to switch now is better than later or never; equal values, and unknown ones, stay with RAS.

    >>> is_better(2.0, 1.0, has_deadline=True), is_better(2.0, 1.0, has_deadline=False), is_better(1.0, 1.0, True)
    (True, False, False)
    """
    return now > later if has_deadline else now < later


@kernel
def left_of(seen: Seen) -> Floats:
    """By stage, what is left: task times to its deadline, or waves of the tasks that it needs; nan where nothing runs.

    (n_stages,). A wave is as many tasks as attempts run.
    """
    n_tasks, width, task_s = np.zeros(len(seen.stages)), np.zeros(len(seen.stages)), np.zeros(len(seen.stages))
    for row in range(len(seen.tasks)):
        task = seen.tasks[row]
        width[task["stage"]] += task["running_attempts"]
        if task["t_new_s"] < math.inf:
            n_tasks[task["stage"]] += 1.0
            task_s[task["stage"]] += task["t_new_s"]
    left = np.full(len(seen.stages), np.nan)
    for at in range(len(left)):
        deadline_s = seen.stages[at]["deadline_s"]
        if width[at] > 0.0:
            by_deadline = deadline_s * n_tasks[at] / task_s[at] if task_s[at] > 0.0 else np.nan
            left[at] = by_deadline if deadline_s < math.inf else seen.stages[at]["needed"] / width[at]
    return left


@kernel
def verdicts(seen: Seen, settings: Record) -> tuple[Flags, Floats]:
    """By stage, whether its job runs under GS, (n_stages,), and what a switch now or later comes to, (n_stages, 2).

    The latter is nan where samples decide nothing. Curves are made once for all jobs of a bucket.
    """
    n_stages, left = len(seen.stages), left_of(seen)
    is_asked: Flags = np.zeros(n_stages, dtype=np.bool_)
    is_greedy, is_made = is_asked.copy(), np.zeros(BUCKETS, dtype=np.bool_)
    values, curves = np.full((n_stages, 2), np.nan), np.zeros((BUCKETS, 2, POINTS))
    for row in range(len(seen.tasks)):
        at = seen.tasks[row]["stage"]
        if is_asked[at]:
            continue
        job, pool = seen.jobs[seen.tasks[row]["job"]], seen.pools[seen.tasks[row]["pool"]]
        is_asked[at], is_greedy[at] = True, job["explores"] == GS
        if job["explores"] != LEARNED:
            continue
        has_deadline, tasks = seen.stages[at]["deadline_s"] < math.inf, job["tasks"]
        used = 1.0 - pool["idle"] / max(pool["slots"], 1)
        levels = utilization_level(used), accuracy_level(pool["foretold_error"])
        own = bucket(has_deadline, tasks, levels[0], levels[1])
        if not is_made[own]:
            is_made[own] = True
            curves[own, 0] = curve(seen.weights, GS, has_deadline, tasks, levels, settings)
            curves[own, 1] = curve(seen.weights, RAS, has_deadline, tasks, levels, settings)
        if settings["by_bound"] > 0.0:
            now, later = switch_values(curves[own, 0], curves[own, 1], left[at], has_deadline)
        else:
            now, later = mean_values(curves[own, 0], curves[own, 1])
        if now == now and later == later:
            values[at, 0], values[at, 1] = now, later
            is_greedy[at] = is_better(now, later, has_deadline)
        else:
            is_greedy[at] = settings["strawman_waves"] > 0.0 and left[at] <= settings["strawman_waves"]
    return is_greedy, values


@kernel
def grass(seen: Seen, settings: Record, answer: Records) -> None:
    """RAS, and GS from the point on at which samples say that a switch is best now.

    An explorer runs wholly under one of them. Without samples RAS goes on, or until `strawman_waves` are left.
    Source: GRASS (NSDI'14), section 4.
    """
    has_more, last_s, shortest_s = has_more_to_do(seen.tasks), windows_s(seen), shortest_waiting_s(seen)
    is_greedy, values = verdicts(seen, settings)
    for row in range(len(seen.tasks)):
        at, one = seen.tasks[row]["stage"], answer[row]
        if not is_greedy[at]:
            weigh_ras(seen, settings, row, has_more[row], last_s, one)
            continue
        weigh_gs(seen, settings, row, has_more[row], last_s, shortest_s, one)
        if one["reason"] == Reason.ENDS_SOONER and values[at, 0] == values[at, 0]:
            one["reason"], one["gain"], one["price"] = Reason.SWITCHED_TO_GS, values[at, 0], values[at, 1]


def _factor(name: str, what: str) -> Setting:
    return Setting(
        name=name,
        default=1.0,
        low=0.0,
        high=1.0,
        about=f"1: {what} tells samples apart; 0: it is left out.",
        switch=True,
    )


ROW = Row(
    name="grass",
    kind=Kind.SPECULATOR,
    kernel=grass,
    order_waiting=order_bounded,
    orders_bounded=True,
    explores=explores,
    tries=("gs", "ras"),
    about="As ras, and as gs from the point on at which jobs that tried both say so.",
    source="GRASS (NSDI'14), section 4",
    needs=COPYING,
    settings=(
        Setting(
            name="explorer_share",
            default=0.0,
            low=0.0,
            high=1.0,
            about="Share of the jobs that try GS or RAS throughout, half each, for samples; the paper takes 0.15.",
        ),
        Setting(
            name="explorer_seed",
            default=0.0,
            low=0.0,
            high=1e6,
            about="Which jobs these are: another number, other jobs.",
        ),
        Setting(
            name="least_samples",
            default=5.0,
            low=1.0,
            high=1e9,
            about="Samples of both policies that a bucket must have before they count; about the last 50 are kept.",
        ),
        Setting(
            name="strawman_waves",
            default=0.0,
            low=0.0,
            high=100.0,
            about="Without samples, GS once so many waves are left: 2 is the paper's strawman, 0 stays with RAS.",
        ),
        _factor("by_bound", "what is left to the bound"),
        _factor("by_utilization", "the pool's utilization"),
        _factor("by_accuracy", "the accuracy of the estimates"),
        *RAS_ROW.settings,
    ),
    before_waiting=True,
    shows=RAS_ROW.shows,
)
