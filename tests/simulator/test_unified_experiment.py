"""Is the rule that makes a policy the default applied as it is stated?"""

import pytest

from controlplane.simulator.experiments.experiment import Results, Scale
from controlplane.simulator.experiments.shed_plus import world
from controlplane.simulator.experiments.unified import (
    CHOOSING,
    EXPERIMENTS,
    JUDGING,
    OURS,
    RIVALS,
    Cell,
    cells,
    deadlines,
    default,
    outcome,
    runs,
)

pytestmark = pytest.mark.unit
HERE = cells(Scale.SMOKE)[0]


def results(ours_s, theirs_s):
    """Every cell with these response times on the judging seeds; SRPT with RAS is best on the others."""
    found = {}
    for cell in cells(Scale.SMOKE):
        for policy in (OURS, *RIVALS):
            times_s = [1.0 if policy == "srpt+ras" else 2.0] * CHOOSING.stop
            times_s += ours_s if policy == OURS and cell == HERE else theirs_s
            point = runs(Scale.SMOKE, cell, policy)
            found |= {(repr(point), seed): {"response_s": times_s[seed - 1]} for seed in point.seeds}
    return Results(Scale.SMOKE, found)


def test_the_rival_is_chosen_on_other_seeds_than_it_is_judged_on():
    one = outcome(results([2.0, 2.2, 2.0, 2.2], [2.0, 2.0, 2.0, 2.0]), HERE)
    assert one.rival == "srpt+ras"
    assert one.longer.mean == pytest.approx(0.0477, abs=1e-3)
    assert JUDGING.start == CHOOSING.stop


@pytest.mark.parametrize(
    ("ours_s", "held"),
    [([2.1, 2.11, 2.1, 2.11], False), ([2.02, 2.021, 2.02, 2.021], True), ([1.7, 2.9, 1.7, 2.9], True)],
)
def test_a_cell_is_lost_by_a_difference_that_is_large_and_sure(ours_s, held):
    """By 5 %; by 1 %; and by 10 % on average that may be chance."""
    found = default(results(ours_s, [2.0] * 4))
    assert found.claims[0].held is held
    assert (HERE.title in found.claims[0].numbers) is not held


def test_all_policies_may_have_as_many_attempts_and_as_many_kills():
    """Else one would be compared by its caps."""
    for point in EXPERIMENTS[0].points(Scale.FULL):
        assert point.scenario.max_copies == 2
    of_cell = [runs(Scale.FULL, Cell(slots=24, world="half shared", noise=0.3, load=0.8, kills=False), policy)
               for policy in (OURS, *RIVALS)]  # fmt: skip
    assert {point.scenario.speculator_settings["end_beaten"] for point in of_cell} == {0.0}


def test_with_noisy_estimates_it_keeps_more_deadlines_than_shed_plus():
    """By how wrong estimates are it knows that a task may be late which seems to be in time."""
    noisy = {"noise": 0.3, "jobs": 300}
    ours, theirs = (
        world.runs(Scale.SMOKE, noisy, deadlines.fields(0.8, policy)).scenario.simulate(1).on_time_share
        for policy in (deadlines.OURS, deadlines.SHED_PLUS)
    )
    assert ours > theirs + 0.05
