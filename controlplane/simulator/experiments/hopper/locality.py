"""What does it bring to serve jobs first that have a task with its input at hand? Figure 13, a claim of section 7.4.

Each task of a first phase has its input on three of the machines and takes `remote_factor` times as long elsewhere.
"""

from itertools import pairwise

from controlplane.simulator.experiments.experiment import Chart, Claim, Finding, Results, Scale, Series
from controlplane.simulator.experiments.hopper.comparisons import (
    busy,
    clear,
    found,
    gain_chart,
    gains,
    listed,
    percent,
)
from controlplane.simulator.experiments.hopper.conditions import (
    BASELINES,
    FACEBOOK,
    HOPPER,
    PRIO,
    WORLDS,
    Fields,
    grid,
)
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.statistics import Estimate, estimate

PERCENTS = (0.0, 3.0, 5.0, 7.0, 10.0, 20.0)
PAPERS, DROPS_FROM = 3.0, 7.0
"""The allowance that is best by the paper, and from which on gains drop."""
STEADY = 0.02
"""How little gains change while they are steady."""
MOST_WITH_SRPT = 0.2
LOADS: dict[str, Fields] = {
    f"offered load {load:g}": {**FACEBOOK, "offered_load": load, "replicas": 3} for load in (0.7, 1.0)
}


def _allowing(policy: Fields, share: float) -> Fields:
    return {**policy, "locality_percent": share}


def figure_13_points(scale: Scale) -> list[Point]:
    """Hopper and both baselines with every allowance, both worlds and loads."""
    policies = [_allowing(policy, share) for policy in (HOPPER, *BASELINES.values()) for share in PERCENTS]
    return grid(scale, LOADS.values(), policies)


def figure_13(results: Results) -> Finding:
    """Gains and local tasks over the allowance, of Hopper and of both baselines."""
    claims: list[Claim] = []
    charts: list[Chart] = []
    for load_name, load in LOADS.items():
        for world_name, world in WORLDS.items():
            at, title = {**load, **world}, f"Facebook, {load_name}, {world_name}"
            lines = {
                f"{name} over {base_name}": [
                    gains(results, _allowing(policy, share), _allowing(base, 0.0), at) for share in PERCENTS
                ]
                for base_name, base in BASELINES.items()
                for name, policy in (("Hopper+LATE", HOPPER), (base_name, base))
            }
            local = [_local_share(results, _allowing(HOPPER, share), at) for share in PERCENTS]
            charts += _charts(title, lines, local)
            busy_share = f"{busy(results, at, _allowing(PRIO, 0.0)):.0%} busy"
            where = f"{title}, {busy_share}, k = {', '.join(f'{k:g}' for k in PERCENTS)} %"
            claims += _claims(results, at, where, title)
            claims += [
                Claim(
                    statement=f"{title}: {name} with the locality rule gains no more than 20 % over {name} without.",
                    held=max(one.mean for one in lines[f"{name} over {name}"]) <= MOST_WITH_SRPT,
                    numbers=f"{name} with the rule over {name}: {listed(lines[f'{name} over {name}'])}; "
                    f"Hopper with it over {name}: {listed(lines[f'Hopper+LATE over {name}'])}",
                )
                for name in BASELINES
            ]
    return Finding(claims=claims, charts=charts)


def _claims(results: Results, at: Fields, where: str, title: str) -> list[Claim]:
    """What figure 13 shows of Hopper: local tasks, and gains over no allowance."""
    none = _allowing(HOPPER, 0.0)
    over_none = {share: gains(results, _allowing(HOPPER, share), none, at) for share in PERCENTS[1:]}
    over_papers = {
        share: gains(results, _allowing(HOPPER, share), _allowing(HOPPER, PAPERS), at)
        for share in PERCENTS
        if share > PAPERS
    }
    local = [_local_share(results, _allowing(HOPPER, share), at) for share in PERCENTS]
    shares = ", ".join(f"{one.mean:.1%}" for one in local)
    beyond = [one for share, one in over_papers.items() if share > DROPS_FROM]
    steady = all(abs(one.mean) <= STEADY for share, one in over_papers.items() if share <= DROPS_FROM)
    return [
        Claim(
            statement=f"{title}: the share of local tasks increases with k, appreciably so at 3 %.",
            held=all(a.mean <= b.mean for a, b in pairwise(local))
            and local[PERCENTS.index(PAPERS)].mean - local[0].mean >= STEADY,
            numbers=f"{where}: local tasks {shares}",
        ),
        Claim(
            statement=f"{title}: k = 3 % gains over no allowance.",
            held=clear(over_none[PAPERS]),
            numbers="Hopper over itself without: " + ", ".join(map(percent, over_none.values())),
        ),
        Claim(
            statement=f"{title}: gains are steady from 3 to 7 %, and less beyond.",
            held=steady and all(clear(Estimate(mean=-one.mean, error=one.error)) for one in beyond),
            numbers="over k = 3 %: " + ", ".join(f"{share:g} {percent(one)}" for share, one in over_papers.items()),
        ),
    ]


def _local_share(results: Results, policy: Fields, at: Fields) -> Estimate:
    return estimate([one.local_share for one in found(results, at, policy)])


def _charts(title: str, lines: dict[str, list[Estimate]], local: list[Estimate]) -> list[Chart]:
    x_label = "locality allowance k, %"
    tasks = Series(label="Hopper+LATE", x=PERCENTS, y=[100 * one.mean for one in local])
    return [
        gain_chart(f"{title}: gains over both baselines without allowance", x_label, PERCENTS, lines),
        Chart(title=f"{title}: local tasks", x_label=x_label, y_label="tasks beside their input, %", series=[tasks]),
    ]
