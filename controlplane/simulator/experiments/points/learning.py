"""What is measured of Hopper's estimators? How wrong they are, fed in order with what jobs show."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from controlplane.estimators.tail_index import Siblings, TailIndex
from controlplane.estimators.transfer_ratio import TransferRatios, transfer_ratio
from controlplane.simulator.cluster.summary import tasks_of
from controlplane.simulator.cluster.workloads import Facebook, facebook_trace
from controlplane.simulator.experiments.points import Point
from controlplane.swim_trace import BLOCK_BYTES

TRUE_TAIL_INDEX = 1.2
"""Not the prior, 1.5."""
SHARES = (0.02, 0.04, 0.06, 0.1, 0.2, 0.4, 0.7, 1.0)
"""Of the jobs, after which an estimate is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TailLearned(Point):
    """A tail index while jobs end one after the other."""

    source: Facebook
    jobs: int
    at_once: bool
    window: int

    def measure(self, seed: int) -> Any:
        """Its relative error after each of SHARES of the jobs."""
        tail, rng = TailIndex(window=self.window), np.random.default_rng([seed, self.jobs])
        after, errors = {round(share * self.jobs) for share in SHARES}, []
        for ended, tasks in enumerate(tasks_of(self.source.workload(seed, self.jobs)), start=1):
            duration_s = 1.0 + rng.pareto(TRUE_TAIL_INDEX, tasks)
            siblings = Siblings(tail)
            for one_s in (np.sort(duration_s) if self.at_once else duration_s).tolist():
                siblings.observe(one_s)
            siblings.settle()
            if ended in after:
                errors.append(tail.estimate().tail_index / TRUE_TAIL_INDEX - 1.0)
        return errors


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferForetold(Point):
    """Transfer ratios of a trace's jobs, each foretold by those before it."""

    source: Facebook

    def measure(self, seed: int) -> Any:
        """Accuracies, 1 less the relative error, of jobs that have run before, and of the others."""
        ratios = TransferRatios()
        seen: set[str] = set()
        accuracy: dict[str, list[float]] = {"recurring": [], "new": []}
        for job in facebook_trace(self.source.trace):
            if job.shuffle_bytes == 0 or job.map_input_bytes == 0:
                continue
            name, work_s = str(job.map_input_bytes), job.map_input_bytes / BLOCK_BYTES
            if seen:
                true = transfer_ratio(job.shuffle_bytes, work_s, ratios.typical_bytes_per_work_s)
                foretold = ratios.estimate(name, "map", work_s)
                kind = accuracy["recurring" if name in seen else "new"]
                kind.append(max(1.0 - abs(foretold / true - 1.0), 0.0))
            ratios.observe(name, "map", job.shuffle_bytes, work_s)
            seen.add(name)
        return accuracy
