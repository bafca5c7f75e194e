"""How long do tasks take, and how long those that have run for a while? Pareto times from 1 upwards.

Times in this folder are in units of the shortest task's; `tail_index` is GRASS's beta, of task times.
Source: GRASS (NSDI'14), appendix A, Theorem 1.
"""


def with_mean(tail_index: float) -> float:
    """The same tail index. Raises ValueError up to 1, where times have no mean and no rate is defined.

    >>> with_mean(tail_index=1.259)
    1.259
    """
    if not tail_index > 1.0:
        raise ValueError(f"tail_index: got {tail_index!r}, want > 1: other task times have no mean")
    return tail_index


def mean_time(tail_index: float) -> float:
    """E[tau]. Raises ValueError as `with_mean` does.

    >>> mean_time(tail_index=3.0)
    1.5
    """
    return with_mean(tail_index) / (tail_index - 1.0)


def share_beyond(time: float, tail_index: float) -> float:
    """Pr{tau >= time}.

    >>> share_beyond(time=2.0, tail_index=3.0)
    0.125
    """
    return time**-tail_index if time > 1.0 else 1.0


def mean_left(time: float, tail_index: float) -> float:
    """E[tau - time | tau >= time]: what a task still needs that has run for `time`; from 1 on it grows with the time.

    >>> mean_left(time=2.0, tail_index=3.0)
    1.0
    """
    return max(time, 1.0) * mean_time(tail_index) - time


def mean_within(time: float, tail_index: float) -> float:
    """E[tau; tau < time]: the part of the mean time that shorter tasks make.

    >>> mean_within(time=2.0, tail_index=3.0)
    1.125
    """
    beyond = share_beyond(time, tail_index) * (time + mean_left(time, tail_index))
    return mean_time(tail_index) - beyond
