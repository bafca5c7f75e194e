"""How long do the stages take that follow those which read input? By job name; it is taken off a job's deadline."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from controlplane.estimators.stored import NotNegative, Positive, fit

KEPT_OF_OLD = 0.8
"""Weight left to all earlier jobs when one more is seen: about the last five count."""
NAMES_KEPT = 1000


class Later(Struct):
    """Decayed sums over the jobs of one name."""

    sum_s: NotNegative = 0.0
    jobs: Positive = 0.0


class LaterTimes:
    """Decayed means over jobs of the same name, of the `NAMES_KEPT` names seen last.

    Source: GRASS (NSDI'14), section 5.2, "comparing jobs of similar sizes"; here those of the same name.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, Later] = {}

    def observe(self, job_name: str, later_s: float) -> None:
        """Learn from a job that has ended this long after the last of its stages that read input."""
        known = self._by_name.pop(job_name, None) or Later()
        known.sum_s, known.jobs = KEPT_OF_OLD * known.sum_s + max(later_s, 0.0), KEPT_OF_OLD * known.jobs + 1.0
        self._by_name[job_name] = known
        if len(self._by_name) > NAMES_KEPT:
            del self._by_name[next(iter(self._by_name))]

    def estimate_s(self, job_name: str) -> float:
        """Estimate for a job of this name, in seconds; 0 if none has been seen."""
        known = self._by_name.get(job_name)
        return known.sum_s / known.jobs if known else 0.0

    def dump(self) -> dict[str, Any]:
        """JSON-able state, least recently learned first."""
        found: dict[str, Any] = msgspec.to_builtins(self._by_name)
        return found

    def load(self, state: Mapping[str, Any]) -> list[str]:
        """Recall the output of `dump`, below what was learned since; returns the unusable parts."""
        stored, left_out = fit(state, Later)
        self._by_name = stored | self._by_name
        return left_out
