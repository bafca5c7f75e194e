"""How unfair may Hopper be? Every job keeps (1 - epsilon) of its fair share."""

from collections.abc import Callable
from math import fsum

import numpy as np

from controlplane.policies.interfaces import Flags, Floats, Ints
from controlplane.policies.whole_slots import whole


def fair_floor(slots: int, weight: Floats, most: Ints, fairness_epsilon: float) -> Ints:
    """Slots that a claimant is sure of: (1 - epsilon) * S / N in whole slots, or all that it can use.

    N counts claimants that can use a slot, each by its weight.
    Source: Hopper (SIGCOMM'15), section 4.3.

    >>> fair_floor(20, weight=np.ones(4), most=np.array([9, 9, 1, 0]), fairness_epsilon=0.1)
    array([6, 6, 1, 0])
    """
    active_weight = np.where(most > 0, weight, 0.0)
    total = fsum(active_weight)
    if total <= 0:
        return np.zeros_like(most)
    return np.minimum(whole((1.0 - fairness_epsilon) * slots * (active_weight / total)), most)


def with_fair_floor(slots: int, floor: Ints, divide: Callable[[int, Flags], Ints]) -> Ints:
    """Raise whoever `divide` leaves below its floor, divide the rest again, until nobody is below.

    `divide(slots, among)` divides slots among the flagged claimants and gives the others 0. One pass is not
    enough: the slots it takes for the raised can push another claimant below its floor.
    Source: Hopper (SIGCOMM'15), section 4.3.
    """
    free = np.ones(len(floor), dtype=bool)
    target = divide(slots, free)
    while (short := free & (target < floor)).any():
        free &= ~short
        raised = np.where(free, 0, floor)
        target = raised + divide(slots - int(raised.sum()), free)
    return target
