"""Does one index for copies and originals keep as many deadlines as Shed+? In that paper's world, with equal caps."""

from collections.abc import Mapping
from itertools import product
from typing import Any

from controlplane.simulator.experiments.experiment import Claim, Experiment, Finding, Results, Scale
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.experiments.shed_plus.figures import is_ahead, lines, listed
from controlplane.simulator.experiments.shed_plus.world import WORLDS, measured, runs
from controlplane.simulator.statistics import Estimate

OURS, SHED_PLUS = "unified+unified", "fifo+shed-plus"
LOADS = {Scale.SMOKE: (0.9,), Scale.FULL: (0.4, 0.8, 0.9)}
GOALS = {1.5: 0.97, 2.0: 0.88}
"""Shares of deadlines kept at the highest load, with independent slowness and exact estimates, by tail index."""
MOST_COPIES = 3


def fields(load: float, policy: str) -> Mapping[str, Any]:
    """Where a scenario differs from those of Shed+'s figures."""
    return {"offered_load": load, "policy": policy, "max_copies": MOST_COPIES}


def points(scale: Scale) -> list[Point]:
    """Both policies in every world, with every tail index, at every load."""
    every = product(WORLDS.values(), GOALS, LOADS[scale], (OURS, SHED_PLUS))
    return [runs(scale, world, fields(load, policy), tail_index=tail) for world, tail, load, policy in every]


def kept(results: Results, world: Mapping[str, Any], tail: float, load: float) -> dict[str, Estimate]:
    """The share of deadlines that each policy keeps."""
    return {
        policy: measured(results, "on_time_share", world, fields(load, policy), tail_index=tail)
        for policy in (OURS, SHED_PLUS)
    }


def judge(results: Results) -> Finding:
    """Compare ours with Shed+, whose copies start from the beginning."""
    claims, charts, loads = [], [], LOADS[results.scale]
    for (title, world), (tail, goal) in product(WORLDS.items(), GOALS.items()):
        where, by_load = f"{title}, tail index {tail:g}", [kept(results, world, tail, load) for load in loads]
        charts.append(lines(where, "offered load", loads, by_load))
        claims.append(
            Claim(
                statement=f"{where}: at no load {SHED_PLUS} keeps more deadlines.",
                held=not any(is_ahead(found, SHED_PLUS, OURS) for found in by_load),
                numbers=f"{where}: "
                + "; ".join(f"load {load:g}: {listed(one)} %" for load, one in zip(loads, by_load, strict=True)),
            )
        )
        if not world:
            claims.append(
                Claim(
                    statement=f"{where}: {OURS} keeps {goal:.0%} or more at a load of {loads[-1]:g}.",
                    held=by_load[-1][OURS].mean >= goal,
                    numbers=f"{where}: {listed(by_load[-1])} %",
                )
            )
    return Finding(claims=claims, charts=charts)


EXPERIMENT = Experiment(
    id="unified/deadlines",
    source="Grasshopper, our own",
    statement=f"{OURS} keeps as many deadlines as {SHED_PLUS}.",
    method=f"The world of Shed+'s figures; at most {MOST_COPIES} copies of a task at a time, each from the beginning.",
    points=points,
    judge=judge,
    tried="Two tail indices, three loads, three worlds.",
)
