"""Do the arrays of a table's writers hold the same rows, whatever is added, removed or copied?"""

import pytest

from controlplane.model.columns import floats, ints
from controlplane.model.table import Table
from controlplane.model.writers import Writer

pytestmark = pytest.mark.unit


class Things(Table):
    """One column of each writer."""

    weight = floats(1.0)
    estimate_s = floats(2.0, by=Writer.ESTIMATOR)
    target = ints(3, by=Writer.ENGINE)
    room = ints(4, by=Writer.CYCLE)


EMPTY, FILLED = (1.0, 2.0, 3, 4), (10.0, 20.0, 30, 40)
NAMES = "weight", "estimate_s", "target", "room"


def cells(things, row):
    """Those of a row, by the table's columns."""
    return tuple(getattr(things, name)[row] for name in NAMES)


def filled(capacity):
    """A table with one row, in whose cells is what nobody finds in an empty one."""
    things = Things(capacity=capacity)
    return things, things.add(**dict(zip(NAMES, FILLED, strict=True)))


def test_each_writer_has_an_array_of_its_own_columns():
    """A kernel that is handed one of them cannot reach the others' columns."""
    things, row = filled(capacity=1)
    arrays = (things.reported, things.estimated, things.decided, things.scratch)
    assert [array.dtype.names for array in arrays] == [("alive", "weight"), ("estimate_s",), ("target",), ("room",)]
    for array in arrays:
        array[array.dtype.names[-1]][row] += 1
    assert cells(things, row) == (11.0, 21.0, 31, 41)


def test_all_arrays_grow_at_once():
    """Old rows stay as they are, and a new one is empty."""
    things, row = filled(capacity=1)
    new = things.add()
    assert [cells(things, each) for each in (row, new)] == [FILLED, EMPTY]


def test_a_row_that_is_used_again_is_empty_in_all_arrays():
    """What was believed of the last thing in it, or decided about it, is nothing to the next one."""
    things, row = filled(capacity=1)
    things.remove(row)
    assert things.add() == row
    assert cells(things, row) == EMPTY


def test_a_still_table_shares_no_array():
    """Whoever reads it sees none of the changes that follow."""
    things, row = filled(capacity=1)
    still = things.still()
    things.remove(row)
    assert (len(still), cells(still, row)) == (1, FILLED)
