"""How does a test run jobs in a Spark driver? This program runs jobs of spark_jobs.py as lines of JSON ask for them.

First line on standard input: the configuration. Then {"id", "job", "arguments"}, each run in a thread of its own;
every answer is one line {"id", "result"} or {"id", "error"} on standard output. End of input ends the application.
"""

import json
import sys
import threading
from pathlib import Path

import spark_jobs
from pyspark.sql import SparkSession


def main():
    """Serve until the input ends."""
    builder = SparkSession.builder
    for name, value in json.loads(sys.stdin.readline()).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    spark.sparkContext.addPyFile(str(Path(spark_jobs.__file__)))
    out = threading.Lock()

    def say(answer):
        with out:
            print(json.dumps(answer), flush=True)

    def run(request):
        try:
            result = getattr(spark_jobs, request["job"])(spark, **request["arguments"])
            say({"id": request["id"], "result": result})
        except Exception as error:
            say({"id": request["id"], "error": f"{type(error).__name__}: {error}"})

    say({"id": 0, "result": {"application": spark.sparkContext.applicationId, "version": spark.version}})
    for line in sys.stdin:
        threading.Thread(target=run, args=[json.loads(line)], daemon=True).start()
    spark.stop()


if __name__ == "__main__":
    main()
