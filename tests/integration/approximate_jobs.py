"""Which approximate jobs do tests ask a Spark driver for? Tasks wait at the gates of spark_jobs.py."""

import math
import time
from functools import partial
from pathlib import Path

from spark_jobs import enter, squares_at_gates, wait_at


def approximated(spark, *, group, bound, tasks=8, held=(), gate="", hold_copies=True, never=(), rows=False):
    """What is seen of the squares within a bound, and whether the thread's local properties are what they were.

    Tasks of `never` wait at a gate that nobody opens. `rows` are computed again, and would wait once more.
    """
    from spark_listener import approximate  # executors need not have it

    context = spark.sparkContext
    enter(context, group)
    body = partial(squares_at_gates, held=tuple(held), gate=gate, hold_copies=hold_copies)
    last = partial(squares_at_gates, held=tuple(never), gate=f"{gate}-never", hold_copies=True)
    numbers = context.parallelize(range(tasks), tasks).mapPartitionsWithIndex(last)
    squares_of = numbers.map(math.isqrt).mapPartitionsWithIndex(body)
    before, begun_s = dict(context._jsc.sc().getLocalProperties()), time.monotonic()
    found = approximate(squares_of, **bound)
    return {
        "seconds": time.monotonic() - begun_s,
        "repr": repr(found),
        "seen": sorted(found.answers),
        "sample": sorted(found.sample),
        "sum": [found.sum().seen, found.sum().low, found.sum().withheld],
        "rows": found.rows().collect() if rows else None,
        "untouched": dict(context._jsc.sc().getLocalProperties()) == before,
    }


def _after_gates(index, lines, *, gates):
    if index in gates:
        wait_at(gates[index])
    return lines


def approximated_by_size(spark, *, group, folder, error, tasks, held, gate, never):
    """Which partitions are seen of files within an error bound: each longer than the last, those of `never` by far.

    The held tasks wait at the gate, and those of `never` at one that nobody opens.
    """
    from spark_listener import approximate

    context = spark.sparkContext
    enter(context, group)
    files = [Path(folder, f"{number}.txt") for number in range(tasks)]
    for number, file in enumerate(files):
        file.write_text("a line\n" * (number + 1) * (100 if number in never else 1))
    lines = context.union([context.textFile(file.as_uri(), 1) for file in files])
    gates = dict.fromkeys(held, gate) | dict.fromkeys(never, f"{gate}-never")
    return sorted(approximate(lines.mapPartitionsWithIndex(partial(_after_gates, gates=gates)), error=error).answers)


def approximated_failure(spark, *, group):
    """An approximate job whose task 0 fails for good."""
    from spark_listener import approximate

    enter(spark.sparkContext, group)
    numbers = spark.sparkContext.parallelize([0, 1], 2)
    approximate(numbers.map(lambda n: 1 // n), deadline="60s")


def _prices(spark):
    """Rows (n, price, exact, mostly_null), of which most partitions have no value in the last column."""
    rows = spark.range(0, 1000, 1, 10)
    return rows.selectExpr(
        "id AS n",
        "id / 7 AS price",
        "CAST(id AS decimal(7,2)) AS exact",
        "CASE WHEN id > 950 THEN 3 END AS mostly_null",
    )


def approximated_whole(spark):
    """Whether each answer equals stock's, where the bound leaves nothing out; doubles to the last bits."""
    from pyspark.sql import functions as sql

    from spark_listener import approximate

    prices = _prices(spark)
    found = approximate(prices, error=0.0)
    stock = prices.agg(
        sql.count("*"), sql.sum("n"), sql.mean("n"), sql.sum("exact"), sql.sum("mostly_null"), sql.sum("price")
    ).first()
    ours = (found.count, found.sum("n"), found.mean("n"), found.sum("exact"), found.sum("mostly_null"))
    floats = spark.sparkContext.parallelize([0.1 * n for n in range(1000)], 7)
    one = prices.coalesce(1)
    return {
        "complete": found.is_complete,
        "same": [each.value for each in ours] == list(stock)[:5],
        "price": abs(found.sum("price").value / stock[5] - 1.0) < 1e-14,
        "price of one partition": approximate(one, error=0.0).sum("price").value
        == one.agg(sql.sum("price")).first()[0],
        "rdd": approximate(floats, deadline="60s").sum().value == floats.sum(),
        "empty": approximate(spark.createDataFrame([], "n long"), error=0.1).count.value,
    }


def approximated_queries(spark):
    """By query, what an approximate answer says of itself, or why there is none."""
    from pyspark.sql import functions as sql

    from spark_listener import approximate

    prices, numbers = _prices(spark), spark.sparkContext.parallelize(range(100), 10)
    few = spark.range(10).withColumnRenamed("id", "n")
    stored = prices.groupBy("n").count().repartition(5).persist()
    not_stored = prices.groupBy("exact").count().persist()
    stored.count()
    queries = {
        "python udf": prices.select(sql.udf(lambda price: price + 1, "double")("price").alias("more")),
        "broadcast join": prices.join(sql.broadcast(few), "n"),
        "stored": stored,
        "sorted in partitions": prices.sortWithinPartitions("price"),
        "subquery": prices.where("n >= (SELECT min(id) FROM range(5))"),
        "union": prices.union(prices),
        "not stored": not_stored,
        "grouped": prices.groupBy("price").count(),
        "grouped as it lies": prices.groupBy("n").count(),
        "joined": prices.join(few.hint("merge"), "n"),
        "limited": prices.limit(5),
        "sorted": prices.orderBy("price"),
        "streaming": spark.readStream.format("rate").load(),
        "shuffled rdd": numbers.map(lambda n: (n, n)).groupByKey(),
        "barrier": numbers.barrier().mapPartitions(lambda each: each),
        "neither": [1, 2],
    }
    told = {}
    for name, query in queries.items():
        try:
            told[name] = repr(approximate(query, error=0.2, sample=True, seed=1))
        except (TypeError, ValueError) as error:
            told[name] = f"{type(error).__name__}: {error}"
    stored.unpersist()
    not_stored.unpersist()
    return told
