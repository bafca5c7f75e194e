"""Does GS copy what ends sooner, and only what a job's bound needs?"""

from math import inf

import pytest

from controlplane.model.reasons import Reason
from controlplane.policies.grass.bounds import windows_s
from controlplane.policies.registry import speculator

pytestmark = pytest.mark.unit

gs, ras = speculator("gs"), speculator("ras")
EXACT = {"sooner_by_s": 0.0, "sooner_times": 1.0}


def reasons(answer) -> list[Reason]:
    return [Reason(code) for code in answer["reason"]]


@pytest.mark.parametrize(
    ("t_rem_s", "t_new_s", "reason"),
    [
        (3.0, 2.0, Reason.ENDS_SOONER),
        (2.0, 2.0, Reason.ON_SCHEDULE),
        (inf, 2.0, Reason.UNKNOWN_DEMAND),
        (2.0, inf, Reason.UNKNOWN_DEMAND),
    ],
)
def test_an_exact_job_copies_what_ends_strictly_sooner(running, t_rem_s, t_new_s, reason):
    answer = gs.speculate(running([t_rem_s], [t_new_s]), EXACT)
    assert reasons(answer) == [reason]
    assert answer["copies"].tolist() == [reason is Reason.ENDS_SOONER]


def test_without_a_deadline_the_longest_is_copied_first(running):
    score = gs.speculate(running([9.0, 20.0], [1.0, 15.0]), EXACT)["score"]
    assert score[1] > score[0]


def test_before_a_deadline_the_shortest_copy_goes_first(running):
    score = gs.speculate(running([9.0, 20.0], [1.0, 15.0], stages={"deadline_s": 30.0}), EXACT)["score"]
    assert score[0] > score[1]


@pytest.mark.parametrize("policy", [gs, ras])
def test_a_copy_that_ends_at_the_deadline_is_in_time_and_a_later_one_is_not_launched(running, policy):
    answer = policy.speculate(running([9.0, 9.0], [4.0, 4.1], stages={"deadline_s": 4.0}), EXACT)
    assert answer["copies"].tolist() == [1, 0]
    assert reasons(answer)[1] is Reason.BEYOND_DEADLINE


@pytest.mark.parametrize("policy", [gs, ras])
@pytest.mark.parametrize(("least_chance", "copies"), [(0.25, 1), (0.3, 0)])
def test_a_copy_that_is_usually_too_late_is_launched_if_it_is_in_time_often_enough(
    running, policy, least_chance, copies
):
    """Of a Pareto time with tail index 1, half of the geometric mean is exceeded with a probability of 2 / e."""
    view = running([9.0], [4.0], pools={"tail_index": 1.0}, stages={"deadline_s": 2.01})
    assert policy.speculate(view, EXACT | {"least_chance": least_chance})["copies"].tolist() == [copies]


def test_before_a_deadline_a_shorter_original_goes_before_a_copy(running):
    """But not one that would end after the deadline."""
    view = running([9.0, 9.0], [2.0, 4.0], stages={"deadline_s": 5.0}, waiting_s=[3.0, 6.0])
    assert reasons(gs.speculate(view, EXACT)) == [Reason.ENDS_SOONER, Reason.SHORTER_WAITS]
    late = running([9.0], [4.0], stages={"deadline_s": 5.0}, waiting_s=[6.0])
    assert reasons(gs.speculate(late, EXACT)) == [Reason.ENDS_SOONER]


@pytest.mark.parametrize("policy", [gs, ras])
def test_an_error_bound_needs_only_the_earliest(running, policy):
    """Two of four are still needed: the original that takes 1, and the task whose copy takes 2."""
    stages = {"tasks": 8, "done": 4, "needed": 2}
    view = running([9.0, 20.0], [2.0, 4.0], stages=stages, waiting_s=[1.0, 5.0])
    assert windows_s(view).tolist() == [2.0]
    assert reasons(policy.speculate(view, EXACT))[1] is Reason.NOT_NEEDED
    assert policy.speculate(view, EXACT)["copies"].tolist() == [1, 0]
    assert policy.precedence(view)["named"].tolist() == [True, False]


@pytest.mark.parametrize("policy", [gs, ras])
def test_a_bound_that_is_met_needs_nothing_more(running, policy):
    view = running([9.0], [1.0], stages={"tasks": 4, "done": 2, "needed": 0}, waiting_s=[1.0])
    assert reasons(policy.speculate(view, EXACT)) == [Reason.NOT_NEEDED]
    assert not policy.precedence(view)["named"].any()


def test_originals_go_shortest_first_before_a_deadline_and_longest_first_without(running):
    """Those that would end after the deadline are left to the host, which has nothing better to do."""
    before = gs.precedence(running([], [], stages={"deadline_s": 5.0}, waiting_s=[3.0, 1.0, 6.0]))
    assert (before["named"].tolist(), before["score"].argmax()) == ([True, True, False], 1)
    exact = gs.precedence(running([], [], waiting_s=[3.0, 1.0, 6.0]))
    assert (exact["named"].tolist(), exact["score"].argmax()) == ([True] * 3, 2)


def test_stages_have_bounds_of_their_own(running):
    """A later stage runs whole, whatever the bound of the stage that reads the input."""
    stages = {"tasks": [4, 4], "done": [2, 0], "needed": [0, 4]}
    view = running([9.0, 9.0], [1.0, 1.0], stage=[0, 1], stages=stages)
    assert windows_s(view).tolist() == [-1.0, inf]
    assert reasons(gs.speculate(view, EXACT)) == [Reason.NOT_NEEDED, Reason.ENDS_SOONER]
