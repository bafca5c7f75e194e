"""Which policies are there? One line each; the row itself is at the end of the policy's file.

Other packages add theirs as entry points of the group `grasshopper.policies`, each of which names a row.
"""

from collections.abc import Iterator
from importlib.metadata import entry_points

from controlplane.compiled import OTHERS
from controlplane.policies.baselines import budgeted, fair, fifo, fixed, late, mantri, none, srpt, stock_spark
from controlplane.policies.grass import ras
from controlplane.policies.hopper import allocation
from controlplane.policies.redundancy import redundant, relaunch
from controlplane.policies.row import FORESEES, Row

_OURS: tuple[Row, ...] = (
    fifo.ROW,
    fair.ROW,
    srpt.ROW,
    fixed.ROW,
    budgeted.ROW,
    allocation.ROW,
    none.ROW,
    late.ROW,
    mantri.ROW,
    stock_spark.ROW,
    ras.ROW,
    redundant.REDUNDANT_ALL,
    redundant.REDUNDANT_SMALL,
    relaunch.ROW,
)


def _others() -> Iterator[Row]:
    named = {(row.kind, row.name) for row in _OURS}
    for point in sorted(entry_points(group=OTHERS)):
        row, field = point.load(), f"entry point {point.name} of {OTHERS}"
        if not isinstance(row, Row):
            raise TypeError(f"{field}: got {row!r}, want a Row of {Row.__module__}")
        if row.name == FORESEES or (row.kind, row.name) in named:
            raise ValueError(f"{field}: got {row.kind} {row.name!r}, want a name that is not in use")
        named.add((row.kind, row.name))
        yield row


ROWS: tuple[Row, ...] = (*_OURS, *_others())
