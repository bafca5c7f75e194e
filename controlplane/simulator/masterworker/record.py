"""What does a scenario come to over several seeds? Estimates with standard errors, and a record of all that went in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from controlplane.simulator.masterworker.scenario import MasterWorkerScenario
from controlplane.simulator.provenance import provenance
from controlplane.simulator.run import jsonable
from controlplane.simulator.statistics import Estimate, Summary, estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One scenario over its seeds."""

    response_s: Estimate
    slowdown: Estimate
    wait_s: Estimate
    waited_share: Estimate
    cost_s: Estimate
    busy_share: Estimate
    runs: int
    stable_runs: int

    @property
    def stable(self) -> bool:
        """Whether most runs were; the mean of a growing queue says only how long it grew."""
        return 2 * self.stable_runs > self.runs


def outcome(runs: Sequence[Summary]) -> Outcome:
    """Put the runs of several seeds together; a single run's errors are those of its batch means."""
    names = ("response_s", "slowdown", "wait_s", "waited_share", "cost_s", "busy_share")
    estimates = {name: estimate([getattr(run, name) for run in runs]) for name in names}
    if len(runs) == 1:
        estimates["response_s"] = Estimate(mean=runs[0].response_s, error=runs[0].response_error_s)
        estimates["slowdown"] = Estimate(mean=runs[0].slowdown, error=runs[0].slowdown_error)
    return Outcome(**estimates, runs=len(runs), stable_runs=sum(run.stable for run in runs))


def record(scenario: MasterWorkerScenario, seeds: Sequence[int], runs: Sequence[Summary]) -> dict[str, Any]:
    """Everything that went in and came out, as JSON can hold it; numbers without end are written "inf"."""
    plan = scenario.plan()
    return jsonable(
        {
            "model": "masterworker",
            **msgspec.to_builtins(provenance()),
            "scenario": msgspec.to_builtins(scenario),
            "plan": {
                "expanded_tasks": plan.expanded_tasks[1:].tolist(),
                "threshold_s": plan.threshold_s,
                "relaunch_factor": plan.relaunch_factor[1:].tolist(),
            },
            "seeds": list(seeds),
            "predicted": msgspec.to_builtins(scenario.predicted()),
            "outcome": msgspec.to_builtins(outcome(runs)),
            "runs": msgspec.to_builtins(runs),
        }
    )
