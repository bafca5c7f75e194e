"""What did the same stage take in earlier jobs? A bounded memory by stage name, for small and last tasks."""

from dataclasses import asdict, dataclass
from typing import Any

LATEST = 0.2
"""Weight of the newest value in every smoothed mean."""


@dataclass(slots=True)
class StagePrior:
    """Smoothed means over earlier runs of one stage: duration in seconds, log of seconds per unit of work."""

    duration_s: float
    log_cost: float
    """nan where work was never seen."""


class StageHistory:
    """The `limit` most recently seen stage names and what they took."""

    def __init__(self, limit: int = 2000) -> None:
        self._limit = limit
        self._priors: dict[str, StagePrior] = {}
        self._any_duration_s: float | None = None

    def get(self, name: str) -> StagePrior | None:
        """What is known of this stage, if anything."""
        return self._priors.get(name)

    def duration_s(self, otherwise_s: float) -> float:
        """Smoothed mean duration over all stages, or `otherwise_s` while nothing has ended yet."""
        return otherwise_s if self._any_duration_s is None else self._any_duration_s

    def learn(self, name: str, duration_s: float, log_cost: float) -> None:
        """Blend in a stage's means so far; a nan cost leaves the known one alone."""
        prior = self._priors.pop(name, None)
        if prior is None:
            prior = StagePrior(duration_s, log_cost)
        else:
            prior.duration_s += LATEST * (duration_s - prior.duration_s)
            if log_cost == log_cost:
                prior.log_cost = prior.log_cost if prior.log_cost == prior.log_cost else log_cost
                prior.log_cost += LATEST * (log_cost - prior.log_cost)
        self._priors[name] = prior
        if len(self._priors) > self._limit:
            self._priors.pop(next(iter(self._priors)))
        known = self._any_duration_s
        self._any_duration_s = duration_s if known is None else known + LATEST / 4 * (duration_s - known)

    def dump(self) -> dict[str, Any]:
        """JSON-able state; nan as None."""
        rows = {name: asdict(prior) for name, prior in self._priors.items()}
        for row in rows.values():
            row["log_cost"] = None if row["log_cost"] != row["log_cost"] else row["log_cost"]
        return {"stages": rows, "any_duration_s": self._any_duration_s}

    def load(self, state: dict[str, Any]) -> None:
        """Take back what `dump` gave."""
        for name, row in state.get("stages", {}).items():
            cost = row["log_cost"]
            self._priors[name] = StagePrior(row["duration_s"], float("nan") if cost is None else cost)
        self._any_duration_s = state.get("any_duration_s")
