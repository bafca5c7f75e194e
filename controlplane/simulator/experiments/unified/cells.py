"""Is one index for copies and originals good enough to be the default? Cells of size, world, noise and load.

The rivals in each cell are the best policy there on other seeds, and those that may be as good. All policies may have
as many attempts of a task, and all or none may end beaten ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import log
from statistics import NormalDist
from typing import Any, NamedTuple

from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.workloads import Synthetic
from controlplane.simulator.experiments.experiment import Chart, Claim, Experiment, Finding, Results, Scale, Series
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.experiments.points.cluster import ClusterRuns
from controlplane.simulator.experiments.unified import deadlines
from controlplane.simulator.statistics import Estimate, estimate

OURS = deadlines.OURS
RIVALS = ("srpt+late", "srpt+ras", "fair+ras", "hopper+late", "hopper+ras", "hopper+unified")
CHOOSING, JUDGING = slice(0, 4), slice(4, 8)
"""Places of the seeds that choose the rivals, and of those that judge."""
WORSE, ERRORS = 0.02, 2.0
"""A cell is lost if we are longer by more than this share, and by this many standard errors were it the only cell."""
WORLDS = {"independent": 0.0, "half shared": 0.5, "all shared": 1.0}
SMOKE_JOBS = 100
CAPS = tuple(product((1, 2), (True, False)))
"""Most copies of a task at a time, and whether beaten attempts end: the same for all policies of a cell."""


class Size(NamedTuple):
    """A cluster, and the jobs that it runs at full scale."""

    machines: int
    slots_per_machine: int
    jobs: int
    most_tasks: int
    """The most tasks of a job."""


SIZES = {
    8: Size(4, 2, jobs=5_000, most_tasks=150),
    24: Size(4, 6, jobs=5_000, most_tasks=150),
    400: Size(100, 4, jobs=10_000, most_tasks=1_500),
    3200: Size(800, 4, jobs=10_000, most_tasks=12_000),
}
"""By slots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One set of conditions."""

    slots: int
    world: str
    noise: float
    load: float
    most_copies: int = 2
    kills: bool = True

    @property
    def title(self) -> str:
        """In words.

        >>> Cell(slots=8, world="half shared", noise=0.3, load=0.6).title
        '8 slots, half shared, noise 0.3, load 0.6, 3 attempts, kills'
        """
        kills = "kills" if self.kills else "no kills"
        where = f"{self.slots} slots, {self.world}, noise {self.noise:g}, load {self.load:g}"
        return f"{where}, {self.most_copies + 1} attempts, {kills}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A rival in a cell, and how much longer our mean response time is than its, as a share."""

    rival: str
    longer: Estimate

    def is_lost(self, errors: float) -> bool:
        """Whether ours is longer by more than `WORSE` and by more than so many standard errors."""
        return self.longer.mean > max(WORSE, errors * self.longer.error)


def cells(scale: Scale) -> Sequence[Cell]:
    """All conditions of a scale, each with every cap."""
    if scale is Scale.SMOKE:
        return [Cell(slots=24, world=world, noise=0.3, load=load) for world, load in product(WORLDS, (0.6, 0.95))]
    every = [*product((8, 24, 400), (0.6, 0.8, 0.95)), *product((3200,), (0.6, 0.95))]
    return [
        Cell(slots=slots, world=world, noise=noise, load=load, most_copies=most_copies, kills=kills)
        for (slots, load), world, noise, (most_copies, kills) in product(every, WORLDS, (0.0, 0.3, 0.6), CAPS)
    ]


def runs(scale: Scale, cell: Cell, policy: str) -> ClusterRuns:
    """The point of a policy in a cell."""
    size = SIZES[cell.slots]
    scenario = ClusterScenario(
        policy=policy,
        speculator_settings={"end_beaten": float(cell.kills)},
        max_copies=cell.most_copies,
        workload=Synthetic(least_tasks=1, most_tasks=size.most_tasks),
        offered_load=cell.load,
        jobs=SMOKE_JOBS if scale is Scale.SMOKE else size.jobs,
        machines=size.machines,
        slots_per_machine=size.slots_per_machine,
        shared_share=WORLDS[cell.world],
        noise=cell.noise,
    )
    return ClusterRuns(scenario=scenario, runs=JUDGING.stop)


def points(scale: Scale) -> list[Point]:
    """Every policy in every cell."""
    return [runs(scale, cell, policy) for cell in cells(scale) for policy in (OURS, *RIVALS)]


