"""How right were the estimates? What was foretold against what came out, over the latest attempts."""

from collections import deque
from math import exp, inf, log

import numpy as np

KINDS = ("t_rem", "t_new")


class Accuracy:
    """Keeps the latest `limit` log ratios of foretold to actual seconds, for t_rem and for t_new."""

    def __init__(self, limit: int = 512) -> None:
        self._log_ratios = {kind: deque[float](maxlen=limit) for kind in KINDS}

    def observe(self, kind: str, foretold_s: float, actual_s: float) -> None:
        """Compare one estimate with what came out; unknown and empty times teach nothing."""
        if 0 < foretold_s < inf and 0 < actual_s < inf:
            self._log_ratios[kind].append(log(foretold_s / actual_s))

    def summary(self) -> dict[str, float]:
        """Number of samples, median ratio (above 1: foretold too long) and spread, for each kind seen.

        The spread is the factor around the median within which two thirds of the estimates lie: half the log
        distance between the 16th and the 84th percentile, as a factor; 1 is perfect.

        >>> accuracy = Accuracy()
        >>> for actual_s in (1.0, 2.0, 4.0):
        ...     accuracy.observe("t_rem", foretold_s=4.0, actual_s=actual_s)
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
