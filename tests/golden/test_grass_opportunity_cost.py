"""Does GRASS's first example come out: a copy that saves one time unit takes a slot that could finish another task?"""

import pytest

from tests.golden.grass_example import Example, Runs

pytestmark = pytest.mark.unit

T_REM_S, T_NEW_S, OTHER_S = 5.0, 4.0, 5.0
"""GRASS (NSDI'14), section 1, page 2: the straggler, its copy, and the task that could have the slot."""


@pytest.mark.parametrize(("policy", "ends_s", "done"), [("gs", T_NEW_S, 1), ("ras", T_REM_S, 2)])
def test_the_copy_ends_the_straggler_one_unit_sooner_and_costs_a_task(policy, ends_s, done):
    """GS copies, and one task is done when both would be; RAS sees that the copy saves no slot time."""
    job = {"policy": policy, "slots": 2, "done": 0}
    at_once = Example(**job, running=[Runs([T_REM_S], T_NEW_S)], waiting_s=[OTHER_S], wanted=1)
    assert at_once.play().now_s == ends_s
    in_time = Example(**job, running=[Runs([T_REM_S], T_NEW_S)], waiting_s=[OTHER_S], deadline_s=T_REM_S)
    assert in_time.play().done == done
