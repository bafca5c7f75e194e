"""Which programs are plain SQL over parquet and text? Scans, joins, windows, sorts, and what AQE makes of skew."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from tests.programs.inputs import Inputs
from tests.programs.program import program
from tests.programs.stall import column

SHUFFLED = {"spark.sql.shuffle.partitions": "20", "spark.sql.adaptive.coalescePartitions.enabled": "false"}
"""Twenty tasks after each shuffle, however little they have to do."""
NO_BROADCAST = SHUFFLED | {"spark.sql.autoBroadcastJoinThreshold": "-1"}


def line_items(spark: SparkSession, inputs: Inputs) -> DataFrame:
    """The largest table, about forty tasks."""
    return spark.read.parquet(inputs.table("lineitem"))


def rows_of(frame: DataFrame) -> list[Any]:
    """All rows, in an order of their own."""
    return sorted(tuple(row) for row in frame.collect())


def checksum(frame: DataFrame, *names: str) -> list[Any]:
    """Number of rows and a sum over the columns named, in which order plays no part."""
    return rows_of(frame.agg(f.count("*"), f.sum(f.crc32(f.concat_ws("|", *names)))))


@program("scan")
def scan_regex(spark: SparkSession, inputs: Inputs) -> Any:
    """A scan whose filter costs CPU on each row."""
    words = f.size(f.split(f.regexp_replace("l_comment", "[aeiou]+", " "), " "))
    return rows_of(
        line_items(spark, inputs)
        .where((words > 2) & (column("l_orderkey") > 0))
        .groupBy("l_returnflag")
        .agg(f.count("*"), f.sum(words))
    )


@program("aggregate")
def pricing_summary(spark: SparkSession, inputs: Inputs) -> Any:
    """TPC-H's query 1, which aggregates as it reads."""
    return rows_of(
        line_items(spark, inputs)
        .where("l_shipdate <= date '1998-09-02'")
        .withColumn("key", column("l_orderkey"))
        .groupBy("l_returnflag", "l_linestatus")
        .agg(
            f.sum("l_quantity"),
            f.sum("l_extendedprice"),
            f.expr("sum(l_extendedprice * (1 - l_discount))"),
            f.expr("sum(l_extendedprice * (1 - l_discount) * (1 + l_tax))"),
            f.expr("sum(crc32(l_comment))"),
            f.max("key"),
        )
    )


@program("join", rows=150_000, conf=NO_BROADCAST)
def order_priority(spark: SparkSession, inputs: Inputs) -> Any:
    """A sort-merge join of the two largest tables, slowed behind the join."""
    orders = spark.read.parquet(inputs.table("orders"))
    joined = line_items(spark, inputs).join(orders, f.col("l_orderkey") == f.col("o_orderkey"))
    late = joined.where("l_commitdate < l_receiptdate").withColumn("key", column("l_orderkey"))
    digest = f.crc32(f.sha2(f.concat("l_comment", "o_comment"), 256))
    return rows_of(late.groupBy("o_orderpriority").agg(f.count("*"), f.sum(digest), f.max("key")))


@program("window", rows=150_000, conf=SHUFFLED)
def running_totals(spark: SparkSession, inputs: Inputs) -> Any:
    """A window over each order's lines, slowed behind the window."""
    lines = Window.partitionBy("l_suppkey").orderBy("l_shipdate", "l_orderkey", "l_linenumber")
    totals = line_items(spark, inputs).select(
        "l_orderkey", "l_suppkey", f.sum("l_quantity").over(lines).alias("total"), f.rank().over(lines).alias("rank")
    )
    return checksum(totals.withColumn("key", column("l_orderkey")), "key", "total", "rank")


@program("sort", rows=150_000, conf=SHUFFLED)
def sorted_lines(spark: SparkSession, inputs: Inputs) -> Any:
    """A sort of whole rows, slowed behind the sort; what is kept depends on each partition's order."""
    lines = line_items(spark, inputs).orderBy("l_comment", "l_orderkey", "l_linenumber")
    place = f.monotonically_increasing_id() % 1000
    kept = lines.withColumn("key", column("l_orderkey")).where((f.length("l_comment") > 0) & (place >= 0))
    return checksum(kept, "key", "l_comment")


