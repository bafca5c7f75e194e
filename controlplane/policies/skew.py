"""Is a task slow, or does it only have more to do? Compares rates where a stopwatch would compare times."""

import math

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Flags, Floats, Ints, Records
from controlplane.policies.whole_slots import TOLERANCE

EFFICIENT_RATE_SHARE = 0.75
"""Share of the siblings' rate from which a task is not slow (Spark's `speculation.efficiency`, SPARK-32170)."""
LONG_TIMES = 1.5
"""A task of more than this many times its siblings' length is long."""
BIGGER_TIMES = 1.2
"""A task of at least this many times its siblings' work has more to do."""
LONG_LOG = math.log(LONG_TIMES) + TOLERANCE


@rule
def is_efficient(rate: float, sibling_rate: float) -> bool:
    """Whether a task is about as fast as its siblings; False where a rate is unknown, theirs as 0, too.

    >>> [is_efficient(rate=rate, sibling_rate=4.0) for rate in (3.0, 2.9)]
    [True, False]
    >>> is_efficient(rate=3.0, sibling_rate=0.0)
    False
    """
    return sibling_rate > 0.0 and rate >= EFFICIENT_RATE_SHARE * sibling_rate * (1.0 - TOLERANCE)


@kernel
def has_more_to_do(tasks: Records) -> Flags:
    """Tasks that take much longer than the other running tasks of their stage by having more work, not less speed.

    A task's length is its age and what is left; the siblings' is the geometric mean over the others. False where a
    rate, a length or the work is unknown. Lengths are looked at only if there is a bigger task.
    """
    more = tasks["relative_size"] >= BIGGER_TIMES
    if not more.any():
        return more
    stage, elapsed_s, t_rem_s = tasks["stage"], tasks["elapsed_s"], tasks["t_rem_s"]
    rate, sibling_rate = tasks["progress_rate"], tasks["sibling_rate"]
    long_s = long_from_s(stage, elapsed_s, t_rem_s)
    for row in np.flatnonzero(more):
        is_long = long_s[stage[row]] < elapsed_s[row] + t_rem_s[row] < np.inf
        more[row] = is_long and is_efficient(rate=rate[row], sibling_rate=sibling_rate[row])
    return more


@kernel
def long_from_s(stage: Ints, elapsed_s: Floats, t_rem_s: Floats) -> Floats:
    """By stage, the length beyond which a task is LONG_TIMES the geometric mean of the others; inf if there are none.

    With s for the sum of the logs of all n lengths, log l - (s - log l) / (n - 1) > c is log l > (s + c (n - 1)) / n.
    The sum is taken as the log of products, as a logarithm takes as long as ten multiplications.

    >>> long_from_s(np.array([0, 0, 1]), np.array([4.0, 1.0, 9.0]), np.zeros(3)).round(6)
    array([2.44949,     inf])
    """
    n_stages = stage.max() + 1 if len(stage) else 0
    n_known, log_sum, product = np.zeros(n_stages), np.zeros(n_stages), np.ones(n_stages)
    for row in range(len(stage)):
        length_s, group = elapsed_s[row] + t_rem_s[row], stage[row]
        if 0 < length_s < np.inf:
            n_known[group] += 1
            product[group] *= length_s
            if not 1e-100 < product[group] < 1e100:
                log_sum[group] += math.log(product[group])
                product[group] = 1.0
    long_s = np.full(n_stages, np.inf)
    for group in range(n_stages):
        if n_known[group] > 1:
            total = log_sum[group] + math.log(product[group])
            long_s[group] = math.exp((total + LONG_LOG * (n_known[group] - 1)) / n_known[group])
    return long_s
