"""Which kernel does a number stand for? One entry for each question, so a loop over many policies is compiled once.

A policy's number is its place among the rows of its kind. The entries are made from the rows: a call of each kernel
under its number, in a file of their own, for numba keeps compiled code by file.
"""

from collections.abc import Iterable, Iterator

from controlplane.compiled import generated
from controlplane.policies.beaten import END_BEATEN
from controlplane.policies.copy_priority import COPY_PRIORITY
from controlplane.policies.row import Kind, Row
from controlplane.policies.rows import ROWS

HEAD = '''"""The policies by number; made by `controlplane.policies.dispatch`."""

import numpy as np

from controlplane.compiled import kernel
from controlplane.policies.beaten import end_beaten
from controlplane.policies.copy_priority import hold_back
'''
ALLOCATE = '''

@kernel
def allocate(code, seen, settings, answer):
    """How many slots may each claimant of one pool hold now? Fills in `answer`, shape (n_claimants,)."""
    answer["target"][:] = 0
    answer["virtual_size"][:] = seen.claimants["remaining_tasks"]
    answer["cap"][:] = -1
    answer["originals"][:] = -1
    answer["precedence"][:] = 0.0
'''
SHARE_COPIES = '''

@kernel
def share_copies(code, seen, settings, answer):
    """How many copies may each job of the cluster have? Fills in `answer`, shape (n_claimants,)."""
    answer["copies"][:] = -1
'''
SPECULATE = '''

@kernel
def speculate(code, seen, settings, answer):
    """Which running tasks deserve further attempts, and how many? Fills in `answer`, shape (n_tasks,)."""
    for row in range(len(answer)):
        answer[row]["kill"] = answer[row]["end_last"] = False
        answer[row]["copies"], answer[row]["keep"], answer[row]["score"] = 0, 0, 0.0
        answer[row]["gain"] = answer[row]["price"] = 0.0
'''
ORDER_WAITING = '''

@kernel
def order_waiting(code, seen, settings, answer):
    """Which waiting originals start first? Fills in `answer`, shape (n_waiting,)."""
    answer["named"][:] = False
    answer["score"][:] = 0.0
'''


AFTERWARDS = {END_BEATEN.name: "end_beaten", COPY_PRIORITY.name: "hold_back"}
"""By setting, the kernel that is called on the answer of a policy that has it, in this order: idle slots are for copies
that their tasks may have.
"""
ENTRIES = {Kind.ALLOCATOR: ALLOCATE, Kind.SPECULATOR: SPECULATE, Kind.COPY_BUDGET: SHARE_COPIES}


def of_kind(kind: Kind, rows: Iterable[Row] = ROWS) -> list[Row]:
    """The rows of one kind, each at the place that is its number."""
    return [row for row in rows if row.kind is kind]


def source(rows: Iterable[Row]) -> str:
    """The text of a module that has the entries for these rows."""
    by_kind = {kind: of_kind(kind, tuple(rows)) for kind in Kind}
    heads = [head for those in by_kind.values() for head in _heads(those)]
    entries = [text for kind, those in by_kind.items() for text in (ENTRIES[kind], *_calls(those))]
    return "".join([HEAD, *heads, *entries, ORDER_WAITING, *_orders(by_kind[Kind.SPECULATOR])])


def _heads(rows: Iterable[Row]) -> Iterator[str]:
    """Import each kernel under its kind and number, and name the record type of its settings."""
    for code, row in enumerate(rows):
        name = f"{row.kind}_{code}"
        columns = [(setting.name, "f8") for setting in row.settings]
        yield f"from {row.kernel.__module__} import {row.kernel.__name__} as {name}\n"
        yield f"{name}_settings = np.dtype({columns})\n"
        if row.order_waiting:
            yield f"from {row.order_waiting.__module__} import {row.order_waiting.__name__} as {name}_waiting\n"


def _calls(rows: Iterable[Row]) -> Iterator[str]:
    """Each kernel under its number."""
    for code, row in enumerate(rows):
        yield _call(row, code, "")
        names = [setting.name for setting in row.settings]
        for name, function in AFTERWARDS.items():
            if name in names:
                yield f"        {function}(seen, settings[{names.index(name)}], answer)\n"


def _orders(rows: Iterable[Row]) -> Iterator[str]:
    """Each kernel that orders waiting tasks, under its row's number."""
    return (_call(row, code, "_waiting") for code, row in enumerate(rows) if row.order_waiting)


def _call(row: Row, code: int, suffix: str) -> str:
    name = f"{row.kind}_{code}"
    settings = f"settings.view({name}_settings)[0]" if row.settings else "settings"
    return f"    if code == {code}:\n        {name}{suffix}(seen, {settings}, answer)\n"


_entries = generated(f"{__name__}_entries", source(ROWS))
allocate, speculate, share_copies = _entries.allocate, _entries.speculate, _entries.share_copies
order_waiting = _entries.order_waiting
