"""How much shorter do Hopper's slots make jobs on a shared cluster? Figures 6, 7, 8 and 9, and where the gains end.

The paper's utilizations are measured ones, and so are ours: copies cut stragglers short, so that slots are seen to be
busy for less than what originals alone would have kept them busy. A claim about 60 % is tried at the offered load whose
measured share under Prio is nearest to 60 %.
"""

from collections.abc import Iterable, Sequence

from controlplane.simulator.cluster import BINS
from controlplane.simulator.cluster_decisions import OF_RUNNING
from controlplane.simulator.cluster_workloads import Facebook, Source, Synthetic, bing_like
from controlplane.simulator.experiments.cluster_points import (
    BASELINES,
    EAGER,
    HOPPER,
    LAST,
    PRIO,
    PRIO_EAGER,
    QUANTILES,
    WORLDS,
    Fields,
    JobGains,
    bin_name,
    busy,
    clear,
    gain_chart,
    gains,
    job_gains,
    listed,
    paired,
    percent,
    runs,
)
from controlplane.simulator.experiments.experiment import Chart, Claim, Finding, Point, Results, Scale, Series
from controlplane.simulator.statistics import Estimate

LOADS = (0.4, 0.6, 0.8, 1.0, 1.2, 1.4)
SOURCES: dict[str, Source] = {"Facebook": Facebook(), "Bing-like": bing_like()}
FACEBOOK: Fields = {"workload": SOURCES["Facebook"], "offered_load": 0.8}
"""Measured at about 60 % under Prio where copies draw their own durations."""
PHASES = (1, 2, 4, 8)
SPECULATORS = {"LATE": "late", "Mantri": "mantri", "GRASS's RAS": "ras"}
COPIES_LAST: Fields = {"speculator_settings": {"copy_priority": 1.0}}
COMPARED = {"Hopper+LATE": HOPPER, "Hopper+RAS": EAGER, "SRPT+RAS": PRIO_EAGER}
"""What is held against the baselines; the third has the copies of the second without Hopper's slots."""
PLAIN, KINDEST = "Hopper+LATE over Prio", "Hopper+RAS over Last"
"""The paper's own pair over the stronger baseline, and the pair that gains most over the weaker one."""
PAIRS = {
    f"{name} over {base_name}": (ours, base) for name, ours in COMPARED.items() for base_name, base in BASELINES.items()
}
JOB_BY_JOB = {label: pair for label, pair in PAIRS.items() if pair[0] is not PRIO_EAGER}
Lines = dict[str, list[Estimate]]


def _grid(scale: Scale, variants: Iterable[Fields], policies: Iterable[Fields]) -> list[Point]:
    policies = list(policies)
    return [runs(scale, one, world, policy) for one in variants for world in WORLDS.values() for policy in policies]


def _lines(results: Results, variants: Sequence[Fields], world: Fields, size: int | None = None) -> Lines:
    """Gains of everything in COMPARED over both baselines, a line each over the variants."""
    return {
        label: [gains(results, ours, base, one, world, size=size) for one in variants]
        for label, (ours, base) in PAIRS.items()
    }


def _told(lines: Lines, at: int | None = None) -> str:
    """All lines at one place, or everywhere."""
    return "; ".join(
        f"{label} {percent(line[at]) if at is not None else listed(line)}" for label, line in lines.items()
    )


def at_loads(source: Source) -> list[Fields]:
    """The source's jobs at each of LOADS."""
    return [{"workload": source, "offered_load": load} for load in LOADS]


def nearest(measured: Sequence[float], share: float) -> int:
    """The place of the busy share that is nearest to this one.

    >>> nearest([0.3, 0.55, 0.8], 0.6)
    1
    """
    return min(range(len(measured)), key=lambda at: abs(measured[at] - share))


def figure_6_points(scale: Scale) -> list[Point]:
    """All policies over the loads, both workloads and worlds."""
    policies = [*BASELINES.values(), *COMPARED.values()]
    return [point for source in SOURCES.values() for point in _grid(scale, at_loads(source), policies)]


def figure_6(results: Results) -> Finding:
    """Gains over the utilization."""
    claims, charts = [], []
    for name, source in SOURCES.items():
        for world_name, world in WORLDS.items():
            measured = [busy(results, one, world, PRIO) for one in at_loads(source)]
            lines, title = _lines(results, at_loads(source), world), f"{name}, {world_name}"
            charts.append(gain_chart(title, "measured busy share under Prio", measured, lines))
            claims += _load_claims(title, measured, lines)
    return Finding(claims=claims, charts=charts)


