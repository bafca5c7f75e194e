"""Are slots short or plentiful, and what follows? Hopper's Guidelines 2 and 3."""

import numpy as np

from controlplane.compiled import kernel
from controlplane.model.columns import Floats, Ints
from controlplane.policies.whole_slots import hand_out, share_out, whole, whole_up


@kernel
def by_guidelines(slots: int, size: Floats, most: Ints, order: Ints, round_up: bool, target: Ints) -> None:
    """Guideline 2 if the virtual sizes exceed the slots, else Guideline 3.

    A job counts with what it can use of its virtual size, and with at least one slot if it can use one: a
    light tail or a small transfer ratio would otherwise round the smallest job down to nothing.
    Source: Hopper (SIGCOMM'15), section 4, Pseudocode 1.
    """
    useful = np.minimum(np.maximum(size, 1.0), most)
    total = 0.0
    for row in order:
        total += useful[row]
    if slots < total:
        smallest_first(slots, useful, order, round_up, target)
    else:
        share_out(slots, useful, most, order, target)


@kernel
def smallest_first(slots: int, size: Floats, order: Ints, round_up: bool, target: Ints) -> None:
    """Guideline 2: each job its virtual size, in order, while slots last; then the fractions, in order.

    The pseudocode rounds down and leaves the sum of the fractions idle. Rounded down, the last task of a job never
    has a slot for its copy, as 2 / tail_index is below 2; rounded up it has one, as in the decentralized version,
    whose jobs accept a slot while they hold less than their virtual size (Pseudocode 2).

    >>> def given(slots, size, round_up):
    ...     target = np.zeros(len(size), dtype=np.int64)
    ...     smallest_first(slots, np.array(size), np.arange(len(size)), round_up, target)
    ...     return target.tolist()
    >>> given(7, [5.0, 6.25], False)
    [5, 2]
    >>> given(9, [2.5, 2.5, 2.5, 2.5], False)
    [3, 2, 2, 2]
    >>> given(7, [1.33, 2.67, 9.0], True)
    [2, 3, 2]
    """
    up, left = np.empty(len(size), dtype=np.int64), slots
    target[:] = 0
    if not round_up:
        down = np.empty(len(size), dtype=np.int64)
        for row in order:
            down[row] = whole(slots=size[row])
        left = hand_out(slots, down, order, target)
    for row in order:
        up[row] = whole_up(slots=size[row])
    hand_out(left, up, order, target)
