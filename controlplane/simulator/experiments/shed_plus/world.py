"""In which world is Shed+ compared? Its cluster, jobs, deadlines and rivals, as scenarios."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from controlplane.simulator.cluster.bounds import Bounds
from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.workloads import Synthetic
from controlplane.simulator.experiments.experiment import Results, Scale
from controlplane.simulator.experiments.points.cluster import ClusterRuns, ResponseTimes
from controlplane.simulator.statistics import Estimate, estimate

Fields = Mapping[str, Any]

JOBS = {Scale.SMOKE: 20, Scale.FULL: 600}
RUNS = {Scale.SMOKE: 2, Scale.FULL: 4}
SIZES = (5, 10, 20)
TAIL_INDICES = {"KMeans": 1.3, "WordCount": 1.5, "TermVector": 1.6, "WordMean": 1.8, "Classification": 2.0}
"""Ours: the paper says that its jobs' tail index is at most 2."""
WORLDS: dict[str, Fields] = {
    "independent": {},
    "independent, noise 0.3": {"noise": 0.3},
    "half shared": {"shared_share": 0.5},
}
AS_PRINTED: Fields = {"fairness": -1.0, "keep_furthest": 1.0}
POLICIES: dict[str, Fields] = {
    "Shed+": {"policy": "fifo+shed-plus", "speculator_settings": AS_PRINTED, "resumes": True},
    "Shed+ without offsets": {"policy": "fifo+shed-plus"},
    "Shed": {"policy": "fifo+shed"},
    "Dolly": {"policy": "fifo+dolly"},
    "Hopper": {"policy": "hopper+late"},
    "Hadoop": {"policy": "fifo+stock-mapreduce"},
}
"""Shed+ as printed: Algorithm 1, the attempt that has done most is kept, and copies go on from there."""
TEN_TASKS = Synthetic(least_tasks=10, most_tasks=10, service_s=120.0)
BASE = ClusterScenario(
    policy="fifo+none",
    workload=TEN_TASKS,
    max_copies=5,
    machines=138,
    slots_per_machine=1,
    launch_s=60.0,
    detect_s=5.0,
    cycle_s=1.0,
    offered_load=0.4,
    bounds=Bounds(stock_times=0.95),
)
METHOD = (
    "138 machines of a slot, jobs of one wave whose tasks take 120 s at least, 60 s to launch; deadlines are 0.95 "
    "times the median time of the same jobs under stock MapReduce unless they vary; every policy may have six attempts "
    "of a task; jobs past their deadline run on. Slowness is independent, or half of the tasks share it with all their "
    "attempts; estimates are exact, or off by a lognormal factor (0.3)."
)
STAND_IN = "Pareto task times stand for the five benchmarks, and for the background noise on the machines"


def runs(scale: Scale, *fields: Fields, tasks: int = 10, tail_index: float = 1.5) -> ClusterRuns:
    """Jobs of this many tasks."""
    merged: dict[str, Any] = {"slowdown_tail_index": tail_index, "jobs": JOBS[scale]}
    for one in fields:
        merged |= one
    jobs = replace(TEN_TASKS, least_tasks=tasks, most_tasks=tasks)
    return ClusterRuns(scenario=replace(BASE, workload=jobs, **merged), runs=RUNS[scale])


def each_job(scale: Scale, *fields: Fields) -> ResponseTimes:
    """The same runs, which tell their jobs one by one."""
    means = runs(scale, *fields)
    return ResponseTimes(scenario=means.scenario, runs=means.runs)


def by_seed(results: Results, name: str, *fields: Fields, tasks: int = 10, tail_index: float = 1.5) -> list[float]:
    """A field of `ClusterSummary`, for each seed."""
    return [one[name] for one in results(runs(results.scale, *fields, tasks=tasks, tail_index=tail_index))]


def measured(results: Results, name: str, *fields: Fields, tasks: int = 10, tail_index: float = 1.5) -> Estimate:
    """Its mean over seeds."""
    return estimate(by_seed(results, name, *fields, tasks=tasks, tail_index=tail_index))
