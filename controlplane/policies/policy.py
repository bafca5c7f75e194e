"""What can be asked of a policy? A row with the number by which `dispatch` calls it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache

import numpy as np

from controlplane.estimators.samples import NO_SAMPLES
from controlplane.model.columns import Floats, Ints, Records
from controlplane.policies import dispatch
from controlplane.policies.answer import ALLOCATION, COPY_BUDGET, PRECEDENCE, SPECULATION
from controlplane.policies.row import Row
from controlplane.policies.seen import NO_WEIGHTS, Load, Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Row):
    """A row that can be called."""

    code: int
    """Its number in `dispatch`."""

    def allocate(self, slots: int, claimants: Records, settings: Mapping[str, float] | None = None) -> Records:
        """One `ALLOCATION` for each `CLAIMANT` of a pool; settings left out have their defaults. Raises BadSetting."""
        answer = np.zeros(len(claimants), dtype=ALLOCATION)
        seen = Seen(slots=max(slots, 0), claimants=claimants, weights=self.brought)
        dispatch.allocate(self.code, seen, self.setting_values(settings or {}), answer)
        return answer

    def speculate(self, seen: Seen, settings: Mapping[str, float] | None = None) -> Records:
        """One `SPECULATION` for each `RUNNING_TASK` that is seen; `weights` are the row's own but for samples.

        Raises BadSetting.
        """
        answer = np.zeros(len(seen.tasks), dtype=SPECULATION)
        dispatch.speculate(self.code, self._with_weights(seen), self.setting_values(settings or {}), answer)
        return answer

    def share_copies(self, slots: int, claimants: Records, settings: Mapping[str, float] | None = None) -> Records:
        """One `COPY_BUDGET` for each `CLAIMANT` of all drivers; `slots` are those of all pools. Raises BadSetting."""
        answer = np.zeros(len(claimants), dtype=COPY_BUDGET)
        seen = Seen(slots=max(slots, 0), claimants=claimants, weights=self.brought)
        dispatch.share_copies(self.code, seen, self.setting_values(settings or {}), answer)
        return answer

    def precedence(self, seen: Seen, settings: Mapping[str, float] | None = None) -> Records:
        """One `PRECEDENCE` for each `WAITING_TASK` that is seen, none named by a row without `order_waiting`.

        `weights` are the row's own but for samples. Raises BadSetting.
        """
        answer = np.zeros(len(seen.waiting), dtype=PRECEDENCE)
        dispatch.order_waiting(self.code, self._with_weights(seen), self.setting_values(settings or {}), answer)
        return answer

    def prepared(self, load: Load, stage_tasks: Ints, settings: Mapping[str, float]) -> Floats:
        """The tasks' `prepared` values, shape (n_stages,); nan if the row prepares nothing. Raises BadSetting."""
        if self.prepare is None:
            return np.full(len(stage_tasks), np.nan)
        return self.prepare(load, stage_tasks, self.complete(settings))

    @property
    def brought(self) -> Floats:
        """The row's weights as its kernel sees them, shape (n_weights,), read only; no samples if it explores."""
        if self.explores:
            return NO_SAMPLES
        return _read_only(self.weights) if self.weights else NO_WEIGHTS

    def _with_weights(self, seen: Seen) -> Seen:
        """The same with the row's own weights, unless it explores and is shown samples."""
        return seen if self.explores and len(seen.weights) else seen._replace(weights=self.brought)

    def setting_values(self, given: Mapping[str, float]) -> Floats:
        """All settings, shape (n_settings,), in the order of the row. Raises BadSetting."""
        return np.array(list(self.complete(given).values()), dtype=np.float64)


@cache
def _read_only(weights: Callable[[], Floats]) -> Floats:
    """A row's weights, fetched once."""
    found = np.array(weights(), dtype=np.float64)
    found.flags.writeable = False
    return found


def numbered(row: Row) -> Policy:
    """The policy of a row."""
    return Policy(
        code=dispatch.of_kind(row.kind).index(row), **{each.name: getattr(row, each.name) for each in fields(row)}
    )
