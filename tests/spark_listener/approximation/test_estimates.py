"""Are the standard errors those of cluster sampling? Against all samples of a small population, and textbook values."""

import itertools
import math
import statistics

import pytest

from spark_listener.approximation.estimates import estimated, ratio, reaches, total

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


def test_an_interval_reaches_so_many_standard_errors_below_and_above():
    found = estimated(3, value=10.0, error=2.0, reach=(1.5, 4.0))
    assert (found.low, found.high) == (7.0, 18.0)


def test_symmetric_partitions_have_nearly_students_t_and_skewed_ones_reach_further_up():
    """99.5 % quantiles as printed in tables; a sample of few large values has seen too few of them."""
    below, above = reaches([1.0, 2.0, 3.0, 4.0] * 25, [1.0] * 100)
    assert (below, above) == (pytest.approx(2.626, rel=0.1), pytest.approx(2.626, rel=0.1))
    below, above = reaches([float(n**6) for n in range(20)], [1.0] * 20)
    assert below == pytest.approx(2.861, abs=0.001)
    assert above > 1.5 * below


def test_equal_partitions_reach_students_t_and_the_same_sample_as_far_again():
    """No resample of equal ones has an error to compare with."""
    assert reaches([2.0] * 20, [1.0] * 20) == (pytest.approx(2.861, abs=0.001), pytest.approx(2.861, abs=0.001))
    values = [1.0, 4.0, 9.0, 2.0] * 5
    assert reaches(values, [1.0] * 20) == reaches(values, [1.0] * 20)
    assert reaches([0.0] * 19 + [3.0], [0.0] * 19 + [1.0])[0] >= 2.86
