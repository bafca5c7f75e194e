"""Where are a sweep's cells computed? One after the other in this process, or each as a task of a Spark cluster.

A cell is a computation that depends on nothing but itself, so where it ran cannot be seen from its result.
"""

import os
import re
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any

from controlplane.model.errors import BadSetting
from controlplane.simulator.provenance import provenance

Cell = Callable[[], Any]
Compute = Callable[[Sequence[Cell]], Iterator[tuple[int, Any]]]
"""Yields each cell's position and result as it ends, in any order."""

MASTER = re.compile(r"local(\[.+\])?|spark://[^\s,]+:\d+(,[^\s,]+:\d+)*|yarn")
CONNECT_S = 5.0
"""How long a master may take to let somebody in; Spark itself would try for a minute."""
JOBS_AT_ONCE = 64
"""Each cell is a Spark job of one task; so many are under way, that no core of a small cluster waits for the next."""


class OtherCode(Exception):
    """A worker has another version of the simulator than this process."""


class NoCluster(Exception):
    """No Spark cluster can be reached at the master, or it has gone."""


@contextmanager
def computing(on: str | None) -> Iterator[Compute]:
    """What computes cells: on the Spark master `on`, or here where it is None.

    Workers import this package, from an installed wheel or from PYTHONPATH. Raises BadSetting for what is no master,
    ImportError without pyspark, NoCluster where there is none, that or OtherCode while it computes.
    """
    if on is None:
        yield _here
        return
    if not MASTER.fullmatch(on):
        raise BadSetting("on", got=on, want="a Spark master, as in local[2] or spark://host:7077")
    context = _spark(on)
    threads = ThreadPoolExecutor(JOBS_AT_ONCE)

    def compute(cells: Sequence[Cell]) -> Iterator[tuple[int, Any]]:
        jobs = {threads.submit(_as_a_job, context, cell): position for position, cell in enumerate(cells)}
        for job in as_completed(jobs):
            with _told_if_gone(on, context):
                code, result = job.result()
            ours = provenance(with_engine=True).code
            if code != ours:
                raise OtherCode(f"workers simulate with code {code}, this process with {ours}")
            yield jobs[job], result

    try:
        yield compute
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        with suppress(NoCluster), _told_if_gone(on, context):
            context.cancelAllJobs()
        # A job that reaches Spark while its context stops may never end: none is left when it does.
        threads.shutdown()
        context.stop()


@contextmanager
def _told_if_gone(master: str, context: Any) -> Iterator[None]:
    """Raises NoCluster in place of what Spark says of a context that it has stopped by itself."""
    from py4j.protocol import Py4JError

    try:
        yield
    except Py4JError as error:
        is_running = False
        with suppress(Py4JError):  # The JVM may have gone, too.
            is_running = context._jsc is not None and not context._jsc.sc().isStopped()
        if is_running:
            raise
        raise NoCluster(f"{master} is gone") from error


def _require_master(master: str) -> None:
    """Raises NoCluster where nobody listens at any of a standalone cluster's addresses; other masters have none."""
    if not master.startswith("spark://"):
        return
    for host, _, port in (each.rpartition(":") for each in master.removeprefix("spark://").split(",")):
        with suppress(OSError, OverflowError), socket.create_connection((host.strip("[]"), int(port)), CONNECT_S):
            return
    raise NoCluster(f"{master} cannot be reached; does a Spark master run there?")


def _here(cells: Sequence[Cell]) -> Iterator[tuple[int, Any]]:
    return enumerate(map(_interruptible, cells))


def _interruptible(cell: Cell) -> Any:
    """The cell's result, computed by a thread of its own: a kernel would not heed Ctrl-C before its end.

    An interrupted thread goes on until the process ends.
    """
    result: Future[Any] = Future()

    def compute() -> None:
        try:
            result.set_result(cell())
        except BaseException as error:
            result.set_exception(error)

    Thread(target=compute, daemon=True).start()
    return result.result()


def _spark(master: str) -> Any:
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException

    _require_master(master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Workers compute, the JVM passes on: compiling it thoroughly would cost more than it saves.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")
    conf = SparkConf().setMaster(master).setAppName("grasshopper sweep")
    conf.set("spark.ui.enabled", "false").set("spark.log.level", "ERROR").set("spark.ui.showConsoleProgress", "false")
    try:
        return SparkContext.getOrCreate(conf)
    except (Py4JError, PySparkException) as error:
        raise NoCluster(f"{master}: no Spark application can be started there") from error


def _as_a_job(context: Any, cell: Cell) -> tuple[str, Any]:
    """Runs a cell on some executor; returns the code it ran with, too."""
    (found,) = context.parallelize([cell], 1).map(lambda one: (provenance(with_engine=True).code, one())).collect()
    return found
