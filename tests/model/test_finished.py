"""Does a stage's sample of finished attempts keep its ranks, whatever their number and order?"""

import numpy as np
import pytest

from controlplane.model import facts as f
from controlplane.model.finished import MOST_FINISHED, FinishedSample
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit


def sample(durations_s, input_bytes=float("nan"), n_tasks=10**6) -> FinishedSample:
    """What is kept of attempts that ended in this order."""
    kept = FinishedSample(n_tasks)
    for duration_s in durations_s:
        kept.add(float(duration_s), input_bytes)
    return kept


def test_of_a_small_stage_all_are_kept_in_order():
    """Durations ascend, and seconds per byte, each by themselves."""
    kept = FinishedSample(4)
    for duration_s, size in ((4.0, 400.0), (1.0, 10.0), (3.0, float("nan"))):
        kept.add(duration_s, size)
    assert kept.records["duration_s"].tolist() == [1.0, 3.0, 4.0]
    assert kept.records["unit_s"].tolist() == [0.01, 0.1, np.inf]


@pytest.mark.parametrize("n", [511, 512, 513, 1025, 20_000])
@pytest.mark.parametrize("order", ["ascending", "random"])
def test_of_a_large_stage_the_ranks_stay(n, order):
    """In one wave the short ones end first, else anyhow; p of 256 at random is off by sqrt(p (1 - p) / 256) = 0.031."""
    durations_s = np.arange(n) if order == "ascending" else np.random.default_rng(n).permutation(n)
    records = sample(durations_s).records
    assert min(n, MOST_FINISHED // 2) <= len(records) <= MOST_FINISHED
    assert (np.diff(records["duration_s"]) > 0).all()
    for share in (0.1, 0.25, 0.5, 0.9):
        found = records["duration_s"][int(share * len(records))] / n
        assert found == pytest.approx(share, abs=0.01 if order == "ascending" else 0.1)


def test_the_attempt_for_which_there_is_no_room_left_is_kept_if_it_is_its_turn():
    """Every second one goes; the 513th is one of those that stay."""
    durations_s = sample(range(MOST_FINISHED + 1)).records["duration_s"]
    assert durations_s.tolist() == [*range(1, MOST_FINISHED, 2), MOST_FINISHED]


def test_a_task_that_is_run_again_does_not_empty_the_sample_of_its_stage():
    """Lost output makes more attempts finish than there are tasks; room is kept for the tasks only."""
    assert all(len(sample([1.0] * n, n_tasks=1).records) for n in range(1, 20))


def test_only_who_finishes_a_task_first_counts():
    """The other attempt has shown how long it was let run, and a failed one nothing."""
    scenario = Scenario()
    scenario.stage(3, input_bytes=100)
    scenario.start_all(3)
    scenario.tell([scenario.started(9, 3, index=0, speculative=True)])
    scenario.now_s = 5.0
    ends = [
        scenario.ended(0, 5.0),
        scenario.ended(9, 4.0, index=0, speculative=True),
        scenario.ended(1, 3.0, outcome=f.Outcome.FAILED),
        scenario.ended(2, 2.0),
    ]
    scenario.tell([*ends, ends[0]])
    cluster = scenario.scheduler.cluster
    (row,) = cluster.sources[SOURCE].stages.values()
    records = cluster.stage_infos[row].finished.records
    assert records["duration_s"].tolist() == [2.0, 5.0]
    assert records["unit_s"].tolist() == [0.02, 0.05]