@program("scan text", paced=True, rows=8_000, conf={"spark.sql.files.maxPartitionBytes": "1048576"})
def text_fields(spark: SparkSession, inputs: Inputs) -> Any:
    """A text file split at each megabyte, its fields counted; a paced source may hand it out."""
    fields = f.split("value", r"\|")
    rows = spark.read.text(inputs.text).select(fields[0].cast("bigint").alias("order"), f.crc32(f.sha2("value", 512)))
    return rows_of(rows.select(column("order").alias("order"), rows[1].alias("sum")).agg(f.max("order"), f.sum("sum")))


@program("scan text", slow_task=0, rows=150_000)
def one_gzip_file(spark: SparkSession, inputs: Inputs) -> Any:
    """A compressed text file, which is one task without siblings."""
    digest = f.crc32(f.sha2(f.sha2(f.sha2("value", 512), 512), 512))
    rows = spark.read.text(inputs.gzipped).select(f.split("value", r"\|")[0].cast("bigint").alias("order"), digest)
    return rows_of(rows.select(column("order").alias("order"), rows[1].alias("sum")).agg(f.max("order"), f.sum("sum")))


SKEW = "if(pmod(l_orderkey, 10) < 2, 7L, l_suppkey)"
"""A key that a fifth of the lines share."""


@program("join", rows=150_000, conf=NO_BROADCAST | {"spark.sql.adaptive.skewJoin.enabled": "false"})
def skewed_join(spark: SparkSession, inputs: Inputs) -> Any:
    """A join in which one task has several times as many rows as its siblings."""
    suppliers = spark.read.parquet(inputs.table("supplier"))
    lines = line_items(spark, inputs).withColumn("supplier", f.expr(SKEW))
    joined = lines.join(suppliers, f.col("supplier") == f.col("s_suppkey")).withColumn("key", column("l_orderkey"))
    return checksum(joined.withColumn("digest", f.sha2("l_comment", 512)), "key", "digest", "s_name")


@program("window", rows=150_000, conf=SHUFFLED)
def skewed_window(spark: SparkSession, inputs: Inputs) -> Any:
    """A window whose largest partition is a fifth of all lines."""
    lines = Window.partitionBy("supplier").orderBy("l_shipdate", "l_orderkey", "l_linenumber")
    ranked = (
        line_items(spark, inputs).withColumn("supplier", f.expr(SKEW)).withColumn("rank", f.row_number().over(lines))
    )
    return checksum(ranked.withColumn("key", column("l_orderkey")), "key", "rank")


@program("join", rows=75_000, conf=NO_BROADCAST)
def shipping_priority(spark: SparkSession, inputs: Inputs) -> Any:
    """TPC-H's query 3, two joins deep, slowed behind the second."""
    customers = spark.read.parquet(inputs.table("customer")).where("c_mktsegment <> 'BUILDING'")
    orders = spark.read.parquet(inputs.table("orders")).where("o_orderdate < date '1998-03-15'")
    lines = line_items(spark, inputs).where("l_shipdate > date '1993-03-15'")
    joined = customers.join(orders, f.col("c_custkey") == f.col("o_custkey")).join(
        lines, f.col("o_orderkey") == f.col("l_orderkey")
    )
    revenue = f.expr("sum(l_extendedprice * (1 - l_discount))")
    keyed = joined.withColumn("key", column("l_orderkey"))
    return rows_of(
        keyed.groupBy("o_shippriority", "c_mktsegment").agg(revenue, f.sum(f.crc32("l_comment")), f.max("key"))
    )


@program("broadcast join")
def part_brands(spark: SparkSession, inputs: Inputs) -> Any:
    """A scan joined with a small table that each executor holds."""
    parts = f.broadcast(spark.read.parquet(inputs.table("part")).select("p_partkey", "p_brand"))
    lines = line_items(spark, inputs).withColumn("key", column("l_orderkey"))
    joined = lines.join(parts, f.col("l_partkey") == f.col("p_partkey"))
    return rows_of(joined.groupBy("p_brand").agg(f.count("*"), f.sum(f.crc32(f.sha2("l_comment", 512))), f.max("key")))


