"""How many siblings lasted at least this long? Counts of durations by stage, in bins a fifth wide.

A stage's counts cost a fixed number of bytes and no sort, and a few stragglers among thousands do not move them as
they would move a mean and a deviation.
"""

import math

import numpy as np
from numpy.typing import NDArray

from controlplane.compiled import rule

Counts = NDArray[np.uint32]
"""Numbers of durations by bin, of one stage or, shape (n_stages, BINS), of each."""
FIRST_BIN_S = 0.1
"""Shorter durations share one bin, and so do those longer than 2 ** 24 times this, almost three weeks."""
BINS = 98
RARE_SHARE = 0.25
"""Share of siblings: a duration that no more of them have lasted is unusual."""


@rule
def bin_of(duration_s: float) -> int:
    """The bin of a duration: four to a doubling, from `FIRST_BIN_S` on.

    >>> [bin_of(each) for each in (0.0, 0.1, 0.119, 0.2, 0.4, 1e9)]
    [0, 1, 2, 5, 9, 97]
    """
    if not duration_s >= FIRST_BIN_S:
        return 0
    mantissa, exponent = math.frexp(duration_s / FIRST_BIN_S)
    quarter = int(mantissa >= 2**-0.75) + int(mantissa >= 2**-0.5) + int(mantissa >= 2**-0.25)
    return min(4 * (exponent - 1) + quarter + 1, BINS - 1)


@rule
def count_from(counts: Counts, least_s: float) -> int:
    """Durations of one stage that are in the bin of `least_s` or in a longer one; `counts` has shape (BINS,).

    >>> counts = np.zeros(BINS, dtype=np.uint32)
    >>> counts[[bin_of(1.0), bin_of(3.0)]] = 2, 1
    >>> [count_from(counts, least_s) for least_s in (0.5, 2.0, 4.0)]
    [3, 1, 0]
    """
    n = 0
    for at in range(bin_of(least_s), len(counts)):
        n += int(counts[at])
    return n


@rule
def is_rare(n_as_long: float, n_known: float) -> bool:
    """Whether so few known siblings have lasted as long that it is unusual; never if none is known.

    >>> [is_rare(n_as_long=n_as_long, n_known=n_known) for n_as_long, n_known in ((0, 0), (1, 3), (1, 4))]
    [False, False, True]
    """
    return n_known > 0 and n_as_long <= RARE_SHARE * n_known


def rows_for(counts: Counts, n_stages: int) -> Counts:
    """The same counts with room for this many stages."""
    missing = n_stages - len(counts)
    return counts if missing <= 0 else np.concatenate([counts, np.zeros((missing, BINS), dtype=np.uint32)])
