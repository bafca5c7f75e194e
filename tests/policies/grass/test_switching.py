"""Does GRASS run as RAS, and as GS once samples say so, by jobs like its own and by what they have left?"""

from math import inf, nan

import numpy as np
import pytest

from controlplane.estimators.samples import FIRST, LEARNED, LENGTH, POINTS, SECOND, bucket, place_of
from controlplane.model.reasons import Reason
from controlplane.policies.grass.switching import explores, switch_values
from controlplane.policies.registry import speculator

pytestmark = pytest.mark.unit

gs, ras, grass = speculator("gs"), speculator("ras"), speculator("grass")
EXACT = {"sooner_by_s": 0.0, "sooner_times": 1.0, "gs_on_free_slots": 0.0}
GS, RAS = FIRST, SECOND
STEADY = np.arange(1, POINTS + 1) / 2
"""A wave per task time."""


def samples(gs_curve, ras_curve, *, has_deadline=True, tasks=10, utilization=0, accuracy=0, weight=9.0):
    """Samples of one bucket."""
    values = np.zeros(LENGTH)
    for policy, curve in ((GS, gs_curve), (RAS, ras_curve)):
        at = place_of(bucket(has_deadline, tasks, utilization, accuracy), policy)
        values[at : at + POINTS] = weight
        values[at + POINTS : at + 2 * POINTS] = weight * np.asarray(curve)
    return values


def view(running, weights, *, deadline_s=inf, needed=10, idle=90, error=0.0, explores=LEARNED, tasks=10):
    """One task that GS copies and RAS does not, since that would cost more slot time; a fresh attempt takes 2 s."""
    return running(
        [3.0],
        [2.0],
        pools={"idle": idle, "foretold_error": error},
        jobs={"tasks": tasks, "explores": explores},
        stages={"deadline_s": deadline_s, "tasks": 10, "needed": needed},
    )._replace(weights=weights)


def reason(seen, **settings):
    return Reason(int(grass.speculate(seen, EXACT | settings)["reason"][0]))


@pytest.mark.parametrize("needed", [0, 3])
@pytest.mark.parametrize("deadline_s", [inf, 4.0, 0.0, -1.0])
def test_without_samples_it_is_ras(running, deadline_s, needed):
    tasks = running([3.0, 9.0, 5.0], [2.0, 2.0, 4.0], stages={"deadline_s": deadline_s, "needed": needed, "tasks": 3})
    assert np.array_equal(grass.speculate(tasks, EXACT), ras.speculate(tasks, EXACT))


@pytest.mark.parametrize("has_deadline", [False, True])
def test_once_gs_has_done_better_it_is_gs(running, has_deadline):
    """More waves by the deadline, or fewer task times for as many waves."""
    better, worse = (1.5 * STEADY, STEADY) if has_deadline else (STEADY, 1.5 * STEADY)
    seen = view(running, samples(better, worse, has_deadline=has_deadline), deadline_s=4.0 if has_deadline else inf)
    answer = grass.speculate(seen, EXACT)
    assert answer["reason"].tolist() == [Reason.SWITCHED_TO_GS]
    other = gs.speculate(seen, {name: value for name, value in EXACT.items() if name != "gs_on_free_slots"})
    assert all(np.array_equal(answer[name], other[name]) for name in ("copies", "score"))
    assert reason(view(running, samples(worse, better, has_deadline=has_deadline), deadline_s=4.0)) is (
        Reason.CHEAPER_TO_WAIT
    )


def test_equal_samples_stay_with_ras(running):
    assert reason(view(running, samples(STEADY, STEADY), deadline_s=4.0)) is Reason.CHEAPER_TO_WAIT


@pytest.mark.parametrize(("deadline_s", "is_switched"), [(3.0, True), (5.0, False)])
def test_it_switches_where_the_curves_cross(running, deadline_s, is_switched):
    """A task takes 2 s: within two of them GS has done more, and RAS in more time."""
    crossing = np.where(STEADY < 2.0, 1.5, 0.5) * STEADY
    seen = view(running, samples(crossing, STEADY), deadline_s=deadline_s)
    assert (reason(seen) is Reason.SWITCHED_TO_GS) is is_switched


