"""Which policy goes by which name? The table of all rows, and of those that only a simulator has."""

from collections.abc import Iterable
from dataclasses import replace

from controlplane.model.errors import BadSetting
from controlplane.policies.policy import Policy, numbered
from controlplane.policies.redundancy.theory.plan import Choices, Plan
from controlplane.policies.redundancy.theory.system import System
from controlplane.policies.row import FORESEES, Kind
from controlplane.policies.rows import ROWS

TABLE = tuple(numbered(row) for row in ROWS)
PLANS = {row.name: row.plan for row in TABLE if row.plan}
"""Plans of the rows that run on the master-worker system, by name."""

FORESEEING = tuple(replace(row, name=FORESEES, about=row.foreseeing) for row in TABLE if row.foreseeing)
"""Rules that know the future, which only a simulator does: the yardstick for the others."""


def allocator(name: str) -> Policy:
    """The allocator of this name. Raises BadSetting, naming the known ones."""
    return _row(Kind.ALLOCATOR, name, TABLE)


def speculator(name: str) -> Policy:
    """The speculator of this name. Raises BadSetting, naming the known ones."""
    return _row(Kind.SPECULATOR, name, TABLE)


def copy_budget(name: str) -> Policy | None:
    """The copy budget of this name, None for an empty one. Raises BadSetting, naming the known ones."""
    return _row(Kind.COPY_BUDGET, name, TABLE) if name else None


def plan(name: str, system: System, offered_load: float, choices: Choices) -> Plan:
    """What the policy of this name does on the master-worker system. Raises BadSetting, naming those that run there."""
    if name not in PLANS:
        raise BadSetting("policy", got=name, want=" or ".join(PLANS))
    return PLANS[name](system, offered_load, choices)


def parse_policy(text: str, rows: Iterable[Policy] = TABLE) -> tuple[Policy, Policy]:
    """The pair behind "allocator+speculator". Raises BadSetting, naming the known rows.

    >>> [row.name for row in parse_policy("hopper+ras")]
    ['hopper', 'ras']
    """
    left, plus, right = text.partition("+")
    if not plus:
        allocators, speculators = (", ".join(names(kind, rows)) for kind in (Kind.ALLOCATOR, Kind.SPECULATOR))
        want = f'an allocator ({allocators}) and a speculator ({speculators}), as in "hopper+ras"'
        raise BadSetting("policy", got=text, want=want)
    return _row(Kind.ALLOCATOR, left.strip(), rows), _row(Kind.SPECULATOR, right.strip(), rows)


def names(kind: Kind, rows: Iterable[Policy] = TABLE) -> list[str]:
    """The names of one kind, in the order of the rows."""
    return [row.name for row in rows if row.kind is kind]


def _row(kind: Kind, name: str, rows: Iterable[Policy]) -> Policy:
    found = next((row for row in rows if (row.kind, row.name) == (kind, name)), None)
    if found is None:
        raise BadSetting(f"engine.{kind}", got=name, want=" or ".join(names(kind, rows)) or "nothing: there is none")
    return found
