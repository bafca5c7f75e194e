"""How much shorter do Hopper's slots make jobs on a shared cluster? Figures 6, 7, 8, 9 and 12."""

from collections.abc import Sequence

from controlplane.simulator.cluster.summary import BINS
from controlplane.simulator.cluster.workloads import Synthetic
from controlplane.simulator.experiments.experiment import Chart, Claim, Finding, Results, Scale, Series
from controlplane.simulator.experiments.hopper.comparisons import (
    LARGE,
    QUANTILES,
    SEVERAL,
    SMALL,
    JobGains,
    at_middle,
    bin_name,
    busy,
    clear,
    gain_chart,
    gains,
    job_gains,
    listed,
    nearest,
    percent,
    where,
)
from controlplane.simulator.experiments.hopper.conditions import (
    BASELINES,
    COPIES_LAST,
    EAGER,
    FACEBOOK,
    HIGH,
    HOPPER,
    LOW,
    MIDDLE,
    MIDDLE_LOADS,
    NO_KILLS,
    PRIO,
    PRIO_EAGER,
    SOURCES,
    WORLDS,
    Fields,
    at_loads,
    each_job,
    grid,
    hopper,
    middle_points,
)
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.statistics import Estimate

PHASES = (1, 2, 4, 8)
CHAINS: list[Fields] = [{"workload": Synthetic(phases=phases, transfer_ratio=0.5)} for phases in PHASES]
SPECULATORS: dict[str, tuple[str, Fields]] = {
    "LATE": ("late", {}),
    "Mantri": ("mantri", {}),
    "GRASS's RAS": ("ras", NO_KILLS["speculator_settings"]),
}
COMPARED = {"Hopper+LATE": HOPPER, "Hopper+RAS": EAGER, "SRPT+RAS": PRIO_EAGER}
"""What is held against the baselines; the third has the copies of the second without Hopper's slots."""
PLAIN, KINDEST = "Hopper+LATE over Prio", "Hopper+RAS over Last"
"""The paper's own pair over the stronger baseline, and the pair that gains most over the weaker one."""
PAPERS = PLAIN, "Hopper+LATE over Last"
"""Either may be what the paper's centralized prototypes were compared with."""
PAIRS = {
    f"{name} over {base_name}": (ours, base) for name, ours in COMPARED.items() for base_name, base in BASELINES.items()
}
HOPPERS = {label: pair for label, pair in PAIRS.items() if pair[0] is not PRIO_EAGER}
Lines = dict[str, list[Estimate]]
Pairs = dict[str, tuple[Fields, Fields]]


def _lines(
    results: Results, variants: Sequence[Fields], world: Fields, size: int | None = None, pairs: Pairs = PAIRS
) -> Lines:
    """Gains of the pairs, a line each over the variants."""
    return {
        label: [gains(results, ours, base, one, world, size=size) for one in variants]
        for label, (ours, base) in pairs.items()
    }


def _in_numbers(lines: Lines, at: int | None = None) -> str:
    """All lines at one place, or everywhere."""
    return "; ".join(
        f"{label} {percent(line[at]) if at is not None else listed(line)}" for label, line in lines.items()
    )


def figure_6_points(scale: Scale) -> list[Point]:
    """All policies over the loads, both workloads and worlds."""
    policies = [*BASELINES.values(), *COMPARED.values()]
    return [point for source in SOURCES.values() for point in grid(scale, at_loads(source), policies)]


def figure_6(results: Results) -> Finding:
    """Gains over the utilization."""
    claims, charts, notes = [], [], []
    for name, source in SOURCES.items():
        for world_name, world in WORLDS.items():
            measured = [busy(results, one, world, PRIO) for one in at_loads(source)]
            lines, title = _lines(results, at_loads(source), world), f"{name}, {world_name}"
            charts.append(gain_chart(title, "measured busy share under Prio", measured, lines))
            claims += _load_claims(title, measured, lines)
            at = at_middle(results, source, world)
            several = _in_numbers(_lines(results, [at], world, size=SEVERAL))
            notes.append(f"{title}, {where(results, at, world)}, jobs of more than one task: {several}")
    return Finding(claims=claims, charts=charts, notes=notes)


