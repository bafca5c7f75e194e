"""What did the same stage take in earlier jobs? A bounded memory by stage, for small and last tasks.

A stage is known by its name, its number of tasks and its operators, as one line of a program runs many stages. A stage
without a past is judged by its class: stages of its kind, with single-task stages separate.
"""

from math import nan
from typing import Any

from msgspec import Struct

from controlplane.estimators.stored import Positive, fit
from controlplane.model.facts import StageSubmitted

LATEST = 0.2
"""Weight of the newest value in every smoothed mean."""
STAGES_KEPT = 2000
LATE_DEVIATIONS = 4.0
LATE_TIMES = 2.0
"""By its stage's past a task is late beyond both: the mean plus this many mean deviations, and this many means."""


class StagePrior(Struct):
    """Smoothed means over earlier runs of a stage, start-up left out: seconds, and log of seconds per unit of work."""

    duration_s: Positive
    log_cost: float = nan
    """nan if work was never seen."""
    tail_s: float = nan
    """Time after the last sign of progress; nan if none was seen."""
    deviation_s: float = 0.0
    """Mean deviation of finished attempts from `duration_s`."""

    @property
    def late_s(self) -> float:
        """Age from which a task of it is late.

        >>> StagePrior(2.0, deviation_s=1.0).late_s
        6.0
        """
        return max(self.duration_s + LATE_DEVIATIONS * self.deviation_s, LATE_TIMES * self.duration_s)

    def blend(self, attempt_s: float, duration_s: float, log_cost: float, tail_s: float) -> None:
        """Add one more attempt's times, and its stage's means; unknown values leave the rest alone."""
        self.deviation_s += LATEST * (abs(attempt_s - self.duration_s) - self.deviation_s)
        self.duration_s += LATEST * (duration_s - self.duration_s)
        self.log_cost = _blended(self.log_cost, log_cost)
        self.tail_s = _blended(self.tail_s, tail_s)


def _blended(known: float, latest: float) -> float:
    """The smoothed mean of a number that either side may not know.

    >>> [_blended(known, latest) for known, latest in ((1.0, 2.0), (nan, 2.0), (1.0, nan))]
    [1.2, 2.0, 1.0]
    """
    if latest != latest:
        return known
    return latest if known != known else known + LATEST * (latest - known)


def stage_key(fact: StageSubmitted) -> str:
    """The key by which a stage is known.

    >>> stage_key(StageSubmitted(job="j", stage=1, stage_attempt=0, n_tasks=8, name="collect at a.py:7"))
    'collect at a.py:7|8|'
    """
    return f"{fact.name}|{fact.n_tasks}|{fact.operators}"


def class_key(fact: StageSubmitted) -> str:
    """The class of a stage.

    >>> class_key(StageSubmitted(job="j", stage=1, stage_attempt=0, n_tasks=1, kind="result"))
    'result of one task'
    """
    return f"{fact.kind or 'stage'} of {'one task' if fact.n_tasks == 1 else 'tasks'}"


class StageHistory:
    """The `STAGES_KEPT` most recently seen stages and classes, and their times."""

    def __init__(self) -> None:
        self._priors: dict[str, StagePrior] = {}
        self._any_duration_s: float | None = None
        self._longest_s = 0.0
        """Mean of the means that stages have had."""

    def get(self, fact: StageSubmitted) -> StagePrior | None:
        """The history of this stage, if any."""
        return self._priors.get(stage_key(fact))

    def duration_s(self, otherwise_s: float) -> float:
        """Smoothed mean duration over all stages, or `otherwise_s` while nothing has ended yet."""
        return otherwise_s if self._any_duration_s is None else self._any_duration_s

    def late_s(self, fact: StageSubmitted, otherwise_s: float) -> float:
        """Age from which a task of this stage is late by its past, by its class's, or by any measure.

        For a class without a past, that is twice the longest mean of any stage, and not before `otherwise_s`.
        """
        prior = self._priors.get(stage_key(fact)) or self._priors.get(class_key(fact))
        return prior.late_s if prior else max(LATE_TIMES * self._longest_s, otherwise_s)

    def learn(self, fact: StageSubmitted, attempt_s: float, duration_s: float, log_cost: float, tail_s: float) -> None:
        """Blend in an attempt's times, and its stage's means so far."""
        self._longest_s = max(self._longest_s, duration_s)
        for key, of_work in ((class_key(fact), (nan, nan)), (stage_key(fact), (log_cost, tail_s))):
            prior = self._priors.pop(key, None)
            if prior is None:
                prior = StagePrior(duration_s, *of_work)
            else:
                prior.blend(attempt_s, duration_s, *of_work)
            self._priors[key] = prior
        while len(self._priors) > STAGES_KEPT:
            self._priors.pop(next(iter(self._priors)))
        known = self._any_duration_s
        self._any_duration_s = duration_s if known is None else known + LATEST / 4 * (duration_s - known)

    def dump(self) -> dict[str, Any]:
        """JSON-able state; unknown values are left out."""
        stages = {
            key: {name: value for name in prior.__struct_fields__ if (value := getattr(prior, name)) == value}
            for key, prior in self._priors.items()
        }
        return {"stages": stages, "all": {} if self._any_duration_s is None else {"duration_s": self._any_duration_s}}

    def load(self, state: dict[str, Any]) -> list[str]:
        """Recall the output of `dump`, below what was learned since; returns the unusable parts."""
        stages, left_out = fit(state.get("stages", {}), StagePrior)
        every, more = fit(state.get("all", {}), Positive)
        self._priors = stages | self._priors
        self._longest_s = max([self._longest_s, *(prior.duration_s for prior in stages.values())])
        if self._any_duration_s is None:
            self._any_duration_s = every.get("duration_s")
        return left_out + more
