"""Is what is shipped run as it is shipped, with equal caps where all are to have them, and judged by pairs?"""

from math import log

import numpy as np
import pytest

from controlplane.model.parameters import EngineSettings
from controlplane.simulator.experiments.experiment import Results, Scale
from controlplane.simulator.experiments.shipped.gains import (
    CAPS,
    CONTESTANTS,
    EQUAL,
    EXPERIMENTS,
    JOBS,
    LOADS,
    OURS,
    RUNS,
    SHIPPED,
    TUNED,
    WORLDS,
    Ratio,
    as_shipped,
    judge,
    points,
    ratios,
    runs,
)

pytestmark = pytest.mark.unit
SHOWN = ("allocator_settings", "speculator_settings", "max_copies_per_task", "job_copy_share", "losing_share")


def test_ours_are_run_with_the_settings_that_are_shipped():
    """Also the budgets; the allocator holds no slots, and attempts that are beaten end."""
    for name in OURS:
        settings = runs(Scale.FULL, "half shared", 0.8, as_shipped(name)).scenario.settings()
        assert [getattr(settings, one) for one in SHOWN] == [getattr(EngineSettings(), one) for one in SHOWN]


def test_with_equal_caps_only_policies_differ():
    """Else one would be compared by its caps."""
    caps = []
    for variant in EQUAL.values():
        scenarios = [point.scenario for point in points(Scale.FULL, [variant])]
        assert len(scenarios) == len(WORLDS) * len(LOADS[Scale.FULL]) * len(CONTESTANTS)
        ((copies, ends, budgets),) = {
            (one.max_copies, one.speculator_settings["end_beaten"], one.budgets) for one in scenarios
        }
        caps.append((copies + 1, ends == 1.0))
        assert budgets
    assert tuple(caps) == CAPS


def results(ours_s, theirs_s):
    """All jobs of a seed take as long, under ours and under all others."""
    found = {}
    for point in points(Scale.SMOKE, [as_shipped]):
        times_s = ours_s if point.scenario.policy in OURS else theirs_s
        found |= {(repr(point), seed): [times_s[seed - 1]] * JOBS[Scale.SMOKE] for seed in point.seeds}
    return Results(Scale.SMOKE, found)


@pytest.mark.parametrize(
    ("ours_s", "held"), [([1.0, 2.0], True), ([2.0, 4.0], False), ([3.0, 6.0], False), ([1.0, 4.0], False)]
)
def test_a_gain_must_be_sure_over_paired_seeds(ours_s, held):
    """Half on both seeds; none; half as much again; and half on one seed alone."""
    found = judge(results(ours_s, [2.0, 4.0]), SHIPPED)
    assert {claim.held for claim in found.claims} == {held}


def test_a_ratio_by_job_weighs_all_jobs_alike():
    """Nine small jobs halved and a large one doubled: a shorter time by job, a longer one on average."""
    ours, theirs = (runs(Scale.SMOKE, "independent", 0.8, as_shipped(name)) for name in ("hopper+ras", TUNED))
    n = JOBS[Scale.SMOKE]
    theirs_s = np.where(np.arange(n) % 10 == 5, 100.0, 1.0)
    ours_s = np.where(theirs_s > 1.0, 200.0, 0.5)
    found = {
        (repr(point), seed): times_s.tolist()
        for point, times_s in ((ours, ours_s), (theirs, theirs_s))
        for seed in point.seeds
    }
    by_mean, by_job = ratios(Results(Scale.SMOKE, found), ours, theirs)
    assert by_mean.mean > 1.5
    assert by_job.mean == pytest.approx(2.0**-0.8, rel=0.05)


def test_intervals_are_students():
    """Of two pairs: 12.7 standard errors."""
    found = Ratio.of([log(1.0), log(1.1)])
    assert log(found.high / found.mean) / found.error == pytest.approx(12.706, rel=1e-3)


@pytest.mark.parametrize("ours", OURS)
def test_where_a_copy_draws_again_ours_is_ahead_of_tuned_stock(ours):
    """By its sign alone: smoke runs are few."""
    mine, theirs = (runs(Scale.SMOKE, "independent", 0.8, as_shipped(name)) for name in (ours, TUNED))
    found = {
        (repr(point), seed): point.measure(seed) for point in (mine, theirs) for seed in range(1, RUNS[Scale.SMOKE] + 1)
    }
    by_mean, by_job = ratios(Results(Scale.SMOKE, found), mine, theirs)
    assert by_mean.mean < 1.0
    assert by_job.mean < 1.0


def test_both_experiments_have_a_chart_for_each_of_ours():
    assert [one.id for one in EXPERIMENTS] == ["shipped/defaults", "shipped/equal-caps"]
    assert len(judge(results([1.0, 2.0], [2.0, 4.0]), SHIPPED).charts) == len(OURS)
