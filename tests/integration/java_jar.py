"""How does a test bring Java classes of its own into a Spark? Compiled against that Spark, when the test runs."""

import subprocess
from pathlib import Path

from spark_listener.attach import jar_path


def build(source: Path, spark_home: Path, folder: Path, *more: Path) -> Path:
    """The jar with the classes of one source file, or of several."""
    class_path = f"{jar_path()}:{spark_home / 'jars'}/*"
    classes = folder / "classes"
    subprocess.run(["javac", "-nowarn", "--release", "8", "-cp", class_path, "-d", classes, source, *more], check=True)
    jar = folder / f"{source.stem}.jar"
    subprocess.run(["jar", "--create", "--file", jar, "-C", classes, "."], check=True)
    return jar
