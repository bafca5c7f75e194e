"""Which policies are there? One line each; the row itself is at the end of the policy's file.

Other packages add theirs as entry points of the group `grasshopper.policies`, each of which names a row.
"""

from collections.abc import Iterator
from importlib.metadata import entry_points

from controlplane.compiled import OTHERS
from controlplane.policies.baselines import budgeted, fair, fifo, fixed, late, mantri, none, srpt, stock_spark
from controlplane.policies.grass import ras
from controlplane.policies.hopper import allocation
from controlplane.policies.redundancy import relaunching, starting
from controlplane.policies.row import Row


def _others() -> Iterator[Row]:
    for point in sorted(entry_points(group=OTHERS)):
        row = point.load()
        if not isinstance(row, Row):
            raise TypeError(f"entry point {point.name} of {OTHERS}: got {row!r}, want a Row of {Row.__module__}")
        yield row


ROWS: tuple[Row, ...] = (
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
    starting.REDUNDANT_ALL,
    starting.REDUNDANT_SMALL,
    relaunching.ROW,
    *_others(),
)
