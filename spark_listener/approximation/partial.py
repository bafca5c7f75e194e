"""What does a bounded action give back? A result whose type says that it may be partial."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, localcontext
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from spark_listener.approximation.estimates import (
    LEAST_SAMPLE,
    Estimate,
    Withheld,
    estimated,
    exact,
    guessed,
    ratio,
    reaches,
    total,
)

if TYPE_CHECKING:
    from pyspark import RDD

    from spark_listener.approximation.on_executors import Answer

LONGEST_DECIMAL = 76
"""Digits; Spark's decimals have 38 at most, and sums of all partitions are not rounded."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Partial:
    """What was seen of a query before its bound, and what that says of all of it.

    Exact where `is_complete`. It does not turn into a number by itself.
    """

    partitions: int
    """All that the query has."""
    columns: tuple[str, ...]
    """The numeric columns; `value` is that of an RDD."""
    answers: Mapping[int, Answer]
    """By partition seen: its rows, and of each column the values that are not null and their sum."""
    sample: tuple[int, ...]
    """The partitions that are a random sample, all of them seen; empty where those that were seen are none."""
    prune: Callable[[list[int]], RDD[Any]] | None = None
    """Gives an RDD of these partitions alone; None of a DataFrame."""

    @property
    def partitions_seen(self) -> int:
        """How many partitions have ended in time."""
        return len(self.answers)

    @property
    def seen_share(self) -> float:
        """The share of the partitions that has; GRASS's accuracy (NSDI'14, section 2.1)."""
        return self.partitions_seen / self.partitions if self.partitions else 1.0

    @property
    def is_complete(self) -> bool:
        """Whether the bound has left nothing out."""
        return self.partitions_seen == self.partitions

    @property
    def count(self) -> Estimate:
        """How many rows there are."""
        return self._total(lambda answer: answer[0], sum(rows for rows, _ in self._seen()))

    def sum(self, column: str | None = None) -> Estimate:
        """The sum of a numeric column, which need not be named where there is only one; null values do not count.

        Complete, it is that of the partitions' sums, added in their order. It is None where there is no value, and 0
        of an empty RDD.  Raises ValueError for another column, TypeError where an RDD holds no numbers.
        """
        at = self._at(column)
        seen = _sum(self._seen(), at)
        if not self.is_complete and not _values(self._base(), at):
            return guessed(seen, value=None, withheld=Withheld.NOTHING_SEEN)
        return self._total(lambda answer: answer[1][at][1] or 0, seen)

    def mean(self, column: str | None = None) -> Estimate:
        """The mean of a numeric column: its sum over its values that are not null.  Raises as `sum`."""
        at = self._at(column)
        seen = _mean(self._seen(), at)
        if self.is_complete:
            return exact(seen)
        base = self._base()
        if not _values(base, at):
            return guessed(seen, value=None, withheld=Withheld.NOTHING_SEEN)
        if (why := self._withheld()) is not None:
            return guessed(seen, value=float(_mean(base, at)), withheld=why)
        sums, counts = [float(each[1][at][1] or 0) for each in base], [float(each[1][at][0]) for each in base]
        value, error = ratio(sums, counts, self.partitions)
        return estimated(seen, value=value, error=error, reach=reaches(sums, counts))

    def rows(self) -> RDD[Any]:
        """The elements of the partitions that were seen, as an RDD; each is computed again when it is used.

        Raises TypeError for a DataFrame; give `approximate` its `rdd` if you want rows.
        """
        if self.prune is None:
            raise TypeError("rows: a DataFrame's are not kept; call approximate(df.rdd, ...) if you want them")
        return self.prune(sorted(self.answers))

    def __repr__(self) -> str:
        """Says first whether it is partial."""
        state = "complete" if self.is_complete else "partial"
        return f"<{state}: {self.partitions_seen} of {self.partitions} partitions>"

    def _seen(self) -> list[Answer]:
        """All answers, in the order of the partitions."""
        return [self.answers[partition] for partition in sorted(self.answers)]

    def _base(self) -> list[Answer]:
        """What is estimated from: the sample, and without one what was seen."""
        return [self.answers[partition] for partition in self.sample] or self._seen()

    def _withheld(self) -> Withheld | None:
        if not self.sample:
            return Withheld.NOT_A_SAMPLE if self.answers else Withheld.NOTHING_SEEN
        return Withheld.TOO_FEW_PARTITIONS if len(self.sample) < LEAST_SAMPLE else None

    def _total(self, part: Callable[[Answer], Any], seen: Any) -> Estimate:
        """An estimate of what adds up over partitions."""
        if self.is_complete:
            return exact(seen)
        parts = [float(part(answer)) for answer in self._base()]
        if (why := self._withheld()) is not None:
            return guessed(seen, value=_scaled(parts, self.partitions), withheld=why)
        value, error = total(parts, self.partitions)
        return estimated(seen, value=value, error=error, reach=reaches(parts, [1.0] * len(parts)))

    def _at(self, column: str | None) -> int:
        if column is None and len(self.columns) == 1:
            at = 0
        elif column in self.columns:
            at = self.columns.index(column)
        else:
            raise ValueError(f"column: got {column!r}, want one of {', '.join(self.columns) or 'none: no numeric one'}")
        if any(len(columns) <= at for _, columns in self.answers.values()):
            raise TypeError("the elements of the RDD are not numbers: it has a count only")
        return at


def _values(answers: Sequence[Answer], at: int) -> int:
    return sum(columns[at][0] for _, columns in answers)


def _sum(answers: Sequence[Answer], at: int) -> Any:
    return added(columns[at][1] for _, columns in answers)


def _mean(answers: Sequence[Answer], at: int) -> Any:
    values = _values(answers, at)
    return _sum(answers, at) / values if values else None


def added(sums: Iterable[Any]) -> Any:
    """The sum of what is not None, one after the other from 0; None where nothing is. Decimals are not rounded.

    >>> from decimal import Decimal
    >>> added([1, None, 2]), added([None]), added([0.1, 0.2]), added([Decimal("1e30"), Decimal("0.01")])
    (3, None, 0.30000000000000004, Decimal('1000000000000000000000000000000.01'))
    """
    found = [each for each in sums if each is not None]
    with localcontext(Context(prec=LONGEST_DECIMAL)):
        return reduce(add, found, 0) if found else None


def _scaled(parts: Sequence[float], partitions: int) -> float | None:
    return partitions * sum(parts) / len(parts) if parts else None