def _load_claims(title: str, measured: list[float], lines: Lines) -> list[Claim]:
    """The statements about 60, 80 and 30 %, each at the nearest measured share."""
    at = {share: nearest(measured, share) for share in (LOW, MIDDLE, HIGH)}
    numbers = {share: f"{title}, {measured[i]:.0%} busy: {_in_numbers(lines, i)}" for share, i in at.items()}
    plain = {share: lines[PLAIN][i] for share, i in at.items()}
    return [
        *(
            Claim(
                statement=f"{title}, {label}: at 60 % utilization jobs are 50 to 60 % shorter.",
                held=lines[label][at[MIDDLE]].mean >= 0.5,
                numbers=numbers[MIDDLE] if label == PLAIN else f"{label} {percent(lines[label][at[MIDDLE]])}",
            )
            for label in (PLAIN, KINDEST)
        ),
        Claim(
            statement=f"{title}: from 80 % on there are gains, below 20 %.",
            held=clear(plain[HIGH]) and plain[HIGH].mean < 0.2,
            numbers=numbers[HIGH],
        ),
        Claim(
            statement=f"{title}: at 30 % and below, gains are no more than 14 %.",
            held=plain[LOW].mean <= 0.14,
            numbers=numbers[LOW],
        ),
    ]


def figure_7_points(scale: Scale) -> list[Point]:
    """As for figure 6, at the middle loads."""
    variants = [one for source in SOURCES.values() for one in at_loads(source, MIDDLE_LOADS)]
    return grid(scale, variants, [*BASELINES.values(), *COMPARED.values()])


def figure_7(results: Results) -> Finding:
    """Gains by job size."""
    claims, charts = [], []
    names = [bin_name(size) for size in range(len(BINS))]
    for name, source in SOURCES.items():
        for world_name, world in WORLDS.items():
            at = at_middle(results, source, world)
            lines, title = _by_size(results, at, world), f"{name}, {world_name}"
            charts.append(gain_chart(title, f"size bin: {', '.join(names)}", range(1, len(BINS) + 1), lines))
            numbers = {PLAIN: f"{title}, {where(results, at, world)}, tasks {', '.join(names)}: {_in_numbers(lines)}"}
            for label in (PLAIN, KINDEST):
                small, large = lines[label][SMALL], lines[label][LARGE]
                claims.append(
                    Claim(
                        statement=f"{title}, {label}: small jobs gain 18 to 32 %, large ones more than 50 %.",
                        held=0.18 <= small.mean <= 0.32 and large.mean > 0.5,
                        numbers=numbers.get(label, f"{label} {listed(lines[label])}"),
                    )
                )
    return Finding(claims=claims, charts=charts)


def _by_size(results: Results, at: Fields, world: Fields) -> Lines:
    """Gains of the pairs, a line each over BINS."""
    each = [_lines(results, [at], world, size=size) for size in range(len(BINS))]
    return {label: [one[label][0] for one in each] for label in PAIRS}


def figure_8a_points(scale: Scale) -> list[Point]:
    """Job by job under Hopper and both baselines, both workloads and worlds."""
    return middle_points(scale) + [
        each_job(scale, one, world, policy)
        for source in SOURCES.values()
        for one in at_loads(source, MIDDLE_LOADS)
        for world in WORLDS.values()
        for policy in (HOPPER, EAGER, *BASELINES.values())
    ]


def figure_8a(results: Results) -> Finding:
    """The gains of single jobs."""
    claims: list[Claim] = []
    charts: list[Chart] = []
    for name, source in SOURCES.items():
        for world_name, world in WORLDS.items():
            at = at_middle(results, source, world)
            title, series = f"{name}, {world_name}, {where(results, at, world)}", []
            for label, (ours, base) in HOPPERS.items():
                one = job_gains(results, ours, base, at, world)
                series.append(Series(label=label, x=[100 * gain for gain in one.quantiles], y=QUANTILES))
                claims.append(_single_jobs(f"{title}, {label}", one))
            charts.append(Chart(title=title, x_label="shorter, %", y_label="share of jobs", series=series))
    return Finding(claims=claims, charts=charts)


def _single_jobs(title: str, one: JobGains) -> Claim:
    """Figure 8a's statement of one pair of policies."""
    quantiles = ", ".join(f"{share:.0%}: {gain:+.1%}" for share, gain in zip(QUANTILES, one.quantiles, strict=True))
    return Claim(
        statement=f"{title}: a tenth of the jobs gains over 70 %, nine tenths at least 10 %.",
        held=one.quantiles[-1] > 0.7 and one.quantiles[0] >= 0.1,
        numbers=f"{title}, quantiles of gains: {quantiles}; mean {one.mean:+.1%}",
    )


def figure_8b_points(scale: Scale) -> list[Point]:
    """Chains of phases, in both worlds."""
    variants = [one for chain in CHAINS for one in at_loads(chain, MIDDLE_LOADS)]
    return grid(scale, variants, [HOPPER, EAGER, *BASELINES.values()])


