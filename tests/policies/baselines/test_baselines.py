"""Do the simple allocators share slots as their names say?"""

import pytest

from controlplane.policies.registry import TABLE, allocator
from controlplane.policies.row import Kind

pytestmark = pytest.mark.unit


def test_fifo_serves_by_arrival_not_by_row(pool):
    """Rows are usually in order of arrival; a policy must not depend on it."""
    assert allocator("fifo").allocate(*pool(5, [4, 4], arrival_s=[2, 1], usable=[4, 4]))["target"].tolist() == [1, 4]


def test_srpt_serves_the_least_work_first_and_unknown_work_last(pool):
    """A job of unknown length must not block the short ones."""
    view = pool(6, [4, 4, 4], remaining_work_s=[float("nan"), 9, 5], usable=[4, 4, 4])
    assert allocator("srpt").allocate(*view)["target"].tolist() == [0, 2, 4]


def test_fair_shares_by_weight_and_passes_on_what_a_job_cannot_use(pool):
    """Max-min fairness: 3 of 12 stay with the job that can use no more."""
    view = pool(12, [9, 9, 9], weight=[2, 1, 2], usable=[3, 9, 9])
    assert allocator("fair").allocate(*view)["target"].tolist() == [3, 3, 6]


def test_fair_gives_odd_slots_to_the_largest_remainder(pool):
    """Of 4 slots 1.33 and 2.67 are due; the first row has no right to the odd one."""
    assert allocator("fair").allocate(*pool(4, [9, 9], weight=[1, 2]))["target"].tolist() == [1, 3]


def test_fixed_targets_come_first_and_the_others_share_the_rest(pool):
    """What an operator has set holds as long as slots last."""
    view = pool(10, [9, 9, 9], fixed_target=[6, -1, -1], weight=[1, 1, 3])
    assert allocator("fixed").allocate(*view)["target"].tolist() == [6, 1, 3]


@pytest.mark.parametrize("name", [row.name for row in TABLE if row.kind is Kind.ALLOCATOR])
@pytest.mark.parametrize("slots", [10**9, 10**12, 2**53])
@pytest.mark.parametrize("tasks", [10**9, 2**50, 10**9 // 3])
@pytest.mark.parametrize("n", [3, 1600])
def test_targets_never_exceed_the_slots_however_many_they_are(pool, name, slots, tasks, n):
    """Law 3; what rounding is forgiven is a share of a number, and of a large number it is whole slots."""
    view = pool(slots, [tasks + row for row in range(n)], usable=[tasks + row for row in range(n)])
    target = allocator(name).allocate(*view)["target"]
    assert target.min() >= 0
    assert sum(target.tolist()) <= slots
    assert all(given <= tasks + row for row, given in enumerate(target.tolist()))


@pytest.mark.parametrize(("name", "settings"), [("fair", {}), ("hopper", {"fairness_epsilon": 0.0})])
def test_four_equal_shares_are_not_all_rounded_up(pool, name, settings):
    """Of this many slots rounding is forgiven a quarter of one, which is what 250,000,000.75 lacks."""
    slots = 10**9 + 3
    view = pool(slots, [slots] * 4, usable=[slots] * 4)
    assert allocator(name).allocate(*view, settings)["target"].sum() == slots


@pytest.mark.parametrize("caps", [[2, 3], [2, 0]])
def test_a_fixed_cap_keeps_slots_free(pool, caps):
    """The cap also holds for a job without a target, and is handed on to the host; 0 stops a job."""
    allocation = allocator("fixed").allocate(*pool(10, [9, 9], fixed_target=[4, -1], fixed_cap=caps))
    assert allocation["target"].tolist() == caps
    assert allocation["cap"].tolist() == caps


def test_fixed_targets_beyond_the_pool_are_cut_in_order_of_arrival(pool):
    """Targets never add up to more than the slots."""
    assert allocator("fixed").allocate(*pool(10, [9, 9], fixed_target=[8, 8]))["target"].tolist() == [8, 2]
