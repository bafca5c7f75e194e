"""What does a Spark user need? attach() and doctor(); around them, tools that need a real Spark."""

from spark_listener.attach import attach, jar_path
from spark_listener.doctor import doctor

__all__ = ["attach", "doctor", "jar_path"]
