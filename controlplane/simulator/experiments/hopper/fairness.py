"""What does Hopper's unfairness buy, and how often are slots short? Figure 10, and a statement of section 7.2."""

from controlplane.simulator.experiments.experiment import Chart, Claim, Finding, Results, Scale
from controlplane.simulator.experiments.hopper.comparisons import (
    at_middle,
    at_share,
    busy,
    clear,
    found,
    gain_chart,
    gains,
    job_gains,
    percent,
    where,
)
from controlplane.simulator.experiments.hopper.conditions import (
    BASELINES,
    FACEBOOK,
    HIGH,
    HOPPER,
    MIDDLE_LOADS,
    WORLDS,
    Fields,
    at_loads,
    each_job,
    grid,
    hopper,
)
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.statistics import estimate

EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 1.0)
SHORT, NEAR = 0.53, 0.1
"""Which share of the jobs arrives while slots are short where HIGH of them are busy, and how close to it is near."""


def _with_epsilon(epsilon: float) -> Fields:
    return hopper("late", fairness_epsilon=epsilon)


def figure_10_points(scale: Scale) -> list[Point]:
    """Every epsilon beside both baselines, and two of them job by job, in both worlds."""
    loads = at_loads(FACEBOOK, MIDDLE_LOADS)
    return grid(scale, loads, [*BASELINES.values(), *map(_with_epsilon, EPSILONS)]) + [
        each_job(scale, load, world, _with_epsilon(epsilon))
        for load in loads
        for world in WORLDS.values()
        for epsilon in (0.0, 0.1)
    ]


def figure_10(results: Results) -> Finding:
    """What does unfairness buy, and whom does it hurt?"""
    claims: list[Claim] = []
    charts: list[Chart] = []
    for world_name, world in WORLDS.items():
        at = at_middle(results, FACEBOOK, world)
        lines = {
            f"Hopper+LATE over {name}": [gains(results, _with_epsilon(one), base, at, world) for one in EPSILONS]
            for name, base in BASELINES.items()
        }
        charts.append(gain_chart(f"Facebook, {world_name}", "fairness epsilon", EPSILONS, lines))
        claims += _unfairness(results, world_name, world, at)
    return Finding(claims=claims, charts=charts)


def _unfairness(results: Results, world_name: str, world: Fields, at: Fields) -> list[Claim]:
    """Figure 10's statements in one world, over absolute fairness."""
    fairest = _with_epsilon(0.0)
    bought = {one: gains(results, _with_epsilon(one), fairest, at, world) for one in EPSILONS}
    over = {name: gains(results, _with_epsilon(0.1), base, at, world) for name, base in BASELINES.items()}
    hurt = job_gains(results, _with_epsilon(0.1), fairest, at, world)
    flattens = bought[0.3].mean - bought[0.15].mean < 0.5 * bought[0.15].mean
    over_both = ", ".join(f"over {name} {percent(one)}" for name, one in over.items())
    return [
        Claim(
            statement=f"{world_name}: gains rise quickly with small epsilon, and little beyond 15 %.",
            held=clear(bought[0.15]) and flattens,
            numbers=f"{world_name}, {where(results, at, world)}, over epsilon 0: "
            + ", ".join(f"{one:g} {percent(gain)}" for one, gain in bought.items())
            + f"; at 0.1 {over_both}",
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
    return grid(scale, at_loads(FACEBOOK), [HOPPER, *BASELINES.values()])


def guidelines(results: Results) -> Finding:
    """How many jobs arrive while slots are short?"""
    claims = []
    shown = {"Hopper": HOPPER, **BASELINES}
    for world_name, world in WORLDS.items():
        load = at_share(results, at_loads(FACEBOOK), world, HIGH)
        shares = {
            name: estimate([one.short_share for one in found(results, load, world, policy)])
            for name, policy in shown.items()
        }
        by_policy = ", ".join(
            f"{name} {one.mean:.0%} ({one.error:.0%}) at {busy(results, load, world, shown[name]):.0%} busy"
            for name, one in shares.items()
        )
        claims.append(
            Claim(
                statement=f"{world_name}: at 80 % utilization, 53 % of the jobs are allocated by Guideline 2: they "
                "arrive while virtual sizes exceed the slots (here: within ten points).",
                held=abs(shares["Hopper"].mean - SHORT) <= NEAR,
                numbers=f"{world_name}, offered {load['offered_load']:g}: {by_policy}",
            )
        )
    return Finding(claims=claims)
