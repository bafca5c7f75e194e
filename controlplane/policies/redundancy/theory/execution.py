"""What does a job's run take, in time and in slots, with spare tasks and without? Of one job, and of any.

An `Execution` per unit of service time becomes one of an arbitrary job by weighing with the moments of K, R and B.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import fsum, inf

from controlplane.policies.redundancy.theory.order_statistics import order_statistic, slot_time
from controlplane.policies.redundancy.theory.system import System, job_size_shares, service_moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Moments of a run: E[Latency], E[Latency^2] and E[Cost]; infinite where they do not exist."""

    latency: float
    latency_squared: float
    cost: float
    """Slot time, spent on finished and on cancelled tasks alike."""

    @property
    def variation(self) -> float:
        """E[Latency^2] / E[Latency]^2, one more than the squared coefficient of variation."""
        return self.latency_squared / self.latency**2 if self.latency_squared < inf else inf


def coded(tasks: int, started: int, tail_index: float) -> Execution:
    """A job that ends with any `tasks` of its `started` tasks, per unit of service time; no spare ones if equal.

    Source: Redundancy and relaunch, section IV, "Latency and Cost of job execution".

    >>> round(coded(tasks=1, started=2, tail_index=3.0).latency, 9)
    1.2
    """
    return Execution(
        latency=order_statistic(started, tasks, tail_index),
        latency_squared=order_statistic(started, tasks, tail_index, moment=2),
        cost=slot_time(started, tasks, tail_index),
    )


def plain(tasks: int, tail_index: float) -> Execution:
    """A job without spare tasks, per unit of service time.

    >>> round(plain(tasks=1, tail_index=3.0).cost, 9)
    1.5
    """
    return coded(tasks, tasks, tail_index)


def every_size(system: System, of_tasks: Sequence[Execution]) -> Execution:
    """An arbitrary job's run in seconds, where a job of k tasks runs as `of_tasks[k - 1]` says.

    >>> tail_index = System().slowdown_tail_index
    >>> round(every_size(System(), [plain(tasks, tail_index) for tasks in range(1, 11)]).latency, 4)
    29.9557
    """
    return small_and_large(system, inf, small=of_tasks, large=of_tasks)


def small_and_large(
    system: System, threshold_s: float, small: Sequence[Execution], large: Sequence[Execution]
) -> Execution:
    """An arbitrary job's run in seconds, where jobs of demand k r B <= threshold_s run as `small`, others as `large`.

    Each size is weighted with Pr{B <= d/(k r)} of its own, the paper's second expression. Its first, equations (3)
    and (4) as printed, takes K and {K B <= d} for independent, which they are not.
    Source: Redundancy and relaunch, section IV, the expressions after equation (5).
    """
    shares = [share / system.max_task_slots for share in job_size_shares(system)]
    sizes = list(product(range(1, system.max_tasks + 1), range(1, system.max_task_slots + 1)))

    def mean(name: str, moment: int, times_slots: bool = False) -> float:
        parts = []
        for tasks, slots in sizes:
            limit_s, weight = threshold_s / (tasks * slots), shares[tasks - 1] * (slots if times_slots else 1)
            below = service_moment(system, moment, up_to_s=limit_s)
            above = service_moment(system, moment, above_s=limit_s)
            parts.append(weight * _product(below, getattr(small[tasks - 1], name)))
            parts.append(weight * _product(above, getattr(large[tasks - 1], name)))
        return fsum(parts)

    return Execution(
        latency=mean("latency", 1), latency_squared=mean("latency_squared", 2), cost=mean("cost", 1, times_slots=True)
    )


def _product(weight: float, value: float) -> float:
    """An impossible case adds nothing, even if it would take infinitely long."""
    return weight * value if weight else 0.0
