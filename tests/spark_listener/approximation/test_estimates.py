"""Are the standard errors those of cluster sampling? Against all samples of a small population, and textbook values."""

import itertools
import math
import statistics

import pytest

from spark_listener.approximation.estimates import estimated, ratio, students_t, total

pytestmark = pytest.mark.unit
VALUES = (1.0, 4.0, 4.5, 9.0, 2.0, 7.0)


@pytest.mark.parametrize("drawn", [2, 3, 5])
def test_a_total_and_its_variance_are_unbiased_over_all_samples(drawn):
    """The mean over all samples is the truth, and the mean of the squared errors is the variance of the totals."""
    found = [total(sample, partitions=len(VALUES)) for sample in itertools.combinations(VALUES, drawn)]
    values = [value for value, _ in found]
    assert math.isclose(statistics.mean(values), sum(VALUES))
    assert math.isclose(statistics.mean(error**2 for _, error in found), statistics.pvariance(values))


def test_a_ratio_is_that_of_the_sums_and_its_error_the_linearised_one():
    """Cochran's formula with the mean count of the sample: (1 - n/N) sum (y - R x)^2 / (n (n - 1) mean(x)^2)."""
    sums, counts = [10.0, 12.0, 5.0], [4.0, 6.0, 2.0]
    mean = 27.0 / 12.0
    residuals = [10.0 - 4 * mean, 12.0 - 6 * mean, 5.0 - 2 * mean]
    variance = (1 - 3 / 10) * sum(each**2 for each in residuals) / (3 * 2) / 4.0**2
    value, error = ratio(sums, counts, partitions=10)
    assert (value, error) == (pytest.approx(mean), pytest.approx(math.sqrt(variance)))


def test_all_partitions_leave_no_error():
    assert total(VALUES, partitions=len(VALUES))[1] == 0.0
    assert ratio(VALUES, [1.0] * len(VALUES), partitions=len(VALUES)) == (pytest.approx(sum(VALUES) / len(VALUES)), 0.0)


def test_an_interval_reaches_students_t_standard_errors_to_each_side():
    """97.5 % quantiles as printed in tables."""
    assert students_t(4) == pytest.approx(2.776, abs=0.001)
    found = estimated(3, value=10.0, error=2.0, drawn=5)
    assert (found.low, found.high) == (pytest.approx(10 - 2 * 2.776, abs=0.01), pytest.approx(10 + 2 * 2.776, abs=0.01))
