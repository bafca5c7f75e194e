"""Is it foretold whether a job keeps its deadline, at once where it cannot, and is it noted what came of it?"""

from math import isnan

import pytest

from controlplane.engine import promises
from controlplane.model import facts as f
from controlplane.model.reasons import Reason
from tests.engine.test_deadline_copies import begun, read
from tests.scenario import SOURCE

pytestmark = pytest.mark.unit


def pocd_of(scenario, job="job"):
    """What a snapshot says of the job's deadline."""
    (pool,) = scenario.scheduler.snapshot(scenario.now_s).pools
    return next(each for each in pool.jobs if each.job == job).pocd


def end(scenario, outcome=f.Outcome.SUCCESS, job="job", age_ms=0):
    """The promises that the job's end settles."""
    return scenario.tell([f.JobEnded(job=job, outcome=outcome, age_ms=age_ms)]).promises


def test_a_job_says_how_likely_it_is_in_time_and_what_copies_would_change():
    """One task reads 200 bytes per second and the other 20: it would end after 50 s, and has 60."""
    scenario = begun(60_000)
    assert (pocd_of(scenario).reason, pocd_of(scenario).choices) == ("pace_unknown", [])
    read(scenario, {0: 200.0, 1: 20.0}, until_s=2.0)
    found = pocd_of(scenario)
    assert (found.reason, found.sentence, found.hopeless) == ("none", "", False)
    assert [each.further for each in found.choices] == [0, 1, 2, 3]
    assert 0.0 < found.choices[0].pocd < 1.0
    assert found.first_pocd is not None
    assert found.age_s <= promises.LOOK_EVERY_S


def test_a_job_like_an_earlier_one_has_a_pocd_as_soon_as_all_of_its_tasks_run():
    """None of them has shown any progress: how long such tasks take is learned from the earlier job's."""
    scenario = begun(60_000)
    scenario.now_s = 10.0
    scenario.tell([scenario.ended(0, 10.0), scenario.ended(1, 10.0)])
    scenario.tell([f.StageEnded(stage=1, stage_attempt=0), f.JobEnded(job="job")])
    scenario.tell([f.JobSubmitted(job="next", deadline_ms=60_000)])
    scenario.stage(2, job="next", stage=2, input_bytes=1000, name="stage 1")
    scenario.now_s = 11.1
    scenario.tell([scenario.started(2, 0, stage=2, index=0)])
    assert pocd_of(scenario, "next").reason == "tasks_wait"
    scenario.now_s = 12.2
    scenario.tell([scenario.started(3, 1, stage=2, index=1)])
    found = pocd_of(scenario, "next")
    assert (found.reason, found.hopeless) == ("none", False)
    assert 0.5 < found.first_pocd < found.with_copies < 1.0


def test_what_was_chosen_counts_in_the_promise():
    """Copies that are ordered raise it before they start."""
    scenario = begun(20_000)
    read(scenario, {0: 200.0, 1: 20.0}, until_s=3.0)
    found = pocd_of(scenario)
    assert [(each.index, each.copies, each.ordered_copies) for each in found.copied] == [(1, 0, 3)]
    assert found.choices[0].pocd == found.newest_pocd > 0.99, "by its first attempt alone task 1 would be late"


def test_a_deadline_that_cannot_be_met_is_said_at_once():
    """The slow task needs 45 s more, a copy 5: there are 2."""
    scenario = begun(3_000)
    read(scenario, {0: 200.0, 1: 20.0}, until_s=2.0)
    found = pocd_of(scenario)
    assert (found.hopeless, found.reason) == (True, "hopeless")
    assert found.sentence == "The job ends after its deadline, whatever copies it gets."
    assert [(each.further, each.pocd) for each in found.choices] == [(0, 0.0)]


