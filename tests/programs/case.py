"""What came of a program, slowed in one way, under one contestant? Attempts, labels, and what its copies were worth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from spark_listener.event_log import Attempt
from tests.programs.slowness import SLOTS, WORTH_S, Label

SHADOW, CONTROL, STOCK, TUNED = "shadow", "control", "stock", "tuned"
MEASURED = (CONTROL, STOCK, TUNED)
"""Side by side in the matrix. Shadow watches a Spark that never speculates, and is what recordings are made of."""


class Case(Struct, frozen=True, kw_only=True):
    """All that is known of one run. Times end in their unit; those in `_ms` are of the wall clock."""

    program: str
    operator: str
    slowness: str
    contestant: str
    spark: str
    application: str
    slots: int
    """Of the application, two on each of its hosts."""
    begun_ms: int
    job_s: float
    result: str
    """Hash of the program's result."""
    attempts: list[Attempt]
    """Those of the program, without those that warmed executors up."""
    labels: list[Label]
    recorded_ms: int = 0
    """When its recording began, if there is one."""
    load: float = 0.0
    commit: str = ""

    @property
    def name(self) -> str:
        """Unique in the matrix."""
        return f"{self.program}-{self.slowness}-{self.contestant}-{self.spark}"


class Copy(Struct, frozen=True, kw_only=True):
    """A copy, launched or only wanted, and whether its task deserved it."""

    stage: int
    stage_attempt: int
    task: int
    at_ms: int
    verdict: str
    """`right`, `useless` where the task deserved it and the copy lost, or `wrong`."""
    delay_s: float | None = None
    """From the label's onset."""


class Score(Struct, frozen=True, kw_only=True):
    """How well copies fit the labels of some cases."""

    cases: int
    healthy: int
    """Tasks that must not get a copy."""
    deserving: int
    """Tasks that deserved a copy and got one, or could have had one."""
    found: int
    copies: int
    right: int
    delays_s: list[float]

    @property
    def recall(self) -> float | None:
        return self.found / self.deserving if self.deserving else None

    @property
    def precision(self) -> float | None:
        return self.right / self.copies if self.copies else None


def task_key(one: Attempt | Label | Copy) -> tuple[int, int, int]:
    """What names a task within an application."""
    return (one.stage, one.stage_attempt, one.task)


def launched(case: Case) -> list[Copy]:
    """The copies that ran, in the order of their launch."""
    by_task = {task_key(label): label for label in case.labels}
    copies = []
    for attempt in sorted(case.attempts, key=lambda one: one.launch_ms):
        if attempt.speculative:
            copies.append(judged(attempt, attempt.launch_ms, by_task, is_won=attempt.succeeded))
    return copies


def judged(
    task: Attempt | Copy | Label, at_ms: int, by_task: dict[tuple[int, int, int], Label], *, is_won: bool = True
) -> Copy:
    """A copy of a task at a time, with its verdict: before the onset no task deserves one."""
    key = task_key(task)
    label = by_task.get(key)
    is_due = label is not None and at_ms >= label.onset_ms
    verdict = "wrong" if not is_due else "right" if is_won else "useless"
    delay_s = (at_ms - label.onset_ms) / 1000 if is_due and label else None
    return Copy(stage=key[0], stage_attempt=key[1], task=key[2], at_ms=at_ms, verdict=verdict, delay_s=delay_s)


def score(pairs: Iterable[tuple[Case, Sequence[Copy]]]) -> Score:
    """Count copies against labels; of several copies of one task the first one finds it."""
    cases = healthy = deserving = found = n_copies = right = 0
    delays_s: list[float] = []
    for case, copies in pairs:
        cases += 1
        tasks = {task_key(attempt) for attempt in case.attempts}
        healthy += len(tasks - {task_key(label) for label in case.labels})
        n_copies += len(copies)
        right += sum(copy.verdict != "wrong" for copy in copies)
        first = {task_key(copy): copy for copy in reversed(copies) if copy.verdict != "wrong"}
        for label in case.labels:
            copy = first.get(task_key(label))
            if copy is not None:
                found += 1
                delays_s.append(copy.delay_s or 0.0)
            deserving += copy is not None or could_be_copied(case, label)
    return Score(
        cases=cases, healthy=healthy, deserving=deserving, found=found, copies=n_copies, right=right, delays_s=delays_s
    )


def could_be_copied(case: Case, label: Label) -> bool:
    """Whether a labelled task lasted long enough after its onset, and another host had a free slot meanwhile."""
    ends_ms = [one.finish_ms for one in case.attempts if task_key(one) == task_key(label) and one.succeeded]
    end_ms = min(ends_ms, default=case.begun_ms + round(1000 * case.job_s))
    if end_ms - label.onset_ms < 1000 * WORTH_S:
        return False
    others = [one for one in case.attempts if one.host != label.host]
    # Load falls only where an attempt ends, so a slot becomes free there or was free at the onset.
    moments_ms = [label.onset_ms, *(one.finish_ms for one in others if label.onset_ms <= one.finish_ms < end_ms)]
    room = case.slots - SLOTS
    return any(sum(one.launch_ms <= at_ms < one.finish_ms for one in others) < room for at_ms in moments_ms)
