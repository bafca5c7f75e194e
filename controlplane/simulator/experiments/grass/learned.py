"""What is learned switching worth, and what does it need? Figures 10 to 15, in a cluster where jobs run in waves."""

from collections.abc import Mapping, Sequence
from itertools import product

from controlplane.simulator.cluster.bounds import Bounds
from controlplane.simulator.cluster.workloads import Synthetic
from controlplane.simulator.experiments.experiment import Chart, Claim, Finding, Results, Scale, Series
from controlplane.simulator.experiments.grass.world import (
    ERRORS,
    JOBS,
    POLICIES,
    PRACTICE_JOBS,
    RUNS,
    SIZES,
    SLACK,
    SURE,
    Fields,
    doubt,
    every,
    faster,
    is_clear,
    knowledge,
    more,
    percent,
)
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.statistics import Estimate

SLOTS = 50
PRACTICE: tuple[Fields, ...] = tuple(
    {"offered_load": load, "noise": noise} for load in (0.5, 0.9) for noise in (0.0, 0.3, 1.0)
)
"""Where GRASS has its samples from: the pool is as busy, and its estimates as poor, as the factors tell apart."""
UNTAUGHT: Fields = {"practice": ()}
CONDITIONS: dict[str, Fields] = {
    "load 0.5, noise 0.3": {},
    "load 0.9, noise 1": {"offered_load": 0.9, "noise": 1.0},
}
WAVES: Fields = {
    "workload": Synthetic(least_tasks=10, most_tasks=1000),
    "machines": SLOTS,
    "slots_per_machine": 1,
    "offered_load": 0.5,
    "noise": 0.3,
    "practice": PRACTICE,
}
DEADLINES: Fields = {**WAVES, "bounds": Bounds(slack=SLACK, ideal_slots=SLOTS, gives_up=True)}
WITHIN_ERRORS: Fields = {**WAVES, **ERRORS}
KINDS = (("more accurate", more, DEADLINES), ("faster", faster, WITHIN_ERRORS))
METHOD = (
    "50 slots shared fairly at an offered load of 0.5, jobs of 10 to 1,000 tasks in up to 20 waves, tail index 1.5, "
    "estimates off by a lognormal factor (0.3); deadlines 2 to 20 % over the ideal time on all slots, error bounds of "
    "5 to 30 %; three attempts of a task, no kills. Before its first job GRASS has the samples of "
    f"{PRACTICE_JOBS[Scale.FULL]:,} jobs at each load of 0.5 and 0.9 with each noise of 0, 0.3 and 1, half of which "
    "ran under GS and half under RAS; from then on 15 % of the jobs are explorers (Figure 15: it begins without "
    f"samples). {RUNS[Scale.FULL]} seeds of {JOBS[Scale.FULL]:,} jobs."
)
FEWER = {
    "Figure 13": ("bound alone", "utilization alone", "accuracy alone"),
    "Figure 14": ("without bound", "without utilization", "without accuracy"),
}
SHARES = (0.05, 0.1, 0.15, 0.2, 0.3)


def figure_10_points(scale: Scale) -> list[Point]:
    """GRASS, its two parts alone, and LATE."""
    return every(scale, [DEADLINES, WITHIN_ERRORS], policies=("LATE", "GS", "RAS", "GRASS"))


def figure_10(results: Results) -> Finding:
    """GRASS against GS and RAS alone, by size."""
    least, claims = {"more accurate": 0.25, "faster": 0.2}, []
    for what, gain, fields in KINDS:
        over = {name: gain(results, "GRASS", name, fields) for name in ("GS", "RAS")}
        worst = min(over.values(), key=lambda one: one.mean)
        claims.append(
            Claim(
                statement=f"GRASS is {100 * least[what]:.0f} % {what} than the better of GS and RAS, or more.",
                held=is_clear(worst) and worst.mean >= least[what],
                numbers=f"{what} than GS {percent(over['GS'])}, than RAS {percent(over['RAS'])} %"
                + doubt(results, worst, least[what])
                + f"; {knowledge(results, fields, POLICIES['GRASS'])}",
            )
        )
        found = {
            size: {name: gain(results, name, "LATE", fields, size=places) for name in ("GS", "RAS")}
            for size, places in SIZES.items()
        }
        by_size = {size: gain(results, "GS", "RAS", fields, size=places) for size, places in SIZES.items()}
        claims.append(
            Claim(
                statement=f"GS is {what} for small jobs, RAS for large ones.",
                held=is_clear(by_size["small"]) and by_size["large"].mean < -SURE * by_size["large"].error,
                numbers=f"GS {what} than RAS: "
                + ", ".join(f"{size} {percent(one)} %{doubt(results, one)}" for size, one in by_size.items())
                + f"; {what} than LATE: "
                + "; ".join(f"{size} {_listed(each)} %" for size, each in found.items()),
            )
        )
    return Finding(claims=claims)


