"""Does the comparison of accuracies treat all policies alike, and judge by paired seeds?"""

from itertools import product

import pytest

from controlplane.simulator.experiments.experiment import Results, Scale
from controlplane.simulator.experiments.grass.world import runs
from controlplane.simulator.experiments.unified.accuracy import (
    BOUNDS,
    GRASS,
    KILLS,
    LATE,
    LEAST_WAVES,
    OURS,
    POLICIES,
    WORLDS,
    fields,
    judge,
    points,
)

pytestmark = pytest.mark.unit


def test_all_policies_may_have_as_many_attempts_and_as_many_kills():
    """Else one would be compared by its caps."""
    scenarios = [point.scenario for point in points(Scale.FULL)]
    assert len(scenarios) == len(WORLDS) * len(KILLS) * len(BOUNDS) * len(POLICIES)
    assert {one.max_copies for one in scenarios} == {2}
    for policy, kills in product(POLICIES, KILLS.values()):
        shown = [one for one in scenarios if (one.policy, one.speculator_settings["end_beaten"]) == (policy, kills)]
        assert len(shown) == len(WORLDS) * len(BOUNDS)


def test_every_job_has_five_waves_or_more_on_the_slots_of_its_ideal_time():
    for point in points(Scale.FULL):
        scenario = point.scenario
        bounds = scenario.bounds
        assert scenario.workload.least_tasks >= LEAST_WAVES * scenario.slots
        assert bounds.has_deadlines is bounds.gives_up
        assert not bounds.has_deadlines or bounds.ideal_slots == scenario.slots


def results(ours, grass):
    """Seeds on which LATE does half of the input, or takes 2 s, and the others so much more, or less, as a share."""
    found = {}
    for kills, what, policy in product(KILLS, BOUNDS, POLICIES):
        gains = {OURS: ours, GRASS: grass, LATE: (0.0, 0.0)}.get(policy, (0.1, 0.1))
        point = runs(Scale.SMOKE, *fields(Scale.SMOKE, "independent", kills, what, policy))
        for seed, gain in zip(point.seeds, gains, strict=True):
            found[repr(point), seed] = {"accuracy": 0.5 * (1.0 + gain), "response_s": 2.0 * (1.0 - gain)}
    return Results(Scale.SMOKE, found)


@pytest.mark.parametrize(
    ("ours", "grass", "held"),
    [
        ((0.2, 0.21), (0.1, 0.11), {True}),
        ((0.1, 0.11), (0.2, 0.21), {True, False}),
        ((-0.2, -0.21), (0.1, 0.11), {False}),
        ((0.1, 0.3), (0.1, 0.3), {False, True}),
    ],
)
def test_gains_are_those_of_paired_seeds_and_must_be_sure(ours, grass, held):
    """More than both; more than LATE alone; less than both; and as much as GRASS, by how much is not sure."""
    claims = judge(results(ours, grass)).claims
    assert {claim.held for claim in claims} == held
    assert len(claims) == 2 * len(KILLS) * len(BOUNDS)


def test_its_numbers_are_shares_of_lates():
    (first, second, *_) = judge(results((0.2, 0.2), (0.1, 0.1))).claims
    assert "fair+unified +20.0 (0.0)" in first.numbers
    assert second.numbers.endswith("+9.1 (0.0) %")
