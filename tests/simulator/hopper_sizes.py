"""By which numbers are rows of Hopper's experiments tested, and what do they come to in a larger run?

A measure gives a number for each seed, of one policy or of two on the same jobs and luck. `python -m
tests.simulator.hopper_sizes` measures all of them at smoke scale on `EXPECTED_SEEDS`, which no test uses, and writes
their means and standard errors to hopper_sizes.json.
"""

import json
from collections.abc import Callable, Sequence
from copy import copy
from math import log
from pathlib import Path

from controlplane.simulator.cluster.summary import gain
from controlplane.simulator.experiments.experiment import Results, Scale
from controlplane.simulator.experiments.hopper import (
    EXPERIMENTS,
    claims,
    examples,
    fairness,
    gains,
    learned,
    locality,
    tried,
)
from controlplane.simulator.experiments.hopper.comparisons import LARGE, SEVERAL, SMALL, bin_name, found, job_gains
from controlplane.simulator.experiments.hopper.comparisons import gains as gains_of
from controlplane.simulator.experiments.hopper.conditions import (
    BING_LIKE,
    CAPS,
    DURATIONS,
    EAGER,
    FACEBOOK,
    HOPPER,
    LAST,
    PRIO,
    PRIO_EAGER,
    SOURCES,
    Fields,
)
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.experiments.points.learning import SHARES
from controlplane.simulator.statistics import Estimate, estimate

SEEDS = range(1, 17)
EXPECTED_SEEDS = range(1001, 1101)
DIGITS = 5
ROUNDED = 10.0**-DIGITS
EXPECTED = Path(__file__).with_suffix(".json")
BY_ID = {one.id.partition("/")[2]: one for one in EXPERIMENTS}
OWN, HALF_SHARED = (world | CAPS["2 attempts"] for world in DURATIONS.values())
OWN_3, HALF_SHARED_3 = (world | CAPS["3 attempts"] for world in DURATIONS.values())
MEASURED: dict[tuple[str, int], object] = {}


class Measuring(Results):
    """Results of an experiment's own points, measured when they are asked for, and once for all experiments."""

    def __init__(self, name: str, seeds: Sequence[int] = ()) -> None:
        super().__init__(Scale.SMOKE, {})
        self.seeds = seeds
        self._own = {repr(point) for point in BY_ID[name].points(Scale.SMOKE)}

    def __call__(self, point: Point) -> list:
        assert self.has(point)
        name, seeds = repr(point), self.seeds or point.seeds
        for seed in seeds:
            if (name, seed) not in MEASURED:
                MEASURED[name, seed] = point.measure(seed)
        return [MEASURED[name, seed] for seed in seeds]

    def has(self, point: Point) -> bool:
        """Whether it is one of the experiment's own."""
        return repr(point) in self._own

    def on(self, seed: int) -> "Measuring":
        """The same on one seed."""
        one = copy(self)
        one.seeds = [seed]
        return one


Measure = Callable[[Measuring], Sequence[float]]


def of_pair(ours: Fields, theirs: Fields, *fields: Fields, size: int | None = None) -> Measure:
    """By how much the mean response time is shorter; `size` picks one of BINS."""
    return lambda results: gains_of(results, ours, theirs, *fields, size=size).values


def of_single_jobs(number: Callable, ours: Fields, theirs: Fields, *fields: Fields) -> Measure:
    """A number of the JobGains of each seed."""
    return lambda results: [number(job_gains(results.on(seed), ours, theirs, *fields)) for seed in results.seeds]


def of_runs(number: Callable, *fields: Fields) -> Measure:
    """A number of the summary of one seed's run."""
    return lambda results: [number(one) for one in found(results, *fields)]


def at(source: Fields, load: float, world: Fields) -> Fields:
    """The source's jobs at an offered load."""
    return {**source, "offered_load": load, **world}


def _copies() -> dict[str, Measure]:
    """Shares that copies have, with LATE's cap and without."""
    shares = {
        "attempts": lambda one: one.copies_per_task / (1.0 + one.copies_per_task),
        "slot time": lambda one: one.copy_share / one.busy_share,
    }
    return {
        f"{source}, {world}, {policy}, of {what}": of_runs(
            share, at(SOURCES[source], 0.8, DURATIONS[world]), claims.COPYING[policy]
        )
        for source in SOURCES
        for world in DURATIONS
        for policy in ("Prio", "Prio without LATE's cap")
        for what, share in shares.items()
    }


