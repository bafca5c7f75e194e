"""How accurate were the estimates? Predictions against outcomes, over the latest attempts and stages."""

from collections import deque
from math import exp, inf, log

import numpy as np

KINDS = ("t_rem", "t_new", "transfer_ratio")


class Accuracy:
    """Keeps the latest `limit` log ratios of prediction to outcome, for each kind of estimate."""

    def __init__(self, limit: int = 512) -> None:
        self._log_ratios = {kind: deque[float](maxlen=limit) for kind in KINDS}

    def observe(self, kind: str, foretold: float, actual: float) -> None:
        """Compare one estimate with its outcome; unknown values and 0 teach nothing."""
        if 0 < foretold < inf and 0 < actual < inf:
            self._log_ratios[kind].append(log(foretold / actual))

    def summary(self) -> dict[str, float]:
        """Number of samples, median ratio (above 1: predicted too much) and spread, for each kind seen.

        The spread is the factor around the median within which two thirds of the estimates lie: half the log
        distance between the 16th and the 84th percentile, as a factor; 1 is perfect.

        >>> accuracy = Accuracy()
        >>> for actual_s in (1.0, 2.0, 4.0):
        ...     accuracy.observe("t_rem", foretold=4.0, actual=actual_s)
        >>> accuracy.summary()["t_rem_median_ratio"]
        2.0
        """
        found: dict[str, float] = {}
        for kind, log_ratios in self._log_ratios.items():
            if log_ratios:
                low, median, high = np.percentile(log_ratios, [16, 50, 84])
                found[f"{kind}_samples"] = float(len(log_ratios))
                found[f"{kind}_median_ratio"] = exp(median)
                found[f"{kind}_spread"] = exp((high - low) / 2)
        return found
