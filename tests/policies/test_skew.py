"""Is a bigger task told from a slower one? Ten tasks after SPARK-32170, of which only task 8 is slow."""

import json
from pathlib import Path

import numpy as np
import pytest

from controlplane.model.reasons import Reason
from controlplane.policies.registry import speculator
from controlplane.policies.skew import LONG_LOG, long_from_s

pytestmark = pytest.mark.unit

STAGE = json.loads((Path(__file__).parents[1] / "golden/spark_32170.json").read_text())
BIGGEST = [3, 6, 9]


@pytest.fixture
def stage(running):
    """The ten tasks as the estimators see them after ten seconds."""
    records, rate = np.array(STAGE["records"]), np.array(STAGE["records_per_s"], dtype=float)
    typical = np.exp(np.mean(np.log(np.delete(rate, STAGE["inefficient"]))))
    return running(
        records / rate - STAGE["elapsed_s"],
        records / typical,
        elapsed_s=[STAGE["elapsed_s"]] * 10,
        progress_rate=rate,
        sibling_rate=[typical] * 10,
        relative_size=records / records.mean(),
    )


@pytest.mark.parametrize("name", ["ras", "late"])
def test_only_the_inefficient_task_is_copied(stage, name):
    """Task 9 has as long to go as anybody expects of four times the records; a copy would take as long."""
    assert speculator(name).speculate(stage)["copies"].nonzero()[0].tolist() == STAGE["inefficient"]


@pytest.mark.parametrize("name", ["ras", "late"])
def test_bigger_tasks_are_named_skew(stage, name):
    """An operator who asks why a long task got no copy should read that its input is bigger."""
    reason = speculator(name).speculate(stage)["reason"]
    assert reason[BIGGEST].tolist() == [Reason.SKEW_NOT_STRAGGLER] * 3
    assert Reason.SKEW_NOT_STRAGGLER not in np.delete(reason, BIGGEST)


def test_a_task_alone_is_not_skewed(running):
    """There is nothing to be bigger than."""
    assert speculator("ras").speculate(running([9.0], [9.0]))["reason"].tolist() == [Reason.ON_SCHEDULE]


def test_the_borders_are_not_moved_by_rounding(running):
    """Half as long again is not yet long; three quarters of the siblings' rate is not slow."""
    just_long = running([2.0, 1.0], [9.0, 9.0])
    assert speculator("ras").speculate(just_long)["reason"].tolist() == [Reason.ON_SCHEDULE] * 2
    rates = {"progress_rate": [0.3, 0.4], "sibling_rate": [0.4, 0.4], "relative_size": [2.0, 1.0]}
    just_slow = running([8.0, 1.0], [9.0, 9.0], **rates)
    assert speculator("ras").speculate(just_slow)["reason"].tolist() == [Reason.SKEW_NOT_STRAGGLER, Reason.ON_SCHEDULE]


def test_the_sum_of_logs_is_that_of_huge_times_too():
    """The product of two is more than a float should hold; the third goes on from there."""
    lengths_s = np.array([1e60, 1e60, 1e10])
    found_s = long_from_s(np.zeros(3, dtype=np.int64), lengths_s, np.zeros(3))
    assert found_s[0] == pytest.approx(np.exp((np.log(lengths_s).sum() + 2 * LONG_LOG) / 3))
