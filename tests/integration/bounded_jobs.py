"""Which jobs with a deadline, or a speculator of their own, do tests ask a Spark driver for?

Their tasks wait as those of spark_jobs.py do, or nap.
"""

import random
import time
from functools import partial

from pyspark import TaskContext
from spark_jobs import enter, read_text, squares, wait_at

from spark_listener import deadline
from spark_listener import speculator as name_speculator
from spark_listener.bounds import DEADLINE, ERROR_BOUND, SPECULATOR


def bounded(spark, *, within, **how):
    """`squares` with a deadline."""
    with deadline(within):
        return squares(spark, **how)


def read_in_time(spark, *, within, **how):
    """`read_text` with a deadline."""
    with deadline(within):
        return read_text(spark, **how)


def named(spark, *, speculator, within="", **how):
    """`squares` under a speculator that its user names, with a deadline if one is given."""
    with name_speculator(speculator):
        return bounded(spark, within=within, **how) if within else squares(spark, **how)


def bounded_by_java(spark, *, within, share, **how):
    """`squares` with bounds that the shim's class for Scala and Java sets; they are gone afterwards."""
    bounds, context = spark._jvm.io.grasshopper.spark.Grasshopper, spark.sparkContext
    bounds.deadline(context._jsc.sc(), within)
    bounds.errorBound(context._jsc.sc(), share)
    try:
        return squares(spark, **how)
    finally:
        bounds.clear(context._jsc.sc())
        names = (DEADLINE, ERROR_BOUND, SPECULATOR)
        assert [context.getLocalProperty(name) for name in names] == [None, None, None]


def _nap_or_wait(index, values, *, seconds, held, gate):
    if index in held and TaskContext.get().attemptNumber() == 0:
        wait_at(gate)
    time.sleep(seconds)
    return [value * value for value in values]


def napping(spark, *, group, tasks, seconds, held, gate):
    """Squares of tasks that each take so long; the first attempts of some wait at the gate."""
    context = spark.sparkContext
    enter(context, group)
    body = partial(_nap_or_wait, seconds=seconds, held=tuple(held), gate=gate)
    return context.parallelize(range(tasks), tasks).mapPartitionsWithIndex(body).collect()


def _nap_by_seed(index, values, *, seed, slow, gate):
    attempt = TaskContext.get().attemptNumber()
    if index == slow and attempt < 2:
        wait_at(gate)
    else:
        time.sleep(random.Random(f"{seed} {index} {attempt}").uniform(0.2, 0.5))
    return [value * value for value in values]


def straggling(spark, *, group, within, seed, gate, tasks=8, properties=None):
    """Squares of tasks that nap, which of them straggles, and how many seconds the job took.

    The straggler's original waits at the gate, and so does its first copy.
    """
    context, slow = spark.sparkContext, random.Random(seed).randrange(tasks)
    enter(context, group, properties)
    body = partial(_nap_by_seed, seed=seed, slow=slow, gate=gate)
    begun_s = time.monotonic()
    with deadline(within):
        answer = context.parallelize(range(tasks), tasks).mapPartitionsWithIndex(body).collect()
    return {"answer": answer, "straggler": slow, "seconds": time.monotonic() - begun_s}
