"""Do GS and RAS gain where GRASS says so, and is each part of them worth something?"""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from controlplane.policies.registry import parse_policy
from controlplane.simulator.cluster.bounds import Bounds
from controlplane.simulator.cluster.scenario import ROWS
from controlplane.simulator.cluster.workloads import Synthetic
from controlplane.simulator.experiments.experiment import Results, Scale, Verdict
from controlplane.simulator.experiments.grass import EXPERIMENTS, figures, waves
from controlplane.simulator.experiments.grass.world import (
    BASE,
    CASES,
    DEADLINES,
    ERRORS,
    FRAMEWORKS,
    KILLING,
    POLICIES,
    WORLDS,
    Fields,
    faster,
    mean,
    more,
)
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.experiments.points.cluster import ClusterRuns, Learning

pytestmark = pytest.mark.unit

WAVES, SLOTS = 5, 50
ALONE: Fields = {
    "workload": Synthetic(least_tasks=WAVES * SLOTS, most_tasks=WAVES * SLOTS),
    "machines": SLOTS,
    "slots_per_machine": 1,
    "offered_load": 0.02,
    "bounds": Bounds(slack=(0.02, 0.2), ideal_slots=SLOTS, gives_up=True),
}
"""Jobs of several waves that have all slots to themselves."""


def ran(policy: str, *fields: Fields, jobs: int = 100, named: Mapping[str, Fields] = POLICIES):
    """The summary of one seed; jobs and luck are the same for all."""
    merged = {"jobs": jobs, **named[policy]}
    for one in fields:
        merged |= one
    return replace(BASE, **merged).simulate(1)


def test_a_job_of_several_waves_is_more_accurate_by_both():
    """GRASS: 43 to 47 % more than LATE in Spark; here 8 % and more, and GS is ahead of RAS only if both kill."""
    accuracy = {policy: ran(policy, ALONE).accuracy for policy in ("LATE", "GS", "RAS")}
    assert accuracy["RAS"] > accuracy["GS"] > 1.08 * accuracy["LATE"]
    killing = {policy: ran(policy, ALONE, named=KILLING).accuracy for policy in ("LATE", "GS", "RAS")}
    assert killing["GS"] > killing["RAS"] > 1.1 * killing["LATE"]


def test_a_job_of_several_waves_learns_to_switch():
    """With kills every job is best off under GS, and GRASS, which begins as RAS, finds that out by exploring."""
    found = {policy: ran(policy, ALONE, jobs=300, named=KILLING).accuracy for policy in ("RAS", "GRASS", "GS")}
    assert found["RAS"] < found["GRASS"] < found["GS"]
    assert found["GRASS"] > (found["RAS"] + found["GS"]) / 2


@pytest.mark.parametrize(("named", "switch"), [(POLICIES, 0.0), (KILLING, 1.0)])
def test_all_contestants_end_beaten_attempts_or_none_does(named, switch):
    """With kills for some alone, their worth would count as that of their copies; Mantri's margins are its own."""
    for name, fields in named.items():
        speculator = parse_policy(fields["policy"], ROWS)[1]
        settings = speculator.complete(fields.get("speculator_settings", {}))
        if name == "Mantri":
            assert (settings["kill_margin_s"] < 1e9) == (settings["kill_margin_times"] < 1e9) == bool(switch)
        else:
            assert settings["end_beaten"] == switch


@pytest.mark.parametrize("figure", ["5", "7"])
def test_a_comparison_is_one_of_equals(figure):
    """Two and three attempts, with kills and without, each for all contestants."""
    (experiment,) = (one for one in EXPERIMENTS if one.id == f"grass/figure-{figure}")
    scenarios = [point.scenario for point in experiment.points(Scale.SMOKE)]
    by_cap = {most: {one.policy for one in scenarios if one.max_copies == most} for most in (1, 2)}
    assert by_cap[1] == by_cap[2] == {"fair+late", "fair+mantri", "fair+grass"}


