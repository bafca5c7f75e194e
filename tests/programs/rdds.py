"""Which programs work on RDDs? Python's and the JVM's, with and without a shuffle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import add
from typing import Any

from pyspark.sql import SparkSession

from tests.programs.inputs import TEXT_SPLITS, Inputs
from tests.programs.program import program
from tests.programs.python_udfs import digest
from tests.programs.stall import counted


def _digests(lines: Iterable[str]) -> Iterator[int]:
    for line in counted(lines):
        yield digest(line, rounds=40)


@program("Python RDD", python=True, iterator=True, rows=8_000)
def text_rdd(spark: SparkSession, inputs: Inputs) -> Any:
    """Lines of text, each hashed in Python."""
    return spark.sparkContext.textFile(inputs.text, TEXT_SPLITS).mapPartitions(_digests).reduce(max)


@program("Python RDD", python=True, iterator=True, rows=8_000)
def shuffled_rdd(spark: SparkSession, inputs: Inputs) -> Any:
    """Lines grouped by a field and then hashed, behind a shuffle that Python reads whole."""
    lines = spark.sparkContext.textFile(inputs.text, TEXT_SPLITS)
    spread = lines.map(lambda line: (line.split("|")[1], line)).partitionBy(20).values().mapPartitions(_digests)
    return spread.map(lambda number: (number % 10, 1)).reduceByKey(add, 4).sortByKey().collect()


@program("JVM RDD", rows=8_000)
def jvm_rdd(spark: SparkSession, inputs: Inputs) -> Any:
    """Lines of text, each hashed in the JVM, without SQL."""
    sc = spark.sparkContext
    return sc._jvm.programs.LineDigests.largest(sc._jsc, inputs.text, TEXT_SPLITS)


@program("one task", python=True, iterator=True, slow_task=0, rows=60_000)
def one_task_rdd(spark: SparkSession, inputs: Inputs) -> Any:
    """What many tasks have found, looked through by one."""
    lines = spark.sparkContext.textFile(inputs.text, TEXT_SPLITS)
    some = lines.filter(lambda line: line.split("|")[3] in "12")
    return some.coalesce(1, shuffle=True).mapPartitions(_digests).reduce(max)
