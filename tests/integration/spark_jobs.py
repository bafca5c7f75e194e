"""Which Spark jobs do the integration tests run? Functions for a driver program; executors import this file, too.

Every job gives an answer that can be checked. A task is held up by a *gate*, a file that it waits for: the test decides
when it goes on, so no test depends on how fast the machine is. Only first attempts wait unless a job says otherwise.
"""

import json
import random
import time
from functools import partial
from pathlib import Path

from pyspark import InheritableThread, TaskContext
from pyspark.traceback_utils import SCCallSiteSync

LIMIT_S = 120.0
"""A gate that nobody opens opens by itself, so that a failed test leaves nothing behind."""


def wait_at(gate):
    """Return once the file is there."""
    limit_s = time.monotonic() + LIMIT_S
    while not Path(gate).exists() and time.monotonic() < limit_s:
        time.sleep(0.02)


def _maybe_wait(index, held, gate, hold_copies):
    if index in held and (hold_copies or TaskContext.get().attemptNumber() == 0):
        wait_at(gate)


def squares_at_gates(index, values, *, held, gate, hold_copies):
    _maybe_wait(index, held, gate, hold_copies)
    return [value * value for value in values]


def squares(spark, *, group, tasks=4, held=(), gate="", hold_copies=False, properties=None):
    """The squares of 0 to tasks - 1, one task each, computed in a job group."""
    context = spark.sparkContext
    enter(context, group, properties)
    body = partial(squares_at_gates, held=tuple(held), gate=gate, hold_copies=hold_copies)
    return context.parallelize(range(tasks), tasks).mapPartitionsWithIndex(body).collect()


def together(spark, *, group, gate, tasks=2):
    """The same in a barrier stage, all of whose tasks wait at the gate."""
    context = spark.sparkContext
    enter(context, group)
    body = partial(squares_at_gates, held=tuple(range(tasks)), gate=gate, hold_copies=True)
    return context.parallelize(range(tasks), tasks).barrier().mapPartitionsWithIndex(body).collect()


def _later(index, values, *, gates):
    if index == 1 and TaskContext.get().attemptNumber() == 0:
        raise RuntimeError("the first attempt of task 1 fails, on purpose")
    wait_at(gates[index])
    return list(values)


def straggler(spark, *, group, gates):
    """Two tasks that wait at their gates; task 1 starts a second time, so when it ends, task 0 has run for longer."""
    context = spark.sparkContext
    enter(context, group)
    return context.parallelize(range(2), 2).mapPartitionsWithIndex(partial(_later, gates=tuple(gates))).collect()


def _nap(index, values, *, seconds, gate):
    if not Path(gate).exists():
        time.sleep(seconds)
    return [sum(values)]


def naps(spark, *, group, tasks, seconds, gate):
    """Tasks that each take so long, until the gate opens; the sum of their numbers."""
    context = spark.sparkContext
    enter(context, group)
    body = partial(_nap, seconds=seconds, gate=gate)
    return sum(context.parallelize(range(tasks), tasks).mapPartitionsWithIndex(body).collect())


def naps_at_home(spark, *, group, homes, seconds):
    """One task that takes so long for each of `homes`, the host that it prefers; how many ran on another."""
    enter(spark.sparkContext, group)
    return spark._jvm.Homes.strays(spark.sparkContext._jsc.sc(), homes, int(1000 * seconds))


def _tag(index, rows, *, held, gate):
    _maybe_wait(index, held, gate, hold_copies=False)
    return [(row, row % 7) for row in rows]


def _held_rows(spark, rows, tasks, held, gate):
    """Rows (id, id modulo 7) as a data frame; the held tasks make theirs late."""
    pairs = spark.sparkContext.parallelize(range(rows), tasks)
    return spark.createDataFrame(
        pairs.mapPartitionsWithIndex(partial(_tag, held=tuple(held), gate=gate)), "id long, key long"
    )


def write_files(spark, *, group, path, rows=1000, tasks=4, held=(), gate=""):
    """Write rows to CSV files and count what is there afterwards: (rows, distinct rows)."""
    enter(spark.sparkContext, group)
    _held_rows(spark, rows, tasks, held, gate).write.mode("overwrite").csv(path)
    written = spark.read.csv(path)
    return [written.count(), written.distinct().count()]


def write_rows(spark, *, group, path, form, options=None, conf=None, tasks=4, held=(), gate=""):
    """Save rows in a format, perhaps one that keeps none of them, with options and settings of their own."""
    enter(spark.sparkContext, group)
    session = spark.newSession()
    for name, value in (conf or {}).items():
        session.conf.set(name, value)
    written = _held_rows(session, 100, tasks, held, gate).write.mode("append").format(form).options(**options or {})
    written.save(path)


