"""In which world is GRASS compared? Its clusters, jobs, bounds and rivals, as scenarios."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import Any

from controlplane.policies.grass import switching
from controlplane.simulator.cluster.bounds import Bounds
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.workloads import Synthetic
from controlplane.simulator.experiments.experiment import Results, Scale
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.experiments.points.cluster import ClusterRuns, Learning
from controlplane.simulator.statistics import Estimate, estimate

Fields = Mapping[str, Any]

SURE = 3.0
"""Standard errors that a difference must have."""
JOBS = {Scale.SMOKE: 30, Scale.FULL: 1000}
RUNS = {Scale.SMOKE: 2, Scale.FULL: 5}
PRACTICE_JOBS = {Scale.SMOKE: 100, Scale.FULL: 1500}
"""Other jobs before them, in each world from which GRASS has its samples: all of them explore."""
LEAST_SAMPLES = next(each.default for each in switching.ROW.settings if each.name == "least_samples")
"""Samples that a bucket must have of each policy before it counts: the setting's default."""


NO_KILLS, KILLS = {"end_beaten": 0.0}, {"end_beaten": 1.0}
NO_MANTRI_KILLS = {"kill_margin_s": 1e9, "kill_margin_times": 1e9}
"""Mantri has kills of its own, with margins, which nothing reaches here."""


def playing(speculator: str, **settings: float) -> Fields:
    """Fair sharing with a speculator that ends no attempt before its task ends, unless settings say otherwise."""
    return {"policy": f"fair+{speculator}", "speculator_settings": NO_KILLS | settings}


def grass(**settings: float) -> Fields:
    """GRASS with the paper's share of explorers, unless settings say otherwise."""
    return playing("grass", **({"explorer_share": 0.15} | settings))


POLICIES: dict[str, Fields] = {
    "LATE": playing("late"),
    "Mantri": {"policy": "fair+mantri", "speculator_settings": NO_MANTRI_KILLS},
    "GS": playing("gs"),
    "RAS": playing("ras"),
    "clairvoyant": playing("clairvoyant"),
    "GRASS": grass(),
    "strawman": grass(explorer_share=0.0, strawman_waves=2.0),
    "bound alone": grass(by_utilization=0.0, by_accuracy=0.0),
    "utilization alone": grass(by_bound=0.0, by_accuracy=0.0),
    "accuracy alone": grass(by_bound=0.0, by_utilization=0.0),
    "without bound": grass(by_bound=0.0),
    "without utilization": grass(by_utilization=0.0),
    "without accuracy": grass(by_accuracy=0.0),
    **{f"{share:g} explorers": grass(explorer_share=share) for share in (0.05, 0.1, 0.15, 0.2, 0.3)},
}
BASELINES = ("LATE", "Mantri")
KILLING: dict[str, Fields] = {
    "LATE": playing("late", **KILLS),
    "Mantri": {"policy": "fair+mantri"},
    "GS": playing("gs", **KILLS),
    "RAS": playing("ras", **KILLS),
    "GRASS": grass(**KILLS),
}
"""The same with kills of beaten attempts, Mantri by its own rule."""
CASES = {
    f"{most + 1} attempts{', kills' if policies is KILLING else ''}": ({"max_copies": most}, policies)
    for policies in (POLICIES, KILLING)
    for most in (1, 2)
}
"""The most live attempts of a task, the same for all, and whether all end beaten ones or none does."""
WORLDS: dict[str, Fields] = {
    "independent": {},
    "independent, noise 0.3": {"noise": 0.3},
    "half shared": {"shared_share": 0.5},
}
FRAMEWORKS: dict[str, Fields] = {
    "Spark": {},
    "Hadoop": {
        "workload": Synthetic(least_tasks=10, most_tasks=3000, service_s=20.0),
        "launch_s": 2.0,
        "detect_s": 2.0,
        "cycle_s": 1.0,
    },
}
"""Tasks of a second or more, and of twenty with slower starts and reports."""
SLACK, ERROR = (0.02, 0.2), (0.05, 0.3)
IDEAL_SLOTS = 100
"""A job's slots in its ideal time: a quarter of the cluster."""
DEADLINES: Fields = {"bounds": Bounds(slack=SLACK, ideal_slots=IDEAL_SLOTS, gives_up=True)}
ERRORS: Fields = {"bounds": Bounds(error=ERROR)}
BASE = ClusterScenario(
    policy="fair+none",
    workload=Synthetic(least_tasks=10, most_tasks=3000),
    max_copies=2,
    machines=100,
    slots_per_machine=4,
    offered_load=0.7,
)
SMALL, MEDIUM, LARGE = (0,), (1, 2), (3,)
"""Places in `summary.BINS` of the paper's job sizes: up to 50 tasks, to 500, and more."""
SIZES = {"small": SMALL, "medium": MEDIUM, "large": LARGE}
METHOD = (
    "400 slots shared fairly at an offered load of 0.7, jobs of 10 to 3,000 tasks, tail index 1.5; a job's ideal time "
    "is that of its waves on 100 slots if every task takes the job's median; deadlines are 2 to 20 % more, at which a "
    "job gives up what is not done; error bounds are 5 to 30 %. All contestants may have the same number of live "
    "attempts of a task, three where nothing else is said, and none ends a beaten attempt, as in the paper. LATE "
    "starts no third one, and its copies take a tenth of the slots at most. Before its first job GRASS has "
    f"the samples of {PRACTICE_JOBS[Scale.FULL]:,} jobs of other seeds, half of which ran under GS and half under RAS; "
    f"from then on 15 % of the jobs are explorers. {RUNS[Scale.FULL]} seeds of {JOBS[Scale.FULL]:,} jobs."
)
STAND_IN = "synthetic jobs for both traces"


