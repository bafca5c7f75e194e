"""Where are a sweep's cells computed? One after the other in this process, or each as a task of a Spark cluster.

A cell is a computation that depends on nothing but itself, so where it ran cannot be seen from its result.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

from controlplane.model.errors import BadSetting
from controlplane.simulator.provenance import provenance

Cell = Callable[[], Any]
Compute = Callable[[Sequence[Cell]], Iterator[tuple[int, Any]]]
"""Yields each cell's position and result as it ends, in any order."""

MASTER = re.compile(r"local(\[.+\])?|spark://.+|yarn")
JOBS_AT_ONCE = 64
"""Each cell is a Spark job of one task; so many are under way, that no core of a small cluster waits for the next."""


class OtherCode(Exception):
    """A worker has another version of the simulator than this process."""


@contextmanager
def computing(on: str | None) -> Iterator[Compute]:
    """What computes cells: on the Spark master `on`, or here where it is None.

    Workers import this package, from an installed wheel or from PYTHONPATH. Raises BadSetting for what is no master,
    ImportError without pyspark, OtherCode while it computes.
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
            code, result = job.result()
            if code != provenance().code:
                raise OtherCode(f"workers simulate with code {code}, this process with {provenance().code}")
            yield jobs[job], result

    try:
        yield compute
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        context.cancelAllJobs()
        # A job that reaches Spark while its context stops may never end: none is left when it does.
        threads.shutdown()
        context.stop()


def _here(cells: Sequence[Cell]) -> Iterator[tuple[int, Any]]:
    return enumerate(cell() for cell in cells)


def _spark(master: str) -> Any:
    from pyspark import SparkConf, SparkContext

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Workers compute, the JVM passes on: compiling it thoroughly would cost more than it saves.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")
    conf = SparkConf().setMaster(master).setAppName("grasshopper sweep")
    conf.set("spark.ui.enabled", "false").set("spark.log.level", "ERROR").set("spark.ui.showConsoleProgress", "false")
    return SparkContext.getOrCreate(conf)


def _as_a_job(context: Any, cell: Cell) -> tuple[str, Any]:
    """Runs a cell on some executor; returns the code it ran with, too."""
    (found,) = context.parallelize([cell], 1).map(lambda one: (provenance().code, one())).collect()
    return found
