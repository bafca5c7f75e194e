"""Does stock MapReduce's rule copy what Hadoop's own speculator would copy, by its own defaults?"""

import numpy as np
import pytest

from controlplane.model.reasons import Reason
from controlplane.policies.registry import speculator
from controlplane.policies.seen import FINISHED

pytestmark = pytest.mark.unit

stock = speculator("stock-mapreduce")


def judge(running, t_rem_s, finished_s=(4.0, 6.0), waiting=0, tasks=20, **columns):
    """The answer about tasks of a stage whose finished attempts took `finished_s`."""
    finished = np.zeros(len(finished_s), dtype=FINISHED)
    finished["duration_s"] = sorted(finished_s)
    n = len(finished_s)
    return stock.speculate(
        running(
            t_rem_s,
            [99.0] * len(t_rem_s),
            stages={"tasks": tasks, "done": n, "finished_from": 0, "finished_to": n},
            jobs={"waiting": waiting},
            finished=finished,
            **columns,
        )
    )


def test_the_task_that_a_copy_helps_most_is_copied_and_no_other(running):
    """A fresh attempt takes 5 s, the mean; one task at a time."""
    answer = judge(running, [5.0, 9.0, 8.0])
    assert answer["copies"].tolist() == [0, 1, 0]
    assert [Reason(code) for code in answer["reason"]] == [
        Reason.ON_SCHEDULE, Reason.ENDS_SOONER, Reason.SPECULATOR_CAP]  # fmt: skip


@pytest.mark.parametrize(("finished_s", "tasks", "copies"), [((), 4, 0), ((5.0,), 20, 1), ((5.0,), 21, 0)])
def test_one_task_and_a_twentieth_must_have_finished(running, finished_s, tasks, copies):
    """Of twenty-one tasks two, since one is less than a twentieth."""
    assert judge(running, [9.0], finished_s, tasks=tasks)["copies"].tolist() == [copies]


def test_nothing_is_copied_while_originals_of_the_job_wait(running):
    """While any container is asked for, none is for a copy."""
    assert Reason(judge(running, [9.0], waiting=1)["reason"][0]) is Reason.ORIGINALS_WAIT


@pytest.mark.parametrize(("youngest_s", "copies"), [(14.9, 0), (15.0, 1)])
def test_after_a_copy_it_pauses(running, youngest_s, copies):
    """For a quarter of a minute."""
    answer = judge(running, [9.0, 9.0], running_attempts=[1, 2], youngest_s=youngest_s)
    assert answer["copies"].tolist() == [copies, 0]


def test_a_copy_that_is_ordered_counts_as_the_newest(running):
    """It has not started yet."""
    answer = judge(running, [9.0, 9.0], standing=[0, Reason.ORDER_PENDING], eligible=[True, False])
    assert answer["copies"].tolist() == [0, 0]


def test_ten_tasks_may_have_a_copy_and_more_in_a_large_stage(running):
    """A tenth of those that run, or a hundredth of all."""
    few = judge(running, [9.0] * 11, running_attempts=[2] * 10 + [1], youngest_s=20.0)
    assert few["copies"].tolist() == [0] * 11
    assert judge(
        running, [9.0] * 11, tasks=1100, finished_s=[5.0] * 60, running_attempts=[2] * 10 + [1], youngest_s=20.0
    )["copies"].tolist() == [0] * 10 + [1]