def outcomes(results: Results, cell: Cell) -> list[Outcome]:
    """Ours against each rival, seed by seed; the best rival first.

    Other seeds choose the rivals: the policy that is best there, and each that is not behind it by more than `ERRORS`
    standard errors, for of many policies it is often chance which one is best.
    """

    def longer(one: str, other: str, seeds: slice) -> Estimate:
        found: list[list[Mapping[str, Any]]] = [results(runs(results.scale, cell, policy)) for policy in (one, other)]
        return estimate(
            [log(a["response_s"] / b["response_s"]) for a, b in zip(*(f[seeds] for f in found), strict=True)]
        )

    behind = {rival: longer(rival, RIVALS[0], CHOOSING).mean for rival in RIVALS}
    best = min(RIVALS, key=behind.__getitem__)
    chosen = [one for one in sorted(RIVALS, key=behind.__getitem__) if not is_behind(longer(one, best, CHOOSING))]
    return [Outcome(rival=rival, longer=longer(OURS, rival, JUDGING)) for rival in chosen]


def is_behind(longer: Estimate) -> bool:
    """Whether a response time is longer than another one beyond chance.

    >>> [is_behind(Estimate(mean=0.05, error=error)) for error in (0.02, 0.03)]
    [True, False]
    """
    return longer.mean > ERRORS * longer.error


def sure_errors(n: int) -> float:
    """Standard errors that make one of so many comparisons as unlikely to be lost by chance as `ERRORS` one alone.

    Source: Bonferroni.

    >>> [round(sure_errors(n), 2) for n in (1, 60)]
    [2.0, 3.37]
    """
    return NormalDist().inv_cdf(1.0 - NormalDist().cdf(-ERRORS) / n)


def default(results: Results) -> Finding:
    """May it be the default?"""
    found = {cell: outcomes(results, cell) for cell in cells(results.scale)}
    errors = sure_errors(sum(map(len, found.values())))
    lost = {cell: [one for one in several if one.is_lost(errors)] for cell, several in found.items()}
    lost = {cell: several for cell, several in lost.items() if several}
    names = "; ".join(f"{cell.title}: {', '.join(map(percent, several))}" for cell, several in lost.items())
    claims = [
        Claim(
            statement=f"In no cell {OURS} is worse than the best other policy by more than {WORSE:.0%} and "
            f"{errors:.1f} standard errors.",
            held=not lost,
            numbers=f"{len(lost)} of {len(found)} cells lost{': ' if lost else ''}{names}",
        )
    ]
    for slots, world in sorted({(cell.slots, cell.world) for cell in found}, key=lambda key: (key[0], WORLDS[key[1]])):
        here = {cell: several for cell, several in found.items() if (cell.slots, cell.world) == (slots, world)}
        numbers = "; ".join(
            f"{cell.title.split(', ', 2)[2]}: {', '.join(map(percent, several))}" for cell, several in here.items()
        )
        claims.append(
            Claim(
                statement=f"{slots} slots, {world}: no cell is lost.",
                held=not any(cell in lost for cell in here),
                numbers=f"{slots} slots, {world}: {numbers}",
            )
        )
    return Finding(claims=claims, charts=[chart({cell: several[0] for cell, several in found.items()})])


def percent(one: Outcome) -> str:
    """How much longer, with its standard error and the rival.

    >>> percent(Outcome(rival="srpt+ras", longer=Estimate(mean=-0.051, error=0.004)))
    '-5.1 (0.4) % than srpt+ras'
    """
    return f"{100 * one.longer.mean:+.1f} ({100 * one.longer.error:.1f}) % than {one.rival}"


def chart(found: Mapping[Cell, Outcome]) -> Chart:
    """Over the load, a line for each world on 24 slots with three attempts, kills and noise 0.3."""
    lines = {
        world: {cell.load: one.longer for cell, one in found.items() if cell == _shown(world, cell.load)}
        for world in WORLDS
    }
    return Chart(
        title="24 slots, noise 0.3, three attempts, kills",
        x_label="offered load",
        y_label="longer than the best other policy, %",
        series=[
            Series(
                label=world,
                x=list(line),
                y=[100 * one.mean for one in line.values()],
                error=[100 * one.error for one in line.values()],
            )
            for world, line in lines.items()
        ],
    )


def _shown(world: str, load: float) -> Cell:
    return Cell(slots=24, world=world, noise=0.3, load=load)


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(f"{one:,}" for one in numbers)


METHOD = (
    f"Synthetic jobs, tail index 1.5: {_listed(one.jobs for one in SIZES.values())} jobs of at most "
    f"{_listed(one.most_tasks for one in SIZES.values())} tasks on {_listed(SIZES)} slots, so that jobs queue on large "
    "clusters, too; three worlds, "
    "noise 0, 0.3 and 0.6, loads 0.6, 0.8 and 0.95, two and three attempts of a task, kills by all or by none. 3,200 "
    "slots are left out at a load of 0.8, because their runs take longest. The rivals in a cell are the best of "
    f"{', '.join(RIVALS)} on seeds 1 to 4 and those not surely behind it; seeds 5 to 8 judge."
)

EXPERIMENT = Experiment(
    id="unified/cells",
    source="Grasshopper, our own",
    statement=f"{OURS} may be the default: in no cell it is worse than the best other policy.",
    method=METHOD,
    points=points,
    judge=default,
    tried="four sizes, three worlds, three noises, three loads, two and three attempts, with kills and without.",
)
