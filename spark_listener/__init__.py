"""What does a Spark user need? attach(); around it, tools that need a real Spark: local cluster, traces, demo."""

from spark_listener.attach import attach, jar_path

__all__ = ["attach", "jar_path"]
