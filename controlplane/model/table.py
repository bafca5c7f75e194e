"""How are many rows kept without one object each? Each writer's array of records grows by doubling; rows are reused."""

from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from controlplane.model.writers import Decided, Estimated, Reported, Scratch, Writer


class Column(NamedTuple):
    """A field of a table's records."""

    kind: type | np.dtype[Any]
    empty: float
    """The value of an empty cell."""
    by: Writer


class Table:
    """Things of one type; a row number is stable for as long as its row lives, and free rows are used again.

    The class attributes of a subclass that are a `Column` are its columns; a table has arrays in their place:
    `table.name[row]`. Those of one writer are fields of one array of records, which kernels take whole. Growing
    replaces the arrays, so a column is read from the table each time and never kept across `add`.
    """

    alive: NDArray[np.bool_]
    reported: NDArray[Reported]
    estimated: NDArray[Estimated]
    decided: NDArray[Decided]
    scratch: NDArray[Scratch]

    def __init__(self, capacity: int = 64) -> None:
        columns = {"alive": Column(np.bool_, False, Writer.HOST)}
        columns |= {name: column for name, column in vars(type(self)).items() if isinstance(column, Column)}
        self._empty = {
            by: _empty({name: column for name, column in columns.items() if column.by is by}) for by in Writer
        }
        self._free: list[int] = []
        self.size = 0
        """Rows ever used; every live row is below it."""
        self._hold({by: np.full(capacity, empty) for by, empty in self._empty.items()})

    def __len__(self) -> int:
        return self.size - len(self._free)

    def add(self, **values: float) -> int:
        """Take a free row, fill the named cells, leave the others empty; returns the row."""
        if self._free:
            row = self._free.pop()
        else:
            row = self.size
            if row == len(self.alive):
                grown = {by: np.append(records, np.full(row, self._empty[by])) for by, records in self._records.items()}
                self._hold(grown)
            self.size += 1
        self.alive[row] = True
        for name, value in values.items():
            getattr(self, name)[row] = value
        return row

    def remove(self, row: int) -> None:
        """Give a live row back; its cells become empty."""
        for by, records in self._records.items():
            records[row] = self._empty[by]
        self._free.append(row)

    def rows(self) -> NDArray[np.int64]:
        """Live rows in ascending order, shape (len(self),)."""
        return np.flatnonzero(self.alive[: self.size])

    def still(self) -> Self:
        """The same rows in a table of their own, which later changes of this one leave alone."""
        found = copy(self)
        found._free = self._free.copy()
        found._hold({by: records.copy() for by, records in self._records.items()})
        return found

    def _hold(self, records: dict[Writer, NDArray[Any]]) -> None:
        self._records = records
        for by, array in records.items():
            setattr(self, by, array)
            for name in array.dtype.names or ():
                setattr(self, name, array[name])


def _empty(columns: dict[str, Column]) -> NDArray[Any]:
    """An empty record of these columns, without a dimension."""
    dtype = np.dtype([(name, column.kind) for name, column in columns.items()], align=True)
    return np.array(tuple(column.empty for column in columns.values()), dtype=dtype)
