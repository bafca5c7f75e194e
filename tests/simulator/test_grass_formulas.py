"""Are GRASS's theorem, its guidelines and its Hill plot judged as the numbers have it?"""

import pytest

from controlplane.policies.grass.theory.reactive import response_time
from controlplane.simulator.experiments import EXPERIMENTS
from controlplane.simulator.experiments.experiment import Finding, Results, Scale, Verdict
from controlplane.simulator.experiments.grass.formulas import LONGEST_WAIT, SLOTS, TAIL_INDEX, over_best
from controlplane.simulator.experiments.points.tails import SHARES, TailSeen

pytestmark = pytest.mark.unit

BY_ID = {one.id: one for one in EXPERIMENTS}


def judged(name: str) -> Finding:
    """What comes out at smoke scale."""
    one = BY_ID[f"grass/{name}"]
    points = one.points(Scale.SMOKE)
    found = {(repr(point), seed): point.measure(seed) for point in points for seed in point.seeds}
    return one.finding(Results(Scale.SMOKE, found))


@pytest.mark.parametrize(
    ("name", "held", "verdict"),
    [
        ("theorem-1", [True, True, True], Verdict.REPRODUCED),
        ("equation-3", [True, False], Verdict.PARTLY),
        ("figure-4", [True, True, False, False], Verdict.PARTLY),
        ("figure-3", [True, True, True, False], Verdict.STAND_IN_PARTLY),
    ],
)
def test_claims_are_judged_as_the_formulas_have_it(name, held, verdict):
    """Guideline 1 is that of copies from the start, and GS leads in one wave alone."""
    finding = judged(name)
    assert [claim.held for claim in finding.claims] == held
    assert finding.verdict is verdict
    assert finding.charts


def test_no_wait_is_better_than_the_best():
    """Every point of Figure 4 is a ratio to it, and some wait comes to 1."""
    ratios = [over_best(2, LONGEST_WAIT * step / 200) for step in range(201)]
    assert min(ratios) == pytest.approx(1.0, abs=1e-5)
    assert min(ratios) >= 1.0
    times = [response_time(2 * SLOTS, wait, SLOTS, TAIL_INDEX) for wait in (1.0, 3.0)]
    assert over_best(2, 1.0) / over_best(2, 3.0) == pytest.approx(times[0] / times[1])


def test_estimates_are_of_the_longest_durations():
    """All of a Pareto sample is its tail: both estimators are right at every share that leaves them samples."""
    found = TailSeen(tail_index=1.5, tail_share=1.0, durations=50_000).measure(1)
    for at, share in enumerate(SHARES):
        error = 1.5 / (share * 50_000) ** 0.5
        assert found["Hill"][at] == pytest.approx(1.5, abs=4 * error)
        assert found["line"][at] == pytest.approx(1.5, abs=6 * error)


def test_a_sample_is_its_seed_s():
    """The same again, and another one of another seed."""
    one = TailSeen(tail_index=1.5, tail_share=0.2, durations=2_000)
    assert one.measure(1) == one.measure(1) != one.measure(2)
