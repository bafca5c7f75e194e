"""Which jobs get spare tasks, and how small must they be? Redundant-small and its best threshold.

A job is small when its demand k r b, tasks times slots of a task times service time, does not exceed a threshold.
"""

from collections.abc import Callable
from functools import cache
from math import inf

from controlplane.policies.redundancy.theory.execution import Execution, coded, plain, small_and_large
from controlplane.policies.redundancy.theory.order_statistics import expanded_tasks
from controlplane.policies.redundancy.theory.queue import response_time_s
from controlplane.policies.redundancy.theory.search import least
from controlplane.policies.redundancy.theory.system import System

NEGLIGIBLE = 1e-9
"""Share of jobs that a search for a threshold leaves above it; a threshold beyond is none."""


def redundant_small(system: System, expansion_rate: float, threshold_s: float) -> Execution:
    """An arbitrary job's run when jobs of demand up to threshold_s are expanded to ceil(k r) tasks.

    0 expands none, infinity all (Redundant-all).
    Source: Redundancy and relaunch, section IV, "Redundant-small policy".

    >>> round(redundant_small(System(), 2.0, threshold_s=inf).latency, 4)
    18.4041
    """
    return small_and_large(system, threshold_s, small=expanded(system, expansion_rate), large=unexpanded(system))


@cache
def expanded(system: System, expansion_rate: float) -> tuple[Execution, ...]:
    """Runs of jobs of 1, 2, ... tasks with their spare ones, per unit of service time."""
    sizes = range(1, system.max_tasks + 1)
    return tuple(coded(k, expanded_tasks(k, expansion_rate), system.slowdown_tail_index) for k in sizes)


@cache
def unexpanded(system: System) -> tuple[Execution, ...]:
    """Runs of jobs of 1, 2, ... tasks without spare ones, per unit of service time."""
    return tuple(plain(k, system.slowdown_tail_index) for k in range(1, system.max_tasks + 1))


@cache
def best_threshold_s(
    system: System,
    offered_load: float,
    small: tuple[Execution, ...],
    response: Callable[[System, float, Execution], float] = response_time_s,
) -> float:
    """d*: the demand up to which running jobs as `small` gives the least response time; 0 none, infinity all.

    E[T] has a kink wherever one more size of job comes in, at d = k r min_service_s, and is flat near the best: judge a
    threshold by its response time.
    Source: Redundancy and relaunch, section IV, Figure 6.

    >>> system = System()
    >>> [round(best_threshold_s(system, load, expanded(system, 2.0)), 1) for load in (0.5, 0.8, 0.9)]
    [inf, 35.1, 0.0]
    """
    large = unexpanded(system)

    def response_at(threshold_s: float) -> float:
        return response(system, offered_load, small_and_large(system, threshold_s, small, large))

    widths = range(1, system.max_task_slots + 1)
    sizes = {tasks * slots for tasks in range(1, system.max_tasks + 1) for slots in widths}
    kinks = [system.min_service_s * size for size in sorted(sizes)]
    edges = [*kinks, kinks[-1] * NEGLIGIBLE ** (-1.0 / system.service_tail_index)]
    return min((0.0, inf, least(response_at, *edges)), key=response_at)
