"""When should unfinished tasks be started again? Straggler-relaunch, its moments and its best time.

Once, at w times the service time after its start, every unfinished task of a job is redrawn in place. w is the
`relaunch_factor`; infinity never relaunches.
"""

from collections.abc import Sequence
from functools import cache
from math import exp, expm1, inf, lgamma, log1p, sqrt

from scipy.special import betainc

from controlplane.policies.redundancy.theory.execution import Execution, every_size, plain
from controlplane.policies.redundancy.theory.queue import response_time_s
from controlplane.policies.redundancy.theory.search import least
from controlplane.policies.redundancy.theory.system import System


def relaunched(tasks: int, relaunch_factor: float, tail_index: float) -> Execution:
    """A job whose unfinished tasks are relaunched, per unit of service time.

    Two terms differ from the print, which a simulation refutes: E[Latency^2] carries no factor
    Gamma(1 - 2/a) / Gamma(1 - 1/a), and E[Cost] counts the time that relaunched tasks have already spent,
    (1 - q)(1 - w/a) for the printed (1 - q)(1 - w). Up to w = 1 no task has finished and all are relaunched.
    Source: Redundancy and relaunch, section V, before and in equation (13).

    >>> round(relaunched(tasks=1, relaunch_factor=1.0, tail_index=3.0).latency, 9)
    2.5
    """
    late = relaunch_factor**-tail_index if relaunch_factor > 1.0 else 1.0
    untouched = plain(tasks, tail_index)
    if late == 0.0 or tail_index <= 1.0:
        return untouched
    if late == 1.0:
        return _all_relaunched(tasks, relaunch_factor, untouched)
    w = relaunch_factor
    some_late = -expm1(tasks * log1p(-late))
    first, second = untouched.latency, untouched.latency_squared
    late_part = float(betainc(1.0 - 1.0 / tail_index, tasks, late))
    latency = w * some_late + first * (1.0 + (1.0 / w - 1.0) * late_part)
    latency_squared = inf
    if second < inf:
        late_part_squared = float(betainc(1.0 - 2.0 / tail_index, tasks, late))
        latency_squared = (
            w**2 * some_late + second + 2.0 * first * late_part + (1.0 - w**2) / w**2 * second * late_part_squared
        )
    return Execution(
        latency=latency,
        latency_squared=latency_squared,
        cost=untouched.cost * (1.0 + late * (1.0 - w / tail_index)),
    )


def _all_relaunched(tasks: int, relaunch_factor: float, untouched: Execution) -> Execution:
    w = relaunch_factor
    return Execution(
        latency=w + untouched.latency,
        latency_squared=w**2 + 2.0 * w * untouched.latency + untouched.latency_squared,
        cost=tasks * w + untouched.cost,
    )


def straggler_relaunch(system: System, relaunch_factors: Sequence[float]) -> Execution:
    """An arbitrary job's run when a job of k tasks has the factor `relaunch_factors[k - 1]`.

    Source: Redundancy and relaunch, section V, equation (13).

    >>> round(straggler_relaunch(System(), [inf] * 10).latency, 4)
    29.9557
    """
    tail_index = system.slowdown_tail_index
    runs = [relaunched(tasks, factor, tail_index) for tasks, factor in enumerate(relaunch_factors, start=1)]
    return every_size(system, runs)


@cache
def latency_optimal_factor(tasks: int, tail_index: float) -> float:
    """The factor that ends a job of k tasks soonest, found numerically on the exact mean; infinite up to a tail of 1.

    It falls with k from the cost-optimal factor, its value at k = 1, and rises again once it is near equation (12).
    Source: Redundancy and relaunch, section V, "numerically computing the optimal w".

    >>> round(latency_optimal_factor(tasks=10, tail_index=3.0), 3)
    4.355
    """
    if not 1.0 < tail_index < inf:
        return inf
    highest = 2.0 * max(cost_optimal_factor(tail_index), many_tasks_factor(tasks, tail_index))
    best = least(lambda factor: relaunched(tasks, factor, tail_index).latency, 1.0, highest)
    gains = relaunched(tasks, best, tail_index).latency < plain(tasks, tail_index).latency
    return best if gains else inf


def cost_optimal_factor(tail_index: float) -> float:
    """a^2 / (a - 1): the factor of least slot time, for any number of tasks; relaunching saves slot time from w > a on.

    Source: the derivative of E[Cost] as corrected in `relaunched`.

    >>> cost_optimal_factor(tail_index=3.0)
    4.5
    """
    return tail_index**2 / (tail_index - 1.0) if tail_index > 1.0 else inf


def many_tasks_factor(tasks: int, tail_index: float) -> float:
    """sqrt(E[S_{k:k}]): the latency-optimal factor of a job with very many tasks, tail_index > 1.

    With a tail index of 3 it is worse than no relaunch below 24 tasks, so it is no rule for common jobs.
    Source: Redundancy and relaunch, section V, equation (12).

    >>> round(many_tasks_factor(tasks=1, tail_index=3.0), 2)
    1.22
    """
    power = 1.0 / tail_index
    return sqrt(exp(lgamma(tasks + 1) + lgamma(1.0 - power) - lgamma(tasks + 1 - power)))


@cache
def best_common_factor(system: System, offered_load: float) -> float:
    """The one factor for jobs of all sizes that gives the least response time; infinite if none helps.

    Source: Redundancy and relaunch, section V, "set it to a value that minimizes E[T]".

    >>> round(best_common_factor(System(), offered_load=0.9), 2)
    4.41
    """

    def response_at(factor: float) -> float:
        return response_time_s(system, offered_load, straggler_relaunch(system, [factor] * system.max_tasks))

    if not 1.0 < system.slowdown_tail_index < inf:
        return inf
    best = least(response_at, 1.0, 2.0 * cost_optimal_factor(system.slowdown_tail_index))
    return best if response_at(best) < response_at(inf) else inf
