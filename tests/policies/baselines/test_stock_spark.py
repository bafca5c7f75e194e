"""Does stock Spark's rule copy what Spark 4 would copy, by its own defaults?"""

import numpy as np
import pytest

from controlplane.model.reasons import Reason
from controlplane.policies.registry import speculator
from controlplane.policies.seen import FINISHED
from controlplane.policies.whole_slots import TOLERANCE

pytestmark = pytest.mark.unit

stock = speculator("stock-spark")


def finished(*duration_s):
    """Finished attempts of one stage, in ascending order."""
    rows = np.zeros(len(duration_s), dtype=FINISHED)
    rows["duration_s"] = duration_s
    return rows


def judge(running, elapsed_s, duration_s, settings=None, executor_slots=4, stage=None, **columns):
    """The reason for one task of a stage of ten whose finished siblings took `duration_s`."""
    n = len(duration_s)
    seen = running(
        [9.0],
        [1.0],
        elapsed_s=[elapsed_s],
        pools={"executor_slots": executor_slots},
        stages={"tasks": 10, "done": n, "finished_from": 0, "finished_to": n} | (stage or {}),
        finished=finished(*duration_s),
        **({"progress_rate": [0.1]} | columns),
    )
    answer = stock.speculate(seen, settings)
    assert answer["copies"].tolist() == [answer["reason"][0] == Reason.RUNS_TOO_LONG]
    return Reason(answer["reason"][0])


def test_the_defaults_are_those_of_spark_4():
    """Spark 4 waits for 0.9 of a stage and three times the median, where Spark 3 took 0.75 and 1.5."""
    defaults = {setting.name: setting.default for setting in stock.settings}
    assert defaults == {
        "quantile": 0.9,
        "multiplier": 3.0,
        "min_runtime_s": 0.1,
        "duration_threshold_s": 0.0,
        "efficiency": 1.0,
        "process_rate_multiplier": 0.75,
        "long_run_factor": 2.0,
        "copy_priority": 0.0,
        "end_beaten": 0.0,
    }


@pytest.mark.parametrize(("elapsed_s", "reason"), [(6.0, Reason.NOT_LONG_ENOUGH), (6.01, Reason.RUNS_TOO_LONG)])
def test_a_task_is_slow_only_beyond_three_medians(running, elapsed_s, reason):
    """The comparison is strict, as in `runtimeMs > threshold`."""
    assert judge(running, elapsed_s, [2.0] * 9) is reason


def test_nothing_is_copied_before_the_quantile_has_finished(running):
    """Of ten tasks nine must be done: the second last one is never helped."""
    assert judge(running, 99.0, [2.0] * 8) is Reason.TOO_FEW_FINISHED


def test_of_two_middle_durations_the_longer_is_the_median(running):
    """Spark's percentile heap gives element n // 2, here 4 s of (1, 2, 4, 9): slow from 12 s on."""
    assert judge(running, 11.0, [1.0, 2.0, 4.0, 9.0], stage={"tasks": 5}) is Reason.NOT_LONG_ENOUGH
    assert judge(running, 13.0, [1.0, 2.0, 4.0, 9.0], stage={"tasks": 5}) is Reason.RUNS_TOO_LONG


def test_short_tasks_are_left_alone_for_the_minimum_runtime(running):
    """Three medians of 10 ms are no reason before 100 ms have gone by."""
    assert judge(running, 0.09, [0.01] * 9) is Reason.NOT_LONG_ENOUGH
    assert judge(running, 0.11, [0.01] * 9) is Reason.RUNS_TOO_LONG


def test_a_task_as_fast_as_its_siblings_is_excused_until_twice_the_threshold(running):
    """SPARK-32170: it has more to do; `longRunTaskFactor` gives the check up."""
    assert judge(running, 7.0, [2.0] * 9, progress_rate=[0.8]) is Reason.SKEW_NOT_STRAGGLER
    assert judge(running, 12.0 * (1.0 + TOLERANCE), [2.0] * 9, progress_rate=[0.8]) is Reason.SKEW_NOT_STRAGGLER
    assert judge(running, 12.1, [2.0] * 9, progress_rate=[0.8]) is Reason.RUNS_TOO_LONG
    assert judge(running, 7.0, [2.0] * 9, {"efficiency": 0.0}, progress_rate=[0.8]) is Reason.RUNS_TOO_LONG


def test_a_stage_of_one_task_needs_a_set_duration(running):
    """SPARK-29976: without siblings there is no median."""
    one = {"stage": {"tasks": 1}}
    assert judge(running, 99.0, [], **one) is Reason.TOO_FEW_FINISHED
    assert judge(running, 99.0, [2.0], **one) is Reason.TOO_FEW_FINISHED
    assert judge(running, 99.0, [], {"duration_threshold_s": 60.0}, **one) is Reason.RUNS_TOO_LONG
    assert judge(running, 59.0, [], {"duration_threshold_s": 60.0}, **one) is Reason.NOT_LONG_ENOUGH


def test_a_set_duration_is_only_for_stages_that_fit_one_executor(running):
    """Spark's own condition; and whatever the task's rate, for nobody has set a standard."""
    given = {"duration_threshold_s": 60.0}
    assert judge(running, 99.0, [2.0] * 8, given) is Reason.TOO_FEW_FINISHED
    assert judge(running, 99.0, [2.0], given, stage={"tasks": 4}, progress_rate=[1.0]) is Reason.RUNS_TOO_LONG


def test_an_executor_of_unknown_size_has_one_slot(running):
    """As Spark assumes where executors take all cores of a worker (`isCoresLimitKnown`)."""
    given, unknown = {"duration_threshold_s": 60.0}, {"executor_slots": 0}
    assert judge(running, 99.0, [], given, stage={"tasks": 1}, **unknown) is Reason.RUNS_TOO_LONG
    assert judge(running, 99.0, [], given, stage={"tasks": 2}, **unknown) is Reason.TOO_FEW_FINISHED


def test_no_task_gets_a_second_copy(running):
    """`copiesRunning(index) == 1`."""
    assert judge(running, 99.0, [2.0] * 9, running_attempts=[2]) is Reason.ALREADY_COPIED


def test_the_quantile_counts_all_that_have_finished_though_few_are_kept(running):
    """Of a large stage only a sample of the durations is there."""
    large = {"tasks": 1000, "done": 900}
    assert judge(running, 6.01, [2.0] * 9, stage=large) is Reason.RUNS_TOO_LONG
    assert judge(running, 6.01, [2.0] * 9, stage=large | {"done": 899}) is Reason.TOO_FEW_FINISHED


def test_where_finished_attempts_are_not_known_the_estimate_stands_for_their_median(running):
    """After a restart, in a large stage; an unknown estimate is no median."""
    view = running([9.0] * 3, [2.0, 2.0, np.inf], elapsed_s=[6.1, 5.9, 99.0], progress_rate=[0.1] * 3)
    assert stock.speculate(view)["copies"].tolist() == [True, False, False]
