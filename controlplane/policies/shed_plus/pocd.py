"""How likely does a job end before its deadline? PoCD, the probability of completion before the deadline.

An attempt takes a Pareto time. What is left of it takes at least its `least_left_s`, the share that is left of the
least duration of a whole attempt, and has the same tail index.
"""

import math

from controlplane.compiled import rule
from controlplane.policies.whole_slots import whole, whole_up


@rule
def attempts_pocd(least_left_s: float, time_left_s: float, tail_index: float, attempts: int) -> float:
    """Probability that a task ends in time if this many attempts begin where its best one stands.

    Source: Shed+, equations (6) and (9).  Units: seconds.

    >>> attempts_pocd(least_left_s=1.0, time_left_s=4.0, tail_index=1.5, attempts=2)
    0.984375
    >>> [attempts_pocd(least_left_s, 4.0, 1.5, 9) for least_left_s in (0.0, 4.0, 5.0)], attempts_pocd(1.0, -1.0, 1.5, 1)
    ([1.0, 0.0, 0.0], 0.0)
    """
    if least_left_s <= 0.0:
        return 1.0
    if time_left_s <= least_left_s:
        return 0.0
    return -math.expm1(tail_index * attempts * math.log(least_left_s / time_left_s))


@rule
def new_job_pocd(tasks: int, least_s: float, deadline_s: float, tail_index: float) -> float:
    """Probability that a job that has not begun ends in time, all its tasks in one wave and each with one attempt.

    Source: Shed+, Theorem 1, equation (3).  Units: seconds.

    >>> new_job_pocd(tasks=2, least_s=1.0, deadline_s=4.0, tail_index=1.0), new_job_pocd(0, 1.0, 0.5, 1.0)
    (0.5625, 1.0)
    """
    return attempts_pocd(least_s, deadline_s, tail_index, 1) ** float(tasks) if tasks > 0 else 1.0


@rule
def unjudged_pocd(least_s: float, age_s: float, time_left_s: float, launch_s: float, tail_index: float) -> float:
    """Probability that an attempt of this age ends in time, of which nothing is known but that it still runs.

    At an age of 0 it is a task's factor of equation (3). Then it is known that it needs longer than it has worked.
    Source: Shed+, Theorem 1, equation (3), conditioned on the age.  Units: seconds.

    >>> [unjudged_pocd(least_s=1.0, age_s=age_s, time_left_s=4.0, launch_s=0.0, tail_index=1.0) for age_s in (0.0, 4.0)]
    [0.75, 0.5]
    >>> unjudged_pocd(1.0, 2.0, 4.0, 4.0, 1.0)
    0.5
    """
    return attempts_pocd(max(least_s, age_s - launch_s), age_s + time_left_s - launch_s, tail_index, 1)


@rule
def tail_index_of_attempt(t_rem_s: float, least_left_s: float) -> float:
    """The tail index at which what is left of an attempt takes `t_rem_s` on average; inf for one that is not slow.

    Source: Shed+, equation (14), the inverse of a Pareto mean.  Units: seconds.

    >>> tail_index_of_attempt(t_rem_s=9.0, least_left_s=3.0), tail_index_of_attempt(3.0, 3.0)
    (1.5, inf)
    """
    return t_rem_s / (t_rem_s - least_left_s) if t_rem_s > least_left_s else math.inf


@rule
def soonest_mean_s(least_s: float, tail_index: float, attempts: int) -> float:
    """Mean time until the first of so many attempts ends that begin together; inf where the tail is too heavy.

    Source: Shed+, section II: the least of Pareto times is one, with as many times the tail index.  Units: seconds.

    >>> [soonest_mean_s(least_s=2.0, tail_index=2.0, attempts=attempts) for attempts in (1, 2)]
    [4.0, 2.6666666666666665]
    >>> soonest_mean_s(2.0, math.inf, 1), soonest_mean_s(2.0, 0.5, 2)
    (2.0, inf)
    """
    return least_s / (1.0 - 1.0 / (tail_index * attempts)) if tail_index * attempts > 1.0 else math.inf


@rule
def is_straggler(t_rem_s: float, time_left_s: float) -> bool:
    """Whether a task is expected to end after its job's deadline.

    Source: Shed+, section II.

    >>> [is_straggler(t_rem_s, time_left_s=5.0) for t_rem_s in (5.0, 5.1)]
    [False, True]
    """
    return t_rem_s > time_left_s


@rule
def done_after(progress: float, t_rem_s: float, launch_s: float) -> float:
    """Share of its work that an attempt has done once another one works that is launched now.

    Source: Shed+, equations (15) and (16), in shares, with the pace that `t_rem_s` rests on.  Units: seconds.

    >>> done_after(progress=0.5, t_rem_s=10.0, launch_s=2.0), done_after(0.5, 1.0, 2.0), done_after(1.0, 0.0, 0.0)
    (0.6, 1.0, 1.0)
    """
    return min(progress + (1.0 - progress) * launch_s / t_rem_s, 1.0) if t_rem_s > 0.0 else 1.0


@rule
def check_every_s(launch_s: float, deadline_s: float, margin_share: float) -> float:
    """Time between two looks at a task: what a launch takes, and a share of what the deadline leaves beyond it.

    It is never less than a launch takes, as the text says; the printed formula is, where the deadline is nearer.
    Source: Shed+, equation (17).  Units: seconds.

    >>> [check_every_s(launch_s=20.0, deadline_s=deadline_s, margin_share=0.05) for deadline_s in (100.0, 10.0)]
    [24.0, 20.0]
    """
    every_s = (deadline_s - launch_s) * margin_share + launch_s
    return every_s if every_s > launch_s else launch_s


@rule
def spare_slots(share: float, slots: int, held: int, masters: int) -> int:
    """Slots that further attempts may have: a share of all, less those held and one for each job's master; at least 0.

    Attempts and waiting originals hold slots.
    Source: Shed+, equation (11), Algorithm 1, line 9.

    >>> spare_slots(share=0.29, slots=100, held=20, masters=2), spare_slots(0.29, 100, 30, 0)
    (7, 0)
    """
    return max(whole(slots=share * slots) - held - masters, 0)


@rule
def dolly_attempts(tasks: int, miss: float, late_share: float, most: int) -> int:
    """Attempts of each task, at least 1 and at most `most`, by which a job is late with a probability of `late_share`.

    `miss` is the probability that one attempt is late.
    Source: Dolly (NSDI'13), section 4, its formula for the number of clones, as Shed+, section VI, uses it.

    >>> [dolly_attempts(tasks=10, miss=miss, late_share=0.05, most=5) for miss in (0.0, 0.1, 0.5, 1.0)]
    [1, 3, 5, 5]
    >>> dolly_attempts(tasks=0, miss=0.5, late_share=0.05, most=5)
    1
    """
    if miss <= 0.0 or tasks <= 0:
        return 1
    if miss >= 1.0:
        return most
    wanted = math.log(-math.expm1(math.log1p(-late_share) / tasks)) / math.log(miss)
    return min(max(whole_up(slots=wanted), 1), most)
