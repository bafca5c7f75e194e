"""How many attempts of every task should start at once? GRASS's proactive speculation, and its best number of copies.

A job has `slots` slots of its own, and a number of tasks left that shrinks to 0 without a step. A rate is a share of
what these slots do when all are busy and no task is copied. Numbers of tasks and of attempts need not be whole.
Source: GRASS (NSDI'14), appendix A, "Proactive speculation".
"""

from math import inf

from controlplane.policies.grass.theory.task_times import mean_time, with_mean
from controlplane.policies.hopper.virtual_size import copy_multiplier


def blow_up(attempts: float, tail_index: float) -> float:
    """E[tau] / (k E[min(tau_1 ... tau_k)]): work done over work spent, with k attempts of every task; 1 for one.

    The least of k Pareto times is Pareto with k times their tail index. Raises ValueError up to a tail index of 1.
    Source: GRASS (NSDI'14), appendix A, equation (1), second factor.

    >>> round(blow_up(attempts=2, tail_index=1.25), 9)
    1.5
    """
    return mean_time(tail_index) / (attempts * mean_time(attempts * tail_index))


def service_rate(remaining_tasks: float, attempts: float, slots: float, tail_index: float) -> float:
    """mu: the rate at which a job gets on when it runs `attempts` attempts of each task that it has left.

    They take all slots or as many as there are attempts, and those of one task at least.
    Source: GRASS (NSDI'14), appendix A, equation (1).

    >>> service_rate(remaining_tasks=5, attempts=1, slots=10, tail_index=3.0)
    0.5
    """
    used = attempts * max(remaining_tasks, 1.0) / slots
    return min(used, 1.0) * blow_up(attempts, tail_index)


def early_attempts(tail_index: float) -> float:
    """sigma = max(2 / tail_index, 1): the best number while more tasks are left than slots, less than two.

    Raises ValueError up to a tail index of 1.
    Source: GRASS (NSDI'14), appendix A, after equation (2); Hopper's virtual size is made of the same number.

    >>> early_attempts(tail_index=1.6), early_attempts(tail_index=3.0)
    (1.25, 1.0)
    """
    return copy_multiplier(with_mean(tail_index), cap=inf)


def best_attempts(remaining_tasks: float, slots: float, tail_index: float) -> float:
    """k: the attempts of every task that make `service_rate` greatest, and so a job's time least; of 2 slots or more.

    Few in early waves; once these leave slots over, as many as fill them. Raises ValueError up to a tail index of 1.
    Source: GRASS (NSDI'14), appendix A, Theorem 1, equation (2).

    >>> [best_attempts(remaining_tasks, slots=10, tail_index=1.6) for remaining_tasks in (100, 5, 0.5)]
    [1.25, 2.0, 10.0]
    """
    few = early_attempts(tail_index)
    return few if remaining_tasks * few >= slots else slots / max(remaining_tasks, 1.0)
