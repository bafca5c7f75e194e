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


def ratio_row(
    name: str, values_s: Sequence[float], peer: str, peer_values_s: Sequence[float], *, goal: float | None
) -> dict:
    """A row whose ratio is paired by round; the goal is met where the whole interval is below it."""
    ratio, interval = ratio_interval(values_s, peer_values_s)
    return {
        "name": name,
        "value": round(float(np.mean(values_s)), 2),
        "unit": "s",
        "peer": f"{peer} {np.mean(peer_values_s):.2f}",
        "ratio": round(ratio, 3),
        "goal": goal,
        "met": None if goal is None else max([ratio, *interval]) <= goal,
        "runs": len(values_s),
        "spread": [round(bound, 3) for bound in interval],
    }
