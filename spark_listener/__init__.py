"""What does a Spark user call? attach(), doctor(), deadline(), error_bound(), speculator() and approximate()."""

from spark_listener.approximation.approximate import approximate
from spark_listener.attach import attach, jar_path
from spark_listener.bounds import deadline, error_bound, speculator
from spark_listener.doctor import doctor

__all__ = ["approximate", "attach", "deadline", "doctor", "error_bound", "jar_path", "speculator"]
