"""How are many rows kept without an object each? Parallel numpy columns that grow by doubling and reuse free rows."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray


class Table:
    """Columns of one length; a row number is stable for as long as its row lives.

    Subclasses list `COLUMNS` as name -> (dtype, value of an empty cell). Growing replaces the arrays, so a column is
    read from the table each time and never kept across `add`.
    """

    COLUMNS: ClassVar[dict[str, tuple[type, float]]] = {}

    def __init__(self, capacity: int = 64) -> None:
        self.alive: NDArray[np.bool_] = np.zeros(capacity, dtype=bool)
        self.size = 0
        """Rows ever used; every live row is below it."""
        self._free: list[int] = []
        for name, (dtype, empty) in self.COLUMNS.items():
            setattr(self, name, np.full(capacity, empty, dtype=dtype))

    def __len__(self) -> int:
        return self.size - len(self._free)

    def add(self, **values: float) -> int:
        """Take a free row, fill the named cells, leave the others empty; returns the row."""
        if self._free:
            row = self._free.pop()
        else:
            row = self.size
            if row == len(self.alive):
                self._double()
            self.size += 1
        self.alive[row] = True
        for name, value in values.items():
            getattr(self, name)[row] = value
        return row

    def remove(self, row: int) -> None:
        """Give a live row back; its cells become empty."""
        self.alive[row] = False
        for name, (_, empty) in self.COLUMNS.items():
            getattr(self, name)[row] = empty
        self._free.append(row)

    def rows(self) -> NDArray[np.int64]:
        """Live rows in ascending order, shape (len(self),)."""
        return np.flatnonzero(self.alive[: self.size])

    def _double(self) -> None:
        more = len(self.alive)
        self.alive = np.concatenate([self.alive, np.zeros(more, dtype=bool)])
        for name, (dtype, empty) in self.COLUMNS.items():
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.full(more, empty, dtype=dtype)]))
