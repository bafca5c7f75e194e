"""Which programs write files? Parquet, CSV and text, whose tasks produce rows as well as read them."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from tests.programs.inputs import Inputs
from tests.programs.program import program
from tests.programs.sql import SHUFFLED, checksum, line_items
from tests.programs.stall import column


@program("write parquet")
def write_parquet(spark: SparkSession, inputs: Inputs) -> Any:
    """All lines and a digest of each, written as parquet and read back."""
    written = str(inputs.output / "parquet")
    lines = line_items(spark, inputs).select(
        column("l_orderkey").alias("key"), f.sha2("l_comment", 512).alias("digest")
    )
    lines.write.parquet(written)
    return checksum(spark.read.parquet(written), "key", "digest")


@program("write CSV")
def write_csv(spark: SparkSession, inputs: Inputs) -> Any:
    """Some columns as CSV."""
    written = str(inputs.output / "csv")
    lines = line_items(spark, inputs).select(column("l_orderkey").alias("key"), "l_shipdate", "l_comment")
    lines.write.csv(written)
    return checksum(spark.read.csv(written), "_c0", "_c1", "_c2")


@program("write text")
def write_text(spark: SparkSession, inputs: Inputs) -> Any:
    """A digest of each line as text."""
    written = str(inputs.output / "text")
    key = column("l_orderkey").cast("string")
    line_items(spark, inputs).select(f.concat_ws("|", key, f.sha2("l_comment", 512)).alias("value")).write.text(written)
    return checksum(spark.read.text(written), "value")


@program("write parquet", rows=38_000, conf=SHUFFLED)
def write_by_month(spark: SparkSession, inputs: Inputs) -> Any:
    """One folder for each month, behind a shuffle and a sort within tasks."""
    written = str(inputs.output / "months")
    month = f.date_format("l_shipdate", "yyyy-MM").alias("month")
    lines = line_items(spark, inputs).select("l_orderkey", "l_comment", month).repartition(20, "month")
    kept = lines.select(column("l_orderkey").alias("key"), "l_comment", "month")
    kept.write.partitionBy("month").parquet(written)
    return checksum(spark.read.parquet(written), "key", "l_comment", "month")
