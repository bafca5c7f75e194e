"""Which programs send rows to Python workers? Row by row, in batches, and whole groups."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tests.programs.inputs import Inputs
from tests.programs.program import program
from tests.programs.sql import SHUFFLED, checksum, line_items, rows_of
from tests.programs.stall import count, counted

BATCHED = {"spark.sql.execution.arrow.maxRecordsPerBatch": "5000"}


def some_lines(spark: SparkSession, inputs: Inputs) -> DataFrame:
    """The first two lines of each order: Python takes longer for a row than the JVM."""
    return line_items(spark, inputs).where("l_linenumber <= 2")


def digest(text: str, rounds: int = 3) -> int:
    """A number that takes some microseconds to find."""
    data = text.encode()
    for _ in range(rounds):
        data = hashlib.sha512(data).digest()
    return int.from_bytes(data[:6], "big")


@program("Python UDF", python=True, rows=30_000)
def python_udf(spark: SparkSession, inputs: Inputs) -> Any:
    """A scalar function, called for each row."""

    @f.udf("bigint")
    def digested(comment: str) -> int:
        count()
        return digest(comment)

    return checksum(some_lines(spark, inputs).select(digested("l_comment").alias("digest")), "digest")


@program("pandas UDF", python=True, rows=30_000, conf=BATCHED)
def pandas_udf(spark: SparkSession, inputs: Inputs) -> Any:
    """A vectorised function, called for each batch."""

    @f.pandas_udf("bigint")
    def digested(comments: pd.Series) -> pd.Series:
        count(len(comments))
        return comments.map(digest)

    return checksum(some_lines(spark, inputs).select(digested("l_comment").alias("digest")), "digest")


@program("mapInPandas", python=True, iterator=True, rows=30_000, conf=BATCHED)
def map_in_pandas(spark: SparkSession, inputs: Inputs) -> Any:
    """A function over each task's batches, which may drop rows."""

    def digested(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in counted(batches, weight=5000):
            numbers = batch["l_comment"].map(digest)
            yield pd.DataFrame({"digest": numbers[numbers % 2 == 0]})

    lines = some_lines(spark, inputs).select("l_comment")
    return checksum(lines.mapInPandas(digested, "digest bigint"), "digest")


@program("applyInPandas", python=True, rows=70_000, conf=SHUFFLED)
def apply_in_pandas(spark: SparkSession, inputs: Inputs) -> Any:
    """A function over whole groups behind a shuffle."""

    def digested(group: pd.DataFrame) -> pd.DataFrame:
        count(len(group))
        return pd.DataFrame({"key": group["key"][:1], "digest": [int(group["l_comment"].map(digest).sum() % 2**40)]})

    lines = some_lines(spark, inputs).select((f.col("l_suppkey") % 1000).alias("key"), "l_comment")
    return rows_of(lines.groupBy("key").applyInPandas(digested, "key bigint, digest bigint"))


@program("mapInArrow", python=True, rows=30_000, conf=BATCHED)
def map_in_arrow(spark: SparkSession, inputs: Inputs) -> Any:
    """A function over each task's Arrow batches."""

    def digested(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            count(batch.num_rows)
            yield pa.RecordBatch.from_pydict({"digest": [digest(text.as_py()) for text in batch.column(0)]})

    return checksum(some_lines(spark, inputs).select("l_comment").mapInArrow(digested, "digest bigint"), "digest")


@program("pandas aggregate", python=True, rows=35_000, conf=SHUFFLED)
def pandas_aggregate(spark: SparkSession, inputs: Inputs) -> Any:
    """A grouped aggregate in pandas, behind a shuffle."""

    @f.pandas_udf("bigint")
    def digested(comments: pd.Series) -> int:
        count(len(comments))
        return int(comments.map(digest).max())

    groups = some_lines(spark, inputs).where("l_linenumber = 1").groupBy((f.col("l_suppkey") % 400).alias("key"))
    return rows_of(groups.agg(digested("l_comment")))


@program("cogroup", python=True, rows=35_000, conf=SHUFFLED)
def cogrouped(spark: SparkSession, inputs: Inputs) -> Any:
    """Groups of two tables that meet in Python."""

    def met(lines: pd.DataFrame, suppliers: pd.DataFrame) -> pd.DataFrame:
        count(len(lines))
        total = int(lines["l_comment"].map(digest).sum() % 2**40) if len(lines) else 0
        return pd.DataFrame({"key": [len(suppliers)], "digest": [total]})

    key = (f.col("l_suppkey") % 400).alias("key")
    lines = some_lines(spark, inputs).where("l_linenumber = 1").select(key, "l_comment").groupBy("key")
    suppliers = spark.read.parquet(inputs.table("supplier")).select((f.col("s_suppkey") % 400).alias("key"), "s_name")
    return rows_of(lines.cogroup(suppliers.groupBy("key")).applyInPandas(met, "key bigint, digest bigint"))
