"""Which policies are there, what do they need of a host, what can be set? The one table of their names."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controlplane.model.errors import BadSetting
from controlplane.model.facts import Capabilities
from controlplane.policies.baselines.fair import fair
from controlplane.policies.baselines.fifo import fifo
from controlplane.policies.baselines.fixed import fixed
from controlplane.policies.baselines.late import late
from controlplane.policies.baselines.none import none
from controlplane.policies.baselines.srpt import srpt
from controlplane.policies.grass.ras import ras
from controlplane.policies.hopper.allocation import hopper
from controlplane.policies.interfaces import Allocator, Speculator


class Kind(StrEnum):
    """Which of a policy's two questions a row answers."""

    ALLOCATOR = "allocator"
    SPECULATOR = "speculator"


class When(StrEnum):
    """When a setting may change."""

    STARTUP = "startup"
    RUNTIME = "runtime"


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
    when: When = When.RUNTIME


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One row of the table. Calling it fills in the settings that were left out, and refuses bad ones."""

    name: str
    kind: Kind
    function: Allocator | Speculator
    about: str
    source: str = ""
    needs: Mapping[str, int]
    """Capabilities of the host, with the least value of each, without which its orders are refused."""
    settings: tuple[Setting, ...] = ()
    keeps: frozenset[Keeps] = frozenset()
    before_waiting: bool = False
    """Whether a copy this speculator wants goes before the job's own waiting originals."""

    def __call__(self, view: Any, settings: Mapping[str, float] | None = None) -> Any:
        """An allocator makes an Allocation of a PoolView, a speculator a Speculation of RunningTasks."""
        return self.function(view, self.complete(settings or {}))

    def complete(self, given: Mapping[str, float]) -> dict[str, float]:
        """All settings of the policy, the given ones checked. Raises BadSetting, naming what is known.

        >>> allocator("hopper").complete({"fairness_epsilon": 0.2})
        {'fairness_epsilon': 0.2, 'multiplier_cap': 2.0, 'round_up': 1.0}
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

    def lacks(self, capabilities: Capabilities) -> list[str]:
        """What the policy needs and the host cannot.

        >>> speculator("ras").lacks(Capabilities(max_copies=0))
        ['max_copies']
        """
        return [name for name, least in self.needs.items() if getattr(capabilities, name) < least]


_ORDERING = {"order_pending": 1}
_COPYING = {"max_copies": 1}

TABLE: tuple[Policy, ...] = (
    Policy(
        name="fifo",
        kind=Kind.ALLOCATOR,
        function=fifo,
        about="First come, first served.",
        needs=_ORDERING,
        keeps=frozenset({Keeps.WORK_CONSERVING}),
    ),
    Policy(
        name="fair",
        kind=Kind.ALLOCATOR,
        function=fair,
        about="Slots in proportion to the jobs' weights.",
        needs=_ORDERING,
        keeps=frozenset({Keeps.WORK_CONSERVING, Keeps.FAIR_FLOOR}),
    ),
    Policy(
        name="srpt",
        kind=Kind.ALLOCATOR,
        function=srpt,
        about="The job with the least work left first.",
        needs=_ORDERING,
        keeps=frozenset({Keeps.WORK_CONSERVING}),
    ),
    Policy(
        name="fixed",
        kind=Kind.ALLOCATOR,
        function=fixed,
        about="Targets and caps set over REST; jobs without one share the rest fairly.",
        needs=_ORDERING,
    ),
    Policy(
        name="hopper",
        kind=Kind.ALLOCATOR,
        function=hopper,
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
        ),
        keeps=frozenset({Keeps.WORK_CONSERVING, Keeps.FAIR_FLOOR}),
    ),
    Policy(
        name="none",
        kind=Kind.SPECULATOR,
        function=none,
        about="No copies.",
        needs={},
    ),
    Policy(
        name="late",
        kind=Kind.SPECULATOR,
        function=late,
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
        ),
    ),
    Policy(
        name="ras",
        kind=Kind.SPECULATOR,
        function=ras,
        about="Tasks whose copy costs less slot time than waiting, the highest saving first.",
        source="GRASS (NSDI'14), section 3.1",
        needs=_COPYING,
        settings=(
            Setting(
                name="greedy_when_idle",
                default=1.0,
                low=0.0,
                high=1.0,
                about="1 copies whatever ends sooner by it while slots are idle that nobody waits for; 0 never does.",
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
