"""How does a test make the shim fail? By a jar in which every hook stumbles over a fault that is switched on.

All hooks of the driver read Spark through the class `Scala`, and those of the executors keep what they watch in
`WatchedTask`. Here both are compiled from their sources with a call at the head of each method, and put before the real
ones on the class path. Nothing of this is in the shipped jar.
"""

import re
from pathlib import Path

from tests.integration import java_jar
from tests.integration.plane_process import ROOT

SOURCES = ROOT / "jvm-shim" / "shim-spark" / "src" / "main" / "java" / "io" / "grasshopper" / "spark"
HEADS = {
    "Scala": r"(?m)^(  static (?!final).*\{)$",
    "WatchedTask": r"(?m)^(  (?:WatchedTask\(TaskContext task\)|long\[\] moved\(\)) \{)$",
}
"""What the first line of a method looks like that is to stumble, by class."""
FAULT_PROPERTY = "grasshopper.test.fault"
STRUCK_PROPERTY = "grasshopper.test.struck"
"""The fault that has struck last in a JVM."""
PACKAGE = "package io.grasshopper.spark;\n"
FAULT = """
final class Fault {
  static void strike() {
    String fault = System.getProperty("%s", "");
    if (!fault.isEmpty()) {
      System.setProperty("%s", fault);
    }
    switch (fault) {
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
    """The jar with the faulty classes; it goes before the shim's own on a class path."""
    fault = folder / "Fault.java"
    fault.write_text(PACKAGE + FAULT % (FAULT_PROPERTY, STRUCK_PROPERTY))
    sources = []
    for name, head in HEADS.items():
        text, count = re.subn(head, r"\1 Fault.strike();", (SOURCES / f"{name}.java").read_text())
        assert count >= 2, f"{name} looks different from what this file expects"
        sources.append(folder / f"{name}.java")
        sources[-1].write_text(text)
    return java_jar.build(fault, spark_home, folder, *sources)
