"""What does a policy's file end in? A row: its name, its kernel, its needs of a host, and its settings."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum

from controlplane.model.columns import Floats, Ints
from controlplane.model.errors import BadSetting
from controlplane.policies.redundancy.theory.plan import Choices, Plan
from controlplane.policies.redundancy.theory.system import System
from controlplane.policies.seen import Load

FORESEES = "clairvoyant"
"""The name under which a simulator has a row that knows the future."""
ORDERING = frozenset({"order_pending"})
"""What an allocator needs of a host: it starts tasks in the order that it is given."""
COPYING = frozenset({"max_copies"})
"""What a speculator needs: the host can start copies of a task."""


class Kind(StrEnum):
    """What a row decides: slots of a pool's jobs, copies of running tasks, or most copies of all drivers' jobs."""

    ALLOCATOR = "allocator"
    SPECULATOR = "speculator"
    COPY_BUDGET = "copy_budget"


class Keeps(StrEnum):
    """Promises that the property tests check for a row, beyond those that hold for all."""

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
    """Whether it is `low` or `high`, and nothing in between."""

    @property
    def want(self) -> str:
        """Its allowed values, for people."""
        return f"{self.low:g} {'or' if self.switch else 'to'} {self.high:g}"

    def allows(self, value: object) -> bool:
        """Whether the value is allowed."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return value in (self.low, self.high) if self.switch else self.low <= value <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A policy's description of itself."""

    name: str
    kind: Kind
    kernel: Callable[..., None]
    """(seen, settings, answer): a `Seen`, a record of the settings, and `ALLOCATION`, `SPECULATION` or `COPY_BUDGET`
    records to fill in."""
    about: str
    source: str = ""
    needs: frozenset[str] = frozenset()
    """Capabilities that a host must have for its orders to be given."""
    settings: tuple[Setting, ...] = ()
    keeps: frozenset[Keeps] = frozenset()
    counts_possible_copies: bool = False
    """Whether a simulator counts slots for every copy that a job's running tasks may have, as the engine does, and not
    only for those wanted now."""
    locality_percent: float = 0.0
    """Share of the jobs, the smallest, that a simulator may serve first for a task with its input at hand."""
    order_waiting: Callable[..., None] | None = None
    """A speculator's second kernel, (seen, settings, answer), with `PRECEDENCE` records to fill in: which waiting
    originals of a stage start first. None leaves them to the host."""
    orders_bounded: bool = False
    """Whether it orders only those of jobs with a deadline or an error bound."""
    before_waiting: bool = False
    """Whether a copy this speculator wants goes before the job's own waiting originals."""
    at_start: bool = False
    """Whether it copies attempts that are too new to be judged."""
    shares_spare: bool = False
    """Whether it shares what is spare in a pool, or in the pools of a queue, out among jobs: while a slot is idle, its
    copies go beyond their jobs' targets."""
    by_fixed: bool = False
    """Whether it gives jobs the targets that operators fix."""
    by_finished: bool = False
    """Whether it uses the durations of a stage's finished attempts."""
    weights: Callable[[], Floats] | None = None
    """() -> numbers, shape (n,), that its kernel sees read only as `seen.weights`: what was learned elsewhere, say."""
    prepare: Callable[[Load, Ints, Mapping[str, float]], Floats] | None = None
    """(load of a pool, tasks of each stage, settings) -> the `prepared` value of each stage's tasks.

    It is called in every cycle, and is not compiled, so it caches slow results.
    """
    explores: Callable[[Floats, Mapping[str, float]], Ints] | None = None
    """(draws of jobs from [0, 1), settings) -> for each the policy that it tries wholly, `FIRST` or `SECOND`, or
    `LEARNED` (`estimators.samples`). Its kernel sees these, and as `seen.weights` the samples that come of them."""
    tries: tuple[str, ...] = ()
    """The names of the two policies that its explorers try."""
    foreseeing: str = ""
    """What it is about where it knows what tasks will take, as a simulator's row `FORESEES`; empty for no such row."""
    plan: Callable[[System, float, Choices], Plan] | None = None
    """(master-worker system, offered load, choices) -> its plan there; None if it does not run there."""
    shows: Mapping[str, Callable[[Mapping[str, float]], float]] = field(default_factory=dict)
    """Further inputs of its decisions, by name, computed from those that every decision about a task has:
    `running_attempts`, `elapsed_s`, `t_rem_s`, `t_new_s`, `expected_s`, `demand_s`, `relative_size`, `progress`
    and `target`.
    """

    def complete(self, given: Mapping[str, float]) -> dict[str, float]:
        """All settings of the policy, the given ones checked. Raises BadSetting, naming what is known.

        >>> share = Setting(name="share", default=0.1, low=0.0, high=1.0, about="")
        >>> row = Row(name="some", kind=Kind.ALLOCATOR, kernel=print, about="", settings=(share,))
        >>> row.complete({}), row.complete({"share": 0.2})
        ({'share': 0.1}, {'share': 0.2})
        """
        known = {setting.name: setting for setting in self.settings}
        for name, value in given.items():
            path = f"engine.{self.kind}_settings.{name}"
            if name not in known:
                want = " or ".join(known) if known else "nothing to set"
                raise BadSetting(path, got=value, want=f"{want} for {self.kind} {self.name}")
            if not known[name].allows(value):
                raise BadSetting(path, got=value, want=known[name].want)
        return {name: float(given.get(name, setting.default)) for name, setting in known.items()}

    def shown(self, inputs: Mapping[str, float]) -> dict[str, float]:
        """Its further inputs of a decision, by name; one that raises shows nothing, and stops no decision."""
        found: dict[str, float] = {}
        for name, number in self.shows.items():
            with suppress(Exception):
                found[name] = float(number(inputs))
        return found
