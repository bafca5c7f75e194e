"""Are Hopper's experiments complete, and does the exact one come out?"""

import pytest

from controlplane.simulator.experiments import journal
from controlplane.simulator.experiments.experiment import Scale, Verdict
from controlplane.simulator.experiments.hopper import EXPERIMENTS
from controlplane.simulator.experiments.hopper.examples import knee_of

pytestmark = pytest.mark.unit

BY_ID = {one.id: one for one in EXPERIMENTS}


def test_table_1_is_reproduced(tmp_path):
    """Six numbers, which leave no room for noise."""
    table = BY_ID["hopper/table-1"]
    for point, seed in journal.missing([table], Scale.SMOKE, tmp_path):
        journal.keep(point, seed, point.measure(seed), Scale.SMOKE, tmp_path)
    assert journal.findings([table], Scale.SMOKE, tmp_path)[0][1].verdict is Verdict.REPRODUCED


@pytest.mark.parametrize("name", [name for name in BY_ID if name != "hopper/table-1"])
def test_every_point_says_all_that_it_depends_on(name):
    """Its repr is its name in the journal: two different points never share one."""
    points = BY_ID[name].points(Scale.SMOKE)
    assert points
    assert all("runs=" in repr(point) and "policy=" in repr(point) for point in points)


@pytest.mark.parametrize("knee", [0.8, 1.25, 1.43])
def test_a_knee_is_found_where_it_is(knee):
    """A speed that grows with the slots up to a point and is flat behind it."""
    slots = [0.25 + 0.125 * step for step in range(15)]
    assert knee_of(slots, [1.0 / min(one, knee) for one in slots]) == pytest.approx(knee, abs=0.02)
