"""What is a row of the policies' table? A name, the kernel behind it, what it needs of a host, and what can be set."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from controlplane.model.columns import Record
from controlplane.model.errors import BadSetting
from controlplane.policies import dispatch
from controlplane.policies.interfaces import ALLOCATION, SPECULATION, UNKNOWN_FINISHED, Records


class Kind(StrEnum):
    """Which of a policy's two questions a row answers."""

    ALLOCATOR = "allocator"
    SPECULATOR = "speculator"


class Keeps(StrEnum):
    """Promises that the property tests hold a row to, beyond those that hold for all."""

    WORK_CONSERVING = "work_conserving"
    """No slot stays idle while a claimant can use it."""
    FAIR_FLOOR = "fair_floor"
    """Every claimant gets its weight's share less `fairness_epsilon`, in whole slots, or all it can use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One number that steers a policy."""

    name: str
    default: float
    low: float
    high: float
    about: str
    switch: bool = False
    """Whether it is `low` or `high`, and nothing between."""

    @property
    def want(self) -> str:
        """What it may be, for people."""
        return f"{self.low:g} {'or' if self.switch else 'to'} {self.high:g}"

    def allows(self, value: object) -> bool:
        """Whether it may be this."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return value in (self.low, self.high) if self.switch else self.low <= value <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One row of the table."""

    name: str
    kind: Kind
    code: int
    """What `dispatch` knows it by."""
    about: str
    source: str = ""
    needs: frozenset[str] = frozenset()
    """Capabilities that a host must have for its orders to be given."""
    settings: tuple[Setting, ...] = ()
    record: np.dtype = np.dtype([])
    """What its kernel reads its settings from, by name: all that rows of its table have."""
    keeps: frozenset[Keeps] = frozenset()
    before_waiting: bool = False
    """Whether a copy this speculator wants goes before the job's own waiting originals."""
    at_start: bool = False
    """Whether it copies attempts that are too new to be judged."""
    by_finished: bool = False
    """Whether it goes by what finished attempts of a stage took."""

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
        record = np.full(1, np.nan, dtype=self.record)[0]
        for name, value in self.complete(given).items():
            record[name] = value
        return record

    def complete(self, given: Mapping[str, float]) -> dict[str, float]:
        """All settings of the policy, the given ones checked. Raises BadSetting, naming what is known.

        >>> share = Setting(name="share", default=0.1, low=0.0, high=1.0, about="")
        >>> row = Policy(name="some", kind=Kind.ALLOCATOR, code=0, about="", settings=(share,))
        >>> row.complete({}), row.complete({"share": 0.2})
        ({'share': 0.1}, {'share': 0.2})
        """
        known = {setting.name: setting for setting in self.settings}
        for name, value in given.items():
            field = f"engine.{self.kind}_settings.{name}"
            if name not in known:
                want = " or ".join(known) if known else "nothing to set"
                raise BadSetting(field, got=value, want=f"{want} for {self.kind} {self.name}")
            if not known[name].allows(value):
                raise BadSetting(field, got=value, want=known[name].want)
        return {name: float(given.get(name, setting.default)) for name, setting in known.items()}


def table(*rows: Policy) -> tuple[Policy, ...]:
    """The rows with one type of record for their settings, so that a loop over many policies is compiled once."""
    names = dict.fromkeys(setting.name for row in rows for setting in row.settings)
    record = np.dtype([(name, np.float64) for name in names])
    return tuple(replace(row, record=record) for row in rows)
