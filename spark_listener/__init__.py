"""What does a Spark user need? attach(), doctor(), deadline(), error_bound(); around them, tools for a real Spark."""

from spark_listener.attach import attach, jar_path
from spark_listener.bounds import deadline, error_bound
from spark_listener.doctor import doctor

__all__ = ["attach", "deadline", "doctor", "error_bound", "jar_path"]
