"""How busy would a pool be without copies? The offered load, as a smoothed share of its slots.

Without copies, originals that run or wait would hold that many slots at any moment, but never more than all.
Source: Redundancy and relaunch, section IV: rho0 counts only arrivals and their first copies.
"""

import numpy as np

from controlplane.model.columns import Floats, Ints, Pools

WINDOW_S = 60.0
"""A load this long ago counts for 1/e of the present one."""


def smoothed(load: Floats, busy: Floats, span_s: Floats) -> Floats:
    """The load after another span in which the slots' share `busy` was held.

    >>> smoothed(np.array([0.0, 0.5]), np.array([1.0, 0.5]), np.array([np.inf, 3.0]))
    array([1. , 0.5])
    """
    return busy + (load - busy) * np.exp(-span_s / WINDOW_S)


def follow_load(pools: Pools, rows: Ints, originals: Ints, now_s: float) -> None:
    """Note the originals that run or wait in these pools, shape (n_rows,); they hold until the next call."""
    span_s = now_s - pools.load_seen_s[rows]
    pools.offered_load[rows] = smoothed(pools.offered_load[rows], pools.busy_share[rows], span_s)
    pools.busy_share[rows] = np.minimum(originals, pools.slots[rows]) / np.maximum(pools.slots[rows], 1)
    pools.load_seen_s[rows] = now_s