def figure_12_points(scale: Scale) -> list[Point]:
    """GRASS, the strawman, and LATE."""
    return every(scale, [DEADLINES, WITHIN_ERRORS], policies=("LATE", "strawman", "GRASS"))


def figure_12(results: Results) -> Finding:
    """GRASS against a switch at two waves."""
    claims = []
    for what, gain, fields in KINDS:
        over = gain(results, "GRASS", "strawman", fields)
        of_late = {name: gain(results, name, "LATE", fields) for name in ("strawman", "GRASS")}
        claims.append(
            Claim(
                statement=f"GRASS is {what} than the strawman, which has 66 to 73 % of its gains over LATE.",
                held=is_clear(over) and of_late["strawman"].mean <= 0.75 * of_late["GRASS"].mean,
                numbers=f"{what} than the strawman {percent(over)} %{doubt(results, over)}; "
                f"than LATE: {_listed(of_late)} %; " + knowledge(results, fields, POLICIES["GRASS"]),
            )
        )
    return Finding(claims=claims)


def figure_13_points(scale: Scale) -> list[Point]:
    """One factor, two, and all three."""
    fewer = [name for names in FEWER.values() for name in names]
    return every(scale, [DEADLINES, WITHIN_ERRORS], list(CONDITIONS.values()), policies=("GRASS", *fewer))


def figure_13(results: Results) -> Finding:
    """One factor against all three."""
    return _fewer(results, "Figure 13", {"more accurate": 0.18, "faster": 0.15}, "the bound alone is the best")


def figure_14(results: Results) -> Finding:
    """Two factors against all three."""
    return _fewer(results, "Figure 14", {"more accurate": 0.0, "faster": 0.0}, "to leave out the bound costs most")


def _fewer(results: Results, figure: str, least: Mapping[str, float], of_bound: str) -> Finding:
    claims = []
    for (what, gain, fields), (where, world) in product(KINDS, CONDITIONS.items()):
        over = {name: gain(results, "GRASS", name, fields, world) for name in FEWER[figure]}
        by_bound = over[FEWER[figure][0]].mean
        others = [over[name].mean for name in FEWER[figure][1:]]
        is_so = by_bound < min(others) if figure == "Figure 13" else by_bound > max(others)
        doubts = [name for name, one in over.items() if doubt(results, one)]
        claims.append(
            Claim(
                statement=f"{where}: GRASS is {what} by all three factors, by {100 * least[what]:.0f} % or more; "
                f"{of_bound}.",
                held=is_so and all(is_clear(one) and one.mean >= least[what] for one in over.values()),
                numbers=f"{where}, {what} than each of these: {_listed(over)} %"
                + (f" (the sign is underpowered: {', '.join(doubts)})" if doubts else "")
                + f"; {knowledge(results, fields, world, POLICIES['GRASS'])}",
            )
        )
    return Finding(claims=claims)


def figure_15_points(scale: Scale) -> list[Point]:
    """Larger and larger shares of explorers."""
    kinds = [{**fields, **UNTAUGHT} for _, _, fields in KINDS]
    return every(scale, kinds, policies=("RAS", *(_explorers(one) for one in SHARES)))


def _explorers(share: float) -> str:
    return f"{share:g} explorers"


def figure_15(results: Results) -> Finding:
    """Gains by the share of explorers."""
    claims, charts = [], []
    for what, gain, fields in KINDS:
        line = [gain(results, _explorers(one), "RAS", fields, UNTAUGHT) for one in SHARES]
        best = max(range(len(line)), key=lambda at: line[at].mean)
        claims.append(
            Claim(
                statement="A share of 15 % is best.",
                held=SHARES[best] == 0.15,
                numbers=f"{what} than RAS alone, at {', '.join(f'{one:g}' for one in SHARES)}: "
                f"{', '.join(map(percent, line))} %"
                + (" (underpowered: no share is clearly best)" if _is_tied(line, best) else ""),
            )
        )
        y, error = [100 * one.mean for one in line], [100 * one.error for one in line]
        charts.append(
            Chart(
                title="over RAS alone",
                x_label="share of explorers",
                y_label=f"{what}, %",
                series=[Series(label="GRASS", x=SHARES, y=y, error=error)],
            )
        )
    return Finding(claims=claims, charts=charts)


def _is_tied(line: Sequence[Estimate], best: int) -> bool:
    """Whether another one may be as good as the best."""
    others = (one for at, one in enumerate(line) if at != best)
    return any(line[best].mean - one.mean < SURE * max(one.error, line[best].error) for one in others)


def _listed(gains: Mapping[str, Estimate]) -> str:
    return ", ".join(f"{name} {percent(one)}" for name, one in gains.items())
