"""What do the partitions of a random sample say of all? Totals and means, with their 95 % intervals.

Whole partitions are drawn, without replacement: cluster sampling. An interval counts how much partitions differ, with
the finite population correction and Student's t. It is as good as the sum of the draws is normal: where a handful of
partitions holds most of a total, and few are drawn, it is too narrow.
Source: Cochran, Sampling Techniques, 3rd edition, sections 2.6 (totals) and 6.3 (ratios).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

CONFIDENCE = 0.95


class Withheld(StrEnum):
    """Why an estimate has no interval."""

    NOT_A_SAMPLE = "not_a_sample"
    """The partitions that were seen are those that ended first."""
    TOO_FEW_PARTITIONS = "too_few_partitions"
    """Of a single partition nobody knows how much partitions differ."""
    NOTHING_SEEN = "nothing_seen"
    """No partition, or no value in any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A count, sum or mean of all partitions. It is no number by itself: say which of its fields you mean."""

    seen: Any
    """That of the partitions that were seen, exactly; None where SQL gives null."""
    value: Any
    """That of all partitions: `seen` if all were, else estimated from the sample; without one, from what was seen."""
    low: Any
    high: Any
    """The interval that holds the true value with a probability of `CONFIDENCE`; None where it is withheld."""
    withheld: Withheld | None = None
    """Why there is no interval."""


def exact(seen: Any) -> Estimate:
    """What all partitions were seen for."""
    return Estimate(seen=seen, value=seen, low=seen, high=seen)


def guessed(seen: Any, *, value: float | None, withheld: Withheld) -> Estimate:
    """An estimate without an interval."""
    return Estimate(seen=seen, value=value, low=None, high=None, withheld=withheld)


def estimated(seen: Any, *, value: float, error: float, drawn: int) -> Estimate:
    """An estimate with its standard error, from that many partitions, two or more."""
    half = students_t(drawn - 1) * error
    return Estimate(seen=seen, value=value, low=value - half, high=value + half)


def students_t(freedom: int) -> float:
    """How many standard errors an interval reaches to each side.

    >>> [round(students_t(freedom), 3) for freedom in (1, 9, 1000)]
    [12.706, 2.262, 1.962]
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + CONFIDENCE / 2))


def total(drawn: Sequence[float], partitions: int) -> tuple[float, float]:
    """The total over all partitions by those drawn, two or more, and its standard error.

    >>> total([1.0, 3.0], partitions=2), total([2.0, 2.0], partitions=10)
    ((4.0, 0.0), (20.0, 0.0))
    """
    mean = math.fsum(drawn) / len(drawn)
    return partitions * mean, partitions * _error_of_mean([each - mean for each in drawn], partitions)


def ratio(sums: Sequence[float], counts: Sequence[float], partitions: int) -> tuple[float, float]:
    """The mean of all values by the sums and counts of the partitions drawn, two or more, and its standard error.

    Linearised: biased by a share of the order of 1/n.  Not all counts are 0.

    >>> ratio([10.0, 30.0], [5.0, 15.0], partitions=100)
    (2.0, 0.0)
    """
    mean = math.fsum(sums) / math.fsum(counts)
    residuals = [of_sum - mean * count for of_sum, count in zip(sums, counts, strict=True)]
    return mean, _error_of_mean(residuals, partitions) * len(counts) / math.fsum(counts)


def _error_of_mean(residuals: Sequence[float], partitions: int) -> float:
    """Standard error of the mean of partitions drawn, by how far each is from it."""
    drawn = len(residuals)
    variance = math.fsum(each * each for each in residuals) / (drawn - 1)
    return math.sqrt((1.0 - drawn / partitions) * variance / drawn)
