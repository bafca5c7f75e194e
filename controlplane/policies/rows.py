"""Which policies are there? One line each; the row itself is at the end of the policy's file.

Other packages add theirs as entry points of the group `grasshopper.policies`, each of which names a row.
"""

import sys
from collections.abc import Iterator
from importlib.metadata import entry_points

from controlplane.compiled import OTHERS
from controlplane.policies.baselines import (
    budgeted,
    fair,
    fifo,
    fixed,
    late,
    mantri,
    none,
    srpt,
    stock_mapreduce,
    stock_spark,
)
from controlplane.policies.grass import gs, ras, switching
from controlplane.policies.hopper import allocation
from controlplane.policies.redundancy import redundant, relaunch
from controlplane.policies.row import FORESEES, Kind, Row
from controlplane.policies.shed_plus import dolly, shed, speculating
from controlplane.policies.unified import index

_OURS: tuple[Row, ...] = (
    fifo.ROW,
    fair.ROW,
    srpt.ROW,
    fixed.ROW,
    budgeted.ROW,
    allocation.ROW,
    allocation.AS_PRINTED,
    none.ROW,
    late.ROW,
    mantri.ROW,
    stock_spark.ROW,
    stock_mapreduce.ROW,
    gs.ROW,
    ras.ROW,
    switching.ROW,
    redundant.REDUNDANT_ALL,
    redundant.REDUNDANT_SMALL,
    relaunch.ROW,
    speculating.ROW,
    shed.ROW,
    dolly.ROW,
    index.ALLOCATOR,
    index.ROW,
)


def _others() -> Iterator[Row]:
    named = {(row.kind, row.name) for row in _OURS}
    for point in sorted(entry_points(group=OTHERS)):
        field = f"entry point {point.name} of {OTHERS}"
        try:
            row = point.load()
        except Exception as error:
            raise ImportError(f"{field}: {point.value} does not load: {type(error).__name__}: {error}") from error
        if not isinstance(row, Row):
            raise TypeError(f"{field}: got {row!r}, want a Row of {Row.__module__}")
        if row.name == FORESEES or (row.kind, row.name) in named:
            raise ValueError(f"{field}: got {row.kind} {row.name!r}, want a name that is not in use")
        for got, want in _faults(row):
            raise ValueError(f"{field}: got {got!r}, want {want}")
        named.add((row.kind, row.name))
        yield row


def _faults(row: Row) -> Iterator[tuple[object, str]]:
    """Each fault that makes a row unusable: the value, and what is wanted instead."""
    if not isinstance(row.kind, Kind):
        yield row.kind, f"a kind: {', '.join(Kind)}"
    if not row.name or "+" in row.name:
        yield row.name, "a name without +"
    for kernel in (row.kernel, row.order_waiting):
        if kernel is not None and getattr(sys.modules[kernel.__module__], kernel.__name__, None) is not kernel:
            yield kernel.__name__, "a kernel under its own name in its module"
    names = [setting.name for setting in row.settings]
    for setting in row.settings:
        if names.count(setting.name) > 1 or not setting.name.isidentifier():
            yield setting.name, "settings with names of their own"
        if not setting.allows(setting.default):
            yield setting.default, f"{setting.want} as the default of {setting.name}"


ROWS: tuple[Row, ...] = (*_OURS, *_others())
