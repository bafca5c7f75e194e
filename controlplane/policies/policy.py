"""What can be asked of a policy? A row with its number, and one type of record for all settings."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from controlplane.model.columns import Record
from controlplane.policies import dispatch
from controlplane.policies.interfaces import ALLOCATION, SPECULATION, UNKNOWN_FINISHED, Records
from controlplane.policies.row import Row
from controlplane.policies.rows import ROWS

SETTINGS = np.dtype([(name, np.float64) for name in dict.fromkeys(each.name for row in ROWS for each in row.settings)])
"""What every kernel reads its settings from, by name; one type, so that a loop over many policies is compiled once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Row):
    """A row that can be called."""

    code: int
    """What `dispatch` knows it by."""

    def allocate(self, slots: int, claimants: Records, settings: Mapping[str, float] | None = None) -> Records:
        """One `ALLOCATION` for each `CLAIMANT` of a pool; settings left out have their defaults. Raises BadSetting."""
        answer = np.zeros(len(claimants), dtype=ALLOCATION)
        dispatch.allocate(self.code, slots, claimants, self.setting_record(settings or {}), answer)
        return answer

    def speculate(
        self, tasks: Records, settings: Mapping[str, float] | None = None, finished: Records = UNKNOWN_FINISHED
    ) -> Records:
        """One `SPECULATION` for each `RUNNING_TASK`, likewise."""
        answer = np.zeros(len(tasks), dtype=SPECULATION)
        dispatch.speculate(self.code, tasks, finished, self.setting_record(settings or {}), answer)
        return answer

    def setting_record(self, given: Mapping[str, float]) -> Record:
        """All settings as the kernel reads them; nan for those of other rows. Raises BadSetting."""
        record = np.full(1, np.nan, dtype=SETTINGS)[0]
        for name, value in self.complete(given).items():
            record[name] = value
        return record


def numbered(row: Row) -> Policy:
    """The policy of a row."""
    return Policy(
        code=dispatch.of_kind(row.kind).index(row), **{each.name: getattr(row, each.name) for each in fields(row)}
    )
