"""Do Shed+ and its rivals rank as the paper has it, in its cluster of 138 slots, and what is each part of it worth?"""

from dataclasses import replace

import pytest

from controlplane.simulator.experiments.experiment import Results, Scale
from controlplane.simulator.experiments.shed_plus import EXPERIMENTS
from controlplane.simulator.experiments.shed_plus.world import AS_PRINTED, POLICIES, runs

pytestmark = pytest.mark.unit

JOBS = 300


def on_time(policy: str, load: float = 0.8, tail_index: float = 1.5, **changes) -> float:
    """The share of deadlines that is kept; jobs and luck are the same for all."""
    fields = POLICIES[policy] | {"offered_load": load, "jobs": JOBS} | changes
    return runs(Scale.SMOKE, fields, tail_index=tail_index).scenario.simulate(1).on_time_share


@pytest.fixture(scope="module")
def busy():
    """Under a load of .8."""
    return {policy: on_time(policy) for policy in POLICIES}


def test_shed_plus_meets_nearly_every_deadline_under_heavy_load(busy):
    """The paper: 98 %, Shed 68, Hadoop 37."""
    assert busy["Shed+"] >= 0.97
    assert busy["Shed+"] > busy["Shed"] + 0.05 > busy["Hopper"] + 0.2
    assert abs(busy["Hadoop"] - 0.37) < 0.07


@pytest.mark.parametrize(("load", "tasks", "left"), [(0.4, 5, 127), (0.4, 20, 135), (0.9, 10, 126), (0.01, 10, 138)])
def test_masters_take_slots_from_every_policy_alike(load, tasks, left):
    """One for each job that runs: .4 of 138 slots are 11 jobs of five tasks. Jobs come as often as without masters."""
    alone = runs(Scale.SMOKE, {"offered_load": load}, tasks=tasks).scenario
    for policy in POLICIES.values():
        scenario = runs(Scale.SMOKE, policy, {"offered_load": load}, tasks=tasks).scenario
        assert (alone.slots, scenario.slots) == (138, left)
        assert scenario.work(1).arrival_s == pytest.approx(alone.work(1).arrival_s)


def test_dolly_clones_itself_into_a_queue(busy):
    """At a low load its clones meet nearly every deadline, and at a high one they leave no slots."""
    assert on_time("Dolly", load=0.2) > 0.95 > 0.1 > busy["Dolly"]


def test_at_a_low_load_shed_is_nearly_as_good():
    """Slots to spare for every task."""
    assert on_time("Shed+", load=0.2) - on_time("Shed", load=0.2) < 0.05


def test_keeping_the_attempt_that_has_done_most_needs_byte_offsets(busy):
    """Without them it keeps originals, and copies die before they can win; keeping the one that ends first does not."""
    furthest = {"speculator_settings": AS_PRINTED}
    assert on_time("Shed+ without offsets", **furthest) < 0.5
    assert busy["Shed+ without offsets"] > 0.95


def test_lighter_tails_leave_less_to_gain(busy):
    """A deadline at .95 of the median is then missed for want of slots, not by stragglers."""
    assert on_time("Shed", load=0.9, tail_index=2.0) < busy["Shed"] - 0.1


def test_copies_that_are_as_slow_help_nobody(busy):
    """Half of the tasks are slow because of their data."""
    assert on_time("Shed+", shared_share=0.5) < 0.65


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.id)
def test_every_experiment_judges_what_it_measured(experiment):
    """On one small run of each of its points, and none of its claims is left out."""
    points = [replace(point, scenario=replace(point.scenario, jobs=20)) for point in experiment.points(Scale.SMOKE)]
    by_name = {repr(point): repr(small) for point, small in zip(experiment.points(Scale.SMOKE), points, strict=True)}
    measured = {repr(small): small.measure(1) for small in points}
    found = {(name, seed): measured[small] for name, small in by_name.items() for seed in (1, 2)}
    finding = experiment.finding(Results(Scale.SMOKE, found))
    assert finding.claims
    assert all(claim.numbers for claim in finding.claims)
