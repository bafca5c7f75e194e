"""Is a task slow, or does it only have more to do? Compares rates where a stopwatch would compare times."""

import math

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.policies.interfaces import Flags, Records
from controlplane.policies.whole_slots import TOLERANCE

EFFICIENT_RATE_SHARE = 0.75
"""Of the siblings' rate: from here on a task is not slow (Spark's `speculation.efficiency`, SPARK-32170)."""
LONG_TIMES = 1.5
"""A task of more than this many times its siblings' length is long."""
LONG_LOG = math.log(LONG_TIMES) + TOLERANCE


@rule
def is_efficient(rate: float, sibling_rate: float) -> bool:
    """Whether a task is about as fast as its siblings; False where a rate is unknown.

    >>> [is_efficient(rate=rate, sibling_rate=4.0) for rate in (3.0, 2.9)]
    [True, False]
    """
    return rate >= EFFICIENT_RATE_SHARE * sibling_rate * (1.0 - TOLERANCE)


@kernel
def has_more_to_do(tasks: Records) -> Flags:
    """Tasks that take much longer than the other running tasks of their stage, though they are not slower.

    A task's length is its age and what is left; the siblings' is the geometric mean over the others. False
    where a rate or a length is unknown.
    """
    stage, elapsed_s, t_rem_s = tasks["stage"], tasks["elapsed_s"], tasks["t_rem_s"]
    rate, sibling_rate = tasks["progress_rate"], tasks["sibling_rate"]
    n_stages = stage.max() + 1 if len(tasks) else 0
    log_length = np.full(len(tasks), np.nan)
    n_known, log_sum = np.zeros(n_stages), np.zeros(n_stages)
    for row in range(len(tasks)):
        length_s = elapsed_s[row] + t_rem_s[row]
        if 0 < length_s < np.inf:
            log_length[row] = math.log(length_s)
            n_known[stage[row]] += 1
            log_sum[stage[row]] += log_length[row]
    more = np.zeros(len(tasks), dtype=np.bool_)
    for row in range(len(tasks)):
        n_others = n_known[stage[row]] - 1
        if n_others > 0 and is_efficient(rate=rate[row], sibling_rate=sibling_rate[row]):
            others = (log_sum[stage[row]] - log_length[row]) / n_others
            more[row] = log_length[row] - others > LONG_LOG
    return more
