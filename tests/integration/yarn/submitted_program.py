"""How does a test run one job in a driver that it cannot talk to? This program leaves the answer in a file.

Arguments: the name of a job of spark_jobs.py, its own arguments as JSON, and the file.
"""

import json
import sys
from pathlib import Path

import spark_jobs
from pyspark.sql import SparkSession

job, arguments, path = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
Path(path).write_text(json.dumps(getattr(spark_jobs, job)(spark, **json.loads(arguments))))
spark.stop()
