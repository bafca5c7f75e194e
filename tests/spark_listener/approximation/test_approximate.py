"""Does the driver's side of a bounded action tell its own stop from everything else that can end a job?"""

import threading
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from pyspark import SparkContext

from spark_listener import approximate
from spark_listener.approximation.approximate import _Job, _until_met
from spark_listener.approximation.stopping import Bound

pytestmark = pytest.mark.unit
TAG = "grasshopper-approximate-1"


@pytest.fixture
def job():
    """A job that runs until somebody cancels it by its tag, as Spark would say."""
    cancelled = threading.Event()
    made = object.__new__(_Job)
    made._tag, made._is_stopped, made._whole = TAG, False, None
    made._told = SimpleNamespace(value={3: (1, ())})
    made._context = SimpleNamespace(cancelJobsWithTag=lambda tag: tag == TAG and cancelled.set())
    made._thread = threading.Thread(target=cancelled.wait)
    made._error = RuntimeError(f"Job 7 cancelled part of cancelled job tags {TAG}")
    return made


def test_a_stopped_job_answers_with_what_was_told_by_then(job):
    job.stop()
    assert job.answers() == {3: (1, ())}
    assert job._told.value == {}


@pytest.mark.parametrize("message", ["Job 7 cancelled as part of cancellation of all jobs", "Task 0 failed 4 times"])
def test_what_ended_the_job_otherwise_is_raised_even_if_it_was_to_stop_just_then(job, message):
    job.stop()
    job._error = RuntimeError(message)
    with pytest.raises(RuntimeError, match=message):
        job.answers()


def test_a_cancel_that_is_not_ours_is_raised_although_it_names_our_tag(job):
    """Somebody may have read the tag off the job."""
    with pytest.raises(RuntimeError, match="cancelled part"):
        job.answers()


def test_a_whole_answer_counts_whatever_the_accumulator_has(job):
    job._whole = {0: (1, ()), 3: (1, ())}
    assert job.answers() == {0: (1, ()), 3: (1, ())}


def test_an_interrupted_caller_leaves_no_job_behind(job):
    """Ctrl-C."""
    with pytest.raises(KeyboardInterrupt), job.running():
        raise KeyboardInterrupt
    assert not job._thread.is_alive()


class Told:
    """A job of ten partitions that sees so many more at each look and never ends by itself; Spark counts the starts."""

    def __init__(self, order, step=0, started=10):
        self.order, self.step, self.at, self.start_count, self.is_left = order, step, 0, started, False

    @contextmanager
    def running(self):
        yield
        self.is_left = True

    def has_ended(self, within_s):
        self.at += self.step
        return False

    def seen(self):
        return self.at

    def started(self):
        return self.start_count

    def answers(self):
        return dict.fromkeys(self.order[: self.at], (1, ()))


def test_an_error_bound_leaves_the_job_at_the_first_look_that_shows_enough():
    told = Told(range(10), step=2)
    drawn, answers = _until_met(told, Bound(error=0.3), 10, begun_s=0.0)
    assert (drawn, len(answers), told.is_left) == (0, 8, True)


@pytest.mark.parametrize(("started", "drawn"), [(6, 6), (9, 9), (10, 0)])
def test_the_sample_of_a_deadline_is_settled_once_at_half_of_it(monkeypatch, started, drawn):
    """A look at 5 s sees 6 ended, enough for 9 started; what starts and ends later changes nothing."""
    told = Told(range(80), step=6, started=started)
    at_s = iter([2.0, 5.0, 7.0, 10.0])

    def now_s():
        found_s = next(at_s)
        told.at, told.start_count = (6, started) if found_s <= 5.0 else (80, 80)
        return found_s

    monkeypatch.setattr("spark_listener.approximation.approximate.time", SimpleNamespace(monotonic=now_s))
    assert _until_met(told, Bound(within_s=10.0, is_random=True), 80, begun_s=0.0)[0] == drawn


def test_without_a_context_it_says_so(monkeypatch):
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    with pytest.raises(RuntimeError, match="no SparkContext"):
        approximate([], error=0.1)


def test_threads_that_are_not_pinned_are_refused(monkeypatch):
    """Local properties and cancellation would be another thread's."""
    monkeypatch.setattr(SparkContext, "_active_spark_context", object())
    monkeypatch.setattr(SparkContext, "_gateway", object())
    with pytest.raises(RuntimeError, match="PYSPARK_PIN_THREAD"):
        approximate([], error=0.1)
