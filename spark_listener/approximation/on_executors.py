"""What does a task of a bounded action tell the driver? The rows of its partition, and a sum for each column.

Executors need not have this package: what is defined here is pickled by value.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import chain
from numbers import Real
from typing import Any

from pyspark import Accumulator, AccumulatorParam, cloudpickle

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

Answer = tuple[int, tuple[tuple[int, Any], ...]]
"""Of one partition: its rows, and of each column how many values it has that are not null, and their sum."""


class Answers(AccumulatorParam[dict[int, Answer]]):
    """The answers so far, by partition. Of a result stage, Spark adds each partition's once, whatever its attempts."""

    def zero(self, value: dict[int, Answer]) -> dict[int, Answer]:
        """None yet."""
        return {}

    def addInPlace(self, value1: dict[int, Answer], value2: dict[int, Answer]) -> dict[int, Answer]:  # noqa: N802
        """Both; PySpark's name."""
        value1.update(value2)
        return value1


def answering(
    accumulator: Accumulator[dict[int, Answer]], answer: Callable[[Iterator[Any]], Answer]
) -> Callable[[int, Iterable[Any]], Iterator[tuple[int, Answer]]]:
    """A task's function: the answer goes to the accumulator, and to the job's own result with its partition."""

    def of_partition(index: int, elements: Iterable[Any]) -> Iterator[tuple[int, Answer]]:
        found = answer(iter(elements))
        accumulator.add({index: found})
        yield index, found

    return of_partition


def same(elements: Iterable[Any]) -> Iterable[Any]:
    """What `SparkContext.runJob` is to do with a partition of answers."""
    return elements


def answer_of_aggregate(rows: Iterator[Any]) -> Answer:
    """The answer of a partition that a plan has made one row of: all rows, then values and sum of each column.

    It reads to the end, because Spark ends a Python worker that has not.

    >>> answer_of_aggregate(iter([(9, 8, 2.5, 0, None)]))
    (9, ((8, 2.5), (0, None)))
    """
    [found] = rows
    return found[0], tuple(zip(found[1::2], found[2::2], strict=True))


def answer_of_elements(elements: Iterator[Any]) -> Answer:
    """The answer of a partition of an RDD; without columns where its elements are not numbers.

    The sum is Python's own, as in `RDD.sum`.  Raises TypeError where a number comes first, and later something else.

    >>> answer_of_elements(iter([1, 2.5])), answer_of_elements(iter("abc")), answer_of_elements(iter([]))
    ((2, ((2, 3.5),)), (3, ()), (0, ((0, 0),)))
    """
    for first in elements:
        rest = chain([first], elements)
        break
    else:
        return 0, ((0, 0),)
    rows = 0

    def counted() -> Iterator[Any]:
        nonlocal rows
        for element in rest:
            rows += 1
            yield element

    if not isinstance(first, Real | Decimal):
        return sum(1 for _ in rest), ()
    total = sum(counted())
    return rows, ((rows, total),)
