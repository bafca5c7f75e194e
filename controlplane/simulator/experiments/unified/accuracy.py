"""How much of its input does one index do by a deadline, and how soon does it meet error bounds? In GRASS's world.

All jobs have five waves or more. All policies may have as many attempts of a task, and all or none end beaten ones.
"""

from collections.abc import Mapping
from itertools import product

from controlplane.simulator.cluster.workloads import Synthetic
from controlplane.simulator.experiments.experiment import Claim, Experiment, Finding, Results, Scale
from controlplane.simulator.experiments.grass.world import (
    BASE,
    DEADLINES,
    ERRORS,
    IDEAL_SLOTS,
    Fields,
    by_seed,
    grass,
    is_clear,
    percent,
    runs,
)
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.statistics import Estimate, estimate

OURS, LATE, GRASS, FORESEEING = "fair+unified", "fair+late", "fair+grass", "fair+clairvoyant"
POLICIES = (LATE, "fair+ras", GRASS, OURS, FORESEEING)
LEAST_WAVES = 5
JOBS = {Scale.SMOKE: 5, Scale.FULL: 100}
LOAD = 0.1
WAVES: Fields = {
    "workload": Synthetic(least_tasks=LEAST_WAVES * IDEAL_SLOTS, most_tasks=3000),
    "machines": IDEAL_SLOTS // BASE.slots_per_machine,
    "offered_load": LOAD,
}
"""The cluster has the slots of the ideal time, and jobs seldom share it."""
WORLDS: dict[str, Fields] = {
    "independent": {},
    "independent, noise 0.3": {"noise": 0.3},
    "half shared": {"shared_share": 0.5},
    "half shared, noise 0.3": {"shared_share": 0.5, "noise": 0.3},
}
KILLS = {"kills": 1.0, "no kills": 0.0}
BOUNDS = {"more accurate": DEADLINES, "faster": ERRORS}
ELSEWHERE = (
    "Seen elsewhere, before deadlines: GRASS +8 to +30 % (independent) and -27 to +3 % (half shared) over LATE, "
    "a clairvoyant with two copies +42 to +54 % and +36 to +44 %."
)


def worlds(scale: Scale) -> Mapping[str, Fields]:
    """Those of a scale, by name."""
    return WORLDS if scale is Scale.FULL else {"independent": WORLDS["independent"]}


def fields(scale: Scale, world: str, kills: str, what: str, policy: str) -> tuple[Fields, ...]:
    """Where a scenario differs from those of GRASS's figures."""
    settings = {"end_beaten": KILLS[kills]}
    named = grass(**settings) if policy == GRASS else {"policy": policy, "speculator_settings": settings}
    return {"jobs": JOBS[scale]}, WAVES, WORLDS[world], BOUNDS[what], named


def points(scale: Scale) -> list[Point]:
    """Every policy with both kinds of bounds, in every world, with kills and without."""
    every = product(worlds(scale), KILLS, BOUNDS, POLICIES)
    return [runs(scale, *fields(scale, *one)) for one in every]


def gain(results: Results, world: str, kills: str, what: str, ours: str, theirs: str) -> Estimate:
    """By how much more accurate, or faster, as a share of theirs, over paired seeds."""
    name, sign = ("accuracy", 1.0) if what == "more accurate" else ("response_s", -1.0)
    mine, others = (
        by_seed(results, name, (), *fields(results.scale, world, kills, what, policy)) for policy in (ours, theirs)
    )
    return estimate([sign * (a / b - 1.0) for a, b in zip(mine, others, strict=True)])


def judge(results: Results) -> Finding:
    """Ours against LATE and GRASS, and how much foresight would gain."""
    claims = []
    for world, kills, what in product(worlds(results.scale), KILLS, BOUNDS):
        over = {one: gain(results, world, kills, what, one, LATE) for one in POLICIES if one != LATE}
        beyond = gain(results, world, kills, what, OURS, GRASS)
        where, listed = f"{world}, {kills}", ", ".join(f"{name} {percent(one)}" for name, one in over.items())
        claims += [
            Claim(
                statement=f"{where}: {OURS} is {what} than {LATE}.",
                held=is_clear(over[OURS]),
                numbers=f"{where}, {what} than {LATE}: {listed} %",
            ),
            Claim(
                statement=f"{where}: {GRASS} is not {what} than {OURS}.",
                held=not is_clear(gain(results, world, kills, what, GRASS, OURS)),
                numbers=f"{what} than {GRASS}: {percent(beyond)} %",
            ),
        ]
    return Finding(claims=claims, notes=[ELSEWHERE])


EXPERIMENT = Experiment(
    id="unified/accuracy",
    source="Grasshopper, our own",
    statement=f"In five waves or more, {OURS} is more accurate and faster than {LATE}, and {GRASS} is neither than it.",
    method=f"GRASS's bounds; {JOBS[Scale.FULL]} jobs of {LEAST_WAVES * IDEAL_SLOTS} to 3,000 tasks on {IDEAL_SLOTS} "
    f"slots at an offered load of {LOAD:g}, so that they seldom share, four seeds, tail index 1.5; "
    f"{BASE.max_copies + 1} attempts of a task, kills by all or by none; 15 % explorers for GRASS.",
    points=points,
    judge=judge,
    tried="independent and half shared slowness, exact and noisy estimates.",
)
