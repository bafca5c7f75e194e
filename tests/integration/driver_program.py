"""How does a test run jobs in a Spark driver? This program runs jobs of JOBS as lines of JSON ask for them.

First line on standard input: the configuration. Then {"id", "job", "arguments"}, each run in a thread of its own;
every answer is one line {"id", "result"} or {"id", "error"} on standard output. End of input ends the application.
"""

import json
import sys
import threading
from pathlib import Path

import approximate_jobs
import bounded_jobs
import spark_jobs
from pyspark.sql import SparkSession

JOBS = (spark_jobs, bounded_jobs, approximate_jobs)


def main():
    """Serve until the input ends."""
    builder = SparkSession.builder
    for name, value in json.loads(sys.stdin.readline()).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    for module in JOBS:
        spark.sparkContext.addPyFile(str(Path(module.__file__)))
    out = threading.Lock()

    def say(answer):
        with out:
            print(json.dumps(answer), flush=True)

    def run(request):
        try:
            job = next(getattr(module, request["job"]) for module in JOBS if hasattr(module, request["job"]))
            say({"id": request["id"], "result": job(spark, **request["arguments"])})
        except Exception as error:
            say({"id": request["id"], "error": f"{type(error).__name__}: {error}"})

    say({"id": 0, "result": {"application": spark.sparkContext.applicationId, "version": spark.version}})
    for line in sys.stdin:
        threading.Thread(target=run, args=[json.loads(line)], daemon=True).start()
    spark.stop()


if __name__ == "__main__":
    main()
