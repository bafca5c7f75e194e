"""What did Spark itself record? One application's stages, task attempts and executors, read from its event log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One finished task attempt; times are the driver's wall clock."""

    stage: int
    stage_attempt: int
    task: int
    attempt: int
    executor: str
    host: str
    speculative: bool
    launch_ms: int
    finish_ms: int
    succeeded: bool

    @property
    def duration_s(self) -> float:
        """From launch to end."""
        return (self.finish_ms - self.launch_ms) / 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage as it was submitted; its job group is empty where none was set."""

    stage: int
    job_group: str
    submitted_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyCounts:
    """The results and costs of speculation."""

    launched: int
    won: int
    losing_core_s: float
    core_s: float


def read_attempts(path: Path) -> Iterator[Attempt]:
    """The attempts of an uncompressed event log, in the order in which they ended."""
    for event in _read(path, "SparkListenerTaskEnd"):
        task = event["Task Info"]
        yield Attempt(
            stage=event["Stage ID"],
            stage_attempt=event["Stage Attempt ID"],
            task=task["Index"],
            attempt=task["Attempt"],
            executor=task["Executor ID"],
            host=task["Host"],
            speculative=task["Speculative"],
            launch_ms=task["Launch Time"],
            finish_ms=task["Finish Time"],
            succeeded=event["Task End Reason"]["Reason"] == "Success",
        )


def read_stages(path: Path) -> Iterator[Stage]:
    """The stages of an uncompressed event log, in the order in which they were submitted."""
    for event in _read(path, "SparkListenerStageSubmitted"):
        info, properties = event["Stage Info"], event.get("Properties") or {}
        yield Stage(
            stage=info["Stage ID"],
            job_group=properties.get("spark.jobGroup.id", ""),
            submitted_ms=info["Submission Time"],
        )


def _read(path: Path, name: str) -> Iterator[dict[str, Any]]:
    """The events of one name, which each line begins with."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(f'{{"Event":"{name}"'):
                yield json.loads(line)


def count_executors(logs: Iterable[Path], since_ms: float) -> int:
    """Executors that registered with their drivers from a moment on, by the drivers' wall clock."""
    return sum(event["Timestamp"] >= since_ms for log in logs for event in _read(log, "SparkListenerExecutorAdded"))


def count_copies(logs: Iterable[Path], since_ms: float) -> CopyCounts:
    """Copies launched, copies whose result was the task's first, core-seconds of copies that lost and of all attempts.

    Attempts count if they were launched from a moment on, by the drivers' wall clock. A copy loses if it was ended
    early or came second; one core per attempt. Each log is an application's.
    """
    launched = won = 0
    losing_core_s = core_s = 0.0
    done: set[tuple[Path, int, int, int]] = set()
    counted = ((log, attempt) for log in logs for attempt in read_attempts(log) if attempt.launch_ms >= since_ms)
    for application, attempt in counted:
        task = (application, attempt.stage, attempt.stage_attempt, attempt.task)
        wins = attempt.succeeded and task not in done
        launched += attempt.speculative
        core_s += attempt.duration_s
        won += attempt.speculative and wins
        if wins:
            done.add(task)
        elif attempt.speculative:
            losing_core_s += attempt.duration_s
    return CopyCounts(launched=launched, won=won, losing_core_s=losing_core_s, core_s=core_s)
