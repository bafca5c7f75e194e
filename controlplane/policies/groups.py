"""How are 100,000 rows sorted within their groups in a few milliseconds?"""

import numpy as np

from controlplane.policies.interfaces import Ints


def regroup(rows: Ints, group: Ints) -> Ints:
    """Rows by the number of their group, otherwise in the order given. Groups are numbered from 0.

    Group numbers that fit 16 bits are sorted by radix, which is several times faster than `np.lexsort`.

    >>> regroup(np.array([2, 1, 3, 0]), group=np.array([1, 0, 1, 0]))
    array([1, 3, 2, 0])
    """
    number = group[rows]
    fits = len(number) == 0 or number.max() < 2**16
    return rows[np.argsort(number.astype(np.uint16 if fits else np.int64), kind="stable")]
