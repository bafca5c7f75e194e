"""What does Hopper's unfairness buy, and how often are slots short? Figure 10, and a statement of section 7.2."""

from controlplane.simulator.experiments.cluster_points import (
    BASELINES,
    HOPPER,
    PRIO,
    WORLDS,
    Fields,
    busy,
    clear,
    found,
    gain_chart,
    gains,
    job_gains,
    paired,
    percent,
    runs,
)
from controlplane.simulator.experiments.experiment import Chart, Claim, Finding, Point, Results, Scale
from controlplane.simulator.experiments.hopper.gains import FACEBOOK, SOURCES, at_loads, nearest
from controlplane.simulator.statistics import estimate

EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 1.0)
BUSY, SHORT, NEAR = 0.8, 0.53, 0.1
"""At what utilization which share of the jobs is allocated while slots are short, and how close to it is near."""


def _with_epsilon(epsilon: float) -> Fields:
    return {**HOPPER, "allocator_settings": {"fairness_epsilon": epsilon}}


def figure_10_points(scale: Scale) -> list[Point]:
    """Every epsilon beside both baselines, and one job by job against absolute fairness, in both worlds."""
    policies = [*BASELINES.values(), *map(_with_epsilon, EPSILONS)]
    points: list[Point] = [runs(scale, FACEBOOK, world, policy) for world in WORLDS.values() for policy in policies]
    return points + [paired(scale, _with_epsilon(0.1), _with_epsilon(0.0), FACEBOOK, one) for one in WORLDS.values()]


def figure_10(results: Results) -> Finding:
    """What does unfairness buy, and whom does it hurt?"""
    claims: list[Claim] = []
    charts: list[Chart] = []
    for world_name, world in WORLDS.items():
        lines = {
            f"Hopper+LATE over {name}": [gains(results, _with_epsilon(one), base, FACEBOOK, world) for one in EPSILONS]
            for name, base in BASELINES.items()
        }
        charts.append(gain_chart(f"Facebook, {world_name}", "fairness epsilon", EPSILONS, lines))
        claims += _unfairness(results, world_name, world)
    return Finding(claims=claims, charts=charts)


def _unfairness(results: Results, world_name: str, world: Fields) -> list[Claim]:
    """Figure 10's statements in one world, over absolute fairness."""
    fairest = _with_epsilon(0.0)
    bought = {one: gains(results, _with_epsilon(one), fairest, FACEBOOK, world) for one in EPSILONS}
    over = {name: gains(results, _with_epsilon(0.1), base, FACEBOOK, world) for name, base in BASELINES.items()}
    hurt = job_gains(results, _with_epsilon(0.1), fairest, FACEBOOK, world)
    flattens = bought[0.3].mean - bought[0.15].mean < 0.5 * bought[0.15].mean
    told = ", ".join(f"over {name} {percent(one)}" for name, one in over.items())
    return [
        Claim(
            statement=f"{world_name}: gains rise quickly with small epsilon, and little beyond 15 %.",
            held=clear(bought[0.15]) and flattens,
            numbers=f"{world_name}, {busy(results, FACEBOOK, world, PRIO):.0%} busy, over epsilon 0: "
            + ", ".join(f"{one:g} {percent(gain)}" for one, gain in bought.items())
            + f"; at 0.1 {told}",
        ),
        Claim(
            statement=f"{world_name}: at 10 %, fewer than 4 % of the jobs are slower than with absolute fairness, by "
            "5 % at most.",
            held=hurt.slowed_share < 0.04 and hurt.slowed_most <= 0.05,
            numbers=f"{world_name}: {hurt.slowed_share:.1%} of jobs are slower, by {hurt.slowed_by:.1%} on average and "
            f"{hurt.slowed_most:.0%} at most",
        ),
    ]


def guidelines_points(scale: Scale) -> list[Point]:
    """Those of figure 6 among which the load of the statement is."""
    return [
        runs(scale, load, world, policy)
        for load in at_loads(SOURCES["Facebook"])
        for world in WORLDS.values()
        for policy in (HOPPER, *BASELINES.values())
    ]


def guidelines(results: Results) -> Finding:
    """How often are slots short?"""
    claims, loads = [], at_loads(SOURCES["Facebook"])
    for world_name, world in WORLDS.items():
        load = loads[nearest([busy(results, one, world, PRIO) for one in loads], BUSY)]
        short = estimate([one.short_share for one in found(results, load, world, HOPPER)])
        shares = {"Hopper": HOPPER, **BASELINES}
        told = ", ".join(f"{busy(results, load, world, one):.0%} under {name}" for name, one in shares.items())
        claims.append(
            Claim(
                statement=f"{world_name}: at 80 % utilization, 53 % of the jobs are allocated by Guideline 2 (here: of "
                "the cycles).",
                held=abs(short.mean - SHORT) <= NEAR,
                numbers=f"{world_name}: {short.mean:.0%} ({short.error:.0%}) of the cycles; busy {told}",
            )
        )
    return Finding(claims=claims)
