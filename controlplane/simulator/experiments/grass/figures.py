"""How much of their input do jobs do by their deadlines, and how soon do they meet error bounds? Figures 5 to 9."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from statistics import fmean

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
    doubt,
    every,
    faster,
    in_all_cases,
    is_clear,
    knowledge,
    mean,
    more,
    percent,
    runs,
)
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.experiments.points.optimum import AtBest
from controlplane.simulator.statistics import Estimate

SLACKS = (0.02, 0.05, 0.1, 0.15, 0.2)
BOUNDS = (0.0, 0.05, 0.1, 0.2, 0.3)
PHASES = (2, 3, 4, 5, 6)
MORE_BY_FORESIGHT, FASTER_BY_FORESIGHT = 0.44, 0.32
"""An optimal scheduler's least gains on the two traces, in accuracy and in time. Source: GRASS, section 2.3."""
EXACT_FASTER = 0.34
SHOWN = (*BASELINES, "GRASS", "clairvoyant")
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
            numbers.append(f"over {theirs} {percent(one)} %{doubt(results, one)}: {by_sizes}")
        numbers.append(knowledge(results, *fields, named["GRASS"]))
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
    return every(scale, list(WORLDS.values()), [_slack(one) for one in SLACKS])


def _slack(share: float) -> Fields:
    return {"bounds": Bounds(slack=(share, share), ideal_slots=IDEAL_SLOTS, gives_up=True)}


def figure_6a(results: Results) -> Finding:
    """Gains by deadline."""
    lines = {
        title: [more(results, "GRASS", "LATE", world, _slack(one)) for one in SLACKS] for title, world in WORLDS.items()
    }
    claims = [
        Claim(
            statement=f"{title}: tight and lenient deadlines gain nearly the same (here: within 5 points), and "
            "something.",
            held=_is_even(line) and all(is_clear(one) for one in line),
            numbers=f"{title}, at slacks {', '.join(f'{one:g}' for one in SLACKS)}: {_listed(results, line)}",
        )
        for title, line in lines.items()
    ]
    return Finding(claims=claims, charts=[_chart("deadline over the ideal time", "more accurate, %", SLACKS, lines)])


def _is_even(line: Sequence[Estimate]) -> bool:
    return max(one.mean for one in line) - min(one.mean for one in line) <= NEAR


def figure_6b_points(scale: Scale) -> list[Point]:
    """The same error bound for all jobs."""
    return every(scale, list(WORLDS.values()), [_error(one) for one in BOUNDS])


def _error(share: float) -> Fields:
    return {"bounds": Bounds(error=(share, share))}


def figure_6b(results: Results) -> Finding:
    """Gains by error bound."""
    lines = {
        title: [faster(results, "GRASS", "LATE", world, _error(one)) for one in BOUNDS]
        for title, world in WORLDS.items()
    }
    claims = []
    for title, line in lines.items():
        claims += [
            Claim(
                statement=f"{title}: exact jobs are 34 % faster.",
                held=line[0].mean >= EXACT_FASTER,
                numbers=f"{title}, at bounds {', '.join(f'{one:g}' for one in BOUNDS)}: {_listed(results, line)}",
            ),
            Claim(
                statement=f"{title}: large error bounds leave less to gain.",
                held=line[-1].mean < line[0].mean,
                numbers=f"{percent(line[0])} at 0 and {percent(line[-1])} % at {BOUNDS[-1]:g}",
            ),
        ]
    return Finding(claims=claims, charts=[_chart("error bound", "faster, %", BOUNDS, lines)])


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
    """Both kinds of bounds, and what no scheduler can do better."""
    return [
        *every(scale, list(WORLDS.values()), [DEADLINES, ERRORS], policies=SHOWN),
        *(_at_best(scale, world, bounds) for world in WORLDS.values() for bounds in (DEADLINES, ERRORS)),
    ]


def _at_best(scale: Scale, *fields: Fields) -> AtBest:
    one = runs(scale, *fields, POLICIES["clairvoyant"])
    return AtBest(scenario=one.scenario, runs=one.runs)


def figure_8(results: Results) -> Finding:
    """Against a scheduler that knows what attempts will take."""
    return Finding(
        claims=[claim for title, world in WORLDS.items() for claim in _against_optimum(results, title, world)]
    )


