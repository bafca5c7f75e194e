"""Do Hopper's examples of one and two jobs come out? Table 1 with figures 1 and 2, and the knee of figure 3."""

from collections.abc import Sequence
from math import inf, nan

import msgspec
import numpy as np

from controlplane.model.columns import Floats
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.summary import ClusterSummary
from controlplane.simulator.cluster.workloads import Listed, Synthetic
from controlplane.simulator.experiments.experiment import Chart, Claim, Finding, Results, Scale, Series
from controlplane.simulator.experiments.hopper.conditions import CAPS, NO_CAP, NO_KILLS, Fields, hopper
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.experiments.points.cluster import Attempt, ClusterRuns, ResponseTimes, Schedule
from controlplane.simulator.statistics import estimate

ORIGINAL_S = ((10.0, 10.0, 10.0, 30.0), (20.0, 20.0, 20.0, 40.0, 10.0))
"""Table 1, jobs A and B; every copy takes 10."""
SCHEDULES: dict[str, tuple[Fields, list[float]]] = {
    "best effort": ({"policy": "srpt+ras"}, [20.0, 30.0]),
    "three of seven slots reserved": (
        {"policy": "budgeted+ras", "allocator_settings": {"reserved_share": 3 / 7}},
        [12.0, 32.0],
    ),
    "Hopper": (hopper("ras", fairness_epsilon=1.0, round_up=0.0), [12.0, 22.0]),
}
TABLE_1: Fields = {
    "workload": Listed(original_s=ORIGINAL_S, copy_s=10.0),
    "jobs": 2,
    "machines": 7,
    "slots_per_machine": 1,
    "slowdown_tail_index": inf,
    "allocator_tail_index": 1.5,
    "noise": 0.0,
    "detect_s": 2.0,
    "launch_s": 0.0,
    "cycle_s": 0.0,
}

SLOTS_PER_TASK = (0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2.0)
FITTED = SLOTS_PER_TASK[2:]
"""With fewer slots a task the work alone takes most of the time, and a line through it would place the knee."""
KNEE_TASKS = 200
KNEE_TAIL_INDICES = (1.4, 1.6)
KNEE_SPECULATORS: dict[str, Fields] = {
    "LATE": {"policy": "fifo+late", **NO_CAP},
    "RAS": {"policy": "fifo+ras", **NO_KILLS},
    "RAS, 3 attempts": {"policy": "fifo+ras", **NO_KILLS, **CAPS["3 attempts"]},
}
"""LATE starts no third attempt."""
KNEE_RUNS = {Scale.SMOKE: 12, Scale.FULL: 200}
NEAR = 0.1
"""How close a knee must be to where the paper has it."""
RESAMPLED = 1000
"""Sets of runs that are drawn with replacement for the knee's interval of 95 %."""
LEARNED_FROM = 6
"""Jobs at each number of slots per task from which a knee is learned."""


def table_1_points(scale: Scale) -> list[Point]:
    """When the jobs of the three schedules end, and which slots they have till then."""
    return [point for policy, _ in SCHEDULES.values() for point in (one_schedule(policy), _slots(policy))]


def one_schedule(policy: Fields) -> ResponseTimes:
    """The example under one pair of policies."""
    return ResponseTimes(scenario=ClusterScenario(**TABLE_1, **policy))


def _slots(policy: Fields) -> Schedule:
    return Schedule(scenario=one_schedule(policy).scenario)


def table_1(results: Results) -> Finding:
    """The three schedules of section 3."""
    claims, charts = [], []
    for name, (policy, expected) in SCHEDULES.items():
        (ends,) = results(one_schedule(policy))
        claims.append(
            Claim(
                statement=f"{name}: A ends at {expected[0]:g}, B at {expected[1]:g}.",
                held=ends == expected,
                numbers=f"{name}: {ends[0]:g} and {ends[1]:g}",
            )
        )
        (attempts,) = results(_slots(policy))
        charts.append(schedule_chart(name, msgspec.convert(attempts, list[Attempt])))
    return Finding(claims=claims, charts=charts)


def schedule_chart(name: str, attempts: Sequence[Attempt]) -> Chart:
    """A line for each attempt at its slot, copies dashed, as the paper's figures 1 and 2 have them."""
    series = []
    for job, label in enumerate(("A", "B")):
        for is_copy in (False, True):
            mine = [one for one in attempts if (one.job, one.is_copy) == (job, is_copy)]
            series.append(
                Series(
                    label=f"{label}, copies" if is_copy else label,
                    x=[x for one in mine for x in (one.started_s, one.ended_s, nan)],
                    y=[y for one in mine for y in (one.slot + 1.0, one.slot + 1.0, nan)],
                    dashed=is_copy,
                )
            )
    return Chart(title=name, x_label="time, s", y_label="slot", series=series)


