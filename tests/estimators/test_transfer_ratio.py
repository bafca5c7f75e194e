"""Is the transfer ratio learned by recurring job, and is it 1 where nothing is known?"""

import json

import pytest

from controlplane.estimators.transfer_ratio import MOST, TransferRatios

pytestmark = pytest.mark.unit


@pytest.fixture
def learned():
    """Two recurring jobs: `small` leaves a quarter as much for the next stage as `large`."""
    ratios = TransferRatios()
    for _ in range(50):
        ratios.observe("small", "map", shuffled_bytes=1e6, work_s=10.0)
        ratios.observe("large", "map", shuffled_bytes=4e6, work_s=10.0)
    return ratios


def test_recurring_jobs_keep_their_own_ratio(learned):
    """Hopper predicts intermediate data from earlier runs of the same job."""
    small, large = (learned.estimate(job, "map", remaining_work_s=20.0) for job in ("small", "large"))
    assert large == pytest.approx(4 * small)
    assert small < 1 < large


def test_a_new_job_takes_the_ratio_of_its_stage_class(learned):
    """The same kind of stage is the next best guess."""
    assert learned.estimate("new", "map", remaining_work_s=20.0) == pytest.approx(1.0, rel=0.3)


def test_unknown_stages_count_as_those_without_a_downstream(learned):
    """1 leaves the virtual size as it is."""
    assert learned.estimate("new", "never seen", remaining_work_s=20.0) == 1.0
    assert TransferRatios().estimate("new", "map", remaining_work_s=20.0) == 1.0


def test_the_ratio_grows_as_the_work_is_done_and_never_beyond_its_bound(learned):
    """What finished tasks wrote still has to be fetched while less and less work is left."""
    half_way = learned.estimate("large", "map", remaining_work_s=5.0, shuffled_bytes=2e6)
    assert half_way == pytest.approx(2 * learned.estimate("large", "map", remaining_work_s=5.0))
    assert learned.estimate("large", "map", remaining_work_s=1e-9, shuffled_bytes=4e6) == MOST
    assert learned.estimate("large", "map", remaining_work_s=0.0, shuffled_bytes=4e6) == 1.0


def test_a_stage_that_shuffles_nothing_is_not_starved():
    """A ratio of 0 would give a virtual size of 0."""
    ratios = TransferRatios()
    ratios.observe("job", "count", shuffled_bytes=0.0, work_s=5.0)
    ratios.observe("job", "map", shuffled_bytes=1e6, work_s=5.0)
    assert ratios.estimate("job", "count", remaining_work_s=5.0) == 1 / MOST


def test_unknown_bytes_teach_nothing():
    """-1 is the wire's word for unknown."""
    ratios = TransferRatios()
    ratios.observe("job", "map", shuffled_bytes=-1, work_s=5.0)
    ratios.observe("job", "map", shuffled_bytes=5, work_s=0.0)
    assert ratios.dump()["recurring"] == {}


def test_memory_is_bounded_and_survives_json(learned):
    """The least recently seen jobs are forgotten first."""
    for n in range(1500):
        learned.observe(f"job {n}", "map", shuffled_bytes=1e6, work_s=10.0)
    state = json.loads(json.dumps(learned.dump()))
    assert len(state["recurring"]) == 1000
    again = TransferRatios()
    again.load(state)
    assert again.dump() == state
    assert again.estimate("job 1499", "map", remaining_work_s=9.0) == learned.estimate("job 1499", "map", 9.0)


def test_what_is_typical_hardly_moves_with_one_stage(learned):
    """Two recurring jobs average 250 kB/s; one stage of 2 MB/s is one of about forty that count."""
    before = learned.typical_bytes_per_work_s
    learned.observe("new", "map", shuffled_bytes=2e7, work_s=10.0)
    assert before < learned.typical_bytes_per_work_s < 1.4 * before


def test_what_was_learned_before_it_is_recalled_stays(learned):
    """A store that comes late tells of the past; what is typical has been seen since."""
    fresh = TransferRatios()
    fresh.observe("new", "map", shuffled_bytes=2e7, work_s=10.0)
    typical = fresh.typical_bytes_per_work_s
    fresh.load(learned.dump())
    assert fresh.typical_bytes_per_work_s == typical
