"""How does a Spark user get an answer in time, or from most of the input? By an action that stops at its bound."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from spark_listener.approximation.input_stage import Query, query_of
from spark_listener.approximation.partial import Partial
from spark_listener.approximation.stopping import Bound, bound, drawn_by, sampled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark import RDD, SparkContext
    from pyspark.sql import DataFrame

    from spark_listener.approximation.on_executors import Answer

POLL_S = 0.05
"""How often the driver looks whether the bound is met."""


def approximate(
    query: RDD[Any] | DataFrame,
    *,
    deadline: str | timedelta | None = None,
    error: float | None = None,
    sample: bool = False,
    seed: int | None = None,
) -> Partial:
    """Counts rows, and sums up numeric columns, of the partitions that are done by a bound; the others are cancelled.

    `deadline` is a duration as Spark writes it ("90s", "5min") or a timedelta, from this call on. `error` is the share
    of the partitions that may be left out, from 0 to `MOST_UNDONE`. What a DataFrame broadcasts, and its subqueries,
    run whole, and count toward a deadline. If the bound leaves nothing out, the result is complete and exact; `Partial`
    says which it is.

    Partitions run in the order that Grasshopper's policy gives them, and those that end first are no random sample, so
    there are no intervals. With `sample=True` they start in a random order (`seed` draws the same one again), and a
    sample that does not depend on how long its partitions take gives intervals. With `error` it is the share that is
    needed, drawn before the job starts, which runs nothing else. With `deadline` it is as many as have started by half
    of it, if two thirds of those have ended by then, and all that were drawn in time. The former is the better sample.

    Only queries whose result stage reads the input can be bounded: no shuffle, limit, sort of all rows, or stream.
    Raises NotBoundable (a ValueError) for another, ValueError for a bound that is none, TypeError for what is no query,
    RuntimeError where there is no SparkContext, and what the job raises if a task fails or somebody else cancels it.

    Example: `approximate(df.select("price"), error=0.1, sample=True).mean("price")`
    """
    begun_s = time.monotonic()
    wanted = bound(deadline=deadline, error=error, sample=sample, seed=seed)
    _refuse_environment()
    found = query_of(query)
    partitions = found.rdd.getNumPartitions()
    order = wanted.order(partitions)
    drawn, answers = 0, dict[int, "Answer"]()
    if order and time.monotonic() - begun_s < wanted.within_s:
        job = _Job(found, order, wanted.properties(time.monotonic() - begun_s))
        drawn, answers = _until_met(job, wanted, partitions, begun_s)
    return Partial(
        partitions=partitions,
        columns=found.columns,
        answers=answers,
        sample=sampled(order, drawn, answers),
        prune=found.prune,
    )


def _refuse_environment() -> None:
    """Raises RuntimeError where no job of this thread could be bounded."""
    from py4j.clientserver import ClientServer
    from pyspark import SparkContext

    if SparkContext._active_spark_context is None:
        raise RuntimeError("there is no SparkContext; start a session first")
    if not isinstance(SparkContext._gateway, ClientServer):
        raise RuntimeError("threads of Python and the JVM are not pinned; unset PYSPARK_PIN_THREAD")


def _until_met(job: _Job, wanted: Bound, partitions: int, begun_s: float) -> tuple[int, dict[int, Answer]]:
    """Runs the job until it ends or its bound is met: how many of its first partitions are drawn, and all answers."""
    is_settled = wanted.draws_at_s() == math.inf
    drawn = len(job.order) if is_settled and wanted.is_random else 0
    with job.running():
        while not job.has_ended(POLL_S):
            elapsed_s = time.monotonic() - begun_s
            if not is_settled and elapsed_s >= wanted.draws_at_s():
                is_settled, drawn = True, drawn_by(job.started(), job.seen(), partitions)
            if wanted.is_met(seen=job.seen(), partitions=partitions, elapsed_s=elapsed_s):
                break
    return drawn, job.answers()


class _Job:
    """A Spark job in a thread of its own, whose answers are there as its tasks end.

    It carries a tag that nobody else has, by which it is cancelled, beside the caller's own job group and local
    properties. Those of the caller's thread are not touched.
    """

    def __init__(self, query: Query, order: tuple[int, ...], properties: Mapping[str, str | None]) -> None:
        from pyspark import InheritableThread

        from spark_listener.approximation.on_executors import Answers, answering

        self.order = order
        self._context: SparkContext = query.context
        self._properties = properties
        self._tag = f"grasshopper-approximate-{uuid.uuid4()}"
        self._told = query.context.accumulator({}, Answers())
        self._tasks = query.rdd.mapPartitionsWithIndex(answering(self._told, query.answer))
        self._whole: dict[int, Answer] | None = None
        self._error: BaseException | None = None
        self._is_stopped = False
        self._thread = InheritableThread(target=self._run, daemon=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Runs it inside; whoever leaves before it has ended cancels it."""
        self._thread.start()
        try:
            yield
        finally:
            while not self.has_ended(POLL_S):
                self.stop()

    def has_ended(self, within_s: float) -> bool:
        """Whether it ends within this time."""
        self._thread.join(within_s)
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Cancels it; without effect before Spark has it, so it bears repeating until it has ended."""
        self._is_stopped = True
        self._context.cancelJobsWithTag(self._tag)

    def seen(self) -> int:
        """How many partitions have answered."""
        return len(self._told.value)

    def started(self) -> int:
        """How many partitions have started, as Spark's status has it; copies count, too, but no more than there are.

        The status may be some starts behind. So the number is that of a moment ago, which makes it no less fair.
        """
        tracker = self._context._jsc.sc().statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForTag(self._tag)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job.isDefined() for stage in job.get().stageIds()]
        infos = [stage.get() for stage in stages if stage.isDefined()]
        return min(sum(info.numCompletedTasks() + info.numActiveTasks() for info in infos), len(self.order))

    def answers(self) -> dict[int, Answer]:
        """By partition, once it has ended: all of them, or those there were when it was stopped.

        Raises what the job has raised, if it did not end by `stop`.
        """
        told, self._told.value = dict(self._told.value), {}  # PySpark keeps every accumulator
        if self._whole is not None:
            return self._whole
        assert self._error is not None
        if not (self._is_stopped and self._tag in str(self._error)):
            raise self._error
        return told

    def _run(self) -> None:
        from spark_listener.approximation.on_executors import same

        try:
            for name, value in self._properties.items():
                self._context.setLocalProperty(name, value)  # type: ignore[arg-type]  # None removes it
            self._context.setInterruptOnCancel(True)
            self._context.addJobTag(self._tag)
            self._whole = dict(self._context.runJob(self._tasks, same, self.order))
        except BaseException as error:
            self._error = error
