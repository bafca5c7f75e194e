"""How does a test run one job in a driver that it cannot talk to? This program leaves the answer in a file.

Arguments: the name of a job of spark_jobs.py, its own arguments as JSON, and the file. The driver ends when a file
`left` is beside it, so that all that happened is reported.
"""

import json
import sys
import time
from pathlib import Path

import spark_jobs
from pyspark.sql import SparkSession

job, arguments, path = sys.argv[1:]
spark, answer = SparkSession.builder.getOrCreate(), Path(path)
answer.write_text(json.dumps(getattr(spark_jobs, job)(spark, **json.loads(arguments))))
while not answer.with_name("left").exists():
    time.sleep(0.1)
spark.stop()
