"""Does the record of foretold against actual times stay bounded and say what an operator asks?"""

from math import inf, nan

import pytest

from controlplane.estimators.accuracy import Accuracy

pytestmark = pytest.mark.unit


def test_the_median_says_too_long_or_too_short_and_the_spread_how_sure():
    """Half and double are equally wrong, so the median of both is right and the spread is not."""
    accuracy = Accuracy()
    for actual_s in (1.0, 2.0, 4.0):
        accuracy.observe("t_new", foretold=2.0, actual=actual_s)
    summary = accuracy.summary()
    assert summary["t_new_median_ratio"] == pytest.approx(1.0)
    assert summary["t_new_spread"] == pytest.approx(2 ** (0.84 - 0.16))
    assert "t_rem_samples" not in summary


def test_unknown_times_are_left_out():
    """An estimate of infinity was none."""
    accuracy = Accuracy()
    for foretold_s, actual_s in ((inf, 1.0), (1.0, 0.0), (nan, 1.0), (0.0, 1.0), (1.0, nan)):
        accuracy.observe("t_rem", foretold_s, actual_s)
    assert accuracy.summary() == {}


def test_only_the_latest_estimates_count():
    """Bounded memory; and an estimator that has learned is not held to its first guesses."""
    accuracy = Accuracy(limit=10)
    for n in range(100):
        accuracy.observe("t_rem", foretold=8.0 if n < 90 else 1.0, actual=1.0)
    summary = accuracy.summary()
    assert (summary["t_rem_samples"], summary["t_rem_median_ratio"], summary["t_rem_spread"]) == (
        10.0,
        1.0,
        1.0,
    )
