"""Which cluster and which jobs are assumed? The master-worker system of "redundancy and relaunch".

Jobs arrive as a Poisson stream. Each has K tasks, Pr{K = k} ~ 1/k up to a most, of one service time B, a Pareto
variable that is the same for all its tasks; a task runs B times a Pareto slowdown S >= 1 of its own. It takes R slots
of a node, as many as its siblings.
Source: Redundancy and relaunch, section II.
"""

from dataclasses import dataclass
from math import expm1, fsum, inf, log


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """The paper's default system unless said otherwise; times in seconds."""

    nodes: int = 20
    slots_per_node: int = 10
    max_tasks: int = 10
    max_task_slots: int = 1
    """R is a whole number from 1 to this, each equally likely; the paper keeps to 1."""
    min_service_s: float = 10.0
    max_service_s: float = inf
    """A finite one truncates B, which keeps its moments finite for any tail index (section VI)."""
    service_tail_index: float = 3.0
    slowdown_tail_index: float = 3.0

    @property
    def slots(self) -> int:
        """Slots of all nodes."""
        return self.nodes * self.slots_per_node


def job_size_shares(system: System) -> list[float]:
    """Pr{K = k} for k = 1 to max_tasks: Zipf's law with exponent 1.

    >>> job_size_shares(System(max_tasks=2))
    [0.6666666666666666, 0.3333333333333333]
    """
    total = fsum(1.0 / tasks for tasks in range(1, system.max_tasks + 1))
    return [1.0 / tasks / total for tasks in range(1, system.max_tasks + 1)]


def mean_tasks(system: System) -> float:
    """E[K].

    >>> round(mean_tasks(System()), 5)
    3.41417
    """
    return fsum(tasks * share for tasks, share in enumerate(job_size_shares(system), start=1))


def mean_task_slots(system: System) -> float:
    """E[R].

    >>> mean_task_slots(System(max_task_slots=4))
    2.5
    """
    return (1 + system.max_task_slots) / 2


def service_moment(system: System, moment: int = 1, above_s: float = 0.0, up_to_s: float = inf) -> float:
    """E[B^m; above_s < B <= up_to_s]: the part of B's m-th moment that lies in an interval.  Units: seconds^m.

    >>> service_moment(System())
    15.0
    >>> service_moment(System(), up_to_s=9.0)
    0.0
    """
    tail_index, least_s = system.service_tail_index, system.min_service_s
    low_s, high_s = max(above_s, least_s), min(up_to_s, system.max_service_s)
    if low_s >= high_s:
        return 0.0
    kept = -expm1(tail_index * log(least_s / system.max_service_s)) if system.max_service_s < inf else 1.0
    density = tail_index * (least_s / low_s) ** tail_index / kept
    return density * low_s**moment * _area(moment - tail_index, high_s / low_s)


def _area(power: float, ratio: float) -> float:
    """The integral of t^(power - 1) over 1 <= t <= ratio."""
    if ratio == inf:
        return 1.0 / -power if power < 0 else inf
    return expm1(power * log(ratio)) / power if power else log(ratio)


def mean_slowdown(system: System) -> float:
    """E[S]; infinite up to a tail index of 1.

    >>> mean_slowdown(System())
    1.5
    """
    tail_index = system.slowdown_tail_index
    if tail_index == inf:
        return 1.0
    return tail_index / (tail_index - 1.0) if tail_index > 1.0 else inf


def arrival_rate(system: System, offered_load: float) -> float:
    """Jobs per second whose first copies alone keep this share of the slots busy.

    Source: Redundancy and relaunch, section IV: rho0 is the load when no job has spare tasks.

    >>> round(arrival_rate(System(), offered_load=0.5), 5)
    1.30176
    """
    mean_slots = mean_tasks(system) * mean_task_slots(system)
    return offered_load * system.slots / (mean_slots * service_moment(system) * mean_slowdown(system))