def _load_claims(title: str, measured: list[float], lines: Lines) -> list[Claim]:
    """The statements about 60, 80 and 30 %, each at the nearest measured share."""
    at = {share: nearest(measured, share) for share in (0.3, 0.6, 0.8)}
    told = {share: f"{title}, {measured[i]:.0%} busy: {_told(lines, i)}" for share, i in at.items()}
    plain = {share: lines[PLAIN][i] for share, i in at.items()}
    return [
        *(
            Claim(
                statement=f"{title}, {label}: at 60 % utilization jobs are 50 to 60 % shorter.",
                held=lines[label][at[0.6]].mean >= 0.5,
                numbers=told[0.6] if label == PLAIN else f"{label} {percent(lines[label][at[0.6]])}",
            )
            for label in (PLAIN, KINDEST)
        ),
        Claim(
            statement=f"{title}: from 80 % on there are gains, below 20 %.",
            held=clear(plain[0.8]) and plain[0.8].mean < 0.2,
            numbers=told[0.8],
        ),
        Claim(
            statement=f"{title}: at 30 % and below, gains are no more than 14 %.",
            held=plain[0.3].mean <= 0.14,
            numbers=told[0.3],
        ),
    ]


def figure_7_points(scale: Scale) -> list[Point]:
    """As for figure 6, at one load."""
    variants = [FACEBOOK | {"workload": source} for source in SOURCES.values()]
    return _grid(scale, variants, [*BASELINES.values(), *COMPARED.values()])


def figure_7(results: Results) -> Finding:
    """Gains by job size."""
    claims, charts = [], []
    names = [bin_name(size) for size in range(len(BINS))]
    for name, source in SOURCES.items():
        for world_name, world in WORLDS.items():
            at = FACEBOOK | {"workload": source}
            by_size = [_lines(results, [at], world, size=size) for size in range(len(BINS))]
            lines = {label: [one[label][0] for one in by_size] for label in by_size[0]}
            title = f"{name}, {world_name}"
            charts.append(gain_chart(title, f"size bin: {', '.join(names)}", range(1, len(BINS) + 1), lines))
            share = busy(results, at, world, PRIO)
            told = {PLAIN: f"{title}, {share:.0%} busy, tasks {', '.join(names)}: {_told(lines)}"}
            for label in (PLAIN, KINDEST):
                small, large = lines[label][0], lines[label][-1]
                claims.append(
                    Claim(
                        statement=f"{title}, {label}: small jobs gain 18 to 32 %, large ones more than 50 %.",
                        held=0.18 <= small.mean <= 0.32 and large.mean > 0.5,
                        numbers=told.get(label, f"{label} {listed(lines[label])}"),
                    )
                )
    return Finding(claims=claims, charts=charts)


def figure_8a_points(scale: Scale) -> list[Point]:
    """Job by job over both baselines, both workloads and worlds."""
    return [
        paired(scale, ours, base, FACEBOOK, {"workload": source}, world)
        for source in SOURCES.values()
        for world in WORLDS.values()
        for ours, base in JOB_BY_JOB.values()
    ]


def figure_8a(results: Results) -> Finding:
    """The gains of single jobs."""
    claims: list[Claim] = []
    charts: list[Chart] = []
    for name, source in SOURCES.items():
        for world_name, world in WORLDS.items():
            title, series = f"{name}, {world_name}", []
            for label, (ours, base) in JOB_BY_JOB.items():
                one = job_gains(results, ours, base, FACEBOOK, {"workload": source}, world)
                series.append(Series(label=label, x=[100 * gain for gain in one.quantiles], y=QUANTILES))
                claims.append(_single_jobs(f"{title}, {label}", one))
            charts.append(Chart(title=title, x_label="shorter, %", y_label="share of jobs", series=series))
    return Finding(claims=claims, charts=charts)


def _single_jobs(title: str, one: JobGains) -> Claim:
    """Figure 8a's statement of one pair of policies."""
    told = ", ".join(f"{share:.0%}: {gain:+.1%}" for share, gain in zip(QUANTILES, one.quantiles, strict=True))
    return Claim(
        statement=f"{title}: a tenth of the jobs gains over 70 %, nine tenths at least 10 %.",
        held=one.quantiles[-1] > 0.7 and one.quantiles[0] >= 0.1,
        numbers=f"{title}, quantiles of gains: {told}; mean {one.mean:+.1%}",
    )


def _chains() -> list[Fields]:
    return [FACEBOOK | {"workload": Synthetic(phases=phases, transfer_ratio=0.5)} for phases in PHASES]


def figure_8b_points(scale: Scale) -> list[Point]:
    """Chains of phases, in both worlds."""
    return _grid(scale, _chains(), [*BASELINES.values(), *COMPARED.values()])


