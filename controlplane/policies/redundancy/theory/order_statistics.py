"""How long do the fastest k of n tasks take, and what do all n cost? Moments for Pareto slowdowns from 1 upwards.

A job of k tasks with n - k coded spare tasks ends at its k-th finished task. Times and costs here are in units of
the tasks' service time; `tail_index` is that of the slowdown.
"""

from math import exp, inf, lgamma

from controlplane.policies.whole_slots import whole_up


def expanded_tasks(tasks: int, expansion_rate: float) -> int:
    """n = ceil(k r), forgiving what rounding added.

    Source: Redundancy and relaunch, section IV, "expanded into a job of ceil(rk) tasks".

    >>> expanded_tasks(tasks=100, expansion_rate=1.1)
    110
    """
    return whole_up(tasks * expansion_rate)


def order_statistic(started: int, needed: int, tail_index: float, moment: int = 1) -> float:
    """E[S_{n:k}^m], the m-th moment of the k-th smallest of n slowdowns; infinite unless n - k + 1 > m / tail_index.

    Source: Redundancy and relaunch, section IV, equation (5).

    >>> round(order_statistic(started=1, needed=1, tail_index=3.0), 9)
    1.5
    """
    spare = started - needed + 1
    power = moment / tail_index
    if spare <= power:
        return inf
    return exp(lgamma(started + 1) + lgamma(spare - power) - lgamma(spare) - lgamma(started + 1 - power))


def order_statistic_for_many(started: int, needed: int, tail_index: float) -> float:
    """E[S_{n:k}] by (1 - k/n)^(-1/tail_index), n > k: 10 % off at worst for all but n = k + 1.

    Source: Redundancy and relaunch, section IV, equation (6) and Table I.

    >>> order_statistic_for_many(started=4, needed=2, tail_index=1.0)
    2.0
    """
    return (1.0 - needed / started) ** (-1.0 / tail_index)


def slot_time(started: int, needed: int, tail_index: float) -> float:
    """E[C_{n,k}]: slot time of n tasks that all end with the k-th finished one.

    The definition, sum over i <= k of E[S_{n:i}] + (n - k) E[S_{n:k}], with each statistic made from the one before:
    the closed form of the print, n / (a - 1) (a - (1 - k/n) E[S_{n:k}]), loses its digits around a = 1. Without spare
    tasks it is exact, n times the mean slowdown, and takes no longer for more tasks.
    Source: Redundancy and relaunch, section IV, equation (5).

    >>> round(slot_time(started=2, needed=2, tail_index=3.0), 9)
    3.0
    """
    if needed == started:
        return started / (1.0 - 1.0 / tail_index) if tail_index > 1.0 else inf
    total, statistic = 0.0, 1.0
    for ended in range(needed):
        left = started - ended
        if left <= 1.0 / tail_index:
            return inf
        statistic *= left / (left - 1.0 / tail_index)
        total += statistic
    return total + (started - needed) * statistic


def free_expansion_rate(tail_index: float) -> float:
    """The rate below which spare tasks lower the slot time of a job with infinitely many tasks, tail_index > 1.

    A finite job gains later: with a tail index of 3 no number of spare tasks pays for itself below 36 tasks.
    Source: Redundancy and relaunch, section IV, equation (7).

    >>> round(free_expansion_rate(tail_index=3.0), 4)
    1.0385
    """
    return 1.0 / (1.0 - tail_index**-tail_index)
