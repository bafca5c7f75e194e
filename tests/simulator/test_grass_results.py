"""Do GS and RAS gain where GRASS says so, and is each part of them worth something?"""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from controlplane.policies.registry import parse_policy
from controlplane.simulator.cluster.bounds import Bounds
from controlplane.simulator.cluster.scenario import ROWS
from controlplane.simulator.cluster.workloads import Synthetic
from controlplane.simulator.experiments.experiment import Results, Scale
from controlplane.simulator.experiments.grass import EXPERIMENTS
from controlplane.simulator.experiments.grass.world import BASE, DEADLINES, ERRORS, KILLING, POLICIES, Fields
from controlplane.simulator.experiments.points import Point
from controlplane.simulator.experiments.points.cluster import ClusterRuns

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
    return replace(point, scenario=replace(point.scenario, jobs=20)) if isinstance(point, ClusterRuns) else point


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.id)
def test_every_experiment_judges_what_it_measured(experiment):
    """On one small run of each of its points, and none of its claims is left out."""
    points = experiment.points(Scale.SMOKE)
    measured = {repr(point): small(point).measure(1) for point in points}
    found = {(repr(point), seed): measured[repr(point)] for point in points for seed in point.seeds}
    finding = experiment.finding(Results(Scale.SMOKE, found))
    assert finding.claims
    assert all(claim.numbers for claim in finding.claims)