def figure_8b(results: Results) -> Finding:
    """Gains over the length of the DAG."""
    claims, charts = [], []
    for world_name, world in WORLDS.items():
        lines = _lines(results, _chains(), world)
        charts.append(gain_chart(f"Synthetic, {world_name}", "phases", PHASES, lines))
        claims.append(
            Claim(
                statement=f"{world_name}: gains hold for all lengths of the DAG.",
                held=all(map(clear, lines[PLAIN])),
                numbers=f"{world_name}, {', '.join(map(str, PHASES))} phases: {_told(lines)}",
            )
        )
    return Finding(claims=claims, charts=charts)


def _speculators(base_name: str) -> list[tuple[str, Fields, Fields]]:
    """Each speculator's name, under Hopper and under the baseline; RAS has no copies that wait for all originals."""
    is_last = base_name == "Last"
    return [
        (name, {"policy": f"hopper+{one}"}, {"policy": f"srpt+{one}", **(COPIES_LAST if is_last else {})})
        for name, one in SPECULATORS.items()
        if not (is_last and one == "ras")
    ]


def figure_9_points(scale: Scale) -> list[Point]:
    """Every speculator under Hopper and under both baselines."""
    pairs = [pair for base_name in BASELINES for _, *pair in _speculators(base_name)]
    return _grid(scale, [FACEBOOK], [policy for pair in pairs for policy in pair])


def figure_9(results: Results) -> Finding:
    """Does Hopper gain alike whatever picks the copies?"""
    claims, charts = [], []
    for world_name, world in WORLDS.items():
        lines: Lines = {}
        for base_name in BASELINES:
            speculators = _speculators(base_name)
            each = {name: gains(results, ours, base, FACEBOOK, world) for name, ours, base in speculators}
            means = [one.mean for one in each.values()]
            lines[f"over {base_name}"] = list(each.values())
            claims.append(
                Claim(
                    statement=f"{world_name}: Hopper gains over {base_name} with the same speculator, alike for all "
                    f"{len(each)}.",
                    held=all(map(clear, each.values())) and max(means) - min(means) < 0.1,
                    numbers=f"{world_name}, over {base_name}: "
                    + ", ".join(f"{name} {percent(one)}" for name, one in each.items()),
                )
            )
        x_label = f"copies by: {', '.join(SPECULATORS)}"
        charts.append(gain_chart(f"Facebook, {world_name}", x_label, range(1, len(SPECULATORS) + 1), lines))
    return Finding(claims=claims, charts=charts)


FREE_MOVES: Fields = {"workload": Facebook(most_transfer_ratio=0.0)}
"""Output moves in no time; a transfer ratio of 0 counts as 1."""
NO_PROMISE: Fields = {"allocator_settings": {"fairness_epsilon": 1.0}}
CONDITIONS: dict[str, tuple[Fields, Fields]] = {
    **{f"{share:.0%} of the tasks shared": ({"shared_share": share}, {}) for share in (0.0, 0.25, 0.5)},
    **{f"estimation noise {noise:g}": ({"noise": noise}, {}) for noise in (0.0, 0.6)},
    "transfer ratios count as 1": (FREE_MOVES, {}),
    "no promise of fairness": ({}, NO_PROMISE),
    "transfer ratios count as 1, no promise of fairness": (FREE_MOVES, NO_PROMISE),
    "slots held for copies are lent meanwhile": ({}, {"holds": False}),
    "slots counted for copies of running tasks only": ({}, {"foresight": OF_RUNNING}),
    "a tenth of the machines three times as slow": ({"slow_machine_share": 0.1}, {}),
    "0.2 s to clean up after a kill": ({"kill_s": 0.2}, {}),
}
"""What changes for all, and what for Hopper alone."""


def _under(policy: Fields, change: tuple[Fields, Fields]) -> Fields:
    is_hopper = policy["policy"].startswith("hopper")
    return {**FACEBOOK, **change[0], **policy, **(change[1] if is_hopper else {})}


def conditions_points(scale: Scale) -> list[Point]:
    """Each condition by itself."""
    return [
        runs(scale, _under(policy, change)) for change in CONDITIONS.values() for policy in (PRIO, LAST, HOPPER, EAGER)
    ]


def conditions(results: Results) -> Finding:
    """Do the gains hold where the paper's cluster was kinder?"""
    claims = []
    for name, change in CONDITIONS.items():
        lines = {
            f"{label} over {base_name}": [gains(results, _under(ours, change), _under(base, change))]
            for label, ours in (("Hopper+LATE", HOPPER), ("Hopper+RAS", EAGER))
            for base_name, base in BASELINES.items()
        }
        claims.append(
            Claim(
                statement=f"Hopper+LATE gains over Prio: {name}.",
                held=clear(lines[PLAIN][0]),
                numbers=f"{name}: {_told(lines, 0)}",
            )
        )
    return Finding(claims=claims)
