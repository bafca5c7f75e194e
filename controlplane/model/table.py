"""How are many rows kept without an object each? One array of records that grows by doubling and reuses free rows."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray


class Table:
    """Records of one type; a row number is stable for as long as its row lives.

    Subclasses list `COLUMNS` as name -> (dtype, value of an empty cell), and can be read by column: `table.name[row]`.
    Kernels take the `records` whole. Growing replaces the arrays, so a column is read from the table each time and
    never kept across `add`.
    """

    COLUMNS: ClassVar[dict[str, tuple[type, float]]] = {}

    alive: NDArray[np.bool_]

    def __init__(self, capacity: int = 64) -> None:
        columns = {"alive": (np.bool_, 0), **self.COLUMNS}
        dtype = np.dtype([(name, kind) for name, (kind, _) in columns.items()], align=True)
        self._empty = np.array(tuple(empty for _, empty in columns.values()), dtype=dtype)
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
        record = self.records[row]
        record["alive"] = True
        for name, value in values.items():
            record[name] = value
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