def write_pairs(spark, *, group, path, output_format, tasks=4, held=(), gate=""):
    """Save an RDD by a Hadoop output format."""
    context = spark.sparkContext
    enter(context, group)
    body = partial(_tag, held=tuple(held), gate=gate)
    context.parallelize(range(100), tasks).mapPartitionsWithIndex(body).saveAsNewAPIHadoopFile(path, output_format)


def misnamed_foreach(spark, *, group, tasks=4, held=(), gate=""):
    """Give rows to a user's function, as `DataFrameWriter.jdbc` does, under the call site of a call that has returned.

    PySpark leaves it behind where another thread was in a call when this one's ended.
    """
    context = spark.sparkContext
    enter(context, group)
    rows = _held_rows(spark, 100, tasks, held, gate)._jdf.toJavaRDD()
    loader = context._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    context._jsc.setCallSite("collect at notebook.py:1")
    try:
        rows.foreachPartition(loader.loadClass("Sinks$Nowhere").getConstructor(None).newInstance(None))
    finally:
        context._jsc.clearCallSite()


def misnamed_python_foreach(spark, *, group, tasks=4, held=(), gate="", ballast=0):
    """The same from Python, which only says what it calls while no other thread is in a call.

    A function of more than a million bytes of `ballast` is broadcast.
    """
    context = spark.sparkContext
    enter(context, group)
    numbers = context.parallelize(range(tasks), tasks)
    context._jsc.setCallSite("collect at notebook.py:1")
    SCCallSiteSync._spark_stack_depth += 1
    try:
        numbers.foreach(partial(_maybe_wait, held=(*held, bytes(ballast)), gate=gate, hold_copies=False))
    finally:
        SCCallSiteSync._spark_stack_depth -= 1
        context._jsc.clearCallSite()


def _append(indices, *, path, held, gate):
    for index in indices:
        _maybe_wait(index, held, gate, hold_copies=False)
        with Path(path, str(index)).open("a") as sink:
            sink.write("written\n")


def foreach_files(spark, *, group, path, tasks=4, held=(), gate=""):
    """A job whose tasks write where they like; answers how often each of them wrote."""
    enter(spark.sparkContext, group)
    Path(path).mkdir(parents=True)
    numbers = spark.sparkContext.parallelize(range(tasks), tasks)
    numbers.foreachPartition(partial(_append, path=path, held=tuple(held), gate=gate))
    return [len(Path(path, str(index)).read_text().splitlines()) for index in range(tasks)]


def _sum_late(_, pairs, *, gate):
    wait_at(gate)
    totals = {}
    for key, value in pairs:
        totals[key] = totals.get(key, 0) + value
    return sorted(totals.items())


def shuffled_sums(spark, *, group, gate, maps=8, reduces=24):
    """Sums by key over a shuffle. More reduces than slots: the later ones fetch only after the gate has opened."""
    context = spark.sparkContext
    enter(context, group)
    pairs = context.parallelize(range(maps * 100), maps).map(lambda n: (n % reduces, n))
    return sorted(pairs.partitionBy(reduces).mapPartitionsWithIndex(partial(_sum_late, gate=gate)).collect())


def joined(spark, *, group, gate, held=(0,), tasks=4, rows=2000):
    """A query that adaptive execution cuts into several Spark jobs: join, group, sort."""
    enter(spark.sparkContext, group)
    left = _held_rows(spark, rows, tasks, held, gate).repartition(8, "key")
    right = spark.range(7).withColumnRenamed("id", "key").repartition(4, "key")
    counts = left.join(right.hint("merge"), "key").groupBy("key").count().orderBy("key")
    return [list(row) for row in counts.collect()]


def collected_in_a_thread(spark, *, group, gate, held=(0,), tasks=4):
    """How many rows a query has that is run in a thread with its starter's local properties."""
    enter(spark.sparkContext, group)
    query, rows = _held_rows(spark, 100, tasks, held, gate), []
    thread = InheritableThread(target=lambda: rows.extend(query.collect()))
    thread.start()
    thread.join()
    return len(rows)


def cached(spark, *, group, gate, held=(0,), tasks=4):
    """The sum of a persisted RDD, computed once with copies and read twice from the cache."""
    context = spark.sparkContext
    enter(context, group)
    body = partial(squares_at_gates, held=tuple(held), gate=gate, hold_copies=False)
    kept = context.parallelize(range(400), tasks).mapPartitionsWithIndex(body).persist()
    sums = [kept.sum(), kept.sum(), kept.sum()]
    kept.unpersist(blocking=True)
    return sums


def _fail_first(index, values, *, gate):
    attempt = TaskContext.get().attemptNumber()
    if index == 0 and attempt == 0:
        raise RuntimeError("the first attempt of task 0 fails, on purpose")
    if index == 0 and attempt == 1:
        wait_at(gate)
    return values


def fails_once(spark, *, group, gate, tasks=4):
    """Task 0 fails in its first attempt, and its second one waits at the gate; copies do not wait."""
    context = spark.sparkContext
    enter(context, group)
    return context.parallelize(range(tasks), tasks).mapPartitionsWithIndex(partial(_fail_first, gate=gate)).collect()


