"""Up to which demand do copies at the start pay in a live pool, and at which age a relaunch? Searched, then kept."""

from collections.abc import Mapping
from functools import cache
from math import inf

from controlplane.policies.redundancy.theory.relaunch import latency_optimal_factor
from controlplane.policies.redundancy.theory.replication import replication_threshold_s
from controlplane.policies.redundancy.theory.system import System


def small_demand_s(settings: Mapping[str, float], slots: int, offered_load: float, slowdown_tail_index: float) -> float:
    """d*: the demand up to which a job of the pool starts with copies; 0 for none, infinity for all.

    `settings` are those of `redundant-small`: the master-worker system that the pool is taken for.
    Source: Redundancy and relaunch, section IV, with the least of copies for the first k of n.  Units: slot-seconds.

    >>> settings = {"attempts_at_start": 2, "max_tasks": 10, "min_service_s": 10.0, "service_tail_index": 3.0}
    >>> [small_demand_s(settings, 200, load, slowdown_tail_index=3.0) for load in (0.2, 0.95)]
    [inf, 0.0]
    """
    system = System(
        nodes=1,
        slots_per_node=max(slots, 1),
        max_tasks=int(settings["max_tasks"]),
        min_service_s=settings["min_service_s"],
        service_tail_index=settings["service_tail_index"],
        slowdown_tail_index=slowdown_tail_index,
    )
    return replication_threshold_s(system, offered_load, int(settings["attempts_at_start"]))


@cache
def best_factor(tasks: int, tail_index: float) -> float:
    """The w that ends a stage of `tasks` soonest, in units of their mean duration; infinity for no relaunch.

    The paper's is in units of the service time, which a mean Pareto duration is a / (a - 1) times as long as.
    Source: Redundancy and relaunch, section V, the numeric optimum of equation (13).

    >>> round(best_factor(tasks=1, tail_index=3.0), 3)
    3.0
    """
    factor = latency_optimal_factor(tasks, tail_index) if tasks else inf
    return factor * (tail_index - 1.0) / tail_index if factor < inf else inf
