"""How do hundreds of JVMs start on two cores? With Spark's classes from an archive, and compiled only once.

`python -m spark_listener.class_archive` writes the archive (class data sharing, JEP 350) once for each Spark. A JVM
whose class path or version does not fit reads its classes from jars, as it would without.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from spark_listener.local_cluster import installed_spark_home

ARCHIVE = Path(__file__).parents[1] / "build" / f"spark-{pyspark.__version__}-classes.jsa"
QUICK = "-XX:TieredStopAtLevel=1"
MASTERS = ("local-cluster[1,1,1024]", "local[2]")
"""Classes of a driver with executors elsewhere, and those of an executor."""
OPTIONS = f"{QUICK} -XX:SharedArchiveFile={ARCHIVE} -Xlog:cds*=off -Xlog:class+path=off"
"""For any JVM."""


@contextlib.contextmanager
def quick_starts() -> Iterator[None]:
    """JVMs that are started meanwhile read the archive, which is written first where it is missing."""
    if not ARCHIVE.exists():
        subprocess.run([sys.executable, "-m", __name__], check=True)
    given = os.environ.get("JAVA_TOOL_OPTIONS")
    os.environ["JAVA_TOOL_OPTIONS"] = f"{given or ''} {OPTIONS}".strip()
    try:
        yield
    finally:
        if given is None:
            del os.environ["JAVA_TOOL_OPTIONS"]
        else:
            os.environ["JAVA_TOOL_OPTIONS"] = given


def in_container(spark_home: Path) -> str:
    """The same for an executor in a container, whose class path would begin with its folder, and so would not fit."""
    (first,) = (spark_home / "jars").glob("slf4j-api-*.jar")
    return f"{OPTIONS} -cp {spark_home}/conf:{first}:{spark_home}/jars/*"


def write(archive: Path) -> None:
    """Run small jobs in one JVM, whose classes the archive gets as it ends."""
    archive.parent.mkdir(exist_ok=True)
    draft = archive.with_suffix(".draft")
    options = f"{QUICK} -XX:ArchiveClassesAtExit={draft} -Xlog:cds=off"
    for master in MASTERS:
        builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
        session = builder.config("spark.driver.extraJavaOptions", options).getOrCreate()
        numbers = session.sparkContext.parallelize(range(100), 2).map(lambda number: (number % 3, number))
        assert numbers.reduceByKey(max).count() == session.range(100).selectExpr("id % 3").distinct().count()
        session.stop()
    java: Any = session.sparkContext._gateway
    java.shutdown()
    java.proc.stdin.close()
    java.proc.wait()
    draft.replace(archive)


if __name__ == "__main__":
    os.environ["SPARK_HOME"] = str(installed_spark_home())
    if not ARCHIVE.exists():
        write(ARCHIVE)
