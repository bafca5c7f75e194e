"""What does a paced job look like from Spark's own REST API? A driver program, run by test_local_cluster.py.

Arguments: master URL, testkit jar, input file, split bytes.  Prints one JSON object.
"""

import contextlib
import json
import sys
import threading
import urllib.request

from pyspark.sql import SparkSession

master_url, jar, path, split_bytes = sys.argv[1:]
spark = (
    SparkSession.builder.master(master_url)
    .config("spark.jars", jar)
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.ui.port", "0")
    .config("spark.executor.memory", "512m")
    .config("spark.executor.heartbeatInterval", "250ms")
    .config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
    .config("spark.scheduler.maxRegisteredResourcesWaitingTime", "60s")
    .config("spark.hadoop.fs.paced.impl", "io.grasshopper.testkit.PacedFileSystem")
    .config("spark.hadoop.fs.paced.bytes-per-second", str(int(split_bytes) // 8))
    .config("spark.hadoop.fs.paced.max-slowdown", "1.5")
    .config("spark.sql.files.maxPartitionBytes", split_bytes)
    .config("spark.sql.files.openCostInBytes", split_bytes)
    .getOrCreate()
)
sc = spark.sparkContext
api = f"{sc.uiWebUrl}/api/v1/applications/{sc.applicationId}"
seen_bytes: list[int] = []
ended = threading.Event()


def stages() -> list[dict]:
    with urllib.request.urlopen(f"{api}/stages", timeout=5) as answer:
        return json.load(answer)


def watch() -> None:
    while not ended.wait(0.25):
        with contextlib.suppress(OSError):  # a busy machine's interface may be late; the next look may do better
            seen_bytes.append(sum(stage["inputBytes"] for stage in stages() if stage["status"] == "ACTIVE"))


spark.read.text(f"file://{path}").count()
watcher = threading.Thread(target=watch)
watcher.start()
rows = spark.read.text(f"paced://{path}").count()
ended.set()
watcher.join()
with urllib.request.urlopen(f"{api}/executors", timeout=5) as answer:
    executors = [one["hostPort"].split(":")[0] for one in json.load(answer) if one["id"] != "driver"]
print(
    json.dumps(
        {
            "version": spark.version,
            "rows": rows,
            "hosts": sorted(executors),
            "seen_bytes": seen_bytes,
            "final_bytes": max(stage["inputBytes"] for stage in stages()),
        }
    )
)
spark.stop()
