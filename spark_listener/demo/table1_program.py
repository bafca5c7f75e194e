"""What does the user of Table 1 run? One Spark driver that runs the same two jobs each time it is told to.

It reads its task (a JSON object) from the first line of standard input and prints one JSON object per event; each
further line runs the jobs once more, the end of input ends it.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, split

from spark_listener.attach import attach
from spark_listener.demo.workload import DRAIN_S, emit, fingerprint

LARGE_BYTES = 10**12


def large_outputs(spark: SparkSession, url: str) -> DataFrame:
    """The trace's jobs that wrote the most: one stage, whose result returns to the driver."""
    field = split(col("value"), "\t")
    rows = spark.read.text(url).select(field[0].alias("job"), field[5].cast("bigint").alias("bytes"))
    return rows.where(col("bytes") > LARGE_BYTES)


def run_job(spark: SparkSession, job: dict[str, Any], start_s: float) -> None:
    """Wait for the job's arrival, run it in its own job group, report its result."""
    time.sleep(max(0.0, start_s + job["arrival_s"] - time.monotonic()))
    spark.sparkContext.setJobGroup(job["id"], f"job {job['id']} of Table 1")
    emit(event="finished", job=job["id"], result=fingerprint(large_outputs(spark, job["url"])))


def main() -> None:
    """Do the task that standard input describes, in JSON."""
    task = json.loads(sys.stdin.readline())
    builder = SparkSession.builder.appName(task["name"])
    for key, value in task["conf"].items():
        builder.config(key, value)
    spark = attach(builder, server=task["server"], mode="control").getOrCreate()
    large_outputs(spark, task["warm_up_url"]).collect()
    emit(event="ready", app_id=spark.sparkContext.applicationId)
    for _ in sys.stdin:
        start_s = time.monotonic()
        threads = [threading.Thread(target=run_job, args=(spark, job, start_s)) for job in task["jobs"]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        time.sleep(DRAIN_S)
        emit(event="drained")
    spark.stop()
    emit(event="stopped")


if __name__ == "__main__":
    main()
