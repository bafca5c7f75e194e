"""Does a fixed budget keep its slots for copies alone, whoever waits?"""

import pytest

from controlplane.policies.registry import allocator

pytestmark = pytest.mark.unit

budgeted = allocator("budgeted")
THREE_OF_SEVEN = {"reserved_share": 3 / 7}


def shares(view, settings):
    answer = budgeted.allocate(*view, settings)
    assert answer["cap"].tolist() == answer["target"].tolist()
    return answer["originals"].tolist(), answer["target"].tolist()


def test_the_reserve_stays_idle_while_there_is_nothing_to_copy(pool):
    """Hopper's Figure 1b: slots lie fallow although five tasks wait."""
    assert shares(pool(7, [4, 5], usable=[4, 5]), THREE_OF_SEVEN) == ([4, 0], [4, 0])


def test_copies_take_from_the_reserve_only(pool):
    """A job whose originals all run may copy as many as the reserve holds, though unreserved slots are free."""
    assert shares(pool(7, [2], usable=[9]), THREE_OF_SEVEN) == ([2], [5])


def test_the_shortest_job_is_served_first_on_both_sides(pool):
    """The budget changes how much there is, not who comes first."""
    view = pool(10, [9, 2], remaining_work_s=[90, 20], usable=[20, 4])
    assert shares(view, {"reserved_share": 0.3}) == ([5, 2], [6, 4])


@pytest.mark.parametrize(("slots", "originals"), [(1, [1]), (2, [1]), (7, [6]), (40, [36])])
def test_a_tenth_is_reserved_but_never_the_last_slot(pool, slots, originals):
    """A pool of one slot must still run its jobs."""
    assert shares(pool(slots, [99]), {})[0] == originals
