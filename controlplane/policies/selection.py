"""Which value has a rank? Hoare's quickselect, for kernels."""

from controlplane.compiled import rule
from controlplane.model.columns import Floats


@rule
def quickselect(values: Floats, rank: int) -> float:
    """The value that `rank` others precede in ascending order. Reorders `values`, none of which may be nan.

    numba's partition takes ten times as long for the few tasks of most stages.

    >>> import numpy as np
    >>> [float(quickselect(np.array([3.0, 1.0, 2.0, 1.0]), rank)) for rank in range(4)]
    [1.0, 1.0, 2.0, 3.0]
    """
    low, high = 0, len(values) - 1
    while low < high:
        pivot, left, right = values[rank], low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while pivot < values[right]:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left, right = left + 1, right - 1
        if right < rank:
            low = left
        if rank < left:
            high = right
    return values[rank]