def _one_job(scale: Scale, tail_index: float, speculator: Fields, slots_per_task: float) -> ClusterRuns:
    one = ClusterScenario(
        **speculator,
        workload=Synthetic(least_tasks=KNEE_TASKS, most_tasks=KNEE_TASKS),
        jobs=1,
        machines=round(slots_per_task * KNEE_TASKS),
        slots_per_machine=1,
        slowdown_tail_index=tail_index,
    )
    return ClusterRuns(scenario=one, runs=KNEE_RUNS[scale])


def figure_3_points(scale: Scale) -> list[Point]:
    """One job on more and more slots."""
    return [
        _one_job(scale, tail_index, speculator, slots)
        for tail_index in KNEE_TAIL_INDICES
        for speculator in KNEE_SPECULATORS.values()
        for slots in SLOTS_PER_TASK
    ]


def figure_3(results: Results) -> Finding:
    """Where does another slot lose its value?"""
    claims, charts = [], []
    for tail_index in KNEE_TAIL_INDICES:
        series = []
        for name, speculator in KNEE_SPECULATORS.items():
            runs = []
            for slots in SLOTS_PER_TASK:
                ended = msgspec.convert(
                    results(_one_job(results.scale, tail_index, speculator, slots)), list[ClusterSummary]
                )
                runs.append([one.response_s for one in ended])
            curve = [estimate(one) for one in runs]
            series.append(
                Series(
                    label=name,
                    x=SLOTS_PER_TASK,
                    y=[one.mean for one in curve],
                    error=[one.error for one in curve],
                )
            )
            claims += knee_claims(name, tail_index, np.array(runs))
        title = f"One job of {KNEE_TASKS} tasks, tail index {tail_index}"
        charts.append(Chart(title=title, x_label="slots per task", y_label="mean completion time, s", series=series))
    return Finding(claims=claims, charts=charts)


def knee_claims(name: str, tail_index: float, runs: Floats) -> list[Claim]:
    """Where is the knee, and would jobs show it? From completion times, shape (n_slots_per_task, n_runs)."""
    rng, n_runs, expected = np.random.default_rng(len(runs)), runs.shape[1], 2.0 / tail_index
    mean_s = runs.mean(axis=1)
    flat = next(at for at, one_s in zip(SLOTS_PER_TASK, mean_s, strict=True) if one_s < 1.05 * mean_s[-1])
    drawn = rng.integers(n_runs, size=(RESAMPLED, n_runs))
    low, high = np.quantile([knee_of(runs[:, rows].mean(axis=1)) for rows in drawn], (0.025, 0.975))
    knee = knee_of(mean_s)
    groups = np.array_split(runs, n_runs // LEARNED_FROM, axis=1)
    learned = [knee_of(group.mean(axis=1)) for group in groups]
    n_jobs, nearest = LEARNED_FROM * len(FITTED), min(learned, key=lambda one: abs(one - expected))
    return [
        Claim(
            statement=f"With {name} and tail index {tail_index}, the knee is at {expected:.2f} slots a task.",
            held=abs(knee - expected) <= NEAR,
            numbers=f"{name}, {tail_index}: knee at {knee:.2f} ({low:.2f} to {high:.2f}), within 5 % of the least "
            f"from {flat:g} on",
        ),
        Claim(
            statement=f"With {name} and tail index {tail_index}, {n_jobs} jobs are enough to learn it (section 4.1).",
            held=abs(float(np.mean(learned)) - expected) <= NEAR,
            numbers=f"{name}, {tail_index}: learned from {n_jobs} jobs at a time {np.mean(learned):.2f}, deviation "
            f"{np.std(learned):.2f}, at the nearest {nearest:.2f}",
        ),
    ]


def knee_of(completion_s: Floats) -> float:
    """Slots a task at which the completion time bends: two straight lines that meet there fit it best.

    `completion_s` has a time for each of SLOTS_PER_TASK; those of FITTED count, alike.

    >>> knee_of(np.array([9.0 - 5.0 * min(one, 1.2) for one in SLOTS_PER_TASK]))
    1.2
    """
    y = completion_s[-len(FITTED) :]
    return float(KNEES[np.argmin(np.einsum("i,kij,j->k", y, MISFIT, y))])


def _misfit(knee: float) -> Floats:
    """The matrix of the squared distance between a column of times and its best two lines that meet at the knee."""
    slots = np.array(FITTED)
    lines = np.stack([np.ones(len(slots)), np.minimum(slots, knee), np.maximum(slots, knee)], axis=1)
    return np.eye(len(slots)) - lines @ np.linalg.pinv(lines)


KNEES = np.round(np.arange(FITTED[1], FITTED[-2] + 0.005, 0.01), 2)
"""Where it is looked for: between the first two times and the last two there is no line."""
MISFIT = np.array([_misfit(knee) for knee in KNEES])
