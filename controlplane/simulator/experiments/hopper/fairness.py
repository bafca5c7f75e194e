"""What does Hopper's unfairness buy, and how often are slots short? Figure 10, and a statement of section 7.2."""

from controlplane.simulator.experiments.cluster_points import (
    HOPPER,
    PRIO,
    Fields,
    clear,
    found,
    gain_chart,
    gains,
    job_gains,
    paired,
    percent,
    runs,
)
from controlplane.simulator.experiments.experiment import Claim, Finding, Point, Results, Scale
from controlplane.simulator.experiments.hopper.gains import FACEBOOK
from controlplane.simulator.statistics import estimate

EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 1.0)
BUSY: Fields = FACEBOOK | {"offered_load": 1.2}
"""Measured at about 80 %."""
SHORT, NEAR = 0.53, 0.1
"""Share of the jobs allocated while slots are short, and how close to it is near."""


def _with_epsilon(epsilon: float) -> Fields:
    return {**HOPPER, "allocator_settings": {"fairness_epsilon": epsilon}}


def figure_10_points(scale: Scale) -> list[Point]:
    """Every epsilon against Prio, and one job by job against absolute fairness."""
    points: list[Point] = [runs(scale, FACEBOOK, policy) for policy in (PRIO, *map(_with_epsilon, EPSILONS))]
    return [*points, paired(scale, _with_epsilon(0.1), _with_epsilon(0.0), FACEBOOK)]


def figure_10(results: Results) -> Finding:
    """What does unfairness buy, and whom does it hurt?"""
    over_prio = [gains(results, _with_epsilon(one), PRIO, FACEBOOK) for one in EPSILONS]
    bought = {one: gains(results, _with_epsilon(one), _with_epsilon(0.0), FACEBOOK) for one in EPSILONS}
    hurt = job_gains(results, _with_epsilon(0.1), _with_epsilon(0.0), FACEBOOK)
    flattens = bought[0.3].mean - bought[0.15].mean < 0.5 * bought[0.15].mean
    return Finding(
        claims=[
            Claim(
                statement="Gains rise quickly with small epsilon, and little beyond 15 %.",
                held=clear(bought[0.15]) and flattens,
                numbers="over epsilon 0: " + ", ".join(f"{one:g} {percent(gain)}" for one, gain in bought.items()),
            ),
            Claim(
                statement="At 10 %, fewer than 4 % of the jobs are slower than with absolute fairness, by 5 % at most.",
                held=hurt.slowed_share < 0.04 and hurt.slowed_most <= 0.05,
                numbers=f"{hurt.slowed_share:.1%} of jobs are slower, by {hurt.slowed_by:.1%} on average and "
                f"{hurt.slowed_most:.0%} at most",
            ),
        ],
        charts=[gain_chart("Hopper+LATE over Prio, Facebook", "fairness epsilon", EPSILONS, {"gain": over_prio})],
    )


def guidelines_points(scale: Scale) -> list[Point]:
    """Hopper at the load of the statement."""
    return [runs(scale, BUSY, HOPPER)]


def guidelines(results: Results) -> Finding:
    """How often are slots short?"""
    ran = found(results, BUSY, HOPPER)
    short, measured = estimate([one.short_share for one in ran]), estimate([one.busy_share for one in ran])
    return Finding(
        claims=[
            Claim(
                statement="At 80 % utilization, 53 % of the jobs are allocated by Guideline 2 (here: of the cycles).",
                held=abs(short.mean - SHORT) <= NEAR,
                numbers=f"{short.mean:.0%} ({short.error:.0%}) of the cycles, {measured.mean:.0%} busy",
            )
        ]
    )
