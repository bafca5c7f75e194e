"""What does the user's program do? One Spark driver that runs the trace's jobs concurrently, as any user might.

It is the same program for every contestant.  It reads its task (a JSON object) from the first line of standard
input, prints one JSON object per event, and starts the jobs when a second line arrives.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from contextlib import nullcontext
from typing import Any

from pyspark import InheritableThread
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, length, split
from pyspark.sql.functions import max as largest
from pyspark.sql.functions import sum as total

from spark_listener.approximation.approximate import approximate
from spark_listener.attach import attach
from spark_listener.bounds import deadline

# Losing copies are being killed when the last result arrives; their ends belong in the event log.
DRAIN_S = 2.0
MODE = "spark.grasshopper.mode"
LARGE_DIGITS = 12
"""Decimal digits of the input's bytes, in jobs that a query without a shuffle finds."""


def query(spark: SparkSession, url: str, map_only: bool) -> DataFrame:
    """Jobs, bytes and the largest job per hour and order of magnitude; integers, so that order cannot matter.

    A `map_only` query shuffles nothing: it finds the jobs with the largest inputs.
    """
    field = split(col("value"), "\t")
    rows = spark.read.text(url).select(
        (field[1].cast("bigint") / 3600).cast("int").alias("hour"),
        length(field[3]).alias("digits"),
        field[3].cast("bigint").alias("bytes"),
    )
    if map_only:
        return rows.where(col("digits") >= LARGE_DIGITS)
    return rows.groupBy("hour", "digits").agg(count("*"), total("bytes"), largest("bytes"))


def warm_up(spark: SparkSession, url: str, *, map_only: bool, is_approximate: bool, slots: int) -> None:
    """Run the query as jobs will, with as many tasks as slots in each of its stages, so that no executor is cold.

    Spark fills all free slots at once; Grasshopper keeps out of it, and so learns nothing from copies of cold tasks.
    """
    session = spark.newSession()
    session.conf.set("spark.sql.files.minPartitionNum", slots)
    session.conf.set("spark.sql.files.openCostInBytes", 0)
    session.conf.set("spark.sql.shuffle.partitions", slots)
    session.conf.set("spark.sql.adaptive.coalescePartitions.enabled", False)
    session.conf.set(MODE, "off")  # of SQL; the property is for other jobs
    spark.sparkContext.setLocalProperty(MODE, "off")
    for _ in range(2):  # stock's copies may take slots of the first pass's tasks
        if is_approximate:
            approximate(query(session, url, map_only=True), error=0.0)
        else:
            query(session, url, map_only).collect()
    spark.sparkContext.setLocalProperty(MODE, None)  # type: ignore[arg-type]  # None removes it


def fingerprint(frame: DataFrame) -> str:
    """A hash of the whole result, in a fixed order."""
    rows = sorted(tuple(row) for row in frame.collect())
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def run_job(spark: SparkSession, job: dict[str, Any], start_s: float, map_only: bool) -> None:
    """Wait for the job's arrival, run it in its own job group and fair-scheduler pool, report time and result."""
    time.sleep(max(0.0, start_s + job["arrival_s"] - time.monotonic()))
    spark.sparkContext.setJobGroup(job["id"], f"trace job {job['id']}, {job['tasks']} tasks")
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", job["id"])
    submitted_s = time.monotonic()
    emit(event="submitted", job=job["id"])
    result = result_of(spark, job, map_only)
    emit(event="finished", job=job["id"], seconds=time.monotonic() - submitted_s, result=result)


def result_of(spark: SparkSession, job: dict[str, Any], map_only: bool) -> str:
    """A hash of the job's whole result; its deadline, if it has one, steers Grasshopper and ends nothing.

    An approximate job ends at its deadline: the answer of each partition that it has seen, in JSON. Nothing of it is
    shuffled.
    """
    within = f"{round(1000 * job['deadline_s'])}ms" if job["deadline_s"] else ""
    if job["is_approximate"]:
        return json.dumps(dict(approximate(query(spark, job["url"], map_only=True), deadline=within).answers))
    with deadline(within) if within else nullcontext():
        return fingerprint(query(spark, job["url"], map_only))


def emit(**event: object) -> None:
    """One event, one write, so that lines of concurrent jobs do not mix."""
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Do the task that standard input describes, in JSON."""
    task = json.loads(sys.stdin.readline())
    builder = SparkSession.builder.appName(task["name"])
    for key, value in task["conf"].items():
        builder.config(key, value)
    if task["server"]:
        attach(builder, server=task["server"], mode="control")
    spark = builder.getOrCreate()
    warm_up(
        spark,
        task["warm_up_url"],
        map_only=task["map_only"],
        is_approximate=any(job["is_approximate"] for job in task["jobs"]),
        slots=task["warm_slots"],
    )
    emit(event="ready", app_id=spark.sparkContext.applicationId)
    sys.stdin.readline()
    start_s = time.monotonic()
    threads = [InheritableThread(target=run_job, args=(spark, job, start_s, task["map_only"])) for job in task["jobs"]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    time.sleep(DRAIN_S)
    spark.stop()
    emit(event="stopped")


if __name__ == "__main__":
    main()