def test_the_sentence_has_what_both_come_to(running):
    answer = grass.speculate(view(running, samples(1.5 * STEADY, STEADY), deadline_s=4.0), EXACT)
    assert (answer["gain"][0], answer["price"][0]) == (3.0, 2.75), "RAS for half a task time, and GS then"


def test_a_later_switch_can_be_better_than_one_now_or_none():
    """GS is quick at first and RAS steady: two task times are best spent on RAS first and GS in the last half."""
    quick = np.r_[2.0, np.full(POINTS - 1, 2.1)]
    assert switch_values(quick, STEADY, 2.0, True) == (2.1, 3.5)


@pytest.mark.parametrize("left", [nan, inf, 12.5])
def test_what_no_sample_reaches_is_unknown(left):
    assert np.isnan(switch_values(STEADY, STEADY, left, True)).all()


@pytest.mark.parametrize(
    "other",
    [
        {"tasks": 60},
        {"utilization": 1},
        {"accuracy": 1},
        {"has_deadline": False},
        {"weight": 4.9},
    ],
    ids=str,
)
def test_samples_of_other_jobs_do_not_count_nor_do_too_few(running, other):
    assert reason(view(running, samples(1.5 * STEADY, STEADY, **other), deadline_s=4.0)) is Reason.CHEAPER_TO_WAIT


@pytest.mark.parametrize(("factor", "other"), [("by_utilization", "utilization"), ("by_accuracy", "accuracy")])
def test_a_factor_that_is_left_out_tells_no_samples_apart(running, factor, other):
    seen = view(running, samples(1.5 * STEADY, STEADY, **{other: 2}), deadline_s=4.0)
    assert reason(seen, **{factor: 0.0}) is Reason.SWITCHED_TO_GS


def test_without_the_bound_the_whole_curves_decide(running):
    """GS has done less up to four task times, and more on the whole."""
    crossing = np.where(STEADY < 4.0, STEADY - 0.5, STEADY + 2.0)
    seen = view(running, samples(crossing, STEADY), deadline_s=4.0)
    assert [reason(seen, by_bound=value) for value in (1.0, 0.0)] == [Reason.CHEAPER_TO_WAIT, Reason.SWITCHED_TO_GS]


@pytest.mark.parametrize(
    ("deadline_s", "needed", "reasons"), [(4.0, 10, "gs"), (4.1, 10, "ras"), (inf, 2, "gs"), (inf, 3, "ras")]
)
def test_the_strawman_switches_when_two_waves_are_left(running, deadline_s, needed, reasons):
    """Two times 2 s, or two tasks on one slot; samples go before it."""
    seen = view(running, np.zeros(LENGTH), deadline_s=deadline_s, needed=needed)
    assert (reason(seen, strawman_waves=2.0) is Reason.ENDS_SOONER) is (reasons == "gs")
    against = samples(STEADY, 1.5 * STEADY) if deadline_s < inf else samples(1.5 * STEADY, STEADY, has_deadline=False)
    assert reason(seen._replace(weights=against), strawman_waves=2.0) is Reason.CHEAPER_TO_WAIT


def test_an_explorer_runs_wholly_under_one_of_them(running):
    """Whatever samples say."""
    for weights in (samples(1.5 * STEADY, STEADY), samples(STEADY, 1.5 * STEADY)):
        found = [reason(view(running, weights, deadline_s=4.0, explores=policy)) for policy in (GS, RAS)]
        assert found == [Reason.ENDS_SOONER, Reason.CHEAPER_TO_WAIT]


def test_half_of_the_explorers_try_each_and_a_seed_draws_others():
    draws = np.random.default_rng(1).random(20_000)
    first = explores(draws, {"explorer_share": 0.15, "explorer_seed": 0.0})
    assert [round(np.mean(first == policy), 2) for policy in (LEARNED, GS, RAS)] == pytest.approx(
        [0.85, 0.075, 0.075], abs=0.011
    )
    second = explores(draws, {"explorer_share": 0.15, "explorer_seed": 1.0})
    assert np.mean((first != LEARNED) & (second != LEARNED)) < 0.05
    assert not explores(draws, {"explorer_share": 0.0, "explorer_seed": 3.0}).any(), (
        "none until an operator allows them"
    )