def runs(scale: Scale, *fields: Fields) -> ClusterRuns | Learning:
    """A scenario's runs; later fields win. GRASS has learned in it already, with each of the changes in "practice"."""
    merged: dict[str, Any] = {"jobs": JOBS[scale], "practice": ({},), "runs": RUNS[scale]}
    for one in fields:
        merged |= one
    practice, n_runs = merged.pop("practice"), merged.pop("runs")
    scenario = replace(BASE, **merged)
    settings = scenario.speculator_settings
    if not settings.get("explorer_share"):
        return ClusterRuns(scenario=scenario, runs=n_runs)
    exploring = {"end_beaten": settings["end_beaten"], "explorer_share": 1.0}
    before = replace(scenario, jobs=PRACTICE_JOBS[scale], speculator_settings=exploring)
    return Learning(scenario=scenario, after=tuple(replace(before, **one) for one in practice), runs=n_runs)


def every(scale: Scale, *fields: Sequence[Fields], policies: Iterable[str] = (*BASELINES, "GRASS")) -> list[Point]:
    """Policies by name under every combination of fields."""
    named = [POLICIES[name] for name in policies]
    return [runs(scale, *chosen) for chosen in product(*fields, named)]


def in_all_cases(
    scale: Scale, *fields: Sequence[Fields], policies: Sequence[str] = (*BASELINES, "GRASS")
) -> list[Point]:
    """The same in all of CASES."""
    return [
        runs(scale, *chosen, case, named[name])
        for case, named in CASES.values()
        for chosen in product(*fields)
        for name in policies
    ]


def by_seed(results: Results, name: str, size: tuple[int, ...], *fields: Fields) -> list[float]:
    """A field of `ClusterSummary`, for each seed; of jobs in some of the bins only, unless `size` is empty."""
    found = results(runs(results.scale, *fields))
    if not size:
        return [one[name] for one in found]
    return [_of_bins([one["bins"][place] for place in size], name) for one in found]


def _of_bins(bins: list[Mapping[str, Any]], name: str) -> float:
    """The mean over the jobs of several bins; nan if there are none."""
    jobs = sum(one["jobs"] for one in bins)
    return sum(one["jobs"] * one[name] for one in bins if one["jobs"]) / jobs if jobs else float("nan")


def more(
    results: Results,
    ours: str,
    theirs: str,
    *fields: Fields,
    size: tuple[int, ...] = (),
    named: Mapping[str, Fields] = POLICIES,
) -> Estimate:
    """By how much more accurate, as a share of theirs, over paired seeds."""
    pairs = _pairs(results, "accuracy", (named[ours], named[theirs]), fields, size)
    return estimate([mine / other - 1.0 for mine, other in pairs])


def faster(
    results: Results,
    ours: str,
    theirs: str,
    *fields: Fields,
    size: tuple[int, ...] = (),
    named: Mapping[str, Fields] = POLICIES,
) -> Estimate:
    """By how much sooner jobs end, as a share of their time, over paired seeds."""
    pairs = _pairs(results, "response_s", (named[ours], named[theirs]), fields, size)
    return estimate([1.0 - mine / other for mine, other in pairs])


def _pairs(
    results: Results, name: str, contestants: tuple[Fields, Fields], fields: tuple[Fields, ...], size: tuple[int, ...]
) -> list[tuple[float, float]]:
    """Both numbers for each seed on which both are known."""
    mine, others = (by_seed(results, name, size, *fields, policy) for policy in contestants)
    known = [(a, b) for a, b in zip(mine, others, strict=True) if a == a and b == b]
    return known or [(float("nan"), float("nan"))]


def percent(one: Estimate) -> str:
    """A gain with its standard error.

    >>> percent(Estimate(mean=0.123, error=0.01))
    '+12.3 (1.0)'
    """
    return f"{100 * one.mean:+.1f} ({100 * one.error:.1f})"


def doubt(results: Results, one: Estimate, least: float = 0.0) -> str:
    """What is to be said of a gain that may as well lie on the other side of `least`."""
    if abs(one.mean - least) > SURE * one.error:
        return ""
    return f" (underpowered: {RUNS[results.scale]} runs of {JOBS[results.scale]:,} jobs)"


def knowledge(results: Results, *fields: Fields) -> str:
    """What GRASS knew before the first job, and how often it went by that."""
    found = results(runs(results.scale, *fields))
    seen = [both for one in found for both in one["weights"] if any(both)]
    enough = sum(min(both) >= LEAST_SAMPLES for both in seen)
    share = estimate([one["switched_share"] for one in found])
    doubtful = "" if enough == len(seen) else ", underpowered"
    return (
        f"a switch ordered {100 * share.mean:.1f} % of the copies ({LEAST_SAMPLES:g} samples of both or more in "
        f"{enough} of the {len(seen)} buckets that have any, over all seeds{doubtful})"
    )


def is_clear(one: Estimate) -> bool:
    """Whether a gain is one beyond doubt."""
    return one.mean > SURE * one.error


def mean(results: Results, name: str, *fields: Fields) -> float:
    """The mean over seeds."""
    return fmean(by_seed(results, name, (), *fields))