@program("join", rows=75_000, conf=NO_BROADCAST)
def large_orders(spark: SparkSession, inputs: Inputs) -> Any:
    """TPC-H's query 18: orders whose lines sum up to much, by a semi-join."""
    large = line_items(spark, inputs).groupBy("l_orderkey").agg(f.sum("l_quantity").alias("sum")).where("sum > 150")
    orders = spark.read.parquet(inputs.table("orders")).withColumn("key", f.col("o_orderkey"))
    kept = orders.join(large, f.col("o_orderkey") == f.col("l_orderkey"), "left_semi")
    lines = kept.join(line_items(spark, inputs), f.col("key") == f.col("l_orderkey")).withColumn("line", column("key"))
    return checksum(lines.withColumn("digest", f.sha2("l_comment", 512)), "line", "digest", "o_orderdate")


@program("aggregate", rows=20_000, conf=SHUFFLED)
def distinct_parts(spark: SparkSession, inputs: Inputs) -> Any:
    """Groups of a high number, aggregated behind the shuffle, and slowed there."""
    groups = line_items(spark, inputs).groupBy("l_partkey", "l_suppkey").agg(f.countDistinct("l_comment").alias("n"))
    return checksum(groups.withColumn("key", column("l_partkey")), "key", "l_suppkey", "n")


@program(
    "aggregate",
    rows=50_000,
    conf={"spark.sql.shuffle.partitions": "200"} | {"spark.sql.adaptive.advisoryPartitionSizeInBytes": "4m"},
)
def coalesced_groups(spark: SparkSession, inputs: Inputs) -> Any:
    """Two hundred partitions that adaptive execution merges into few tasks of several each."""
    groups = line_items(spark, inputs).groupBy("l_orderkey").agg(f.max(f.sha2("l_comment", 512)).alias("digest"))
    return checksum(groups.withColumn("key", column("l_orderkey")), "key", "digest")


@program(
    "join",
    rows=50_000,
    conf={
        "spark.sql.shuffle.partitions": "20",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "8m",
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "8m",
        "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "2",
    },
)
def split_skew_join(spark: SparkSession, inputs: Inputs) -> Any:
    """A skewed join whose largest partition adaptive execution splits."""
    suppliers = spark.read.parquet(inputs.table("supplier"))
    lines = line_items(spark, inputs).withColumn("supplier", f.expr(SKEW))
    joined = lines.join(suppliers, f.col("supplier") == f.col("s_suppkey")).withColumn("key", column("l_orderkey"))
    return checksum(joined.withColumn("digest", f.sha2("l_comment", 512)), "key", "digest", "s_name")


@program("cached scan", rows=60_000)
def cached_lines(spark: SparkSession, inputs: Inputs) -> Any:
    """Lines kept in memory by a first pass and read by a second, which is slowed."""
    lines = line_items(spark, inputs).select("l_orderkey", "l_comment").cache()
    number = lines.count()
    digests = lines.withColumn("key", column("l_orderkey")).withColumn("digest", f.sha2("l_comment", 512))
    return [number, *checksum(digests, "key", "digest")]


@program("generate", rows=60_000)
def exploded_words(spark: SparkSession, inputs: Inputs) -> Any:
    """The words of all comments, several rows out for each row in."""
    words = f.explode(f.split("l_comment", " ")).alias("word")
    lines = line_items(spark, inputs).withColumn("key", column("l_orderkey"))
    return checksum(
        lines.select("key", words).groupBy("word").agg(f.count("*").alias("n"), f.max("key").alias("k")),
        "word",
        "n",
        "k",
    )


@program("one task", slow_task=0, rows=270_000, conf=SHUFFLED)
def one_task_rank(spark: SparkSession, inputs: Inputs) -> Any:
    """A window without a partition, which one task of its own computes."""
    orders = spark.read.parquet(inputs.table("orders")).where("o_orderdate < date '1994-06-01'")
    ranked = orders.withColumn("rank", f.row_number().over(Window.orderBy("o_comment", "o_orderkey")))
    return checksum(ranked.withColumn("key", column("o_orderkey")), "key", "rank")


@program("aggregate", drivers=2)
def two_drivers(spark: SparkSession, inputs: Inputs) -> Any:
    """The pricing summary twice at once, by drivers on half of the cores each; one of them is slowed."""
    return pricing_summary(spark, inputs)
