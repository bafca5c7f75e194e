"""Does the page's record tell what happened, and stay small?"""

import pytest

from controlplane.model.decisions import Report
from controlplane.model.facts import (
    AttemptEnded,
    AttemptStarted,
    DriverAttached,
    ExecutorLost,
    JobEnded,
    JobSubmitted,
    Outcome,
    QueuedApplication,
    QueueDemand,
    StageSubmitted,
)
from controlplane.model.snapshot import HostState
from controlplane.runtime import history as remembered
from controlplane.runtime.history import History
from controlplane.runtime.holdings import MOST_HOLDINGS, container_seconds, note_change
from controlplane.runtime.parameters import RuntimeSettings
from tests.looks import Counted
from tests.plane import message, started, working

pytestmark = pytest.mark.unit

WELL = {"slowness": 1.0, "confidence": 0.0, "sick": False, "slots": 4, "running": 0}


def start(attempt, **more):
    place = {"stage": 1, "stage_attempt": 0, "index": attempt, "executor": "1", "host": "h"}
    return AttemptStarted(attempt=attempt, **(place | more))


def end(attempt, outcome=Outcome.SUCCESS, **more):
    place = {"stage": 1, "stage_attempt": 0, "index": attempt, "executor": "1", "host": "h", "duration_ms": 500}
    return AttemptEnded(attempt=attempt, outcome=outcome, **(place | more))


def tell(history, facts, *, at_s=10.0, epoch=1, full=False):
    history.add(Report(source="spark:a", epoch=epoch, received_s=at_s, facts=facts, full=full))


@pytest.fixture
def history():
    history = History(RuntimeSettings(history_jobs=3, history_attempts=10, history_age_s=100.0))
    job = [JobSubmitted(job="j"), StageSubmitted(job="j", stage=1, stage_attempt=0, n_tasks=50)]
    tell(history, [DriverAttached(application="a"), *job])
    return history


def test_a_job_group_that_is_used_again_is_another_job(history):
    """A notebook's cells share a group: the second does not last from the first one's start."""
    tell(history, [start(1)], at_s=11.0)
    tell(history, [end(1), JobEnded(job="j")], at_s=12.0)
    again = [JobSubmitted(job="j"), StageSubmitted(job="j", stage=2, stage_attempt=0, n_tasks=1)]
    tell(history, [*again, start(7, stage=2)], at_s=60.0)
    job, _ = history.find("spark:a", 7)
    assert (job.submitted_s, job.ended_s, list(job.attempts)) == (60.0, None, [7])
    assert history.find("spark:a", 1) is None


def test_a_source_that_starts_again_keeps_the_attempts_of_stages_with_old_numbers(history):
    """A second application attempt numbers its stages from 0 again; the first one's jobs are dropped later."""
    for number in range(4):
        job = [
            JobSubmitted(job=f"again {number}"),
            StageSubmitted(job=f"again {number}", stage=1, stage_attempt=0, n_tasks=1),
        ]
        tell(history, [DriverAttached(application="a"), *job], at_s=20.0 + number, full=True)
    history.prune(30.0)
    tell(history, [start(7)], at_s=31.0)
    job, _ = history.find("spark:a", 7)
    assert job.job == "again 3"


def test_a_job_of_the_same_id_in_a_new_run_of_its_source_is_another_job(history):
    """A driver that died says no goodbye; its successor's first attempt has the id of the old one's."""
    tell(history, [start(1, index=7)], at_s=11.0)
    job = [JobSubmitted(job="j", age_ms=500), StageSubmitted(job="j", stage=1, stage_attempt=0, n_tasks=50)]
    tell(history, [DriverAttached(application="a"), *job, start(1, index=3)], at_s=20.0, epoch=2, full=True)
    job, attempt = history.find("spark:a", 1)
    assert (job.epoch, job.submitted_s, attempt.index) == (2, 19.5, 3)


def test_an_attempt_of_an_older_run_is_found_by_its_epoch(history):
    """For as long as its job is kept; without an epoch the newest run counts."""
    tell(history, [start(1, index=7)], at_s=11.0)
    job = [JobSubmitted(job="k"), StageSubmitted(job="k", stage=1, stage_attempt=0, n_tasks=50)]
    tell(history, [DriverAttached(application="a"), *job, start(1, index=3)], at_s=20.0, epoch=2, full=True)
    found = {epoch: history.find("spark:a", 1, epoch)[1].index for epoch in (None, 1, 2)}
    assert found == {None: 3, 1: 7, 2: 3}
    assert history.find("spark:a", 1, 3) is None
    assert (history.job("spark:a", "k", 1), history.job("spark:a", "k", 2).epoch) == (None, 2)


def test_an_attempt_is_told_from_launch_to_end(history):
    tell(history, [start(1, speculative=True, order=9, age_ms=1000)], at_s=20.0)
    tell(history, [end(1, Outcome.KILLED, reason="another attempt succeeded")], at_s=25.0)
    job, attempt = history.find("spark:a", 1)
    assert job.application == "a"
    assert (attempt.start_s, attempt.end_s, attempt.order, attempt.speculative) == (19.0, 25.0, 9, True)
    assert (attempt.outcome, attempt.reason) == (Outcome.KILLED, "another attempt succeeded")


