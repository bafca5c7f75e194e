"""Is one index for copies and originals good enough to be the default? Cells of size, world, noise and load.

The rival in each cell is the policy that was best there on other seeds. All policies may have as many attempts of a
task, and all or none may end beaten ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import log
from statistics import NormalDist
from typing import Any

from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.workloads import Synthetic
from controlplane.simulator.experiments.experiment import Chart, Claim, Experiment, Finding, Results, Scale, Series
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.experiments.points.cluster import ClusterRuns
from controlplane.simulator.experiments.unified import deadlines
from controlplane.simulator.statistics import Estimate, estimate

OURS = deadlines.OURS
RIVALS = ("srpt+late", "srpt+ras", "hopper+ras")
CHOOSING, JUDGING = slice(0, 4), slice(4, 8)
"""Places of the seeds that choose the rival, and of those that judge."""
WORSE, ERRORS = 0.02, 2.0
"""A cell is lost if we are longer by more than this share, and by this many standard errors were it the only cell."""
WORLDS = {"independent": 0.0, "half shared": 0.5, "all shared": 1.0}
CLUSTERS = {8: (4, 2), 24: (4, 6), 400: (100, 4)}
"""Machines, and slots of each, by slots."""
JOBS = {Scale.SMOKE: 100, Scale.FULL: 2000}
MOST_COPIES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One set of conditions."""

    slots: int
    world: str
    noise: float
    load: float
    kills: bool = True

    @property
    def title(self) -> str:
        """In words.

        >>> Cell(slots=8, world="half shared", noise=0.3, load=0.6).title
        '8 slots, half shared, noise 0.3, load 0.6, kills'
        """
        kills = "kills" if self.kills else "no kills"
        return f"{self.slots} slots, {self.world}, noise {self.noise:g}, load {self.load:g}, {kills}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A cell's rival, and how much longer our mean response time is than its, as a share."""

    rival: str
    longer: Estimate

    def is_lost(self, errors: float) -> bool:
        """Whether ours is longer by more than `WORSE` and by more than so many standard errors."""
        return self.longer.mean > max(WORSE, errors * self.longer.error)


def cells(scale: Scale) -> Sequence[Cell]:
    """All of a scale; at full scale fewer of large clusters, and a few in which nobody ends beaten attempts."""
    if scale is Scale.SMOKE:
        return [Cell(slots=24, world=world, noise=0.3, load=load) for world, load in product(WORLDS, (0.6, 0.95))]
    small = product((8, 24), WORLDS, (0.0, 0.3, 0.6), (0.6, 0.8, 0.95))
    return [
        *(Cell(slots=slots, world=world, noise=noise, load=load) for slots, world, noise, load in small),
        *(Cell(slots=400, world=world, noise=0.3, load=load) for world, load in product(WORLDS, (0.6, 0.95))),
        *(Cell(slots=24, world=world, noise=0.3, load=0.8, kills=False) for world in WORLDS),
    ]


def runs(scale: Scale, cell: Cell, policy: str) -> ClusterRuns:
    """The point of a policy in a cell."""
    machines, slots = CLUSTERS[cell.slots]
    scenario = ClusterScenario(
        policy=policy,
        speculator_settings={"end_beaten": float(cell.kills)},
        max_copies=MOST_COPIES,
        workload=Synthetic(least_tasks=1, most_tasks=150 if cell.slots < 400 else 1500),
        offered_load=cell.load,
        jobs=JOBS[scale],
        machines=machines,
        slots_per_machine=slots,
        shared_share=WORLDS[cell.world],
        noise=cell.noise,
    )
    return ClusterRuns(scenario=scenario, runs=JUDGING.stop)


def points(scale: Scale) -> list[Point]:
    """Every policy in every cell."""
    return [runs(scale, cell, policy) for cell in cells(scale) for policy in (OURS, *RIVALS)]


def outcome(results: Results, cell: Cell) -> Outcome:
    """The rival is chosen on some seeds, and ours is compared with it on others, seed by seed."""

    def logs(policy: str, seeds: slice) -> list[float]:
        found: list[Mapping[str, Any]] = results(runs(results.scale, cell, policy))
        return [log(one["response_s"]) for one in found[seeds]]

    rival = min(RIVALS, key=lambda policy: sum(logs(policy, CHOOSING)))
    pairs = zip(logs(OURS, JUDGING), logs(rival, JUDGING), strict=True)
    return Outcome(rival=rival, longer=estimate([ours - theirs for ours, theirs in pairs]))


def sure_errors(n_cells: int) -> float:
    """Standard errors that make one of so many cells as unlikely to be lost by chance as `ERRORS` make a single one.

    Source: Bonferroni.

    >>> [round(sure_errors(n_cells), 2) for n_cells in (1, 60)]
    [2.0, 3.37]
    """
    return NormalDist().inv_cdf(1.0 - NormalDist().cdf(-ERRORS) / n_cells)


def default(results: Results) -> Finding:
    """May it be the default?"""
    found = {cell: outcome(results, cell) for cell in cells(results.scale)}
    errors = sure_errors(len(found))
    lost = [cell for cell, one in found.items() if one.is_lost(errors)]
    names = "; ".join(f"{cell.title}: {percent(found[cell])}" for cell in lost)
    claims = [
        Claim(
            statement=f"In no cell {OURS} is worse than the best other policy by more than {WORSE:.0%} and "
            f"{errors:.1f} standard errors.",
            held=not lost,
            numbers=f"{len(lost)} of {len(found)} cells lost{': ' if lost else ''}{names}",
        )
    ]
    for slots, world in sorted({(cell.slots, cell.world) for cell in found}, key=lambda key: (key[0], WORLDS[key[1]])):
        here = {cell: one for cell, one in found.items() if (cell.slots, cell.world) == (slots, world)}
        numbers = "; ".join(f"{cell.title.split(', ', 2)[2]}: {percent(one)}" for cell, one in here.items())
        claims.append(
            Claim(
                statement=f"{slots} slots, {world}: no cell is lost.",
                held=not any(cell in lost for cell in here),
                numbers=f"{slots} slots, {world}: {numbers}",
            )
        )
    return Finding(claims=claims, charts=[chart(found)])


def percent(one: Outcome) -> str:
    """How much longer, with its standard error and the rival.

    >>> percent(Outcome(rival="srpt+ras", longer=Estimate(mean=-0.051, error=0.004)))
    '-5.1 (0.4) % than srpt+ras'
    """
    return f"{100 * one.longer.mean:+.1f} ({100 * one.longer.error:.1f}) % than {one.rival}"


def chart(found: Mapping[Cell, Outcome]) -> Chart:
    """Over the load, a line for each world on 24 slots with kills and noise 0.3."""
    lines = {
        world: {cell.load: one.longer for cell, one in found.items() if cell == _shown(world, cell.load)}
        for world in WORLDS
    }
    return Chart(
        title="24 slots, noise 0.3, kills",
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


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        id="unified/cells",
        source="Grasshopper, our own",
        statement=f"{OURS} may be the default: in no cell it is worse than the best other policy.",
        method=f"{JOBS[Scale.FULL]} synthetic jobs of 1 to 150 tasks (400 slots: to 1,500), tail index 1.5, at most "
        f"{MOST_COPIES} copies of a task; the rival, one of {', '.join(RIVALS)}, is chosen on seeds 1 to 4, and "
        "judged on 5 to 8.",
        points=points,
        judge=default,
        tried="8, 24 and 400 slots, three worlds, three noises, three loads, with kills and without.",
    ),
    deadlines.EXPERIMENT,
)
