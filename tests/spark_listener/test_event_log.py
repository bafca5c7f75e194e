"""Are copies, their cost and executors counted from Spark's event log as the words say?"""

import json

import pytest

from spark_listener.event_log import Attempt, CopyCounts, count_copies, count_executors, read_attempts, read_stages

pytestmark = pytest.mark.unit


def task_end(task: int, attempt: int, seconds: float, *, speculative: bool, reason: str = "Success") -> str:
    info = {"Index": task, "Attempt": attempt, "Executor ID": "4", "Host": "127.0.0.2", "Speculative": speculative}
    times = {"Launch Time": 1_000, "Finish Time": 1_000 + round(seconds * 1000)}
    event = {"Event": "SparkListenerTaskEnd", "Stage ID": 3, "Stage Attempt ID": 0, "Task Info": info | times}
    return json.dumps(event | {"Task End Reason": {"Reason": reason}}, separators=(",", ":"))


def counts(tmp_path, *lines: str) -> CopyCounts:
    log = tmp_path / "app"
    log.write_text("\n".join(['{"Event":"SparkListenerLogStart"}', *lines]) + "\n")
    return count_copies([log], since_ms=0)


def test_an_attempt_is_read_with_its_identity_and_duration(tmp_path) -> None:
    log = tmp_path / "app"
    log.write_text(task_end(7, 1, 2.5, speculative=True) + "\n")
    (attempt,) = read_attempts(log)
    assert attempt == Attempt(
        stage=3, stage_attempt=0, task=7, attempt=1, executor="4", host="127.0.0.2",
        speculative=True, launch_ms=1_000, finish_ms=3_500, succeeded=True,
    )  # fmt: skip
    assert attempt.duration_s == 2.5


def test_a_stage_is_read_with_its_job_group(tmp_path) -> None:
    """The demo's jobs are told by it; stages of other work have none."""
    log = tmp_path / "app"
    events = [
        {"Stage Info": {"Stage ID": 3, "Submission Time": 1_000}, "Properties": {"spark.jobGroup.id": "a"}},
        {"Stage Info": {"Stage ID": 5, "Submission Time": 2_000}},
    ]
    named = ({"Event": "SparkListenerStageSubmitted"} | event for event in events)
    log.write_text("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in named))
    assert [(one.stage, one.job_group, one.submitted_ms) for one in read_stages(log)] == [
        (3, "a", 1_000),
        (5, "", 2_000),
    ]


def test_a_beaten_original_is_not_charged_to_copies(tmp_path) -> None:
    won = counts(
        tmp_path,
        task_end(0, 1, 2.0, speculative=True),
        task_end(0, 0, 9.0, speculative=False, reason="TaskKilled"),
    )
    assert won == CopyCounts(launched=1, won=1, losing_core_s=0.0, core_s=11.0)


def test_the_copy_pays_when_the_original_wins_even_if_both_succeed(tmp_path) -> None:
    lost = counts(tmp_path, task_end(0, 0, 4.0, speculative=False), task_end(0, 1, 3.0, speculative=True))
    assert lost == CopyCounts(launched=1, won=0, losing_core_s=3.0, core_s=7.0)


def test_no_copies_cost_nothing(tmp_path) -> None:
    plain = counts(tmp_path, task_end(0, 0, 1.0, speculative=False), task_end(1, 0, 2.0, speculative=False))
    assert plain == CopyCounts(launched=0, won=0, losing_core_s=0.0, core_s=3.0)


def test_attempts_count_from_a_moment_on_and_each_for_its_application(tmp_path) -> None:
    """The warm-up is no part of what is compared, and the stages of all applications have the same numbers."""
    logs = [tmp_path / "one", tmp_path / "other"]
    for log in logs:
        log.write_text(task_end(0, 1, 2.0, speculative=True) + "\n")
    assert count_copies(logs, since_ms=1_000) == CopyCounts(launched=2, won=2, losing_core_s=0.0, core_s=4.0)
    assert count_copies(logs, since_ms=1_001).launched == 0


def test_executors_count_from_a_moment_on(tmp_path) -> None:
    """Those of the warm-up are no part of what is compared."""
    added = [
        {"Event": "SparkListenerExecutorAdded", "Timestamp": at_ms, "Executor ID": "1"} for at_ms in (999, 1_000, 2_000)
    ]
    log = tmp_path / "app"
    log.write_text("\n".join(json.dumps(event, separators=(",", ":")) for event in added) + "\n")
    assert count_executors([log], since_ms=1_000) == 2
