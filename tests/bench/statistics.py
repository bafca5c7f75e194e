"""How sure is a mean, or a ratio of two? Small-sample intervals for the benchmarks' rows."""

from collections.abc import Sequence

import numpy as np
from scipy import stats


def ratio_interval(values: Sequence[float], peers: Sequence[float]) -> tuple[float, list[float]]:
    """Geometric mean of paired ratios and its 95 % t-interval; one pair has no interval.

    >>> ratio_interval([1.0, 2.0], [2.0, 4.0])
    (0.5, [0.5, 0.5])
    """
    logs = np.log(np.asarray(values) / np.asarray(peers))
    mean = float(logs.mean())
    if len(logs) < 2:
        return float(np.exp(mean)), []
    half = float(stats.t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / len(logs) ** 0.5)
    return float(np.exp(mean)), [float(np.exp(mean - half)), float(np.exp(mean + half))]
