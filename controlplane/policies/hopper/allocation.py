"""How many slots may each job hold? Hopper's Pseudocode 1 with transfer ratio and epsilon-fairness."""

from collections.abc import Mapping
from math import fsum

import numpy as np

from controlplane.policies.hopper.fairness import fair_floor, with_fair_floor
from controlplane.policies.hopper.virtual_size import precedence, virtual_size
from controlplane.policies.interfaces import Allocation, Flags, Floats, Ints, PoolView
from controlplane.policies.whole_slots import hand_out, most_usable, share_out, whole, whole_up


def hopper(view: PoolView, settings: Mapping[str, float]) -> Allocation:
    """Virtual sizes for the smallest jobs when slots are short, a proportional split when they are not.

    Of jobs equally small, the one that arrived first goes first, then the upper row.
    Source: Hopper (SIGCOMM'15), section 4, Pseudocode 1.
    """
    cap = settings["multiplier_cap"]
    size = virtual_size(view.remaining_tasks, view.tail_index, view.transfer_ratio, cap)
    first = precedence(view.remaining_tasks, view.downstream_tasks, view.tail_index, view.transfer_ratio, cap)
    order = np.lexsort((view.arrival_s, first))
    most = most_usable(view)
    slots = max(view.slots, 0)

    def divide(slots: int, among: Flags) -> Ints:
        mine = np.where(among, most, 0)
        return by_guidelines(slots, size=size, most=mine, order=order, round_up=settings["round_up"] > 0)

    floor = fair_floor(slots, view.weight, most, settings["fairness_epsilon"])
    return Allocation(
        target=with_fair_floor(slots, floor, divide),
        virtual_size=size,
        cap=np.full(len(most), -1, dtype=np.int64),
    )


def by_guidelines(slots: int, *, size: Floats, most: Ints, order: Ints, round_up: bool) -> Ints:
    """Guideline 2 if the virtual sizes exceed the slots, else Guideline 3.

    A job counts with what it can use of its virtual size, and with at least one slot if it can use one: a
    light tail or a small transfer ratio would otherwise round the smallest job down to nothing.
    """
    useful = np.minimum(np.maximum(size, 1.0), most)
    if slots < fsum(useful):
        return smallest_first(slots, useful, order, round_up)
    return share_out(slots, useful, most, order)


def smallest_first(slots: int, size: Floats, order: Ints, round_up: bool) -> Ints:
    """Guideline 2: each job its virtual size, in order, while slots last; then the fractions, in order.

    The pseudocode rounds down and leaves the sum of the fractions idle. Rounded down, the last task of a job never
    has a slot for its copy, for 2 / tail_index is below 2; rounded up it has one, as in the decentralized version,
    whose jobs accept a slot while they hold less than their virtual size (Pseudocode 2).

    >>> smallest_first(7, size=np.array([5.0, 6.25]), order=np.array([0, 1]), round_up=False)
    array([5, 2])
    >>> smallest_first(9, size=np.array([2.5, 2.5, 2.5, 2.5]), order=np.array([0, 1, 2, 3]), round_up=False)
    array([3, 2, 2, 2])
    >>> smallest_first(7, size=np.array([1.33, 2.67, 9.0]), order=np.array([0, 1, 2]), round_up=True)
    array([2, 3, 2])
    """
    target = hand_out(slots, whole_up(size) if round_up else whole(size), order)
    return target + hand_out(slots - int(target.sum()), whole_up(size) - target, order)
