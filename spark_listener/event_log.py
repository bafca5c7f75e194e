"""What did Spark itself record? The task attempts of one application, read from its event log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


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
class CopyCounts:
    """The results and costs of speculation in one application."""

    launched: int
    won: int
    losing_core_s: float
    core_s: float


def read_attempts(path: Path) -> Iterator[Attempt]:
    """The attempts of an uncompressed event log, in the order in which they ended."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith('{"Event":"SparkListenerTaskEnd"'):
                event = json.loads(line)
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


def count_copies(attempts: Iterable[Attempt]) -> CopyCounts:
    """Copies launched, copies whose result was the task's first, core-seconds of copies that lost and of all attempts.

    A copy loses if it was ended early or came second; one core per attempt.
    """
    launched = won = 0
    losing_core_s = core_s = 0.0
    done: set[tuple[int, int, int]] = set()
    for attempt in attempts:
        task = (attempt.stage, attempt.stage_attempt, attempt.task)
        wins = attempt.succeeded and task not in done
        launched += attempt.speculative
        core_s += attempt.duration_s
        won += attempt.speculative and wins
        if wins:
            done.add(task)
        elif attempt.speculative:
            losing_core_s += attempt.duration_s
    return CopyCounts(launched=launched, won=won, losing_core_s=losing_core_s, core_s=core_s)
