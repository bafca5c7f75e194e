"""How are slots counted out in whole numbers? The arithmetic that all allocators share.

Columns have shape (n_claimants,). `order` lists the rows by precedence, first served first.
"""

from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from controlplane.policies.interfaces import Floats, Ints, PoolView

TOLERANCE = 1e-9
"""What rounding may have taken from a number of slots; 2 / 1.2 * 3 slots are 5."""


def whole(slots: NDArray[np.floating[Any]]) -> Ints:
    """Whole slots in a fractional number, forgiving what rounding took.

    >>> whole(np.array([0.29 * 100, 2.9, 3.0]))
    array([29,  2,  3])
    """
    return np.floor(slots + TOLERANCE * np.maximum(np.abs(slots), 1.0)).astype(np.int64)


def whole_up(slots: Floats) -> Ints:
    """The next whole number of slots, forgiving what rounding added.

    >>> whole_up(np.array([10 * 1.1, 2.1]))
    array([11,  3])
    """
    return -whole(-slots)


def most_usable(view: PoolView) -> Ints:
    """The most slots each claimant may be given; none of it is negative."""
    return np.maximum(view.usable, 0)


def by_arrival(view: PoolView) -> Ints:
    """Rows in order of arrival; of two that arrived at once, the upper row first."""
    return np.argsort(view.arrival_s, kind="stable")


def hand_out(slots: int, most: Ints, order: Ints) -> Ints:
    """Serve claimants in order, each up to its most, while slots last.

    >>> hand_out(7, np.array([4, 5, 2]), order=np.array([2, 0, 1]))
    array([4, 1, 2])
    """
    wanted = most[order]
    before = np.cumsum(wanted) - wanted
    given = np.zeros_like(most)
    given[order] = np.clip(slots - before, 0, wanted)
    return given


def share_out(slots: int, weight: Floats, most: Ints, order: Ints) -> Ints:
    """Divide slots in proportion to weights; who reaches its most leaves the rest to the others.

    Fractions go to the largest remainders, ties in `order`. What no positive weight claims is handed out in
    order, so that no slot stays idle that somebody can use.

    >>> share_out(10, np.array([3.0, 1.0, 1.0]), np.array([2, 9, 9]), order=np.arange(3))
    array([2, 4, 4])
    >>> share_out(5, np.array([1.0, 1.0, 1.0]), np.array([9, 9, 9]), order=np.arange(3))
    array([2, 2, 1])
    >>> share_out(5, np.array([1.0, 0.0]), np.array([2, 9]), order=np.arange(2))
    array([2, 3])
    """
    given = np.zeros_like(most)
    sharing = (most > 0) & (weight > 0)
    left = slots
    while sharing.any():
        quota = np.where(sharing, weight * (left / fsum(weight[sharing])), 0.0)
        full = sharing & (most <= quota * (1.0 + TOLERANCE))
        if not full.any():
            given += _rounded(left, quota, sharing, order)
            break
        given[full] = most[full]
        left -= int(most[full].sum())
        sharing &= ~full
    return given + hand_out(slots - int(given.sum()), most - given, order)


def _rounded(slots: int, quota: Floats, sharing: np.ndarray, order: Ints) -> Ints:
    """Whole numbers next to the quotas whose sum is `slots`, by largest remainder."""
    floors = whole(quota)
    remainder = np.round(quota - floors, 9)
    rows = order[sharing[order]]
    rows = rows[np.argsort(-remainder[rows], kind="stable")]
    floors[rows[: slots - int(floors.sum())]] += 1
    return floors
