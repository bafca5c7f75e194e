"""Are the tasks labelled that were slowed, and no others?"""

import pytest

from spark_listener.event_log import Attempt
from tests.programs.program import AT_END, Program
from tests.programs.slowness import SLOWNESS, fits, labels, stall_row

pytestmark = pytest.mark.unit

PROGRAM = Program(name="p", operator="o", run=lambda spark, inputs: None, slow_task=1, rows=100)


def attempt(task, launch_ms, finish_ms, host, *, stage=3, speculative=False):
    return Attempt(
        stage=stage,
        stage_attempt=0,
        task=task,
        attempt=int(speculative),
        executor="0",
        host=host,
        speculative=speculative,
        launch_ms=launch_ms,
        finish_ms=finish_ms,
        succeeded=True,
    )


def labelled(name, attempts, *, notes=(), frozen_ms=None):
    found = labels(SLOWNESS[name], PROGRAM, attempts, notes, frozen_ms)
    return [(one.stage, one.task, one.onset_ms, one.host) for one in found]


def test_a_hang_labels_the_task_that_hung_from_then_on():
    """Its sibling on the same host is as quick as ever."""
    attempts = [attempt(1, 0, 25_000, "a"), attempt(2, 0, 9000, "a")]
    note = {"at_ms": 4000, "stage": 3, "stage_attempt": 0, "task": 1}
    assert labelled("hang", attempts, notes=[note]) == [(3, 1, 4000, "a")]


def test_garbage_collection_labels_what_runs_beside_it():
    """All tasks of one executor stop for it; those of others do not, nor those that came before or after."""
    attempts = [
        attempt(1, 0, 25_000, "a"),
        attempt(2, 0, 9000, "a"),
        attempt(3, 0, 9000, "b"),
        attempt(4, 0, 3000, "a"),
        attempt(5, 20_000, 21_000, "a"),
    ]
    note = {"at_ms": 4000, "stage": 3, "stage_attempt": 0, "task": 1}
    assert labelled("gc", attempts, notes=[note]) == [(3, 1, 4000, "a"), (3, 2, 4000, "a")]


def test_a_freeze_labels_what_runs_on_its_host_meanwhile():
    """From its begin, or from a start within it; what ended before or began after was never stopped."""
    host = SLOWNESS["freeze"].host
    attempts = [
        attempt(0, 0, 5000, host),
        attempt(1, 1000, 20_000, host),
        attempt(2, 7000, 20_000, host),
        attempt(3, 1000, 20_000, "b"),
        attempt(4, 18_500, 20_000, host),
    ]
    assert labelled("freeze", attempts, frozen_ms=(6000, 18_000)) == [(3, 1, 6000, host), (3, 2, 7000, host)]


def test_a_slow_host_labels_all_originals_on_it_and_no_copies():
    """A copy that is placed there is a mistake, and makes its task no straggler."""
    host = SLOWNESS["slow-host"].host
    attempts = [attempt(0, 500, 5000, host), attempt(1, 0, 5000, "b"), attempt(1, 3000, 6000, host, speculative=True)]
    assert labelled("slow-host", attempts) == [(3, 0, 500, host)]


def test_a_slow_source_labels_its_split_of_the_stage_that_reads():
    """The same task of a later stage reads something else."""
    attempts = [attempt(1, 0, 20_000, "a"), attempt(2, 0, 1500, "a"), attempt(1, 21_000, 22_000, "a", stage=4)]
    assert labelled("slow-source", attempts) == [(3, 1, 0, "a")]


def test_nothing_is_labelled_where_nothing_was_done():
    """Tasks that are long for the sake of their data, and cold executors, deserve no copy."""
    attempts = [attempt(1, 0, 60_000, "a"), attempt(2, 0, 1000, "b")]
    assert labelled("none", attempts) == labelled("cold", attempts) == []


@pytest.mark.parametrize(("name", "row"), [("hang-first", 0), ("hang", 50), ("hang-last", AT_END)])
def test_a_stall_comes_before_amid_or_after_the_rows(name, row):
    """A task that has read everything hangs in another way than one that has not begun."""
    assert stall_row(SLOWNESS[name], PROGRAM) == row


def test_slowness_is_only_put_on_programs_that_it_fits():
    """The JVM's heap is not where Python works, and only text comes from a paced source."""
    assert fits(SLOWNESS["gc"], PROGRAM)
    assert not fits(SLOWNESS["hang-last"], PROGRAM)
    assert not fits(SLOWNESS["slow-source"], PROGRAM)
    assert all(fits(SLOWNESS[name], PROGRAM) for name in ("none", "hang", "freeze", "slow-host", "cold"))
