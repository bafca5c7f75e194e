"""Which programs wait for somebody else? A call over the network takes time, and no CPU."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from tests.programs.inputs import Inputs
from tests.programs.program import program
from tests.programs.sql import checksum
from tests.programs.stall import count, counted

CALL_S = 0.01


@program("external call", python=True, rows=150)
def external_calls(spark: SparkSession, inputs: Inputs) -> Any:
    """Thirty tasks of 150 rows, each of which waits for its answer."""

    @f.udf("bigint")
    def answered(number: int) -> int:
        count()
        time.sleep(CALL_S)
        return number * 7 % 1009

    return checksum(spark.range(0, 30 * 150, 1, 30).select(answered("id").alias("answer")), "answer")


@program("external call", python=True, rows=150, conf={"spark.sql.execution.arrow.maxRecordsPerBatch": "25"})
def batched_calls(spark: SparkSession, inputs: Inputs) -> Any:
    """The same where a batch of 25 rows waits at once, in pandas."""

    @f.pandas_udf("bigint")
    def answered(numbers: pd.Series) -> pd.Series:
        count(len(numbers))
        time.sleep(CALL_S * len(numbers))
        return numbers * 7 % 1009

    return checksum(spark.range(0, 30 * 150, 1, 30).select(answered("id").alias("answer")), "answer")


@program("external call", python=True, iterator=True, rows=150)
def looked_up_rows(spark: SparkSession, inputs: Inputs) -> Any:
    """Rows of an RDD that are looked up one by one."""

    def look_up(numbers: Iterable[int]) -> Iterator[int]:
        for number in counted(numbers):
            time.sleep(CALL_S)
            yield number * 7 % 1009

    return spark.sparkContext.parallelize(range(30 * 150), 30).mapPartitions(look_up).sum()
