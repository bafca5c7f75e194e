"""What could no scheduler do better? Proven bounds, job by job, as if each had the cluster to itself."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from controlplane.deciding.bounds import needed_tasks
from controlplane.policies.grass.theory.optimum import least_time_s, most_done_by_attempts
from controlplane.simulator.cluster.attempts import input_attempts_s
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.summary import counted_rows
from controlplane.simulator.cluster.world import Workload, World
from controlplane.simulator.experiments.points import Point


@dataclass(frozen=True, slots=True, kw_only=True)
class AtBest(Point):
    """One scenario under any policy that ends no attempt before its task; the one that it names is not played."""

    scenario: ClusterScenario

    def measure(self, seed: int) -> Any:
        """Means over the jobs that count, under the names that a ClusterSummary has for them.

        At most the share of its first phase's tasks that a job has done by its deadline, and at least the time, s, in
        which it has done as many of them as its error bound needs.
        """
        rows = counted_rows(self.scenario.jobs)
        work, world = self.scenario.work(seed), self.scenario.world(seed)
        bounds = np.array([self._of(work, world, number) for number in range(rows.start, rows.stop)])
        return dict(zip(("accuracy", "response_s"), bounds.mean(axis=0).tolist(), strict=True))

    def _of(self, work: Workload, world: World, number: int) -> tuple[float, float]:
        slots = self.scenario.slots
        attempts_s = input_attempts_s(work, world, number, self.scenario.max_copies + 1)
        tasks, deadline_s = len(attempts_s), float(work.input_deadline_s[number])
        done = most_done_by_attempts(attempts_s, slots, deadline_s) if np.isfinite(deadline_s) else tasks
        needed = needed_tasks(tasks, 0, float(work.error_bound[number]))
        return done / tasks, least_time_s(attempts_s, slots, needed)