def test_a_deadline_that_passes_while_nothing_runs_is_hopeless():
    """All of its tasks wait; no attempt runs in the pool."""
    scenario = begun(60_000)
    scenario.tell([f.JobSubmitted(job="late", deadline_ms=5_000)])
    scenario.stage(2, job="late", stage=2, input_bytes=1000)
    scenario.now_s = 1.0
    scenario.tell([scenario.ended(0, 1.0), scenario.ended(1, 1.0)])
    assert pocd_of(scenario, "late").reason == "tasks_wait"
    scenario.now_s = 6.0
    scenario.tell()
    assert pocd_of(scenario, "late").hopeless


def test_a_job_without_a_deadline_says_nothing_of_one():
    """Nothing is promised, so nothing is noted either."""
    scenario = begun(-1)
    read(scenario, {0: 200.0, 1: 20.0}, until_s=2.0)
    assert pocd_of(scenario) is None
    assert end(scenario) == []


def test_stages_to_come_of_unknown_length_leave_it_unknown_until_a_job_of_the_name_has_ended():
    """What they take is off the deadline from then on."""
    scenario = begun(60_000)
    job = f.JobSubmitted(
        job="job", name="nightly", deadline_ms=60_000, stages=[1, 2], stage_tasks=[2, 2], edges=[(1, 2)]
    )
    scenario.tell([job])
    read(scenario, {0: 100.0, 1: 20.0}, until_s=3.0)
    assert pocd_of(scenario).reason == "later_stages"
    scenario.scheduler.learning.later.observe("nightly", 5.0)
    scenario.tell([job])
    read(scenario, {0: 100.0, 1: 20.0}, until_s=5.0)
    assert pocd_of(scenario).reason == "none"


def test_what_was_promised_and_kept_is_told_at_the_end_and_once():
    """The first probability that was known, and the newest one."""
    scenario = begun(60_000)
    read(scenario, {0: 200.0, 1: 20.0}, until_s=2.0)
    newest = pocd_of(scenario).newest_pocd
    (promise,) = end(scenario)
    assert (promise.source, promise.epoch, promise.job, promise.kept) == (SOURCE, 1, "job", True)
    assert promise.newest_pocd == newest
    assert 0.0 < promise.first_pocd < promise.first_with_copies < 1.0
    assert end(scenario) == []


def test_what_the_last_job_of_a_driver_promised_is_told_though_it_says_good_bye_at_once():
    """An application of one job ends with it: what is told of both comes in one message."""
    scenario = begun(60_000)
    read(scenario, {0: 200.0, 1: 20.0}, until_s=2.0)
    facts = [f.JobEnded(job="job"), f.DriverDetached()]
    (promise,) = scenario.tell(facts).promises
    assert (promise.source, promise.epoch, promise.job, promise.kept) == (SOURCE, 1, "job", True)
    assert SOURCE not in scenario.scheduler.cluster.sources


def test_a_job_that_comes_again_under_its_key_has_a_deadline_of_its_own():
    """Even if both are told at once: the first was late, and the second, which has 60 s, is young."""
    scenario = begun(20_000)
    scenario.now_s = 50.0
    (first,) = scenario.tell([f.JobEnded(job="job"), f.JobSubmitted(job="job", deadline_ms=60_000)]).promises
    jobs = scenario.scheduler.cluster.jobs
    assert (first.kept, jobs.submitted_s[0], jobs.deadline_s[0]) == (False, 50.0, 110.0)
    scenario.now_s = 90.0
    scenario.tell([f.JobSubmitted(job="job", deadline_ms=60_000, age_ms=1000)])
    assert jobs.deadline_s[0] == 110.0, "a job that goes on keeps it"
    (second,) = end(scenario)
    assert second.kept


