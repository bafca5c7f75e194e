"""Which programs iterate? MLlib's, whose jobs are many and short and read what is cached."""

from __future__ import annotations

from typing import Any

from pyspark.ml.classification import LogisticRegression
from pyspark.ml.clustering import KMeans
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from tests.programs.inputs import Inputs
from tests.programs.program import program
from tests.programs.sql import line_items
from tests.programs.stall import column


@program("MLlib")
def k_means(spark: SparkSession, inputs: Inputs) -> Any:
    """A few rounds of k-means over cached points; the slow task is one of the scan that fills the cache."""
    names = ["quantity", "price", "discount"]
    numbers = [f.col(f"l_{name}").cast("double").alias(name) for name in ("quantity", "extendedprice", "discount")]
    lines = line_items(spark, inputs).where(column("l_orderkey") % 4 == 0)
    points = lines.select(*[number.alias(name) for number, name in zip(numbers, names, strict=True)])
    ready = VectorAssembler(inputCols=names, outputCol="features").transform(points).cache()
    model = KMeans(k=5, maxIter=5, seed=1, initMode="random").fit(ready)
    return len(model.clusterCenters()), ready.count()


@program("MLlib")
def logistic_regression(spark: SparkSession, inputs: Inputs) -> Any:
    """A few rounds of gradient descent over cached rows: is a line returned?"""
    names = ["quantity", "price", "discount"]
    numbers = [f.col(f"l_{name}").cast("double") for name in ("quantity", "extendedprice", "discount")]
    lines = line_items(spark, inputs).where(column("l_orderkey") % 4 == 0)
    label = (f.col("l_returnflag") == "R").cast("double").alias("label")
    rows = lines.select(label, *[number.alias(name) for number, name in zip(numbers, names, strict=True)])
    ready = VectorAssembler(inputCols=names, outputCol="features").transform(rows).cache()
    model = LogisticRegression(maxIter=4).fit(ready)
    return len(model.coefficients), ready.count()
