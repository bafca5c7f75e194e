"""How long did the finished attempts of one stage take? All of them, or a sample with the same ranks."""

from math import inf

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Floats, Records

FINISHED = np.dtype(
    [
        ("duration_s", np.float64),  # launch to end
        ("unit_s", np.float64),  # seconds per unit of work; inf where its work is unknown
    ],
    align=True,
)
"""A finished attempt; each column ascends within its stage. Policies whose row has `by_finished` see all of a stage, or
an evenly thinned sample of `MOST_FINISHED`; others see none."""
MOST_FINISHED = 512
"""Most kept per stage. With half as many, a quartile is off by less than three points two times in three."""
_NONE = np.zeros(0, dtype=FINISHED)


class FinishedSample:
    """The attempts that were the first to finish tasks of one stage; without any, it holds no room for them."""

    __slots__ = ("_every", "_kept", "_n_tasks", "_records", "_seen")

    def __init__(self, n_tasks: int) -> None:
        self._n_tasks, self._records = n_tasks, _NONE
        self._kept, self._every, self._seen = 0, 1, 0

    @classmethod
    def of(cls, duration_s: list[float], unit_s: list[float]) -> "FinishedSample":
        """A fixed sample: seconds, and seconds per byte of those with known input. It accepts no more."""
        sample = cls(0)
        sample._records, sample._kept = np.zeros(len(duration_s), dtype=FINISHED), len(duration_s)
        sample._records["duration_s"], sample._records["unit_s"] = np.sort(duration_s), inf
        known_s = np.sort(unit_s)[: len(duration_s)]
        sample._records["unit_s"][: len(known_s)] = known_s
        return sample

    def __len__(self) -> int:
        return self._kept

    @property
    def records(self) -> Records:
        """`FINISHED` records, shape (n,); seconds per byte of input are infinite if it is not known."""
        return self._records[: self._kept]

    def add(self, duration_s: float, input_bytes: float) -> None:
        """Add one more attempt; its input is nan if it is not known."""
        if not self._seen:
            self._records = np.zeros(min(max(self._n_tasks, 2), MOST_FINISHED), dtype=FINISHED)
        unit_s = duration_s / input_bytes if input_bytes > 0 else inf
        self._kept, self._every = take_in(self._records, self._kept, self._every, self._seen, duration_s, unit_s)
        self._seen += 1


@kernel
def take_in(records: Records, kept: int, every: int, seen: int, duration_s: float, unit_s: float) -> tuple[int, int]:
    """Keep a finished attempt if it is its turn; returns how many are kept, and how many each stands for.

    `seen` attempts came before it; one in `every` was kept, `kept` in all. With no room left every second goes, which
    leaves the ranks of the others as they were.
    """
    if seen % every != 0:
        return kept, every
    if kept == len(records):
        kept, every = kept // 2, 2 * every
        for column in (records["duration_s"], records["unit_s"]):
            for place in range(kept):
                column[place] = column[2 * place + 1]
        if seen % every != 0:
            return kept, every
    insert(records["duration_s"], kept, duration_s)
    insert(records["unit_s"], kept, unit_s)
    return kept + 1, every


@rule
def insert(values: Floats, n: int, value: float) -> None:
    """Insert a number at its place among the first n, which ascend.

    >>> values = np.array([1.0, 4.0, 0.0])
    >>> insert(values, 2, 2.0)
    >>> values.tolist()
    [1.0, 2.0, 4.0]
    """
    while n > 0 and values[n - 1] > value:
        values[n] = values[n - 1]
        n -= 1
    values[n] = value
