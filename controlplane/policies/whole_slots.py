"""How are slots counted out in whole numbers? The arithmetic that all allocators share.

Columns have shape (n_claimants,). `order` lists the rows by precedence, first served first. Sums run in that order, so
that they do not depend on the rows.
"""

import math

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Floats, Ints, Records

TOLERANCE = 1e-9
"""Share of a number of slots that rounding may have taken; 2 / 1.2 * 3 slots are 5."""


@rule
def forgiven(slots: float) -> float:
    """Slots that rounding may have taken from a number; it never turns whole slots into more, however many they are."""
    return min(TOLERANCE * max(abs(slots), 1.0), 0.25)


@rule
def whole(slots: float) -> int:
    """Whole slots in a fractional number, forgiving what rounding took.

    >>> [whole(slots) for slots in (0.29 * 100, 2.9, 3.0, 1e12)]
    [29, 2, 3, 1000000000000]
    """
    return math.floor(slots + forgiven(slots))


@rule
def whole_up(slots: float) -> int:
    """The next whole number of slots, forgiving what rounding added.

    >>> [whole_up(slots) for slots in (100 * 1.1, 2.1)]
    [110, 3]
    """
    return -math.floor(-slots + forgiven(slots))


@kernel
def most_usable(claimants: Records) -> Ints:
    """The most slots each claimant may be given; none of it is negative."""
    return np.maximum(claimants["usable"], 0)


@kernel
def by_arrival(claimants: Records) -> Ints:
    """Rows in order of arrival; of two that arrived at once, the upper row first."""
    arrival_s = claimants["arrival_s"]
    for row in range(1, len(arrival_s)):
        if not arrival_s[row - 1] <= arrival_s[row]:
            return np.argsort(arrival_s, kind="mergesort")
    return np.arange(len(arrival_s))


@kernel
def by_key_and_arrival(key: Floats, claimants: Records) -> Ints:
    """Rows by a key, least first, those without one last; of two with the same key, the one that arrived first."""
    order = by_arrival(claimants)
    sorted_key = key[order]
    sorted_key[np.isnan(sorted_key)] = np.inf
    return order[np.argsort(sorted_key, kind="mergesort")]


@kernel
def hand_out(slots: int, most: Ints, order: Ints, target: Ints) -> int:
    """Raise targets to their most, in order, while slots last; returns the slots left.

    >>> target = np.array([1, 0, 0])
    >>> int(hand_out(6, np.array([4, 5, 2]), np.array([2, 0, 1]), target)), target.tolist()
    (0, [4, 1, 2])
    """
    for row in order:
        given = max(min(most[row] - target[row], slots), 0)
        target[row] += given
        slots -= given
    return slots


@kernel
def share_out(slots: int, weight: Floats, most: Ints, order: Ints, target: Ints) -> None:
    """Set targets in proportion to weights; a claimant that reaches its most leaves the rest to the others.

    Fractions go to the largest remainders, ties in `order`. Slots that no positive weight claims go out in order,
    so that no usable slot stays idle.

    >>> def shared(slots, weight, most):
    ...     target = np.full(len(most), 9)
    ...     share_out(slots, np.array(weight), np.array(most), np.arange(len(most)), target)
    ...     return target.tolist()
    >>> shared(10, [3.0, 1.0, 1.0], [2, 9, 9])
    [2, 4, 4]
    >>> shared(5, [1.0, 1.0, 1.0], [9, 9, 9])
    [2, 2, 1]
    >>> shared(5, [1.0, 0.0], [2, 9])
    [2, 3]
    """
    sharing = (most > 0) & (weight > 0)
    target[:] = 0
    left = slots
    while True:
        total = 0.0
        for row in order:
            if sharing[row]:
                total += weight[row]
        if total <= 0:
            break
        part, n_full = left / total, 0
        for row in order:
            if sharing[row] and most[row] <= whole(slots=weight[row] * part):
                sharing[row], target[row] = False, min(most[row], left)
                left -= target[row]
                n_full += 1
        if n_full == 0:
            left -= round_out(left, weight * part, order[sharing[order]], target)
            break
    hand_out(left, most, order, target)


@kernel
def round_out(slots: int, quota: Floats, rows: Ints, target: Ints) -> int:
    """Set the targets of `rows` to whole numbers next to their quotas, by largest remainder; returns their sum.

    It never exceeds the slots, though the quotas may: the sum of many large ones is not exact.
    """
    given = 0
    remainder = np.empty(len(rows))
    for place, row in enumerate(rows):
        target[row] = min(whole(slots=quota[row]), slots - given)
        remainder[place] = math.floor((quota[row] - target[row]) / TOLERANCE + 0.5)
        given += target[row]
    for place in np.argsort(-remainder, kind="mergesort")[: max(slots - given, 0)]:
        target[rows[place]] += 1
        given += 1
    return given
