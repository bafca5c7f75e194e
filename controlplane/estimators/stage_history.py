"""What did the same stage take in earlier jobs? A bounded memory by stage name, for small and last tasks."""

from math import nan
from typing import Any

from msgspec import Struct

from controlplane.estimators.stored import Positive, fit

LATEST = 0.2
"""Weight of the newest value in every smoothed mean."""
STAGES_KEPT = 2000


class StagePrior(Struct):
    """Smoothed means over earlier runs of one stage: duration in seconds, log of seconds per unit of work."""

    duration_s: Positive
    log_cost: float = nan
    """nan where work was never seen."""


class StageHistory:
    """The `STAGES_KEPT` most recently seen stage names and what they took."""

    def __init__(self) -> None:
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
        if len(self._priors) > STAGES_KEPT:
            self._priors.pop(next(iter(self._priors)))
        known = self._any_duration_s
        self._any_duration_s = duration_s if known is None else known + LATEST / 4 * (duration_s - known)

    def dump(self) -> dict[str, Any]:
        """JSON-able state; a cost that is not known is left out."""
        stages = {
            name: {"duration_s": prior.duration_s}
            | ({"log_cost": prior.log_cost} if prior.log_cost == prior.log_cost else {})
            for name, prior in self._priors.items()
        }
        return {"stages": stages, "all": {} if self._any_duration_s is None else {"duration_s": self._any_duration_s}}

    def load(self, state: dict[str, Any]) -> list[str]:
        """Take back what `dump` gave; returns what was not fit for it."""
        stages, left_out = fit(state.get("stages", {}), StagePrior)
        every, more = fit(state.get("all", {}), Positive)
        self._priors |= stages
        self._any_duration_s = every.get("duration_s", self._any_duration_s)
        return left_out + more
