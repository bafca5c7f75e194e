"""Do replays find, in recordings whose stragglers are known, what they should?"""

from pathlib import Path

import pytest

from spark_listener.event_log import Attempt
from tests.programs.case import Case, could_be_copied, judged, score, task_key
from tests.programs.replay import replay
from tests.programs.slowness import Label

pytestmark = [pytest.mark.unit]

RECORDINGS = Path(__file__).parent / "recordings"


def attempt(task, launch_s, finish_s, *, host="a", speculative=False, succeeded=True):
    return Attempt(
        stage=1,
        stage_attempt=0,
        task=task,
        attempt=int(speculative),
        executor=host,
        host=host,
        speculative=speculative,
        launch_ms=round(1000 * launch_s),
        finish_ms=round(1000 * finish_s),
        succeeded=succeeded,
    )


def case(attempts, labels=(), slots=4):
    return Case(
        program="p",
        operator="o",
        slowness="s",
        contestant="shadow",
        spark="4",
        application="a",
        slots=slots,
        begun_ms=0,
        job_s=20.0,
        result="r",
        attempts=attempts,
        labels=list(labels),
    )


LABEL = Label(stage=1, stage_attempt=0, task=0, onset_ms=1000, host="a")


def test_a_copy_before_its_tasks_onset_is_wrong():
    """The engine cannot have seen what had not begun, so being right by chance counts for nothing."""
    by_task = {(1, 0, 0): LABEL}
    early, late = (judged(attempt(0, 0, 20), at_ms, by_task) for at_ms in (999, 3500))
    assert (early.verdict, late.verdict, late.delay_s) == ("wrong", "right", 2.5)


def test_a_task_that_had_nowhere_else_to_run_is_not_missed():
    """Two slots on the other host, both taken until after the labelled task has ended."""
    taken = [attempt(0, 0, 20), attempt(1, 0, 21, host="b"), attempt(2, 0, 21, host="b")]
    assert not could_be_copied(case(taken, [LABEL]), LABEL)
    freed = [*taken[:2], attempt(2, 0, 19, host="b")]
    assert could_be_copied(case(freed, [LABEL]), LABEL)


def test_a_task_that_ends_soon_after_its_onset_is_not_missed():
    """Nobody could have decided and started a copy by then."""
    assert not could_be_copied(case([attempt(0, 0, 2.9)], [LABEL]), LABEL)
    assert could_be_copied(case([attempt(0, 0, 3.1)], [LABEL]), LABEL)


def test_a_score_counts_each_task_once_and_each_copy():
    """Two copies of one straggler are one find; a copy of a healthy task costs precision."""
    one = case([attempt(0, 0, 20), attempt(1, 0, 2, host="b")], [LABEL])
    by_task = {(1, 0, 0): LABEL}
    copies = [judged(attempt(task, 0, 0), at_ms, by_task) for task, at_ms in ((0, 4000), (0, 9000), (1, 1500))]
    counted = score([(one, copies)])
    assert (counted.recall, counted.found, counted.copies, counted.right) == (1.0, 1, 3, 2)
    assert (counted.delays_s, counted.healthy) == ([3.0], 1)


@pytest.mark.parametrize("name", ["k_means-none", "map_in_pandas-hang", "running_totals-hang", "skewed_window-freeze"])
def test_a_replay_finds_the_stragglers_of_a_recording_and_nothing_else(name):
    """The recordings' engine gave no orders, so what it would have done is what it does here."""
    one, wanted = replay(RECORDINGS / f"{name}-shadow-4.jsonl.xz")
    assert bool(one.labels) == (one.slowness != "none")
    assert {task_key(each.copy) for each in wanted} == {task_key(label) for label in one.labels}


def test_a_replay_says_the_same_each_time():
    """Estimators are tuned by its numbers, which may depend on nothing but the recording and the code."""
    path = RECORDINGS / "running_totals-hang-shadow-4.jsonl.xz"
    _, wanted = replay(path)
    assert wanted
    assert str(replay(path)[1]) == str(wanted)


def test_a_replay_without_speculation_copies_nothing():
    """What is scored is the policy that was asked for."""
    _, wanted = replay(RECORDINGS / "python_udf-hang-shadow-4.jsonl.xz", "hopper+none")
    assert wanted == []
