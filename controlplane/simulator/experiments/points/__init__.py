"""What is measured? A kind of point is a class in one of these files, which read nothing that only judges or presents.

`controlplane.simulator.provenance` starts from them: what they import is the code that results depend on.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Point(ABC):
    """What is computed on seeds 1 to `runs`. Its repr says all that the results depend on, but for the code."""

    with_engine: ClassVar[bool] = False
    """Whether the live engine decides in it, so that its results depend on that code, too."""
    runs: int = 1

    @property
    def seeds(self) -> range:
        """Each is a computation of its own."""
        return range(1, self.runs + 1)

    @abstractmethod
    def measure(self, seed: int) -> Any:
        """The result on one seed, made of what JSON can hold; takes seconds, not minutes."""
