"""What do the large demo's jobs wait for? Its simulation, with one thing changed at a time; an hour on one core.

`python -m tests.bench.counterfactuals` prints a table for each world. It measures nothing live: `sim_real.py` says how
far the simulator can be trusted. The seeds, from 2001 on, count for no round.
"""

import math
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from controlplane.model.columns import Floats
from controlplane.simulator.statistics import estimate
from spark_listener.demo.world import KINDS, World
from spark_listener.swim import ModelJob
from tests.bench.demo_ratio import SIZE, TUNED
from tests.bench.sim_real import MODELS, REPORT_S, DemoPlay, Model, Overhead, read_s

SEEDS = range(2001, 2001 + int(os.environ.get("DEMO_ROUNDS", "12")))
PLACEMENTS = 2
OVERHEAD = Overhead(attempt_s=0.3, job_s=0.1)
"""About what rounds of this demo have shown."""
JOBS = SIZE.workload().jobs
OURS = ("hopper+ras", "unified+unified")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that differs from the demo; `ours` changes Grasshopper's contestants alone."""

    title: str
    world: Mapping[str, Any] = field(default_factory=dict)
    ours: Mapping[str, Any] = field(default_factory=dict)
    overhead: Overhead = OVERHEAD
    cores_per_worker: int = SIZE.cores_per_worker
    report_s: float = REPORT_S

    def job_s(self, name: str, world: World) -> Floats:
        """Each job's time under a contestant, mean over the orders of offers, (n_jobs,).  Units: seconds."""
        model: Model = replace(MODELS[name], **self.ours) if name in OURS else MODELS[name]
        world = replace(world, **self.world)
        return np.mean(
            [
                DemoPlay(model, JOBS, self.cores_per_worker, world, self.overhead, at, self.report_s).job_s()
                for at in range(PLACEMENTS)
            ],
            axis=0,
        )


CHANGES = (  # the first one changes nothing
    Change(title="as it is"),
    Change(title="half the overhead", overhead=Overhead(*(part / 2 for part in OVERHEAD))),
    Change(title="no sick host", world={"sick_host": ""}),
    Change(title="reports each 20 ms", report_s=0.02),
    Change(title="twice the slots", cores_per_worker=2 * SIZE.cores_per_worker),
    Change(title="two attempts", ours={"max_copies": 1}),
    Change(title="four attempts", ours={"max_copies": 3}),
)
FLOOR_ATTEMPTS = 3
"""The default's most attempts of a task."""


def floor_s(jobs: Sequence[ModelJob], world: World, overhead: Overhead) -> Floats:
    """Least time of each job, (n_jobs,), in seconds: `FLOOR_ATTEMPTS` of every task start with it, on healthy hosts.

    The reduce task takes its overhead alone.
    """
    slowest_s = [
        max(min(read_s(world, job.job_id, task, at) for at in range(FLOOR_ATTEMPTS)) for task in range(job.tasks))
        for job in jobs
    ]
    return np.array(slowest_s) + 2 * overhead.attempt_s + overhead.job_s


def ratio(times_s: Sequence[float], peers_s: Sequence[float]) -> str:
    """Geometric mean of paired ratios, with the standard error of its logarithm."""
    found = estimate([math.log(time_s / peer_s) for time_s, peer_s in zip(times_s, peers_s, strict=True)])
    return f"{math.exp(found.mean):.2f} ({found.error:.2f})"


def main() -> None:
    """Print a Markdown table for each world."""
    for kind in KINDS:
        worlds = [SIZE.world(seed=seed, kind=kind) for seed in SEEDS]
        print(f"\n{kind}\n\n| changed | tuned stock | {' | '.join(OURS)} |\n|---|---|---|---|", flush=True)
        tuned_s: list[float] = []
        for change in CHANGES:
            means_s = {name: [float(change.job_s(name, world).mean()) for world in worlds] for name in (TUNED, *OURS)}
            tuned_s = tuned_s or means_s[TUNED]
            cells = [
                f"{statistics.fmean(means_s[TUNED]):.1f} s",
                *(ratio(means_s[name], means_s[TUNED]) for name in OURS),
            ]
            print(f"| {change.title} | {' | '.join(cells)} |", flush=True)
        floors_s = [float(floor_s(JOBS, world, OVERHEAD).mean()) for world in worlds]
        print(f"| floor | | {ratio(floors_s, tuned_s)} | |", flush=True)


if __name__ == "__main__":
    main()