def _against_optimum(results: Results, title: str, world: Fields) -> list[Claim]:
    by_foresight = {
        (what, theirs): gain(results, "clairvoyant", theirs, world, bounds)
        for what, gain, bounds in (("more accurate", more, DEADLINES), ("faster", faster, ERRORS))
        for theirs in BASELINES
    }
    least = {"more accurate": MORE_BY_FORESIGHT, "faster": FASTER_BY_FORESIGHT}
    accuracy = {name: mean(results, "accuracy", world, DEADLINES, POLICIES[name]) for name in SHOWN}
    times_s = {name: mean(results, "response_s", world, ERRORS, POLICIES[name]) for name in SHOWN}
    most, least_s = (
        fmean(one[name] for one in results(_at_best(results.scale, world, bounds)))
        for name, bounds in (("accuracy", DEADLINES), ("response_s", ERRORS))
    )
    return [
        Claim(
            statement=f"{title}: GRASS is as accurate as an optimal scheduler (here: within 5 % of a clairvoyant RAS).",
            held=accuracy["GRASS"] >= (1.0 - NEAR) * accuracy["clairvoyant"],
            numbers=f"{title}: {', '.join(f'{name} {100 * one:.1f} %' for name, one in accuracy.items())}; "
            f"no scheduler does more than {100 * most:.1f}",
        ),
        Claim(
            statement=f"{title}: and as fast.",
            held=times_s["GRASS"] <= (1.0 + NEAR) * times_s["clairvoyant"],
            numbers=f"{title}: {', '.join(f'{name} {one:.2f} s' for name, one in times_s.items())}; "
            f"no scheduler takes less than {least_s:.2f}",
        ),
        Claim(
            statement=f"{title}: an optimal scheduler is 48 and 44 % more accurate than LATE and Mantri on two traces, "
            "and 32 and 40 % faster (section 2.3; here: a clairvoyant RAS, by the smaller number of each).",
            held=all(is_clear(one) and one.mean >= least[what] for (what, _), one in by_foresight.items()),
            numbers=", ".join(
                f"clairvoyant {what} than {theirs} {percent(one)} %" for (what, theirs), one in by_foresight.items()
            )
            + f"; a scheduler at both bounds {100 * (most / accuracy['LATE'] - 1.0):.1f} % more accurate and "
            f"{100 * (1.0 - least_s / times_s['LATE']):.1f} % faster than LATE",
        ),
    ]


def figure_9_points(scale: Scale) -> list[Point]:
    """Longer and longer jobs."""
    return every(scale, list(WORLDS.values()), [_phases(one) for one in PHASES], [DEADLINES, ERRORS])


def _phases(number: int) -> Fields:
    return {"workload": Synthetic(least_tasks=10 * number, most_tasks=3000, phases=number, transfer_ratio=0.1)}


def figure_9(results: Results) -> Finding:
    """Gains over the length of the DAG."""
    claims, charts = [], []
    for what, gain, bounds in (("more accurate", more, DEADLINES), ("faster", faster, ERRORS)):
        lines = {
            title: [gain(results, "GRASS", "LATE", world, _phases(one), bounds) for one in PHASES]
            for title, world in WORLDS.items()
        }
        charts.append(_chart("phases", f"{what}, %", PHASES, lines))
        claims += [
            Claim(
                statement=f"{title}: GRASS stays {what} than LATE, by about as much (here: within 5 points), over the "
                "length.",
                held=_is_even(line) and all(is_clear(one) for one in line),
                numbers=f"{title}, {what}, {', '.join(map(str, PHASES))} phases: {_listed(results, line)}",
            )
            for title, line in lines.items()
        ]
    return Finding(claims=claims, charts=charts)


def _listed(results: Results, line: Sequence[Estimate]) -> str:
    return f"{', '.join(f'{percent(one)}{doubt(results, one)}' for one in line)} %"


def _chart(x_label: str, y_label: str, x: Sequence[float], lines: Mapping[str, Sequence[Estimate]]) -> Chart:
    """GRASS's gains over LATE."""
    series = [
        Series(label=label, x=x, y=[100 * one.mean for one in line], error=[100 * one.error for one in line])
        for label, line in lines.items()
    ]
    return Chart(title="GRASS over LATE", x_label=x_label, y_label=y_label, series=series)