def test_with_error_bounds_jobs_are_faster_than_under_either_baseline():
    """Exact jobs more than those that may leave a third of their tasks undone."""
    for bounds, most in ((ERRORS, 0.98), ({}, 0.9)):
        times_s = {policy: ran(policy, bounds).response_s for policy in ("LATE", "Mantri", "GS", "RAS")}
        assert max(times_s["GS"], times_s["RAS"]) < most * min(times_s["LATE"], times_s["Mantri"])


def test_a_copy_that_may_be_in_time_is_worth_its_slot():
    """Jobs of one wave: what is usually too late often is not."""
    for policy in ("GS", "RAS"):
        usual = ran(policy, DEADLINES).accuracy
        settings = {**POLICIES[policy]["speculator_settings"], "least_chance": 0.64}
        strict = ran(policy, DEADLINES, {"speculator_settings": settings}).accuracy
        assert usual > 1.08 * strict
        assert usual > 0.97 * ran("LATE", DEADLINES).accuracy


def test_where_copies_are_as_slow_they_gain_nothing():
    """Half of the tasks are slow because of their data."""
    shared: Fields = {"shared_share": 0.5}
    late = ran("LATE", ALONE, shared).accuracy
    assert max(ran(policy, ALONE, shared).accuracy for policy in ("GS", "RAS")) < 1.03 * late


def small(point: Point) -> Point:
    """The same with less to do, if it is a cluster's."""
    if isinstance(point, Learning):
        point = replace(point, after=tuple(replace(one, jobs=20) for one in point.after))
    if isinstance(point, ClusterRuns | Learning):
        point = replace(point, scenario=replace(point.scenario, jobs=20))
    return point


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.id)
def test_every_experiment_judges_what_it_measured(experiment):
    """On one small run of each of its points, and none of its claims is left out."""
    points = experiment.points(Scale.SMOKE)
    measured = {repr(point): small(point).measure(1) for point in points}
    found = {(repr(point), seed): measured[repr(point)] for point in points for seed in point.seeds}
    finding = experiment.finding(Results(Scale.SMOKE, found))
    assert finding.claims
    assert all(claim.numbers for claim in finding.claims)


BY_ID = {one.id.partition("/")[2]: one for one in EXPERIMENTS}
MEASURED: dict[tuple[str, int], object] = {}


class Measuring(Results):
    """Results at smoke scale of an experiment's own points, measured when they are asked for, once for all."""

    def __init__(self, name: str) -> None:
        super().__init__(Scale.SMOKE, {})
        self._own = {repr(point) for point in BY_ID[name].points(Scale.SMOKE)}

    def __call__(self, point: Point) -> list:
        name = repr(point)
        assert name in self._own
        for seed in point.seeds:
            if (name, seed) not in MEASURED:
                MEASURED[name, seed] = point.measure(seed)
        return [MEASURED[name, seed] for seed in point.seeds]


SPARK = FRAMEWORKS["Spark"]
"""Its fields come after a world's, as in the figures."""


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("world", WORLDS)
def test_with_deadlines_grass_is_ahead_of_mantri_and_level_with_late(world, case):
    """Figure 5, Spark: in jobs of mostly one wave there is little to choose from."""
    (most, named), results = CASES[case], Measuring("figure-5")
    fields = (WORLDS[world], SPARK, DEADLINES, most)
    assert more(results, "GRASS", "Mantri", *fields, named=named).mean > 0.04
    assert abs(more(results, "GRASS", "LATE", *fields, named=named).mean) < 0.04


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("world", WORLDS)
def test_with_error_bounds_grass_is_faster_than_mantri_but_not_by_a_third(world, case):
    """Figure 7, Spark."""
    (most, named), results = CASES[case], Measuring("figure-7")
    fields = (WORLDS[world], SPARK, ERRORS, most)
    assert 0.0 < faster(results, "GRASS", "Mantri", *fields, named=named).mean < 0.25
    assert -0.05 < faster(results, "GRASS", "LATE", *fields, named=named).mean < 0.2


