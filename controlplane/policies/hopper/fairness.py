"""How unfair may Hopper be? Every job keeps (1 - epsilon) of its fair share."""

import numpy as np

from controlplane.compiled import kernel
from controlplane.model.columns import Floats, Ints
from controlplane.policies.hopper.guidelines import by_guidelines
from controlplane.policies.whole_slots import whole


@kernel
def fair_floor(slots: int, weight: Floats, most: Ints, order: Ints, fairness_epsilon: float) -> Ints:
    """Slots that a claimant is sure of: (1 - epsilon) * S / N in whole slots, or all that it can use.

    N counts claimants that can use a slot, each by its weight. All floors together never exceed the slots.
    Source: Hopper (SIGCOMM'15), section 4.3.

    >>> fair_floor(20, np.ones(4), np.array([9, 9, 1, 0]), np.arange(4), 0.1)
    array([6, 6, 1, 0])
    """
    floor = np.zeros(len(most), dtype=np.int64)
    total, left = 0.0, slots
    for row in order:
        if most[row] > 0:
            total += weight[row]
    for row in order:
        if most[row] > 0 and total > 0:
            share = (1.0 - fairness_epsilon) * slots * (weight[row] / total)
            floor[row] = min(whole(slots=share), most[row], left)
            left -= floor[row]
    return floor


@kernel
def with_fair_floor(
    slots: int, floor: Ints, size: Floats, most: Ints, order: Ints, round_up: bool, target: Ints
) -> None:
    """Raise claimants that the guidelines leave below their floors, divide the rest again, until none is below.

    One pass is not enough: the slots it takes for the raised can push another claimant below its floor.
    Source: Hopper (SIGCOMM'15), section 4.3.
    """
    raised = np.zeros(len(floor), dtype=np.bool_)
    rest, left = most.copy(), slots
    while True:
        by_guidelines(left, size, rest, order, round_up, target)
        n_raised = np.count_nonzero(raised)
        for row in order:
            if raised[row] or target[row] < floor[row]:
                left -= 0 if raised[row] else floor[row]
                raised[row], rest[row], target[row] = True, 0, floor[row]
        if n_raised == np.count_nonzero(raised):
            return
