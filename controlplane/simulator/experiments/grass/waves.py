"""How much does GRASS gain for jobs of several waves, alone on the cluster, and how much by switching? Our question."""

from collections.abc import Sequence

from controlplane.simulator.cluster.bounds import Bounds
from controlplane.simulator.cluster.workloads import Synthetic
from controlplane.simulator.experiments.experiment import Claim, Finding, Results, Scale
from controlplane.simulator.experiments.grass.world import (
    CASES,
    ERRORS,
    SLACK,
    WORLDS,
    Fields,
    faster,
    in_all_cases,
    knowledge,
    more,
    percent,
)
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.statistics import Estimate

SLOTS = 50
N_WAVES = (2, 5, 10)
"""Waves that a job's tasks run in."""
JOBS = {Scale.SMOKE: 30, Scale.FULL: 100}
RUNS = {Scale.SMOKE: 2, Scale.FULL: 3}
SHOWN = ("LATE", "GS", "RAS", "GRASS")
CONDITIONS = {
    Scale.SMOKE: {"independent": WORLDS["independent"]},
    Scale.FULL: {name: WORLDS[name] for name in ("independent", "half shared")},
}
MORE, FASTER, SWITCHING = (0.08, 0.3), (0.12, 0.28), 0.01
"""Gains over LATE, in accuracy and in time, and the most by switching, that other simulations had."""
METHOD = (
    f"jobs that have {SLOTS} slots to themselves, of 2, 5 and 10 waves of tasks, tail index 1.5; deadlines 2 to 20 % "
    "over the ideal time, error bounds of 5 to 30 %. All contestants have two live attempts of a task, or three, and "
    f"all end beaten ones, or none does. GRASS has the samples of {JOBS[Scale.FULL]} jobs of other seeds, and 15 % of "
    f"the jobs are explorers. {RUNS[Scale.FULL]} seeds of {JOBS[Scale.FULL]} jobs."
)


def _jobs(scale: Scale, waves: int) -> Fields:
    return {
        "workload": Synthetic(least_tasks=waves * SLOTS, most_tasks=waves * SLOTS),
        "machines": SLOTS,
        "slots_per_machine": 1,
        "offered_load": 0.02,
        "jobs": JOBS[scale],
        "runs": RUNS[scale],
        "practice": ({"jobs": JOBS[scale]},),
    }


DEADLINES: Fields = {"bounds": Bounds(slack=SLACK, ideal_slots=SLOTS, gives_up=True)}
KINDS = (("more accurate", more, DEADLINES, MORE), ("faster", faster, ERRORS, FASTER))


def points(scale: Scale) -> list[Point]:
    """Both bounds, in both worlds, with two and three attempts, with kills and without."""
    jobs = [_jobs(scale, waves) for waves in N_WAVES]
    return in_all_cases(
        scale, list(CONDITIONS[scale].values()), jobs, [bounds for _, _, bounds, _ in KINDS], policies=SHOWN
    )


def judge(results: Results) -> Finding:
    """Over LATE, and over RAS alone."""
    claims = []
    for title, world in CONDITIONS[results.scale].items():
        for case, (most, named) in CASES.items():
            for what, gain, bounds, (low, high) in KINDS:
                where = f"{title}, {case}"
                fields = [(world, _jobs(results.scale, waves), bounds, most) for waves in N_WAVES]
                over = {
                    (ours, theirs): [gain(results, ours, theirs, *one, named=named) for one in fields]
                    for ours, theirs in (("GRASS", "LATE"), ("GRASS", "RAS"), ("GS", "RAS"))
                }
                of_late, of_ras = over["GRASS", "LATE"], over["GRASS", "RAS"]
                claims += [
                    Claim(
                        statement=f"{where}: GRASS is {100 * low:.0f} to {100 * high:.0f} % {what} than LATE.",
                        held=all(low <= one.mean <= high for one in of_late),
                        numbers=f"{where}, {what} than LATE in 2, 5, 10 waves: {_listed(of_late)} %",
                    ),
                    Claim(
                        statement=f"{where}: by switching GRASS is at most {100 * SWITCHING:.0f} % {what} than RAS.",
                        held=all(one.mean <= SWITCHING for one in of_ras),
                        numbers=f"{where}, {what} than RAS in 2, 5, 10 waves: {_listed(of_ras)} %, "
                        f"GS {_listed(over['GS', 'RAS'])}; in 10: {knowledge(results, *fields[-1], named['GRASS'])}",
                    ),
                ]
    return Finding(claims=claims)


def _listed(line: Sequence[Estimate]) -> str:
    return ", ".join(map(percent, line))