def test_a_job_that_ends_after_its_deadline_has_missed_it_however_it_ends():
    """By the time of its end, not of the report; what was said after the deadline is no promise."""
    for outcome in (f.Outcome.SUCCESS, f.Outcome.FAILED):
        scenario = begun(20_000)
        read(scenario, {0: 50.0, 1: 20.0}, until_s=4.0)
        newest = pocd_of(scenario).newest_pocd
        scenario.now_s = 24.0
        scenario.tell(progress={1: 480})
        assert pocd_of(scenario).hopeless
        (promise,) = end(scenario, outcome, age_ms=1000)
        assert (promise.kept, promise.newest_pocd) == (False, newest)
    in_time = begun(20_000)
    in_time.now_s = 24.0
    (promise,) = end(in_time, age_ms=5000)
    assert promise.kept


def test_a_job_that_fails_before_its_deadline_says_nothing_of_promises():
    """Nor does one that is only gone from a full report: nobody knows when it ended."""
    scenario = begun(20_000)
    assert end(scenario, f.Outcome.FAILED) == []
    scenario = begun(20_000)
    scenario.now_s = 30.0
    decision = scenario.tell([scenario.attached, *scenario.executors], full=True)
    assert decision.promises == []


def test_a_job_of_which_nothing_was_known_is_told_without_a_promise():
    """It counts among the jobs, and in no calibration."""
    (promise,) = end(begun(20_000))
    assert (promise.first_pocd, promise.newest_pocd, promise.first_with_copies) == (None, None, None)


def test_jobs_are_looked_at_once_a_second_and_in_turns(monkeypatch):
    """A cycle looks at no more attempts than it may, those of the jobs looked at longest ago first."""
    scenario = begun(60_000)
    jobs = scenario.scheduler.cluster.jobs
    scenario.now_s = 5.0
    scenario.tell()
    looked_s = float(jobs.looked_s[0])
    scenario.now_s = looked_s + 0.9
    scenario.tell()
    assert jobs.looked_s[0] == looked_s
    scenario.tell([f.JobSubmitted(job="other", deadline_ms=60_000)])
    scenario.stage(2, job="other", stage=2, input_bytes=1000)
    scenario.tell([scenario.started(10, 2, stage=2, index=0), scenario.started(11, 3, stage=2, index=1)])
    monkeypatch.setattr(promises, "MOST_ATTEMPTS", 1)
    for later_s, turn in ((2.0, 0), (2.1, 1), (4.3, 0), (5.4, 1)):
        scenario.now_s = looked_s + later_s
        scenario.tell()
        assert jobs.looked_s[turn] == scenario.now_s
        assert jobs.looked_s[1 - turn] < scenario.now_s


def test_a_new_job_in_the_row_of_an_old_one_has_been_promised_nothing():
    """Rows are used again."""
    scenario = begun(60_000)
    read(scenario, {0: 200.0, 1: 20.0}, until_s=2.0)
    scenario.tell([scenario.ended(0, 2.0), scenario.ended(1, 2.0), f.StageEnded(stage=1, stage_attempt=0)])
    end(scenario)
    scenario.tell()
    scenario.tell([f.JobSubmitted(job="new", deadline_ms=60_000)])
    row = scenario.scheduler.cluster.sources[SOURCE].jobs["new"]
    jobs = scenario.scheduler.cluster.jobs
    assert row == 0
    assert isnan(jobs.first_pocd[row])
    assert Reason(int(jobs.outlook_reason[row])) is Reason.PACE_UNKNOWN


def test_a_copy_that_has_just_started_takes_no_knowledge_away():
    """Its task's original has shown its pace; nothing is known only where no attempt of a task has."""
    scenario = begun(60_000)
    read(scenario, {0: 200.0, 1: 20.0}, until_s=3.9)
    scenario.tell([scenario.started(10, 2, index=1, speculative=True)])
    scenario.now_s = 4.0
    scenario.tell(progress={0: 800, 1: 80})
    (pool,) = scenario.scheduler.snapshot(scenario.now_s).pools
    assert [attempt.too_new for attempt in pool.attempts] == [False, False, True]
    assert (pocd_of(scenario).reason, pocd_of(scenario).age_s) == ("none", 0.0)
