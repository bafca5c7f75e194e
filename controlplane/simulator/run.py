"""What does a scenario come to over several seeds? Estimates with standard errors, and a record of all that went in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from controlplane.model.errors import BadSetting
from controlplane.simulator.provenance import provenance
from controlplane.simulator.scenario import Scenario
from controlplane.simulator.statistics import Estimate, Summary, estimate

MOST_SEEDS = 10_000
LARGEST_SEED = 2**53
"""What JSON can hold exactly."""


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


def parse_seeds(text: str) -> list[int]:
    """The seeds meant by "7", "1,5,9" or "1..20". Raises BadSetting, also for one that is there twice.

    The same run again is no further evidence: it would only make standard errors look smaller.

    >>> parse_seeds("1..3,9")
    [1, 2, 3, 9]
    """
    seeds: list[int] = []
    try:
        for part in text.split(","):
            first, dots, last = part.partition("..")
            low, high = int(first), int(last if dots else first)
            if not 0 <= low <= high <= LARGEST_SEED or high - low + len(seeds) >= MOST_SEEDS:
                raise ValueError
            seeds.extend(range(low, high + 1))
        if len(set(seeds)) < len(seeds):
            raise ValueError
    except ValueError:
        want = f'numbers, each once, as in "1..20" or "1,5,9", at most {MOST_SEEDS} of them'
        raise BadSetting("seeds", got=text, want=want) from None
    return seeds


def record(scenario: Scenario, seeds: Sequence[int], runs: Sequence[Summary]) -> dict[str, Any]:
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


def jsonable(value: Any) -> Any:
    """The same with "inf" for infinity and null for what is not a number.

    >>> jsonable({"threshold_s": float("inf"), "errors": [float("nan"), 1.0]})
    {'threshold_s': 'inf', 'errors': [None, 1.0]}
    """
    match value:
        case dict():
            return {name: jsonable(one) for name, one in value.items()}
        case list() | tuple():
            return [jsonable(one) for one in value]
        case float() if value != value:
            return None
        case float() if value in (float("inf"), float("-inf")):
            return str(value)
    return value
