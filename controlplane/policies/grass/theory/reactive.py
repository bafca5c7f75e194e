"""How long should a task run before it gets a copy? GRASS's reactive speculation, with GS and RAS as two answers.

A task that still runs after `wait` gets one copy. In the last wave that leaves slots over, and tasks start with as many
attempts as fill them (`proactive`). Units and numbers are those of `proactive` and `task_times`.
Source: GRASS (NSDI'14), section 3.2 and appendix A, "Reactive speculation".
"""

from itertools import pairwise
from math import inf

from scipy.integrate import quad

from controlplane.policies.grass.theory import proactive
from controlplane.policies.grass.theory.task_times import mean_time, mean_within, share_beyond, with_mean


def gs_wait(tail_index: float) -> float:
    """How long GS waits: until a task still needs what a new one takes, E[tau - w | tau > w] = E[tau].

    A wait of 0 solves the equation, too: nothing is known then. Raises ValueError up to a tail index of 1.
    Source: GRASS (NSDI'14), section 3.2.

    >>> gs_wait(tail_index=1.25)
    1.25
    """
    return with_mean(tail_index)


def ras_wait(tail_index: float) -> float:
    """How long RAS waits: until a task still needs what two new ones take, E[tau - w | tau > w] = 2 E[tau].

    Raises ValueError up to a tail index of 1.
    Source: GRASS (NSDI'14), section 3.2.

    >>> ras_wait(tail_index=1.25)
    2.5
    """
    return 2.0 * with_mean(tail_index)


def race_left(wait: float, tail_index: float) -> float:
    """E[Z - w | tau_1 >= w], Z = min(tau_1, tau_2 + w): how long a late task and its copy run until one ends.

    The integral of Pr{tau_1 > w + u} / Pr{tau_1 > w} Pr{tau_2 > u} over u, which has kinks where either begins to fall.
    Source: GRASS (NSDI'14), appendix A, equation (3).

    >>> round(race_left(wait=0.0, tail_index=1.5), 9)
    1.5
    """
    late = share_beyond(wait, tail_index)

    def both_run(after: float) -> float:
        return share_beyond(wait + after, tail_index) / late * share_beyond(after, tail_index)

    kinks = sorted({0.0, max(1.0 - wait, 0.0), 1.0})
    return sum(quad(both_run, *ends)[0] for ends in pairwise([*kinks, inf]))


def early_rate(wait: float, tail_index: float) -> float:
    """mu while enough tasks are left: work done over work spent. Raises ValueError up to a tail index of 1.

    A task that ends within `wait` costs its time; any other costs `wait`, and from then on two slots.
    Source: GRASS (NSDI'14), appendix A, equation (3), first case.

    >>> round(early_rate(wait=0.0, tail_index=1.25), 6), round(early_rate(wait=1e6, tail_index=3.0), 6)
    (1.5, 1.0)
    """
    late = share_beyond(wait, tail_index)
    spent = mean_within(wait, tail_index) + (2.0 * race_left(wait, tail_index) + wait) * late
    return mean_time(tail_index) / spent


def last_wave_tasks(wait: float, slots: float, tail_index: float) -> float:
    """The number of tasks left from which on they leave slots over: y (1 + Pr{tau >= w}) = S.

    Source: GRASS (NSDI'14), appendix A, equation (3), the conditions.

    >>> last_wave_tasks(wait=2.0, slots=9, tail_index=3.0)
    8.0
    """
    return slots / (1.0 + share_beyond(wait, tail_index))


def service_rate(remaining_tasks: float, wait: float, slots: float, tail_index: float) -> float:
    """mu: the rate at which a job gets on that copies tasks once they have run for `wait`.

    Source: GRASS (NSDI'14), appendix A, equation (3).

    >>> service_rate(remaining_tasks=0.5, wait=2.0, slots=9, tail_index=3.0) == proactive.blow_up(9, tail_index=3.0)
    True
    """
    if remaining_tasks >= last_wave_tasks(wait, slots, tail_index):
        return early_rate(wait, tail_index)
    return _last_wave_rate(remaining_tasks, slots, tail_index)


def _last_wave_rate(remaining_tasks: float, slots: float, tail_index: float) -> float:
    attempts = proactive.best_attempts(remaining_tasks, slots, tail_index)
    return proactive.service_rate(remaining_tasks, attempts, slots, tail_index)


def response_time(tasks: float, wait: float, slots: float, tail_index: float) -> float:
    """What a job of `tasks` tasks takes: the integral of E[tau] / (S mu) over the tasks that are left.

    The last wave's part has kinks where equation (2) changes its case. Raises ValueError up to a tail index of 1.
    Source: GRASS (NSDI'14), section 3.2, Figure 4; appendix A.

    >>> round(response_time(tasks=300, wait=2.518, slots=100, tail_index=1.259), 3)
    12.505
    """
    last = min(tasks, last_wave_tasks(wait, slots, tail_index))
    kinks = (1.0, slots / proactive.early_attempts(tail_index))
    ends = [0.0, *(kink for kink in kinks if kink < last), last]
    waves = (tasks - last) / early_rate(wait, tail_index)
    waves += sum(quad(lambda left: 1.0 / _last_wave_rate(left, slots, tail_index), *pair)[0] for pair in pairwise(ends))
    return mean_time(tail_index) / slots * waves
