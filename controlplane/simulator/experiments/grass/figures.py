"""How much of their input do jobs do by their deadlines, and how soon do they meet error bounds? Figures 5 to 11."""

from collections.abc import Callable, Sequence
from itertools import product

from controlplane.simulator.cluster.bounds import Bounds
from controlplane.simulator.cluster.workloads import Synthetic
from controlplane.simulator.experiments.experiment import Chart, Claim, Finding, Results, Scale, Series
from controlplane.simulator.experiments.grass.world import (
    BASELINES,
    DEADLINES,
    ERRORS,
    FRAMEWORKS,
    IDEAL_SLOTS,
    LARGE,
    OURS,
    POLICIES,
    SIZES,
    SMALL,
    WORLDS,
    Fields,
    faster,
    mean,
    more,
    runs,
)
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.statistics import Estimate

SLACKS = (0.02, 0.05, 0.1, 0.15, 0.2)
BOUNDS = (0.0, 0.05, 0.1, 0.2, 0.3)
PHASES = (2, 3, 4, 5, 6)
SURE, NEAR = 3.0, 0.05
"""Standard errors that a difference must have; what is as good is within this share."""

Gain = Callable[..., Estimate]


def percent(one: Estimate) -> str:
    """A gain with its standard error.

    >>> percent(Estimate(mean=0.123, error=0.01))
    '+12.3 (1.0)'
    """
    return f"{100 * one.mean:+.1f} ({100 * one.error:.1f})"


def is_clear(one: Estimate) -> bool:
    """Whether a gain is one beyond doubt."""
    return one.mean > SURE * one.error


def every(scale: Scale, *fields: Sequence[Fields]) -> list[Point]:
    """Every policy under every combination of fields."""
    return [runs(scale, *chosen, policy) for *chosen, policy in product(*fields, POLICIES.values())]


def best_gain(results: Results, gain: Gain, theirs: str, *fields: Fields) -> tuple[str, Estimate]:
    """Whichever of GS and RAS gains more, and its gain."""
    found = {name: gain(results, name, theirs, *fields) for name in OURS}
    name = max(found, key=lambda one: found[one].mean)
    return name, found[name]


def by_size(
    results: Results, gain: Gain, bounds: Fields, what: str, least: float, framework: str, world: str
) -> list[Claim]:
    """Gains over both baselines, all jobs and by size."""
    fields, claims = (WORLDS[world], FRAMEWORKS[framework], bounds), []
    for theirs in BASELINES:
        name, one = best_gain(results, gain, theirs, *fields)
        sizes = ", ".join(
            f"{size} {percent(gain(results, name, theirs, *fields, size=places))}" for size, places in SIZES.items()
        )
        claims.append(
            Claim(
                statement=f"{framework}, {world}: {100 * least:.0f} % {what} than {theirs}, or more.",
                held=is_clear(one) and one.mean >= least,
                numbers=f"{framework}, {world}, {name} over {theirs} {percent(one)} %: {sizes}",
            )
        )
    return claims


def figure_5_points(scale: Scale) -> list[Point]:
    """Deadlines in every world, on both frameworks."""
    return every(scale, list(WORLDS.values()), list(FRAMEWORKS.values()), [DEADLINES])


def figure_5(results: Results) -> Finding:
    """Accuracy with deadlines."""
    least = {"Spark": 0.43, "Hadoop": 0.34}
    pairs = product(FRAMEWORKS, WORLDS)
    claims = [
        claim
        for framework, world in pairs
        for claim in by_size(results, more, DEADLINES, "more accurate", least[framework], framework, world)
    ]
    large, small = (more(results, "RAS", "LATE", FRAMEWORKS["Spark"], DEADLINES, size=size) for size in (LARGE, SMALL))
    claims.append(
        Claim(
            statement="Large jobs gain most.",
            held=large.mean > small.mean,
            numbers=f"Spark, independent, RAS over LATE: large {percent(large)}, small {percent(small)} %",
        )
    )
    return Finding(claims=claims)


def figure_6a_points(scale: Scale) -> list[Point]:
    """Deadlines that all have the same slack."""
    return every(scale, [_slack(one) for one in SLACKS])


def _slack(share: float) -> Fields:
    return {"bounds": Bounds(slack=(share, share), ideal_slots=IDEAL_SLOTS, gives_up=True)}


def figure_6a(results: Results) -> Finding:
    """Gains by deadline."""
    lines = {name: [more(results, name, "LATE", _slack(one)) for one in SLACKS] for name in OURS}
    numbers = "; ".join(f"{name} over LATE: {', '.join(map(percent, line))} %" for name, line in lines.items())
    even = all(max(one.mean for one in line) - min(one.mean for one in line) <= NEAR for line in lines.values())
    claim = Claim(
        statement="Tight and lenient deadlines gain nearly the same (here: within 5 points), and something.",
        held=even and all(is_clear(one) for line in lines.values() for one in line),
        numbers=f"at slacks {', '.join(f'{one:g}' for one in SLACKS)}: {numbers}",
    )
    return Finding(claims=[claim], charts=[_chart("deadline over the ideal time", "more accurate, %", SLACKS, lines)])


def figure_6b_points(scale: Scale) -> list[Point]:
    """The same error bound for all jobs."""
    return every(scale, [_error(one) for one in BOUNDS])


def _error(share: float) -> Fields:
    return {"bounds": Bounds(error=(share, share))}


