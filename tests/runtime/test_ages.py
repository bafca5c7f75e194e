"""Is a host believed that says something lasted longer than the host itself?"""

import pytest

from controlplane.model.facts import AttemptEnded, AttemptStarted, Outcome, Progress
from controlplane.runtime.ages import believable
from tests.plane import ended, message, running, started, working

pytestmark = pytest.mark.unit

THIRTY_YEARS_MS = 10**12
PLACE = {"attempt": 1, "stage": 1, "stage_attempt": 0, "index": 0, "executor": "1", "host": "h"}


def over(**times):
    return AttemptEnded(outcome=Outcome.SUCCESS, **PLACE, **times)


def test_what_fits_into_a_life_is_left_as_it_is():
    facts = [AttemptStarted(age_ms=1000, **PLACE), over(duration_ms=600, age_ms=400, run_ms=500)]
    progress = Progress(attempt=[1], age_ms=[1000])
    assert believable(facts, progress, 1000) == (facts, progress, 0)


def test_what_does_not_is_bounded_and_counted():
    facts = [AttemptStarted(age_ms=1001, **PLACE), over(duration_ms=THIRTY_YEARS_MS, age_ms=400, run_ms=2**60)]
    (begun, done), progress, n_bounded = believable(facts, Progress(attempt=[1, 2], age_ms=[5, 1001]), 1000)
    assert begun.age_ms == 1000
    assert (done.age_ms, done.duration_ms, done.run_ms) == (400, 600, 600)
    assert (progress.age_ms, n_bounded) == ([5, 1000], 3)


def test_one_absurd_attempt_spoils_no_estimate(tmp_path):
    """The job would seem to need thirty years for every task; its page and its copies would be made from that."""
    with running(tmp_path, runtime={"snapshot_age_s": 0.0}) as plane:
        plane.reply(message(1, working(20), full=True))
        plane.clock.advance(10.0)
        plane.reply(message(2, [ended(0, duration_ms=THIRTY_YEARS_MS), *(ended(n, host=n % 4) for n in range(1, 10))]))
        plane.reply(message(3, [started(20, index=0, age_ms=THIRTY_YEARS_MS, attempt_number=1)]))
        (pool,) = plane.snapshot().pools
        assert pool.total_core_s < 100
        assert max(attempt.elapsed_s for attempt in pool.attempts) < 100
        assert "grasshopper_ages_bounded_total 2.0" in plane.client.get("/metrics").text


def test_a_driver_met_late_is_believed_about_what_was_before(tmp_path):
    """After a restart of the control plane the first report tells of days; only a month is the bound."""
    with running(tmp_path, runtime={"snapshot_age_s": 0.0}) as plane:
        two_days_ms = 2 * 86_400_000
        facts = [*working(3), started(3, index=3, host=3, age_ms=two_days_ms)]
        facts[-5]["n_tasks"] = 4
        facts[-5]["input_bytes"] = []
        plane.reply(message(1, facts, full=True))
        (pool,) = plane.snapshot().pools
        assert max(attempt.elapsed_s for attempt in pool.attempts) == two_days_ms / 1000
        assert "grasshopper_ages_bounded_total 0.0" in plane.client.get("/metrics").text
        plane.reply(message(1, working(1, application="app-2"), full=True, source="app-2"))
        plane.reply(message(2, [started(8, index=0, age_ms=THIRTY_YEARS_MS)], source="app-2"))
        (pool,) = [pool for pool in plane.snapshot().pools if pool.source == "spark:app-2"]
        assert max(attempt.elapsed_s for attempt in pool.attempts) <= 61