def _slowest(law: str, speculator: str) -> Measure:
    """The logarithm of the slowest task's time over the median one's: it has a variance, whatever the tail."""
    point = claims._slowest(Scale.SMOKE, law, claims.SPECULATORS[speculator], claims.SLOWEST_TASKS[1])
    return lambda results: [log(one) for one in results(point)]


def _tail_index(at_once: bool, window: int, share: float) -> Measure:
    """Its relative error after a share of the jobs."""
    point = learned._tail(Scale.SMOKE, at_once, window)
    return lambda results: [abs(errors[SHARES.index(share)]) for errors in results(point)]


def _more_slots(tail_index: float, speculator: str, fewer: float, more: float) -> Measure:
    """By how much shorter a job alone is with more slots a task."""

    def values(results: Measuring) -> list[float]:
        policy = examples.KNEE_SPECULATORS[speculator]
        few, many = (results(examples._one_job(Scale.SMOKE, tail_index, policy, slots)) for slots in (fewer, more))
        return [gain(b["response_s"], a["response_s"]) for a, b in zip(few, many, strict=True)]

    return values


def _figure_13() -> dict[str, Measure]:
    """An allowance of 3 % beside none: gains, and how many tasks find their input."""
    measures: dict[str, Measure] = {}
    for world, fields in DURATIONS.items():
        place = {**locality.LOADS["offered load 1"], **fields, **CAPS["2 attempts"]}
        for policy, one in (("Hopper", HOPPER), ("Prio", PRIO)):
            none, papers = (locality._allowing(one, share) for share in (0.0, locality.PAPERS))
            measures[f"{world}, {policy}, 3 % over none"] = of_pair(papers, none, place)
            measures[f"{world}, {policy}, local tasks at none"] = of_runs(lambda run: run.local_share, place, none)
            measures[f"{world}, {policy}, local tasks at 3 %"] = of_runs(lambda run: run.local_share, place, papers)
    return measures


def _equal_caps() -> dict[str, Measure]:
    """Hopper's slots alone, and what a third attempt and kills are worth."""
    synthetic, facebook = tried.PLACES
    two, three, two_kill, _ = tried.CASES
    own, half_shared = DURATIONS
    alone = [
        (facebook, own, ("Hopper+LATE", "Hopper+RAS"), two),
        (facebook, half_shared, ("Hopper+LATE", "Hopper+RAS"), two),
        (synthetic, own, ("Hopper+RAS",), two),
        (synthetic, half_shared, ("Hopper+LATE", "Hopper+RAS"), three),
    ]
    measures: dict[str, Measure] = {}
    for place, world, all_ours, case in alone:
        where = at(tried.PLACES[place], tried.LOADS[-1], DURATIONS[world])
        for ours in all_ours:
            a, b = (tried._playing(tried.CONTESTANTS[one], case) for one in (ours, tried.ALONE[ours]))
            measures[f"{place}, {world}, {ours} over SRPT, {case}"] = of_pair(a, b, where)
    where = at(tried.PLACES[synthetic], tried.LOADS[-1], DURATIONS[own])
    for what, case in (("a third attempt", three), ("kills", two_kill)):
        a, b = (tried._playing(PRIO_EAGER, one) for one in (case, two))
        measures[f"{synthetic}, {own}, SRPT+RAS, {what}"] = of_pair(a, b, where)
    return measures


