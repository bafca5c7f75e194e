"""What is measured of tails? What two estimators make of drawn durations of which only the longest are Pareto."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from controlplane.estimators.tail_index import tail_evidence
from controlplane.model.columns import Floats
from controlplane.simulator.experiments.points import Point

SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
"""Of the durations, the longest first: how many of them an estimate takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TailSeen(Point):
    """Durations whose longest `tail_share` is Pareto from 1 upwards, all others uniform below it."""

    tail_index: float
    tail_share: float
    durations: int

    def measure(self, seed: int) -> Any:
        """Tail indices by the longest durations, for each of SHARES: Hill's, as live, and by a log-log plot's line."""
        rng = np.random.default_rng([seed, self.durations])
        body, tail = rng.uniform(0.02, 1.0, self.durations), 1.0 + rng.pareto(self.tail_index, self.durations)
        drawn = np.where(rng.random(self.durations) < self.tail_share, tail, body)
        longest = [min(round(share * self.durations), self.durations - 1) for share in SHARES]
        return {"Hill": [_hill(drawn, n) for n in longest], "line": [_by_a_line(drawn, n) for n in longest]}


def _hill(durations: Floats, n_longest: int) -> float:
    ends, log_time = tail_evidence(durations, np.ones(len(durations), dtype=bool), n_longest)
    return ends / log_time


def _by_a_line(durations: Floats, n_longest: int) -> float:
    """Minus the slope of the logarithm of the share that is longer, over that of the duration, by least squares."""
    longest = np.sort(durations)[::-1][:n_longest]
    slope, _ = np.polyfit(np.log(longest), np.log(np.arange(1, n_longest + 1)), 1)
    return -float(slope)
