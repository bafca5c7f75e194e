"""How are many rows kept without one object each? One array of records that grows by doubling and reuses free rows."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Column(NamedTuple):
    """A field of a table's records."""

    kind: type
    empty: float
    """The value of an empty cell."""
    by: str = ""
    """Its one writer, as `columns.Writer`."""


class Table:
    """Records of one type; a row number is stable for as long as its row lives.

    The class attributes of a subclass that are a `Column` are its columns; a table has arrays in their place:
    `table.name[row]`. Kernels take the `records` whole. Growing replaces the arrays, so a column is read from the table
    each time and never kept across `add`.
    """

    alive: NDArray[np.bool_]

    def __init__(self, capacity: int = 64) -> None:
        columns = {"alive": Column(np.bool_, False)}
        columns |= {name: column for name, column in vars(type(self)).items() if isinstance(column, Column)}
        dtype = np.dtype([(name, column.kind) for name, column in columns.items()], align=True)
        self._empty = np.array(tuple(column.empty for column in columns.values()), dtype=dtype)
        self._free: list[int] = []
        self.size = 0
        """Rows ever used; every live row is below it."""
        self._hold(np.full(capacity, self._empty))

    def __len__(self) -> int:
        return self.size - len(self._free)

    def add(self, **values: float) -> int:
        """Take a free row, fill the named cells, leave the others empty; returns the row."""
        if self._free:
            row = self._free.pop()
        else:
            row = self.size
            if row == len(self.records):
                self._hold(np.concatenate([self.records, np.full(row, self._empty)]))
            self.size += 1
        self.alive[row] = True
        for name, value in values.items():
            getattr(self, name)[row] = value
        return row

    def remove(self, row: int) -> None:
        """Give a live row back; its cells become empty."""
        self.records[row] = self._empty
        self._free.append(row)

    def rows(self) -> NDArray[np.int64]:
        """Live rows in ascending order, shape (len(self),)."""
        return np.flatnonzero(self.alive[: self.size])

    def _hold(self, records: NDArray[Any]) -> None:
        self.records = records
        for name in records.dtype.names or ():
            setattr(self, name, records[name])
