"""What does a cluster scenario come to over several seeds? Means with errors, and a record of all that went in."""

from collections.abc import Sequence
from math import isnan, nan
from typing import Any

import msgspec

from controlplane.simulator.cluster.scenario import ClusterScenario
from controlplane.simulator.cluster.summary import ClusterSummary
from controlplane.simulator.provenance import provenance
from controlplane.simulator.run import jsonable
from controlplane.simulator.statistics import QUANTILES, Estimate, estimate

MEASURES = {
    "response_s": "response time, s",
    "on_time_share": "jobs that kept their deadline",
    "accuracy": "tasks done of jobs with a bound",
    "slowdown": "slowdown",
    "cost_s": "slot time of a job, s",
    "busy_share": "busy slots",
    "copy_share": "slots that copies hold",
    "copies_per_task": "copies per task",
    "won_share": "copies that won",
    "restarts_per_task": "restarts per task",
    "short_share": "jobs that arrived short of slots",
    "local_share": "tasks beside their input",
}
"""Fields of a ClusterSummary, in words."""


def means(runs: Sequence[ClusterSummary]) -> dict[str, Estimate]:
    """By what is measured, in words; the slowdown's tail and response times by job size, too."""
    seen = {words: [getattr(run, name) for run in runs] for name, words in MEASURES.items()}
    found = {words: estimate(numbers) for words, numbers in seen.items() if not all(map(isnan, numbers))}
    for place, share in enumerate(QUANTILES):
        found[f"slowdown, {100 * share:g} % of the jobs"] = estimate([run.slowdown_quantiles[place] for run in runs])
    for size, one in enumerate(runs[0].bins):
        times_s = [run.bins[size].response_s for run in runs if run.bins[size].jobs]
        tasks = f"{one.from_tasks}-{one.to_tasks}" if one.to_tasks < 10**6 else f"{one.from_tasks} or more"
        found[f"response time, s, {tasks} tasks"] = estimate(times_s or [nan])
    return found


def record(scenario: ClusterScenario, seeds: Sequence[int], runs: Sequence[ClusterSummary]) -> dict[str, Any]:
    """Everything that went in and came out, as JSON can hold it."""
    return jsonable(
        {
            "model": "cluster",
            **msgspec.to_builtins(provenance()),
            "scenario": msgspec.to_builtins(scenario),
            "seeds": list(seeds),
            "means": msgspec.to_builtins(means(runs)),
            "runs": msgspec.to_builtins(list(runs)),
        }
    )
