"""How many copies of every task should a job start with? Redundant-small for hosts that can copy but not code.

A task with c copies ends with the fastest: the least of c Pareto variables is Pareto with c times their tail index.
"""

from functools import cache

from controlplane.policies.redundancy.theory.execution import Execution, plain
from controlplane.policies.redundancy.theory.redundant_small import best_threshold_s
from controlplane.policies.redundancy.theory.system import System


def replicated(tasks: int, copies: int, tail_index: float) -> Execution:
    """A job whose every task runs as `copies` attempts at once, per unit of service time; losers end with the winner.

    Source: Redundancy and relaunch, section II, "can be directly extended for replicated redundancy".

    >>> replicated(tasks=1, copies=2, tail_index=3.0).cost
    2.4
    """
    fastest = plain(tasks, tail_index * copies)
    return Execution(latency=fastest.latency, latency_squared=fastest.latency_squared, cost=copies * fastest.cost)


@cache
def replication_threshold_s(system: System, offered_load: float, copies: int) -> float:
    """The demand up to which `copies` attempts per task give the least response time; 0 none, infinity all.

    >>> replication_threshold_s(System(), offered_load=0.2, copies=2)
    inf
    """
    sizes = range(1, system.max_tasks + 1)
    small = tuple(replicated(tasks, copies, system.slowdown_tail_index) for tasks in sizes)
    return best_threshold_s(system, offered_load, small)
