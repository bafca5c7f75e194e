"""How long do jobs take under what is shipped, as a share of what they take under stock and other speculators?

The live engine decides in every run, by what a shim would report. Jobs and luck are the same for all contestants of a
cell, so that ratios are those of pairs: of the mean response times of each seed, and of single jobs.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from math import exp, log, sqrt
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from controlplane.simulator.cluster.summary import counted_rows
from controlplane.simulator.cluster.workloads import Synthetic
from controlplane.simulator.experiments.experiment import Chart, Claim, Experiment, Finding, Results, Scale, Series
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.experiments.points.engine import EngineTimes
from controlplane.simulator.live.scenario import EngineScenario
from controlplane.simulator.statistics import Estimate, estimate

Fields = Mapping[str, Any]

TUNED_SETTINGS = {"quantile": 0.5, "multiplier": 1.1}
HOST: Fields = {"budgets": False, "max_copies": 1}
"""Spark's own speculation: one copy of a task, no budget."""
OURS: dict[str, Fields] = {"hopper+ras": {}, "unified+unified": {}}
TUNED = "tuned stock"
OTHERS: dict[str, Fields] = {
    TUNED: {"policy": "fair+stock-spark", "speculator_settings": TUNED_SETTINGS, **HOST},
    "stock": {"policy": "fifo+stock-spark", **HOST},
    "fair+late": {},
    "fair+ras": {},
}
CONTESTANTS: dict[str, Fields] = {
    name: {"policy": name, "budgets": True, **fields} for name, fields in (OURS | OTHERS).items()
}
"""As shipped: default settings, and the engine's budgets where it decides."""
CAPS = tuple(product((2, 3), (True, False)))
"""Most live attempts of a task, and whether beaten ones end."""
WORLDS = {"independent": 0.0, "half shared": 0.5, "all in the data": 1.0}
LOADS = {Scale.SMOKE: (0.8,), Scale.FULL: (0.6, 0.8, 0.95)}
JOBS = {Scale.SMOKE: 15, Scale.FULL: 200}
RUNS = {Scale.SMOKE: 2, Scale.FULL: 6}
LEVEL = 0.95


class Ratio(NamedTuple):
    """A ratio of ours to theirs, with its interval at `LEVEL` and the standard error of its logarithm."""

    mean: float
    low: float
    high: float
    error: float

    @classmethod
    def of(cls, logs: Sequence[float]) -> "Ratio":
        """From the logarithms of independent pairs, by Student's t.

        >>> [round(one, 2) for one in Ratio.of([log(0.8), log(0.9), log(0.85)])]
        [0.85, 0.73, 0.98, 0.03]
        """
        found: Estimate = estimate(logs)
        spread = float(stdtrit(len(logs) - 1, (1.0 + LEVEL) / 2.0)) * found.error
        return cls(exp(found.mean), exp(found.mean - spread), exp(found.mean + spread), found.error)

    @property
    def text(self) -> str:
        """In words.

        >>> Ratio(mean=0.85, low=0.73, high=0.98, error=0.03).text
        '0.85 (0.73 to 0.98)'
        """
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})"


def runs(scale: Scale, world: str, load: float, *fields: Fields) -> EngineTimes:
    """The point of a contestant in a cell."""
    merged: dict[str, Any] = {}
    for one in fields:
        merged |= one
    scenario = EngineScenario(
        workload=Synthetic(least_tasks=1, most_tasks=150),
        machines=4,
        slots_per_machine=6,
        jobs=JOBS[scale],
        offered_load=load,
        shared_share=WORLDS[world],
        **merged,
    )
    return EngineTimes(scenario=scenario, runs=RUNS[scale])


def capped(contestant: str, attempts: int, kills: bool) -> Fields:
    """A contestant with the caps and budgets of all."""
    one = CONTESTANTS[contestant]
    settings = {**one.get("speculator_settings", {}), "end_beaten": float(kills)}
    return {**one, "budgets": True, "max_copies": attempts - 1, "speculator_settings": settings}


def as_shipped(contestant: str) -> Fields:
    """A contestant as it is without any setting of ours."""
    return CONTESTANTS[contestant]


def worlds(scale: Scale) -> list[str]:
    """Those of a scale."""
    return list(WORLDS) if scale is Scale.FULL else ["independent"]


def where(scale: Scale) -> list[tuple[str, float]]:
    """World and load of every cell of a scale."""
    return list(product(worlds(scale), LOADS[scale]))


def ratios(results: Results, ours: EngineTimes, theirs: EngineTimes) -> tuple[Ratio, Ratio]:
    """Ratios of ours to theirs over paired seeds: of mean response times, and of single jobs, by the geometric mean."""
    rows = counted_rows(JOBS[results.scale])
    pairs = [np.array(pair)[:, rows] for pair in zip(results(ours), results(theirs), strict=True)]
    means = [log(ours_s.mean() / theirs_s.mean()) for ours_s, theirs_s in pairs]
    return Ratio.of(means), Ratio.of([float(np.log(ours_s / theirs_s).mean()) for ours_s, theirs_s in pairs])