def test_an_end_tells_of_a_start_that_was_dropped(history):
    tell(history, [end(1)], at_s=20.0)
    assert history.find("spark:a", 1)[1].start_s == 19.5


def test_facts_told_twice_change_nothing(history):
    tell(history, [start(1), end(1)], at_s=20.0)
    before = history.find("spark:a", 1)[1]
    tell(history, [start(1), end(1, Outcome.FAILED)], at_s=30.0)
    assert history.find("spark:a", 1)[1] == before


def test_a_loser_that_ends_after_its_job_still_gets_its_outcome(history):
    tell(history, [start(1), JobEnded(job="j", age_ms=2000)], at_s=20.0)
    tell(history, [end(1, Outcome.KILLED)], at_s=21.0)
    job, attempt = history.find("spark:a", 1)
    assert (job.ended_s, attempt.outcome) == (18.0, Outcome.KILLED)


def test_attempts_of_a_lost_executor_are_lost(history):
    tell(history, [start(1), start(2, executor="2"), ExecutorLost(executor="1")], at_s=20.0)
    outcomes = [attempt.outcome for attempt in history.job("spark:a", "j").attempts.values()]
    assert outcomes == [Outcome.LOST, None]


def test_executors_lost_together_take_one_look_at_the_attempts(history):
    """A look for each of thousands would stop the control plane for seconds."""
    tell(history, [start(n, executor=f"{n}") for n in range(3)], at_s=20.0)
    job = history.job("spark:a", "j")
    job.attempts = Counted(job.attempts)
    tell(history, [ExecutorLost(executor=f"{n}", age_ms=1000 * n) for n in range(3)], at_s=25.0)
    assert [attempt.end_s for attempt in dict(job.attempts).values()] == [25.0, 24.0, 23.0]
    assert job.attempts.looked == 0


def test_a_full_report_ends_the_jobs_it_does_not_name(history):
    tell(history, [JobSubmitted(job="other")], at_s=30.0, full=True)
    assert history.job("spark:a", "j").ended_s == 30.0
    assert history.job("spark:a", "other").ended_s is None


def test_a_full_report_ends_the_attempts_it_does_not_name(history):
    """Their ends were dropped, or are older than what a shim keeps; a bar must not grow until the whole job is over."""
    tell(history, [start(1), start(2), start(3)], at_s=20.0)
    stage = StageSubmitted(job="j", stage=1, stage_attempt=0, n_tasks=50, done=[(1, 1)])
    tell(history, [JobSubmitted(job="j"), stage, start(2), end(3, age_ms=1000)], at_s=30.0, full=True)
    attempts = history.job("spark:a", "j").attempts
    assert [(attempts[n].end_s, attempts[n].outcome) for n in (1, 2, 3)] == [
        (30.0, Outcome.LOST),
        (None, None),
        (29.0, Outcome.SUCCESS),
    ]
    tell(history, [end(1, age_ms=5000)], at_s=31.0)
    assert (attempts[1].end_s, attempts[1].outcome) == (26.0, Outcome.SUCCESS)


def test_old_and_surplus_jobs_go_first_ended_ones(history):
    tell(history, [JobEnded(job="j")], at_s=20.0)
    tell(history, [JobSubmitted(job=str(n)) for n in range(3)], at_s=21.0)
    history.prune(22.0)
    assert [job.job for job in history.jobs()] == ["2", "1", "0"]
    tell(history, [JobEnded(job="0")], at_s=23.0)
    history.prune(124.0)
    assert [job.job for job in history.jobs()] == ["2", "1"]


def test_attempts_of_a_job_that_never_ends_are_bounded(history):
    for n in range(0, 40, 2):
        tell(history, [start(n), end(n), start(n + 1)])
        tell(history, [end(n + 1)])
    history.prune(11.0)
    job = history.job("spark:a", "j")
    assert len(job.attempts) == 10
    assert job.attempts_left_out == 30


def test_attempts_of_which_only_the_end_was_told_are_bounded(history):
    """They take as much memory as others."""
    tell(history, [end(n) for n in range(40)])
    history.prune(11.0)
    job = history.job("spark:a", "j")
    assert (len(job.attempts), job.attempts_left_out) == (10, 30)


def test_attempts_that_never_end_are_bounded_where_most_are(history):
    """A hundred and fifty thousand were kept beside a limit of twenty thousand; others' attempts stay."""
    other = [JobSubmitted(job="other"), StageSubmitted(job="other", stage=2, stage_attempt=0, n_tasks=9)]
    tell(history, [*other, start(100, stage=2), *map(start, range(30))])
    history.prune(11.0)
    job = history.job("spark:a", "j")
    assert (list(job.attempts), job.attempts_left_out) == (list(range(21, 30)), 21)
    assert list(history.job("spark:a", "other").attempts) == [100]


