"""How sure is a mean, or a ratio of two? Small-sample intervals for the benchmarks' rows."""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from spark_listener.demo.report import geometric_95


def ratio_interval(values: Sequence[float], peers: Sequence[float]) -> tuple[float, list[float]]:
    """Geometric mean of paired ratios and its 95 % t-interval; one pair has no interval.

    >>> ratio_interval([1.0, 2.0], [2.0, 4.0])
    (0.5, [0.5, 0.5])
    """
    mean, interval = geometric_95([value / peer for value, peer in zip(values, peers, strict=True)])
    return mean, list(interval or ())


def least_ratio(values: Sequence[float], peers: Sequence[float], *, among: int) -> float:
    """One-sided lower 95 % bound of the geometric mean of paired ratios; one pair bounds nothing: 0.

    It is corrected (Bonferroni), so that of `among` such bounds not even the largest is too high more often.

    >>> least_ratio([2.0, 2.0], [1.0, 1.0], among=40), least_ratio([2.0], [1.0], among=40)
    (2.0, 0.0)
    >>> round(least_ratio([1.0, 2.0, 4.0], [1.0, 1.0, 1.0], among=1), 2)
    0.62
    """
    if len(values) < 2:
        return 0.0
    logs = np.log(np.asarray(values) / np.asarray(peers))
    quantile = stats.t.ppf(1 - 0.05 / among, len(logs) - 1)
    return float(np.exp(logs.mean() - quantile * logs.std(ddof=1) / len(logs) ** 0.5))


def ratio_row(
    name: str, values: Sequence[float], peer: str, peer_values: Sequence[float], *, goal: float | None, unit: str = "s"
) -> dict:
    """A row whose ratio is paired by round; the goal is met where the whole interval is below it."""
    ratio, interval = ratio_interval(values, peer_values)
    return {
        "name": name,
        "value": round(float(np.mean(values)), 2),
        "unit": unit,
        "peer": f"{peer} {np.mean(peer_values):.2f}",
        "ratio": round(ratio, 3),
        "goal": goal,
        "met": None if goal is None else max([ratio, *interval]) <= goal,
        "runs": len(values),
        "spread": [round(bound, 3) for bound in interval],
    }


def effect(cost: np.ndarray, treated: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    """Cost of treated rows over that of the others, other things being equal, and its standard error.

    Least squares with errors that may differ from row to row. `cost` and `treated` are (n,), `others` is (n, k).

    >>> time = np.arange(8.0)
    >>> treated = np.array([0, 1, 1, 0, 1, 0, 0, 1], dtype=bool)
    >>> ratio, error = effect(10 + time - time.mean() + treated, treated, time[:, None])
    >>> round(ratio, 6), round(error, 6)
    (1.1, 0.0)
    """
    design = np.column_stack([np.ones(len(cost)), treated, others - others.mean(axis=0)])
    inverse = np.linalg.pinv(design.T @ design)
    base, more, *_ = inverse @ design.T @ cost
    left = cost - design @ (inverse @ design.T @ cost)
    covariance = inverse @ (design.T * left**2) @ design @ inverse
    return float(1 + more / base), float(covariance[1, 1] ** 0.5 / base)