def points(scale: Scale, variants: Sequence[Any]) -> list[Point]:
    """Every contestant in every cell, in every variant."""
    every = product(where(scale), variants, CONTESTANTS)
    return [runs(scale, *cell, variant(contestant)) for cell, variant, contestant in every]


def compared(results: Results, title: str, variant: Any) -> tuple[list[Claim], list[float]]:
    """A claim for each of ours and each cell: no other has shorter jobs. With them, the standard errors of ratios."""
    claims, errors = [], []
    for (world, load), ours in product(where(results.scale), OURS):
        mine = runs(results.scale, world, load, variant(ours))
        found = {one: ratios(results, mine, runs(results.scale, world, load, variant(one))) for one in OTHERS}
        errors += [by_mean.error for by_mean, _ in found.values()]
        listed = "; ".join(f"{one} {by_mean.text}, by job {by_job.text}" for one, (by_mean, by_job) in found.items())
        claims.append(
            Claim(
                statement=f"{title}, {world}, load {load:g}: jobs are surely shorter under {ours} than under {TUNED}, "
                "and surely longer than under no other.",
                held=found[TUNED][0].high < 1.0 and all(by_mean.low <= 1.0 for by_mean, _ in found.values()),
                numbers=f"{title}, {world}, load {load:g}, {ours} over {listed}",
            )
        )
    return claims, errors


def judge(results: Results, variants: Mapping[str, Any]) -> Finding:
    """Ours against the others, in every variant."""
    every = [compared(results, title, variant) for title, variant in variants.items()]
    errors = [error for _, several in every for error in several]
    typical = sqrt(fmean(error**2 for error in errors))
    note = f"Standard errors of ratios: {100 * typical:.1f} % in root mean square, {100 * max(errors):.1f} at most."
    charts = [chart(results, title, variant, ours) for (title, variant), ours in product(variants.items(), OURS)]
    return Finding(claims=[claim for claims, _ in every for claim in claims], charts=charts, notes=[note])


def chart(results: Results, title: str, variant: Any, ours: str) -> Chart:
    """Ours over tuned stock, by load, a line for each world."""
    loads, series = LOADS[results.scale], []
    for world in worlds(results.scale):
        line = [
            ratios(results, *(runs(results.scale, world, load, variant(one)) for one in (ours, TUNED)))[0]
            for load in loads
        ]
        series.append(
            Series(
                label=world,
                x=loads,
                y=[one.mean for one in line],
                error=[one.mean * one.error for one in line],
            )
        )
    return Chart(title=f"{ours}, {title}", x_label="offered load", y_label=f"time over {TUNED}'s", series=series)


def _words(attempts: int, kills: bool) -> str:
    return f"{attempts} attempts, {'kills' if kills else 'no kills'}"


SHIPPED = {"as shipped": as_shipped}
EQUAL = {_words(*caps): partial(capped, attempts=caps[0], kills=caps[1]) for caps in CAPS}
METHOD = (
    "The live engine decides by what a shim reports each 0.1 s. 24 slots on 4 machines, "
    f"{JOBS[Scale.FULL]} synthetic jobs of at most 150 tasks, tail index 1.5, {RUNS[Scale.FULL]} seeds; three worlds, "
    "loads 0.6, 0.8 and 0.95. Tuned stock is fair+stock-spark with quantile 0.5 and multiplier 1.1, stock is "
    f"fifo+stock-spark with Spark's defaults. Ratios are of pairs on the same seeds; intervals are of {LEVEL:.0%}, by "
    "Student's t over seeds."
)
TRIED = "three worlds, three loads, as shipped and with four pairs of caps."


def _experiment(name: str, statement: str, method: str, variants: Mapping[str, Any]) -> Experiment:
    return Experiment(
        id=f"shipped/{name}",
        source="Grasshopper, our own",
        statement=statement,
        method=f"{METHOD} {method}",
        points=partial(points, variants=tuple(variants.values())),
        judge=partial(judge, variants=variants),
        tried=TRIED,
    )


EXPERIMENTS: tuple[Experiment, ...] = (
    _experiment(
        "defaults",
        f"As shipped, jobs are shorter than under {TUNED}.",
        "Default settings and budgets; stock has two attempts of a task and no budget.",
        SHIPPED,
    ),
    _experiment(
        "equal-caps",
        f"With the caps of all others, jobs are shorter than under {TUNED}.",
        "The same most live attempts of a task, kills by all or by none, and the engine's budgets for all.",
        EQUAL,
    ),
)
