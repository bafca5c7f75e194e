"""How much of their input do jobs do by their deadlines, and how soon do they meet error bounds? Figures 5 to 9."""

from collections.abc import Callable, Sequence
from itertools import product

from controlplane.simulator.cluster.bounds import Bounds
from controlplane.simulator.cluster.workloads import Synthetic
from controlplane.simulator.experiments.experiment import Chart, Claim, Finding, Results, Scale, Series
from controlplane.simulator.experiments.grass.world import (
    BASELINES,
    CASES,
    DEADLINES,
    ERRORS,
    FRAMEWORKS,
    IDEAL_SLOTS,
    LARGE,
    POLICIES,
    SIZES,
    SMALL,
    WORLDS,
    Fields,
    every,
    faster,
    in_all_cases,
    is_clear,
    mean,
    more,
    percent,
)
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.statistics import Estimate

SLACKS = (0.02, 0.05, 0.1, 0.15, 0.2)
BOUNDS = (0.0, 0.05, 0.1, 0.2, 0.3)
PHASES = (2, 3, 4, 5, 6)
MORE_BY_FORESIGHT, FASTER_BY_FORESIGHT = 0.44, 0.32
"""An optimal scheduler's least gains on the two traces, in accuracy and in time. Source: GRASS, section 2.3."""
NEAR = 0.05
"""What is as good is within this share."""

Gain = Callable[..., Estimate]


def by_size(
    results: Results, gain: Gain, bounds: Fields, what: str, least: float, framework: str, world: str
) -> list[Claim]:
    """Gains over both baselines in all cases, all jobs and by size."""
    claims = []
    for case, (most, named) in CASES.items():
        fields, numbers, is_so = (WORLDS[world], FRAMEWORKS[framework], bounds, most), [], True
        for theirs in BASELINES:
            one = gain(results, "GRASS", theirs, *fields, named=named)
            is_so &= is_clear(one) and one.mean >= least
            sizes = {
                size: gain(results, "GRASS", theirs, *fields, size=places, named=named)
                for size, places in SIZES.items()
            }
            by_sizes = ", ".join(f"{size} {percent(each)}" for size, each in sizes.items())
            numbers.append(f"over {theirs} {percent(one)} %: {by_sizes}")
        where = f"{framework}, {world}, {case}"
        claims.append(
            Claim(
                statement=f"{where}: {100 * least:.0f} % {what} than LATE and Mantri, or more.",
                held=is_so,
                numbers=f"{where}: {'; '.join(numbers)}",
            )
        )
    return claims


def figure_5_points(scale: Scale) -> list[Point]:
    """Deadlines in every world, on both frameworks."""
    return in_all_cases(scale, list(WORLDS.values()), list(FRAMEWORKS.values()), [DEADLINES])


