"""How sure is a mean, or a ratio of two? Small-sample intervals for the benchmarks' rows."""

from collections.abc import Sequence

import numpy as np

from spark_listener.demo.report import geometric_95


def ratio_interval(values: Sequence[float], peers: Sequence[float]) -> tuple[float, list[float]]:
    """Geometric mean of paired ratios and its 95 % t-interval; one pair has no interval.

    >>> ratio_interval([1.0, 2.0], [2.0, 4.0])
    (0.5, [0.5, 0.5])
    """
    mean, interval = geometric_95([value / peer for value, peer in zip(values, peers, strict=True)])
    return mean, list(interval or ())


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