@pytest.mark.parametrize(
    ("more", "want"),
    [
        ([started(7, index=99)], [0, 1]),
        ([started(7, index=0, host=9)], [0, 1]),
        ([started(7, index=0, stage=9)], [0, 1]),
        ([started(7, index=0)], [0, 1, 7]),
    ],
    ids=["no such task", "no such executor", "no such stage", "good"],
)
def test_what_the_engine_refuses_is_not_remembered(plane, more, want):
    """The page showed attempts that were never there, running for ever."""
    plane.reply(message(1, working(2), full=True))
    plane.reply(message(2, more))
    attempts = plane.client.get("/api/v1/jobs/spark:app-1/job-1/history").json()["attempts"]
    assert [each["attempt"] for each in attempts] == want


def test_nothing_is_remembered_after_a_driver_has_said_goodbye(plane):
    facts = [{"type": "driver_detached"}, {"type": "job_submitted", "job": "late"}]
    plane.reply(message(1, working(2) + facts, full=True))
    assert [job.job for job in plane.runtime.history.jobs()] == ["job-1"]


def test_hosts_that_come_and_go_are_bounded(history, monkeypatch):
    """Those that were seen last stay."""
    monkeypatch.setattr(remembered, "MOST_HOSTS", 3)
    for now_s, names in ((20.0, "ab"), (21.0, "cda")):
        history.note_hosts([HostState(host=name, **WELL) for name in names], now_s)
        history.prune(now_s)
    assert list(history.hosts) == ["c", "d", "a"]
    history.prune(150.0)
    assert not history.hosts


def test_stages_of_a_job_that_never_ends_are_bounded(history):
    for n in range(3000):
        tell(history, [StageSubmitted(job="j", stage=n, stage_attempt=0, n_tasks=1)])
    assert len(history.job("spark:a", "j").stages) <= 1000
    tell(history, [start(7, stage=0), start(8, stage=2999)])
    assert list(history.job("spark:a", "j").attempts) == [8], "a stage that is not kept takes no more attempts in"


QUEUE = "yarn:c:root.q"


def tell_queue(history, at_s, *, age_ms=0, **applications):
    """The queue names applications as (running, pending)."""
    queued = [
        QueuedApplication(job=job, name=f"name of {job}", running=running, pending=pending, age_ms=age_ms)
        for job, (running, pending) in applications.items()
    ]
    facts = [DriverAttached(application="c:root.q"), QueueDemand(slots=8, applications=queued)]
    history.add(Report(source=QUEUE, epoch=1, received_s=at_s, facts=facts, full=True))


def test_an_application_that_has_left_its_queue_is_told_with_what_it_held(history):
    """While it is there, the state says so; only who has ended is among the jobs."""
    tell_queue(history, 10.0, age_ms=3000, a=(0, 4), b=(1, 0))
    tell_queue(history, 12.0, a=(4, 0), b=(1, 0))
    assert QUEUE not in {job.source for job in history.jobs()}
    tell_queue(history, 20.0, b=(1, 0))
    (ended,) = history.jobs(QUEUE)
    assert (ended.job, ended.name, ended.submitted_s, ended.ended_s) == ("a", "name of a", 7.0, 20.0)
    held = [(each.at_s, each.running, each.pending) for each in ended.containers]
    assert held == [(10.0, 0, 4), (12.0, 4, 0), (20.0, 0, 0)]
    assert container_seconds(ended.containers, 20.0) == 4 * 8.0
    assert ended.outcome is None


def test_an_application_goes_on_where_it_was_when_its_queue_is_heard_again(history):
    """A ResourceManager that starts anew keeps its applications."""
    tell_queue(history, 10.0, a=(2, 0))
    history.forget(QUEUE, 12.0)
    assert history.job(QUEUE, "a").outcome is Outcome.LOST
    tell_queue(history, 15.0, a=(3, 0))
    assert list(history.jobs(QUEUE)) == []
    again = history.job(QUEUE, "a")
    assert (again.ended_s, again.outcome) == (None, None)
    assert container_seconds(again.containers, 16.0) == 2 * 2.0 + 3 * 1.0


def test_a_queue_that_says_nothing_of_applications_has_none(history):
    """An empty queue's full report has no demand in it."""
    tell_queue(history, 10.0, a=(2, 0))
    history.add(Report(source=QUEUE, epoch=1, received_s=11.0, facts=[DriverAttached(application="c")], full=True))
    assert [job.ended_s for job in history.jobs(QUEUE)] == [11.0]


def test_what_changes_all_the_time_stays_short_and_keeps_its_start():
    """A day of an application is a line on a chart."""
    holdings, lengths = [], []
    for at_s in range(10 * MOST_HOLDINGS):
        note_change(holdings, float(at_s), at_s % 7, 0)
        lengths.append(len(holdings))
    assert max(lengths) == MOST_HOLDINGS
    assert holdings[0].at_s == 0.0
    assert [each.at_s for each in holdings] == sorted(each.at_s for each in holdings)