def figure_8b(results: Results) -> Finding:
    """Gains over the length of the DAG."""
    claims, charts = [], []
    for world_name, world in WORLDS.items():
        at = [at_middle(results, chain, world) for chain in CHAINS]
        lines = _lines(results, at, world, pairs=HOPPERS)
        charts.append(gain_chart(f"Synthetic, {world_name}", "phases", PHASES, lines))
        claims.append(
            Claim(
                statement=f"{world_name}: gains hold for all lengths of the DAG.",
                held=all(map(clear, lines[PLAIN])),
                numbers=f"{world_name}, {', '.join(map(str, PHASES))} phases, "
                f"{', '.join(f'{busy(results, one, world, PRIO):.0%}' for one in at)} busy: {_in_numbers(lines)}",
            )
        )
    return Finding(claims=claims, charts=charts)


def _speculators(base_name: str) -> list[tuple[str, Fields, Fields]]:
    """Each speculator's name, under Hopper and under the baseline."""
    priority = COPIES_LAST["speculator_settings"] if base_name == "Last" else {}
    return [
        (
            name,
            {**hopper(one), "speculator_settings": settings},
            {"policy": f"srpt+{one}", "speculator_settings": {**settings, **priority}},
        )
        for name, (one, settings) in SPECULATORS.items()
    ]


def figure_9_points(scale: Scale) -> list[Point]:
    """Every speculator under Hopper and under both baselines."""
    pairs = [pair for base_name in BASELINES for _, *pair in _speculators(base_name)]
    return grid(scale, at_loads(FACEBOOK, MIDDLE_LOADS), [policy for pair in pairs for policy in pair])


def figure_9(results: Results) -> Finding:
    """Does Hopper gain alike whatever picks the copies?"""
    claims, charts = [], []
    for world_name, world in WORLDS.items():
        lines: Lines = {}
        at = at_middle(results, FACEBOOK, world)
        for base_name in BASELINES:
            speculators = _speculators(base_name)
            each = {name: gains(results, ours, base, at, world) for name, ours, base in speculators}
            means = [one.mean for one in each.values()]
            lines[f"over {base_name}"] = list(each.values())
            claims.append(
                Claim(
                    statement=f"{world_name}: Hopper gains over {base_name} with the same speculator, alike for all "
                    f"{len(each)}.",
                    held=all(map(clear, each.values())) and max(means) - min(means) < 0.1,
                    numbers=f"{world_name}, {where(results, at, world)}, over {base_name}: "
                    + ", ".join(f"{name} {percent(one)}" for name, one in each.items()),
                )
            )
        x_label = f"copies by: {', '.join(SPECULATORS)}"
        charts.append(gain_chart(f"Facebook, {world_name}", x_label, range(1, len(SPECULATORS) + 1), lines))
    return Finding(claims=claims, charts=charts)


def figure_12_points(scale: Scale) -> list[Point]:
    """Those of figures 7 and 8b."""
    return [*figure_7_points(scale), *figure_8b_points(scale)]


def figure_12(results: Results) -> Finding:
    """Gains of the centralized scheduler over a centralized SRPT: of all jobs, by size, and over lengths of the DAG."""
    claims = []
    for world_name, world in WORLDS.items():
        for name, source in SOURCES.items():
            at, title = at_middle(results, source, world), f"{name}, {world_name}"
            of_all, by_size = _lines(results, [at], world), _by_size(results, at, world)
            title_at = f"{title}, {where(results, at, world)}"
            for label in PAPERS:
                bins = by_size[label][:SEVERAL]
                claims += [
                    Claim(
                        statement=f"{title}, {label}: about 50 % (here: at least 40 %).",
                        held=of_all[label][0].mean >= 0.4,
                        numbers=f"{title_at}: {label} {percent(of_all[label][0])}",
                    ),
                    Claim(
                        statement=f"{title}, {label}: bins gain up to 80 % (here: at least 70 %), small jobs less.",
                        held=max(one.mean for one in bins) >= 0.7 and bins[SMALL].mean < bins[LARGE].mean,
                        numbers=f"tasks {', '.join(bin_name(size) for size in range(SEVERAL))}: {listed(bins)}",
                    ),
                ]
        chains = [at_middle(results, chain, world) for chain in CHAINS]
        over_lengths = _lines(results, chains, world, pairs=HOPPERS)
        claims += [
            Claim(
                statement=f"{world_name}, {label}: gains hold for all lengths of the DAG.",
                held=all(map(clear, over_lengths[label])),
                numbers=f"{world_name}, {', '.join(map(str, PHASES))} phases: {label} {listed(over_lengths[label])}",
            )
            for label in PAPERS
        ]
    return Finding(claims=claims)
