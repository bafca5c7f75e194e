"""What becomes of the load when slowdowns grow with it? Fuller slots make tails heavier, which makes slots fuller.

The tail index of slowdowns falls from the system's own, while nothing runs, to another one when all slots are busy. The
load is then where equation (2) gives what it was put in.
Source: Redundancy and relaunch, section VI, "Runtime slowdown model".
"""

from collections.abc import Callable
from dataclasses import replace

from controlplane.policies.redundancy.theory.execution import Execution
from controlplane.policies.redundancy.theory.queue import busy_share
from controlplane.policies.redundancy.theory.system import System, mean_slowdown

PRECISION = 1e-10


def tail_index_at(idle_tail_index: float, full_tail_index: float, busy: float) -> float:
    """The slowdowns' tail index while this share of the slots is busy, on a line; the paper asks that it falls.

    >>> tail_index_at(idle_tail_index=3.0, full_tail_index=2.0, busy=0.25)
    2.75
    """
    return idle_tail_index + (full_tail_index - idle_tail_index) * min(busy, 1.0)


def contended(
    system: System, offered_load: float, full_tail_index: float, execution: Callable[[System], Execution]
) -> tuple[System, float]:
    """The system with the tail index that it settles at, and what the same arrivals offer to that system.

    `execution` is an arbitrary job's run under the policy. The load is the least that reproduces itself: it is reached
    from an empty cluster, step by step, for each step makes tails heavier. Without such a load below 1 all slots are
    busy, with `full_tail_index`.

    >>> from controlplane.policies.redundancy.theory.redundant_small import redundant_small
    >>> settled, load = contended(System(), 0.5, 2.0, lambda system: redundant_small(system, 2.0, threshold_s=0.0))
    >>> round(busy_share(settled, load, redundant_small(settled, 2.0, threshold_s=0.0)), 4)
    0.5657
    """
    busy, before = 0.0, -1.0
    while busy - before > PRECISION:
        tail_index = tail_index_at(system.slowdown_tail_index, full_tail_index, busy)
        settled = replace(system, slowdown_tail_index=tail_index)
        load = offered_load * (mean_slowdown(settled) / mean_slowdown(system))
        before, busy = busy, min(busy_share(settled, load, execution(settled)), 1.0)
    return settled, load