def figure_6b(results: Results) -> Finding:
    """Gains by error bound."""
    lines = {name: [faster(results, name, "LATE", _error(one)) for one in BOUNDS] for name in OURS}
    numbers = "; ".join(f"{name} over LATE: {', '.join(map(percent, line))} %" for name, line in lines.items())
    return Finding(
        claims=[
            Claim(
                statement="Exact jobs are 34 % faster.",
                held=max(line[0].mean for line in lines.values()) >= 0.34,
                numbers=f"at bounds {', '.join(f'{one:g}' for one in BOUNDS)}: {numbers}",
            ),
            Claim(
                statement="Large error bounds leave less to gain.",
                held=all(line[-1].mean < line[0].mean for line in lines.values()),
                numbers=", ".join(
                    f"{name} {percent(line[0])} at 0 and {percent(line[-1])} % at {BOUNDS[-1]:g}"
                    for name, line in lines.items()
                ),
            ),
        ],
        charts=[_chart("error bound", "faster, %", BOUNDS, lines)],
    )


def figure_7_points(scale: Scale) -> list[Point]:
    """Error bounds in every world, on both frameworks."""
    return every(scale, list(WORLDS.values()), list(FRAMEWORKS.values()), [ERRORS])


def figure_7(results: Results) -> Finding:
    """Speed-up with error bounds."""
    least = {"Spark": 0.33, "Hadoop": 0.24}
    pairs = product(FRAMEWORKS, WORLDS)
    return Finding(
        claims=[
            claim
            for framework, world in pairs
            for claim in by_size(results, faster, ERRORS, "faster", least[framework], framework, world)
        ]
    )


def figure_8_points(scale: Scale) -> list[Point]:
    """Both kinds of bounds."""
    return every(scale, [DEADLINES, ERRORS])


def figure_8(results: Results) -> Finding:
    """Against a scheduler that knows what attempts will take."""
    accuracy = {name: mean(results, "accuracy", DEADLINES, policy) for name, policy in POLICIES.items()}
    times_s = {name: mean(results, "response_s", ERRORS, policy) for name, policy in POLICIES.items()}
    best = max(accuracy[name] for name in OURS), min(times_s[name] for name in OURS)
    return Finding(
        claims=[
            Claim(
                statement="GRASS is as accurate as an optimal scheduler (here: within 5 % of a clairvoyant RAS).",
                held=best[0] >= (1.0 - NEAR) * accuracy["clairvoyant"],
                numbers=", ".join(f"{name} {100 * one:.1f} %" for name, one in accuracy.items()),
            ),
            Claim(
                statement="And as fast.",
                held=best[1] <= (1.0 + NEAR) * times_s["clairvoyant"],
                numbers=", ".join(f"{name} {one:.2f} s" for name, one in times_s.items()),
            ),
        ]
    )


def figure_9_points(scale: Scale) -> list[Point]:
    """Longer and longer jobs."""
    return every(scale, [_phases(one) for one in PHASES], [DEADLINES, ERRORS])


def _phases(number: int) -> Fields:
    return {"workload": Synthetic(least_tasks=10 * number, most_tasks=3000, phases=number, transfer_ratio=0.1)}


def figure_9(results: Results) -> Finding:
    """Gains over the length of the DAG."""
    claims, charts = [], []
    for what, gain, bounds in (("more accurate", more, DEADLINES), ("faster", faster, ERRORS)):
        lines = {name: [gain(results, name, "LATE", _phases(one), bounds) for one in PHASES] for name in OURS}
        charts.append(_chart("phases", f"{what}, %", PHASES, lines))
        claims.append(
            Claim(
                statement=f"GRASS stays {what} than LATE, by about as much (here: within 5 points), over the length.",
                held=all(is_clear(one) for line in lines.values() for one in line)
                and all(max(o.mean for o in line) - min(o.mean for o in line) <= NEAR for line in lines.values()),
                numbers=f"{what}, {', '.join(map(str, PHASES))} phases: "
                + "; ".join(f"{name} {', '.join(map(percent, line))} %" for name, line in lines.items()),
            )
        )
    return Finding(claims=claims, charts=charts)


def figure_10(results: Results) -> Finding:
    """GS and RAS alone, by size."""
    claims = []
    for what, gain, bounds in (("more accurate", more, DEADLINES), ("faster", faster, ERRORS)):
        found = {
            size: {name: gain(results, name, "LATE", bounds, size=places) for name in OURS}
            for size, places in SIZES.items()
        }
        claims.append(
            Claim(
                statement=f"GS is {what} for small jobs, RAS for large ones.",
                held=found["small"]["GS"].mean > found["small"]["RAS"].mean
                and found["large"]["RAS"].mean > found["large"]["GS"].mean,
                numbers=f"{what}: "
                + "; ".join(
                    f"{size} {', '.join(f'{name} {percent(one)}' for name, one in each.items())} %"
                    for size, each in found.items()
                ),
            )
        )
    return Finding(claims=claims)


def _chart(x_label: str, y_label: str, x: Sequence[float], lines: dict[str, list[Estimate]]) -> Chart:
    """Gains over LATE, a line for GS and one for RAS."""
    return Chart(
        title="over LATE",
        x_label=x_label,
        y_label=y_label,
        series=[
            Series(label=name, x=x, y=[100 * one.mean for one in line], error=[100 * one.error for one in line])
            for name, line in lines.items()
        ],
    )