OVER_PRIO, OVER_LAST, RAS_OVER_PRIO = (HOPPER, PRIO), (HOPPER, LAST), (EAGER, PRIO)
IN_OWN, IN_HALF_SHARED, IN_OWN_3 = (at(FACEBOOK, 0.8, world) for world in (OWN, HALF_SHARED, OWN_3))
FEWEST, *_, MOST = zip(gains.PHASES, gains.CHAINS, strict=True)
FAIREST = fairness._with_epsilon(0.0)
ROWS: dict[str, dict[str, Measure]] = {
    "copies": _copies(),
    "slowest-task": {
        f"{law}, {speculator}": _slowest(law, speculator) for law in claims.LAWS for speculator in claims.SPECULATORS
    },
    "over-fair": {
        f"slower jobs, {name}": of_single_jobs(lambda one: one.slowed_share, policy, claims.FAIR, IN_OWN)
        for name, policy in (("Hopper", HOPPER), ("Last", LAST))
    },
    "tail-index": {
        f"{order}, {kept}, after {share:.0%}": _tail_index(at_once, window, share)
        for order, at_once in learned.ORDERS.items()
        for kept, window in learned.WINDOWS.items()
        for share in (learned.CLAIMED_SHARE, 1.0)
    },
    "figure-3": {
        f"{tail_index}, {name}, {more:g} slots a task over {fewer:g}": _more_slots(tail_index, name, fewer, more)
        for tail_index in examples.KNEE_TAIL_INDICES
        for name in examples.KNEE_SPECULATORS
        for fewer, more in ((0.5, 1.0), (1.0, 1.4))
    },
    "figure-6": {
        "Hopper over Prio": of_pair(*OVER_PRIO, IN_OWN),
        "Hopper over Last": of_pair(*OVER_LAST, IN_OWN),
        "Hopper+RAS over Prio": of_pair(*RAS_OVER_PRIO, IN_OWN),
        "Hopper+RAS over Prio, 3 attempts": of_pair(*RAS_OVER_PRIO, IN_OWN_3),
        "half shared, Hopper over Prio": of_pair(*OVER_PRIO, IN_HALF_SHARED),
        "half shared, Hopper over Last": of_pair(*OVER_LAST, IN_HALF_SHARED),
        "Bing-like, Hopper over Prio": of_pair(*OVER_PRIO, at(BING_LIKE, 1.0, OWN)),
        "Bing-like, Hopper over Last": of_pair(*OVER_LAST, at(BING_LIKE, 1.0, OWN)),
    },
    "figure-7": {
        f"{name}, {bin_name(size)} tasks": of_pair(*pair, IN_OWN, size=size)
        for name, pair in (("Hopper over Prio", OVER_PRIO), ("Hopper over Last", OVER_LAST))
        for size in (SMALL, LARGE, SEVERAL)
    },
    "figure-8a": {
        f"quantile {quantile:g}": of_single_jobs(lambda one, place=place: one.quantiles[place], EAGER, LAST, IN_OWN_3)
        for place, quantile in ((2, 0.5), (-1, 0.9))
    },
    "figure-8b": {
        f"{phases} phases, {name}": of_pair(*pair, at(chain, 0.8, OWN))
        for phases, chain in (FEWEST, MOST)
        for name, pair in (("Hopper over Prio", OVER_PRIO), ("Hopper+RAS over Prio", RAS_OVER_PRIO))
    },
    "figure-9": {f"{name} over Prio": of_pair(ours, base, IN_OWN) for name, ours, base in gains._speculators("Prio")},
    "figure-10": {
        "epsilon 0.1 over 0": of_pair(fairness._with_epsilon(0.1), FAIREST, IN_OWN),
        "epsilon 1 over 0": of_pair(fairness._with_epsilon(1.0), FAIREST, IN_OWN),
        "slower jobs": of_single_jobs(lambda one: one.slowed_share, fairness._with_epsilon(0.1), FAIREST, IN_OWN),
    },
    "figure-12": {
        f"{name}, Bing-like, {bin_name(size)} tasks": of_pair(*pair, at(BING_LIKE, 0.8, OWN), size=size)
        for name, pair in (("Hopper over Prio", OVER_PRIO), ("Hopper over Last", OVER_LAST))
        for size in (SMALL, SEVERAL)
    },
    "figure-13": _figure_13(),
    "guidelines": {
        f"{world}, {name}": of_runs(lambda one: one.short_share, at(FACEBOOK, 1.0, fields), policy)
        for world, fields in (("own durations", OWN), ("half shared", HALF_SHARED))
        for name, policy in (("Hopper", HOPPER), ("Prio", PRIO))
    },
    "equal-caps": _equal_caps(),
    "conditions": {
        f"{name}, Hopper over Prio": of_pair(change.on(HOPPER), change.on(PRIO))
        for name, change in tried.CONDITIONS.items()
        if name in {"transfer ratios count as 1", "slots are lent until a copy is wanted"}
    },
}


def measured(name: str, seeds: Sequence[int]) -> dict[str, Estimate]:
    """What a row's measures come to."""
    results = Measuring(name, seeds)
    return {label: estimate(list(measure(results))) for label, measure in ROWS[name].items()}


if __name__ == "__main__":
    rows = {name: measured(name, EXPECTED_SEEDS) for name in ROWS}
    plain = {
        name: {label: [round(one.mean, DIGITS), round(one.error, DIGITS)] for label, one in row.items()}
        for name, row in rows.items()
    }
    EXPECTED.write_text(json.dumps(plain, indent=1) + "\n")
