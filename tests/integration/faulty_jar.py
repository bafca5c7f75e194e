"""How does a test make the shim fail? By a jar in which every hook stumbles over a fault that is switched on.

All hooks read Spark through the class `Scala`. Here that class is compiled from its source with a call at the head
of each method, and put before the real one on the class path. Nothing of this is in the shipped jar.
"""

import re
from pathlib import Path

from tests.integration import java_jar
from tests.integration.plane_process import ROOT

SOURCE = ROOT / "jvm-shim" / "shim-spark" / "src" / "main" / "java" / "io" / "grasshopper" / "spark" / "Scala.java"
FAULT_PROPERTY = "grasshopper.test.fault"
FAULT = """
final class Fault {
  static void strike() {
    switch (System.getProperty("%s", "")) {
      case "throw":
        throw new IllegalStateException("a fault, on purpose");
      case "slow":
        try {
          Thread.sleep(50);
        } catch (InterruptedException error) {
          Thread.currentThread().interrupt();
        }
        return;
      case "misfit":
        throw new NoSuchMethodError("a fault, on purpose");
      default:
    }
  }
}
"""


def build(spark_home: Path, folder: Path) -> Path:
    """The jar with the faulty class; it goes before the shim's own on `spark.jars`."""
    text, count = re.subn(r"(?m)^(  static (?!final).*\{)$", r"\1 Fault.strike();", SOURCE.read_text())
    assert count >= 5, f"{SOURCE} looks different from what this file expects"
    source = folder / "Scala.java"
    source.write_text(text + FAULT % FAULT_PROPERTY)
    return java_jar.build(source, spark_home, folder)
