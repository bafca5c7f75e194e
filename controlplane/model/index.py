"""Which rows do a source's ids lead to? A dictionary that knows its rows as an array, too."""

from typing import Any, TypeVar

import numpy as np

from controlplane.model.columns import Ints

_Id = TypeVar("_Id")


class Index(dict[_Id, int]):
    """Rows by id, in order of arrival. It changes by assignment, `del` and `pop` alone.

    >>> index = Index()
    >>> index["a"] = 3
    >>> index.rows.tolist()
    [3]
    """

    __slots__ = ("_rows",)

    def __init__(self, *items: Any) -> None:
        super().__init__(*items)
        self._rows: Ints | None = None

    @property
    def rows(self) -> Ints:
        """The rows, shape (len(self),): the same array until an id comes or goes. It is read only."""
        if self._rows is None:
            self._rows = np.fromiter(self.values(), dtype=np.int64, count=len(self))
            self._rows.setflags(write=False)
        return self._rows

    def __setitem__(self, key: _Id, row: int) -> None:
        self._rows = None
        super().__setitem__(key, row)

    def __delitem__(self, key: _Id) -> None:
        self._rows = None
        super().__delitem__(key)

    def pop(self, *key: Any) -> Any:
        """Take an id out; returns its row, or the default."""
        self._rows = None
        return super().pop(*key)

    def copy(self) -> "Index[_Id]":
        """The same ids and rows."""
        return Index(self)
