"""Which policies are there, what do they need of a host, what can be set? The one table of their names."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from controlplane.model.errors import BadSetting
from controlplane.policies import dispatch
from controlplane.policies.copy_priority import JOB, LAST
from controlplane.policies.interfaces import ALLOCATION, SPECULATION, UNKNOWN_FINISHED, Floats, Records


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
    """In the order in which its kernel reads them."""
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
        dispatch.allocate(self.code, slots, claimants, self.vector(settings or {}), answer)
        return answer

    def speculate(
        self, tasks: Records, settings: Mapping[str, float] | None = None, finished: Records = UNKNOWN_FINISHED
    ) -> Records:
        """One `SPECULATION` for each `RUNNING_TASK`, likewise."""
        answer = np.zeros(len(tasks), dtype=SPECULATION)
        dispatch.speculate(self.code, tasks, finished, self.vector(settings or {}), answer)
        return answer

    def vector(self, given: Mapping[str, float]) -> Floats:
        """All settings as the kernel reads them, shape (N_SETTINGS,). Raises BadSetting."""
        vector = np.zeros(dispatch.N_SETTINGS)
        vector[: len(self.settings)] = list(self.complete(given).values())
        return vector

    def complete(self, given: Mapping[str, float]) -> dict[str, float]:
        """All settings of the policy, the given ones checked. Raises BadSetting, naming what is known.

        >>> allocator("hopper").complete({"fairness_epsilon": 0.2})
        {'fairness_epsilon': 0.2, 'multiplier_cap': 2.0, 'round_up': 1.0, 'hold_slots': 0.0}
        """
        known = {setting.name: setting for setting in self.settings}
        for name, value in given.items():
            field = f"engine.{self.kind}_settings.{name}"
            if name not in known:
                want = " or ".join(known) if known else "nothing to set"
                raise BadSetting(field, got=value, want=f"{want} for {self.kind} {self.name}")
            low, high = known[name].low, known[name].high
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise BadSetting(field, got=value, want=f"{low:g} to {high:g}")
        return {name: float(given.get(name, setting.default)) for name, setting in known.items()}


_ORDERING = frozenset({"order_pending"})
_COPYING = frozenset({"max_copies"})
_ATTEMPTS_AT_START = Setting(
    name="attempts_at_start",
    default=2.0,
    low=1.0,
    high=16.0,
    about="Attempts that a task starts with, its original among them.",
)
_COPY_PRIORITY = Setting(
    name="copy_priority",
    default=JOB,
    low=JOB,
    high=LAST,
    about="0: a copy competes at its job's priority; 1: it starts only when no original waits in the pool.",
)

TABLE: tuple[Policy, ...] = (
    Policy(
        name="fifo",
        kind=Kind.ALLOCATOR,
        code=dispatch.FIFO,
        about="First come, first served.",
        needs=_ORDERING,
        keeps=frozenset({Keeps.WORK_CONSERVING}),
    ),
    Policy(
        name="fair",
        kind=Kind.ALLOCATOR,
        code=dispatch.FAIR,
        about="Slots in proportion to the jobs' weights.",
        needs=_ORDERING,
        keeps=frozenset({Keeps.WORK_CONSERVING, Keeps.FAIR_FLOOR}),
    ),
    Policy(
        name="srpt",
        kind=Kind.ALLOCATOR,
        code=dispatch.SRPT,
        about="The job with the least work left first.",
        needs=_ORDERING,
        keeps=frozenset({Keeps.WORK_CONSERVING}),
    ),
    Policy(
        name="fixed",
        kind=Kind.ALLOCATOR,
        code=dispatch.FIXED,
        about="Targets and caps set over REST; jobs without one share the rest fairly.",
        needs=_ORDERING,
    ),
    Policy(
        name="budgeted",
        kind=Kind.ALLOCATOR,
        code=dispatch.BUDGETED,
        about="The least work left first, and a fixed share of the slots for copies alone.",
        source="Hopper (SIGCOMM'15), section 3.1",
        needs=_ORDERING,
        settings=(
            Setting(
                name="reserved_share",
                default=0.1,
                low=0.0,
                high=1.0,
                about="Share of the pool's slots that originals may not use (at least one, never the last).",
            ),
        ),
    ),
    Policy(
        name="hopper",
        kind=Kind.ALLOCATOR,
        code=dispatch.HOPPER,
        about="Slots by virtual size, which counts the copies a job will want; smallest first when short.",
        source="Hopper (SIGCOMM'15), section 4",
        needs=_ORDERING,
        settings=(
            Setting(
                name="fairness_epsilon",
                default=0.1,
                low=0.0,
                high=1.0,
                about="Part of its fair share that a job may lose to smaller ones; 1 promises nothing.",
            ),
            Setting(
                name="multiplier_cap",
                default=2.0,
                low=1.0,
                high=16.0,
                about="The most slots counted per task, however heavy the tail of durations is.",
            ),
            Setting(
                name="round_up",
                default=1.0,
                low=0.0,
                high=1.0,
                about="1 rounds virtual sizes up, so that a last task has a slot for its copy; 0 down, as printed.",
            ),
            Setting(
                name="hold_slots",
                default=0.0,
                low=0.0,
                high=1.0,
                about="1 keeps slots within a target free for copies yet to come, as printed; 0 lends them out.",
            ),
        ),
        keeps=frozenset({Keeps.WORK_CONSERVING, Keeps.FAIR_FLOOR}),
    ),
    Policy(
        name="none",
        kind=Kind.SPECULATOR,
        code=dispatch.NONE,
        about="No copies.",
    ),
    Policy(
        name="late",
        kind=Kind.SPECULATOR,
        code=dispatch.LATE,
        about="Tasks slower than most of their stage, the one that ends last first.",
        source="LATE (OSDI'08), section 4",
        needs=_COPYING,
        settings=(
            Setting(
                name="copy_share",
                default=0.1,
                low=0.0,
                high=1.0,
                about="Copies that may run at once, as a share of the pool's slots (at least one).",
            ),
            Setting(
                name="slow_task_share",
                default=0.25,
                low=0.0,
                high=1.0,
                about="Share of a stage's running tasks that count as slow, by progress rate.",
            ),
            _COPY_PRIORITY,
        ),
    ),
    Policy(
        name="mantri",
        kind=Kind.SPECULATOR,
        code=dispatch.MANTRI,
        about="Tasks whose copy likely saves slot time by what finished siblings took, the longest to run first.",
        source="Mantri (OSDI'10), section 5.1",
        needs=_COPYING,
        settings=(
            Setting(
                name="confidence",
                default=0.25,
                low=0.0,
                high=1.0,
                about="A copy must save slot time with more than this probability.",
            ),
            Setting(
                name="max_attempts",
                default=3.0,
                low=1.0,
                high=16.0,
                about="The most attempts of one task that may run at once.",
            ),
            _COPY_PRIORITY,
        ),
        by_finished=True,
    ),
    Policy(
        name="stock-spark",
        kind=Kind.SPECULATOR,
        code=dispatch.STOCK_SPARK,
        about="Tasks that have run much longer than the median of their stage, as Spark 4 finds them by itself.",
        source="Spark 4, TaskSetManager.checkSpeculatableTasks",
        needs=_COPYING,
        settings=(
            Setting(
                name="quantile",
                default=0.9,
                low=0.0,
                high=1.0,
                about="Share of a stage's tasks that must have finished before any is copied.",
            ),
            Setting(
                name="multiplier",
                default=3.0,
                low=1.0,
                high=100.0,
                about="A task is slow once it has run this many times the median duration.",
            ),
            Setting(
                name="min_runtime_s",
                default=0.1,
                low=0.0,
                high=1e9,
                about="A task is left alone for at least this long.",
            ),
            Setting(
                name="duration_threshold_s",
                default=0.0,
                low=0.0,
                high=1e9,
                about="While few have finished of a stage that fits one executor, a task is slow after this long.",
            ),
            Setting(
                name="efficiency",
                default=1.0,
                low=0.0,
                high=1.0,
                about="1 excuses slow tasks that keep pace with their siblings; 0 does not ask.",
            ),
            Setting(
                name="process_rate_multiplier",
                default=0.75,
                low=0.0,
                high=1.0,
                about="A task keeps pace from this share of its siblings' rate on.",
            ),
            Setting(
                name="long_run_factor",
                default=2.0,
                low=1.0,
                high=100.0,
                about="After this many thresholds no pace excuses a task.",
            ),
            _COPY_PRIORITY,
        ),
        by_finished=True,
    ),
    Policy(
        name="ras",
        kind=Kind.SPECULATOR,
        code=dispatch.RAS,
        about="Tasks whose copy costs less slot time than waiting, the highest saving first.",
        source="GRASS (NSDI'14), section 3.1",
        needs=_COPYING,
        settings=(
            Setting(
                name="greedy_when_idle",
                default=1.0,
                low=0.0,
                high=1.0,
                about="1 copies whatever ends sooner by it on a slot that no original waits for; 0 never does.",
            ),
        ),
        before_waiting=True,
    ),
    Policy(
        name="redundant-all",
        kind=Kind.SPECULATOR,
        code=dispatch.REDUNDANT_ALL,
        about="Every task starts with copies.",
        source="Redundancy and relaunch, section III",
        needs=_COPYING,
        settings=(_ATTEMPTS_AT_START,),
        at_start=True,
    ),
    Policy(
        name="redundant-small",
        kind=Kind.SPECULATOR,
        code=dispatch.REDUNDANT_SMALL,
        about="Tasks of jobs with little demand start with copies; how little follows from the load.",
        source="Redundancy and relaunch, section IV",
        needs=_COPYING,
        settings=(
            _ATTEMPTS_AT_START,
            Setting(
                name="max_tasks",
                default=10.0,
                low=1.0,
                high=100.0,
                about="The most tasks that a job of the usual kind has; larger ones are small only where all are.",
            ),
            Setting(
                name="min_service_s",
                default=10.0,
                low=1e-3,
                high=1e9,
                about="What a task of such a job takes at least.",
            ),
            Setting(
                name="service_tail_index",
                default=3.0,
                low=0.1,
                high=100.0,
                about="Tail index of what such tasks take, stragglers aside.",
            ),
        ),
        at_start=True,
    ),
    Policy(
        name="relaunch",
        kind=Kind.SPECULATOR,
        code=dispatch.RELAUNCH,
        about="Tasks older than so many times what was expected of them are killed and started anew, once.",
        source="Redundancy and relaunch, section V",
        needs=_COPYING | {"kill_copy"},
        settings=(
            Setting(
                name="relaunch_factor",
                default=0.0,
                low=0.0,
                high=100.0,
                about="The age at which they are, over what was expected; 0: the best for the stage's number of tasks.",
            ),
        ),
        before_waiting=True,
    ),
)

_BY_NAME = {(row.kind, row.name): row for row in TABLE}


def allocator(name: str) -> Policy:
    """The allocator of this name. Raises BadSetting, naming those there are."""
    return _row(Kind.ALLOCATOR, name)


def speculator(name: str) -> Policy:
    """The speculator of this name. Raises BadSetting, naming those there are."""
    return _row(Kind.SPECULATOR, name)


def parse_policy(text: str) -> tuple[Policy, Policy]:
    """The pair behind "allocator+speculator".

    >>> [row.name for row in parse_policy("hopper+ras")]
    ['hopper', 'ras']
    """
    left, plus, right = text.partition("+")
    if not plus:
        raise BadSetting("policy", got=text, want='an allocator and a speculator, as in "hopper+ras"')
    return allocator(left.strip()), speculator(right.strip())


def names(kind: Kind) -> list[str]:
    """The names of one kind, in the table's order."""
    return [row.name for row in TABLE if row.kind is kind]


def _row(kind: Kind, name: str) -> Policy:
    if (kind, name) not in _BY_NAME:
        raise BadSetting(f"engine.{kind}", got=name, want=" or ".join(names(kind)))
    return _BY_NAME[kind, name]
