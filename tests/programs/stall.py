"""How does a task of Python code become slow from inside? It counts its rows here, as Stall.java does in the JVM."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from pyspark import TaskContext
from pyspark.sql import Column, SparkSession
from pyspark.sql.functions import call_udf, col

from tests.programs.program import AT_END

PROPERTY = "programs.stall"
T = TypeVar("T")


class _Counter:
    """Rows left until the stall of the one attempt that this Python worker runs now."""

    def __init__(self) -> None:
        self.attempt = -1
        self.left = -1

    def begin(self) -> None:
        """Counts anew if another attempt has begun."""
        task = TaskContext.get()
        if task is not None and task.taskAttemptId() != self.attempt:
            plan = (task.getLocalProperty(PROPERTY) or "").split(" ", 4)
            self.attempt = task.taskAttemptId()
            self.left = int(plan[2]) if len(plan) == 5 and int(plan[1]) == task.partitionId() else -1


_counter = _Counter()


def count(rows: int = 1) -> None:
    """So many rows of the running task have come; sleeps if the row is among them and nobody has slept there yet."""
    _counter.begin()
    if 0 <= _counter.left < rows:
        _sleep()
    _counter.left -= rows


def counted(rows: Iterable[T], weight: int = 1) -> Iterator[T]:
    """The rows, or batches of `weight` rows, each counted as it passes."""
    for row in rows:
        count(weight)
        yield row
    _counter.begin()
    if _counter.left > AT_END // 2:
        _sleep()


def column(name: str) -> Column:
    """An integer column that the JVM counts as it passes."""
    return call_udf("stalled", col(name).cast("bigint"))


def plan(spark: SparkSession, *, kind: str, task: int, row: int, seconds: float, folder: str) -> None:
    """Make the first attempt of a task stall when it gets to a row, in all jobs that this thread starts."""
    spark.sparkContext.setLocalProperty(PROPERTY, f"{kind} {task} {row} {seconds} {folder}")


def _sleep() -> None:
    task = TaskContext.get()
    _, index, _, seconds, folder = task.getLocalProperty(PROPERTY).split(" ", 4)
    told = {"at_ms": round(time.time() * 1000), "stage": task.stageId(), "stage_attempt": 0, "task": task.partitionId()}
    try:
        note = os.open(f"{folder}/stall-{index}.json", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return
    with os.fdopen(note, "w") as file:
        file.write(json.dumps(told))
    time.sleep(float(seconds))
