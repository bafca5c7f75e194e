"""Is a task slow, or does it only have more to do? Compares rates where a stopwatch would compare times."""

from math import log

import numpy as np

from controlplane.policies.interfaces import Flags, RunningTasks
from controlplane.policies.whole_slots import TOLERANCE

EFFICIENT_RATE_SHARE = 0.75
"""Of the siblings' rate: from here on a task is not slow (Spark's `speculation.efficiency`, SPARK-32170)."""
LONG_LOG = log(1.5) + TOLERANCE
"""Log of a task's length over its siblings': above this, it is long."""


def has_more_to_do(view: RunningTasks) -> Flags:
    """Tasks that take much longer than the other running tasks of their stage, though they are not slower.

    A task's length is its age and what is left; the siblings' is the geometric mean over the others. False
    where a rate or a length is unknown.
    """
    length_s = view.elapsed_s + view.t_rem_s
    known = np.isfinite(length_s) & (length_s > 0)
    log_length = np.log(np.where(known, length_s, 1.0))
    others = np.bincount(view.stage, weights=known)[view.stage] - known
    log_others = np.bincount(view.stage, weights=log_length)[view.stage] - log_length
    is_long = known & (others > 0) & (log_length - log_others / np.maximum(others, 1) > LONG_LOG)
    return is_long & (view.progress_rate >= EFFICIENT_RATE_SHARE * view.sibling_rate * (1.0 - TOLERANCE))