@pytest.mark.parametrize("world", WORLDS)
def test_all_deadlines_leave_as_little(world):
    """Figure 6a."""
    results = Measuring("figure-6a")
    line = [more(results, "GRASS", "LATE", WORLDS[world], figures._slack(one)).mean for one in figures.SLACKS]
    assert all(abs(one) < 0.04 for one in line)


def test_exact_jobs_gain_a_third_and_large_bounds_leave_nothing():
    """Figure 6b; where copies are as slow, exact jobs gain hardly anything either."""
    results = Measuring("figure-6b")
    line = {
        title: [faster(results, "GRASS", "LATE", world, figures._error(one)).mean for one in figures.BOUNDS]
        for title, world in WORLDS.items()
    }
    for title in ("independent", "independent, noise 0.3"):
        exact, _, tenth, _, most = line[title]
        assert exact > 0.28 > tenth > most
        assert most < 0.03
    assert line["half shared"][0] < 0.1


@pytest.mark.parametrize("world", WORLDS)
def test_nobody_passes_the_bounds_and_foresight_comes_nearest(world):
    """Figure 8: GRASS is no optimum."""
    results, fields = Measuring("figure-8"), WORLDS[world]
    shown = ("Mantri", "GRASS", "clairvoyant")
    accuracy = [mean(results, "accuracy", fields, DEADLINES, POLICIES[name]) for name in shown]
    times_s = [mean(results, "response_s", fields, ERRORS, POLICIES[name]) for name in shown]
    (most, least_s) = (
        sum(one[name] for one in results(figures._at_best(Scale.SMOKE, fields, bounds))) / 2
        for name, bounds in (("accuracy", DEADLINES), ("response_s", ERRORS))
    )
    assert accuracy == sorted(accuracy)
    assert accuracy[-1] < most < 1.0
    assert times_s == sorted(times_s, reverse=True)
    assert times_s[-1] > least_s > 1.0


def test_gains_in_time_last_over_the_length_of_the_dag():
    """Figure 9: little in accuracy, much in time, but where half of the tasks are slow whatever runs them."""
    results = Measuring("figure-9")
    for phases in (2, 6):
        of_jobs = figures._phases(phases)
        for title, world in WORLDS.items():
            assert -0.02 < more(results, "GRASS", "LATE", world, of_jobs, DEADLINES).mean < 0.12
            gain = faster(results, "GRASS", "LATE", world, of_jobs, ERRORS).mean
            assert gain < 0.12 if title == "half shared" else gain > 0.14


@pytest.mark.parametrize("bounds", [waves.DEADLINES, ERRORS])
def test_switching_is_worth_a_point_at_most_unless_beaten_attempts_end(bounds):
    """Ten waves: without kills RAS is ahead, and GRASS learns to stay with it; with kills GS's copies are cheap."""
    results, gain = Measuring("waves"), more if bounds is waves.DEADLINES else faster
    for case, (most, named) in CASES.items():
        fields = (WORLDS["independent"], waves._jobs(Scale.SMOKE, 10), bounds, most)
        by_switching, by_greed, over_late = (
            gain(results, ours, theirs, *fields, named=named).mean
            for ours, theirs in (("GRASS", "RAS"), ("GS", "RAS"), ("GRASS", "LATE"))
        )
        assert over_late > 0.1
        if "kills" in case:
            assert by_switching > 0.02
            assert by_greed > 0.02
        else:
            assert abs(by_switching) < 0.01
            assert by_greed < -0.01


@pytest.mark.parametrize("name", ["figure-5", "figure-7", "figure-8", "figure-9"])
def test_the_papers_gains_are_not_reproduced(name):
    """Whatever holds of these figures holds in a stand-in, and only in part."""
    assert BY_ID[name].finding(Measuring(name)).verdict in (Verdict.STAND_IN_PARTLY, Verdict.STAND_IN_FAILS)
