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
"""Fields of a `ClusterScenario`, and `masters`: whether the master of each running job holds a slot. Spark has none."""

JOBS = {Scale.SMOKE: 12, Scale.FULL: 600}
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
PAIRS: dict[str, Fields] = {
    "Shed+": {"policy": "fifo+shed-plus", "speculator_settings": AS_PRINTED, "resumes": True},
    "Shed+ without offsets": {"policy": "fifo+shed-plus"},
    "Shed": {"policy": "fifo+shed"},
    "Dolly": {"policy": "fifo+dolly"},
    "Hopper": {"policy": "hopper+late"},
    "Hadoop": {"policy": "fifo+stock-mapreduce"},
}
POLICIES: dict[str, Fields] = {name: {"masters": True, **pair} for name, pair in PAIRS.items()}
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
    "138 machines of a slot, less the mean number of jobs' masters: the jobs that run at once if each takes as long "
    "as a mean task without copies. (The simulator itself holds no slot for a job.) Loads are of all machines, busy "
    "shares of those that are left. Jobs are of one wave; their tasks take 120 s at least, and 60 s to launch. "
    "Deadlines are 0.95 times the median time of the same jobs under stock MapReduce unless they vary; every policy "
    "may have six attempts of a task; jobs past their deadline run on. Slowness is independent, or half of the tasks "
    "share it with all their attempts; estimates are exact, or off by a lognormal factor (0.3). There is no "
    "background noise beside it: the Pareto law of task times was measured on the testbed with its noise."
)
STAND_IN = "Pareto task times stand for the five benchmarks under background noise"


def runs(scale: Scale, *fields: Fields, tasks: int = 10, tail_index: float = 1.5) -> ClusterRuns:
    """Jobs of this many tasks."""
    merged: dict[str, Any] = {"slowdown_tail_index": tail_index, "jobs": JOBS[scale]}
    for one in fields:
        merged |= one
    if merged.pop("masters", False):
        merged |= beside_masters(merged.get("offered_load", BASE.offered_load), tasks)
    jobs = replace(TEN_TASKS, least_tasks=tasks, most_tasks=tasks)
    return ClusterRuns(scenario=replace(BASE, workload=jobs, **merged), runs=RUNS[scale])


def beside_masters(load: float, tasks: int) -> Fields:
    """The slots that masters leave, and the load on them of the same jobs at the same times.

    The mean number of masters is that of running jobs if each takes as long as a mean task without copies. Jobs are
    shorter than that under Shed+, and longer under Hadoop.
    Source: Shed+, equation (11).

    >>> beside_masters(load=0.75, tasks=9)
    {'machines': 126, 'offered_load': 0.8214285714285714}
    """
    left = BASE.slots - round(load * BASE.slots / tasks)
    return {"machines": left, "offered_load": load * BASE.slots / left}


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
