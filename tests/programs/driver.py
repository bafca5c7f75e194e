"""What does a driver of the corpus do? It runs one program, as its user would, and says how long it took.

Its task is a JSON object on the first line of standard input. It is ready, waits for a line, runs the program, waits
for another line, and stops; each step is one JSON object on standard output.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_listener.attach import attach
from spark_listener.demo.workload import emit
from tests.programs import stall
from tests.programs.inputs import Inputs
from tests.programs.program import programs

DRAIN_S = 3.0
"""Beaten attempts are being killed when the result is there; a Python worker is given two seconds to end."""


def plain(value: Any) -> Any:
    """A result as JSON, with no more digits than any order of addition gives."""
    if isinstance(value, float | Decimal):
        return f"{value:.9g}"
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value if isinstance(value, int) else str(value)


def main() -> None:
    task = json.loads(sys.stdin.readline())
    builder = SparkSession.builder.appName(task["name"])
    for key, value in task["conf"].items():
        builder.config(key, value)
    if task["server"]:
        attach(builder, server=task["server"], mode=task["mode"])
    spark = builder.getOrCreate()
    spark.udf.registerJavaFunction("stalled", "programs.Stall", "bigint")
    program = programs()[task["program"]]
    inputs = Inputs(Path(task["inputs"]), Path(task["output"]), task["scheme"])
    if not task["cold"]:
        spark.sparkContext.parallelize(range(16), 16).map(lambda number: time.sleep(0.2) or number).sum()
        spark.range(0, 1_000_000, 1, 16).selectExpr("sum(crc32(sha2(string(id), 512)))").collect()
    emit(event="ready", app_id=spark.sparkContext.applicationId)
    sys.stdin.readline()
    if task["stall"]:
        stall.plan(spark, **task["stall"])
    begun_ms, begun_s = round(time.time() * 1000), time.monotonic()
    result = plain(program.run(spark, inputs))
    took_s = time.monotonic() - begun_s
    told = hashlib.sha256(json.dumps(result).encode()).hexdigest()
    emit(event="finished", begun_ms=begun_ms, seconds=took_s, result=told)
    sys.stdin.readline()
    time.sleep(DRAIN_S)
    spark.stop()
    emit(event="stopped")


if __name__ == "__main__":
    main()
