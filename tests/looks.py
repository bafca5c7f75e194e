"""How often does code look at everything that a dictionary holds?"""

from collections.abc import ItemsView, Iterator, ValuesView
from typing import Any


class Counted(dict[Any, Any]):
    """Counts the looks at all of it; one key is no look."""

    looked = 0

    def __iter__(self) -> Iterator[Any]:
        self.looked += 1
        return super().__iter__()

    def items(self) -> ItemsView[Any, Any]:
        """All keys and values."""
        self.looked += 1
        return super().items()

    def values(self) -> ValuesView[Any]:
        """All values."""
        self.looked += 1
        return super().values()