def _late_row(row, *, gate):
    if row == "late":
        wait_at(gate)
    return row


def stream_lines(spark, *, group, source, sink, gate):
    """A streaming query over the text files in `source`; a row "late" waits at the gate. Answers the rows written."""
    enter(spark.sparkContext, group)
    lines = spark.readStream.text(source)

    def write(batch, _):
        rows = batch.rdd.map(lambda row: row[0]).map(partial(_late_row, gate=gate))
        spark.createDataFrame(rows.map(lambda line: (line,)), "line string").write.mode("append").text(sink)

    query = lines.writeStream.foreachBatch(write)
    query = query.option("checkpointLocation", f"{sink}.checkpoint").trigger(availableNow=True).start()
    query.awaitTermination()
    return sorted(row[0] for row in spark.read.text(sink).collect())


def read_text(spark, *, group, path):
    """How many lines a file has."""
    enter(spark.sparkContext, group)
    return spark.read.text(path).count()


def trivial(spark, *, tasks):
    """So many tasks that do next to nothing, and no Python; answers how many there were."""
    return spark.range(0, tasks, 1, tasks)._jdf.toJavaRDD().count()


def deaf(spark, *, group, seconds):
    """One task that takes so long, and no Python; it does not hear that it is to die."""
    enter(spark.sparkContext, group)
    nap = spark.range(0, 1, 1, 1).selectExpr(f"java_method('java.lang.Thread', 'sleep', {1000 * seconds}L)")
    return nap._jdf.toJavaRDD().count()


def asleep(spark, *, group, tasks, seconds=LIMIT_S):
    """So many tasks that do nothing for so long or until they are cancelled, and no Python."""
    spark.sparkContext.setJobGroup(group, group, interruptOnCancel=True)
    nap = f"java_method('java.lang.Thread', 'sleep', {int(1000 * seconds)}L)"
    return spark.range(0, tasks, 1, tasks).selectExpr(nap)._jdf.toJavaRDD().count()


def cancel(spark, *, group):
    """Cancel the jobs of a group."""
    spark.sparkContext.cancelJobGroup(group)


def overhead(spark, *, pairs, tasks, settle_s, seed):
    """Trivial jobs in pairs, with the shim and without it in an order that is drawn.

    Answers, per pair, the driver's processor seconds (with, without), and once the wall seconds and the seconds under
    the scheduler's lock of all jobs with the shim. Processor time counts until the driver has come to rest.
    """
    switch = spark._jvm.ShimSwitch(spark.sparkContext._jsc.sc())
    chance = random.Random(seed)
    spent, wall_s, lock_us = [], 0.0, shim_status(spark)["lock_total_us"]
    for _ in range(pairs):
        cpu_s = {}
        for shimmed in chance.sample([True, False], 2):
            if not shimmed:
                switch.takeOut()
            began_ns, began_s = switch.cpuNanos(), time.monotonic()
            trivial(spark, tasks=tasks)
            wall_s += shimmed * (time.monotonic() - began_s)
            time.sleep(settle_s)
            cpu_s[shimmed] = (switch.cpuNanos() - began_ns) / 1e9
            if not shimmed:
                switch.putIn()
        spent.append([cpu_s[True], cpu_s[False]])
    return {"spent": spent, "wall_s": wall_s, "lock_s": (shim_status(spark)["lock_total_us"] - lock_us) / 1e6}


def shim_status(spark):
    """What the shim says of itself."""
    return json.loads(spark._jvm.io.grasshopper.spark.GrasshopperPlugin.status())


def doctor(spark):
    """(severity, check, what was found) of each finding about this session; executors need no such import."""
    import spark_listener

    return [(each.severity, each.check, each.message) for each in spark_listener.doctor(spark)]


def configured(spark, *, names):
    """What the driver's configuration says of each name; None where nothing is set."""
    return [spark.sparkContext.getConf().get(name) for name in names]


def set_property(spark, *, name, value):
    """Set a system property of the driver's JVM."""
    spark._jvm.java.lang.System.setProperty(name, value)


def on_executors(spark, *, method, arguments, slots=8):
    """What a method of java.lang.System answers on the executors, each answer once; a nap fills all slots."""
    texts = ", ".join(f"'{argument}'" for argument in arguments)
    call = f"java_method('java.lang.System', '{method}', {texts}) AS answer"
    rows = spark.range(0, slots, 1, slots).selectExpr("java_method('java.lang.Thread', 'sleep', 500L)", call)
    return sorted({row.answer for row in rows.collect()})


def running_tasks(spark):
    """How many attempts run now, by the count of Spark's own scheduler."""
    return spark.sparkContext._jsc.sc().taskScheduler().rootPool().runningTasks()


def enter(context, group, properties=None):
    context.setJobGroup(group, group)
    for name, value in (properties or {}).items():
        context.setLocalProperty(name, value)