def figure_5(results: Results) -> Finding:
    """Accuracy with deadlines."""
    least = {"Spark": 0.43, "Hadoop": 0.34}
    claims = [
        claim
        for framework, world in product(FRAMEWORKS, WORLDS)
        for claim in by_size(results, more, DEADLINES, "more accurate", least[framework], framework, world)
    ]
    large, small = (
        more(results, "GRASS", "LATE", FRAMEWORKS["Spark"], DEADLINES, size=size) for size in (LARGE, SMALL)
    )
    claims.append(
        Claim(
            statement="Large jobs gain most.",
            held=large.mean > small.mean,
            numbers=f"Spark, independent, over LATE: large {percent(large)}, small {percent(small)} %",
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
    line = [more(results, "GRASS", "LATE", _slack(one)) for one in SLACKS]
    claim = Claim(
        statement="Tight and lenient deadlines gain nearly the same (here: within 5 points), and something.",
        held=_is_even(line) and all(is_clear(one) for one in line),
        numbers=f"at slacks {', '.join(f'{one:g}' for one in SLACKS)}: {', '.join(map(percent, line))} %",
    )
    return Finding(claims=[claim], charts=[_chart("deadline over the ideal time", "more accurate, %", SLACKS, line)])


def _is_even(line: Sequence[Estimate]) -> bool:
    return max(one.mean for one in line) - min(one.mean for one in line) <= NEAR


def figure_6b_points(scale: Scale) -> list[Point]:
    """The same error bound for all jobs."""
    return every(scale, [_error(one) for one in BOUNDS])


def _error(share: float) -> Fields:
    return {"bounds": Bounds(error=(share, share))}


def figure_6b(results: Results) -> Finding:
    """Gains by error bound."""
    line = [faster(results, "GRASS", "LATE", _error(one)) for one in BOUNDS]
    return Finding(
        claims=[
            Claim(
                statement="Exact jobs are 34 % faster.",
                held=line[0].mean >= 0.34,
                numbers=f"at bounds {', '.join(f'{one:g}' for one in BOUNDS)}: {', '.join(map(percent, line))} %",
            ),
            Claim(
                statement="Large error bounds leave less to gain.",
                held=line[-1].mean < line[0].mean,
                numbers=f"{percent(line[0])} at 0 and {percent(line[-1])} % at {BOUNDS[-1]:g}",
            ),
        ],
        charts=[_chart("error bound", "faster, %", BOUNDS, line)],
    )


def figure_7_points(scale: Scale) -> list[Point]:
    """Error bounds in every world, on both frameworks."""
    return in_all_cases(scale, list(WORLDS.values()), list(FRAMEWORKS.values()), [ERRORS])


def figure_7(results: Results) -> Finding:
    """Speed-up with error bounds."""
    least = {"Spark": 0.33, "Hadoop": 0.24}
    return Finding(
        claims=[
            claim
            for framework, world in product(FRAMEWORKS, WORLDS)
            for claim in by_size(results, faster, ERRORS, "faster", least[framework], framework, world)
        ]
    )


def figure_8_points(scale: Scale) -> list[Point]:
    """Both kinds of bounds."""
    return every(scale, [DEADLINES, ERRORS], policies=(*BASELINES, "GRASS", "clairvoyant"))


def figure_8(results: Results) -> Finding:
    """Against a scheduler that knows what attempts will take."""
    shown = (*BASELINES, "GRASS", "clairvoyant")
    by_foresight = {
        (what, theirs): gain(results, "clairvoyant", theirs, bounds)
        for what, gain, bounds in (("more accurate", more, DEADLINES), ("faster", faster, ERRORS))
        for theirs in BASELINES
    }
    least = {"more accurate": MORE_BY_FORESIGHT, "faster": FASTER_BY_FORESIGHT}
    accuracy = {name: mean(results, "accuracy", DEADLINES, POLICIES[name]) for name in shown}
    times_s = {name: mean(results, "response_s", ERRORS, POLICIES[name]) for name in shown}
    return Finding(
        claims=[
            Claim(
                statement="GRASS is as accurate as an optimal scheduler (here: within 5 % of a clairvoyant RAS).",
                held=accuracy["GRASS"] >= (1.0 - NEAR) * accuracy["clairvoyant"],
                numbers=", ".join(f"{name} {100 * one:.1f} %" for name, one in accuracy.items()),
            ),
            Claim(
                statement="And as fast.",
                held=times_s["GRASS"] <= (1.0 + NEAR) * times_s["clairvoyant"],
                numbers=", ".join(f"{name} {one:.2f} s" for name, one in times_s.items()),
            ),
            Claim(
                statement="An optimal scheduler is 48 and 44 % more accurate than LATE and Mantri on two traces, and "
                "32 and 40 % faster (section 2.3; here: a clairvoyant RAS, by the smaller number of each).",
                held=all(is_clear(one) and one.mean >= least[what] for (what, _), one in by_foresight.items()),
                numbers=", ".join(
                    f"clairvoyant {what} than {theirs} {percent(one)} %" for (what, theirs), one in by_foresight.items()
                ),
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
        line = [gain(results, "GRASS", "LATE", _phases(one), bounds) for one in PHASES]
        charts.append(_chart("phases", f"{what}, %", PHASES, line))
        claims.append(
            Claim(
                statement=f"GRASS stays {what} than LATE, by about as much (here: within 5 points), over the length.",
                held=_is_even(line) and all(is_clear(one) for one in line),
                numbers=f"{what}, {', '.join(map(str, PHASES))} phases: {', '.join(map(percent, line))} %",
            )
        )
    return Finding(claims=claims, charts=charts)


def _chart(x_label: str, y_label: str, x: Sequence[float], line: Sequence[Estimate]) -> Chart:
    """GRASS's gains over LATE."""
    y, error = [100 * one.mean for one in line], [100 * one.error for one in line]
    return Chart(
        title="over LATE",
        x_label=x_label,
        y_label=y_label,
        series=[Series(label="GRASS", x=x, y=y, error=error)],
    )
