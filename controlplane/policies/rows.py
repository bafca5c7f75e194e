"""Which policies are there? One line each; the row itself is at the end of the policy's file."""

from controlplane.policies.baselines import budgeted, fair, fifo, fixed, late, mantri, none, srpt, stock_spark
from controlplane.policies.grass import ras
from controlplane.policies.hopper import allocation
from controlplane.policies.redundancy import relaunching, starting
from controlplane.policies.row import Row

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
)
