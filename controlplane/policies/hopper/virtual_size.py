"""How many slots does a job want once its copies are counted? Hopper's virtual size, and the order it gives."""

import math

from controlplane.compiled import rule


@rule
def copy_multiplier(tail_index: float, cap: float) -> float:
    """Slots wanted per task: max(2 / tail_index, 1), but never more than `cap`.

    The knee below which one more slot shortens a job at full value. A tail index of 1 or less gives 2 and
    more; the paper stops at no number, GRASS at two copies of a task, hence the cap. An index that is not a
    positive number claims nothing beyond one slot a task.
    Source: Hopper (SIGCOMM'15), section 4.1 (i); the pseudocode's bare 2 / tail_index falls below 1 for light
    tails.

    >>> [copy_multiplier(tail_index, cap=2.0) for tail_index in (1.6, 3.0, 0.5)]
    [1.25, 1.0, 2.0]
    """
    return min(max(2.0 / tail_index, 1.0), cap) if tail_index > 0 else 1.0


@rule
def communication_factor(transfer_ratio: float) -> float:
    """Square root of (remaining downstream transfer / remaining upstream work); 1 without a downstream.

    Source: Hopper (SIGCOMM'15), section 4.2. A ratio of 0 would starve the job, so 0 and unknown count as 1.

    >>> [communication_factor(ratio) for ratio in (4.0, 0.0, float("nan"))]
    [2.0, 1.0, 1.0]
    """
    return math.sqrt(transfer_ratio) if 0 < transfer_ratio < math.inf else 1.0


@rule
def virtual_size(remaining_tasks: float, tail_index: float, transfer_ratio: float, cap: float) -> float:
    """V = max(2 / tail_index, 1) * T * sqrt(transfer ratio).  Units: slots.

    Source: Hopper (SIGCOMM'15), section 4.2.

    >>> virtual_size(remaining_tasks=4, tail_index=1.6, transfer_ratio=1.0, cap=2.0)
    5.0
    """
    wanted = copy_multiplier(tail_index=tail_index, cap=cap) * remaining_tasks
    return wanted * communication_factor(transfer_ratio=transfer_ratio)


@rule
def precedence(
    remaining_tasks: float, downstream_tasks: float, tail_index: float, transfer_ratio: float, cap: float
) -> float:
    """max(V, V'): the order of jobs when slots are short, smallest first.  Units: slots.

    The paper gives no formula for V', "the virtual remaining work in communication in the downstream phase".
    It generalises max(T, T'), the larger of this phase's and the next phase's tasks (its footnote 6), so V'
    is the virtual size of the downstream tasks. It orders jobs; it gives no slots.
    Source: Hopper (SIGCOMM'15), section 4.2.

    >>> precedence(remaining_tasks=4, downstream_tasks=8, tail_index=1.6, transfer_ratio=1.0, cap=2.0)
    10.0
    """
    larger = max(remaining_tasks, downstream_tasks)
    return virtual_size(remaining_tasks=larger, tail_index=tail_index, transfer_ratio=transfer_ratio, cap=cap)
