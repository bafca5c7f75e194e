"""Where do the jars of a real YARN come from? Maven fetches what Apache published, once for each version."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from controlplane.processes import ClusterError

VERSIONS = ("3.5.0", "3.4.3", "3.3.6")
"""Versions that the local YARN is tried with, newest first."""

POM = Path(__file__).with_name("hadoop") / "pom.xml"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
FETCH_S = 600.0
CACHE = Path("build/hadoop")


def jars_folder(version: str, cache: Path = CACHE) -> Path:
    """Where the jars of one Hadoop version are, or will be."""
    return (cache / version).absolute()


def hadoop_jars(version: str, cache: Path = CACHE, pom: Path = POM) -> Path:
    """The folder with the jars that `pom` names of one version, fetched if it is not there.  Raises ClusterError.

    A folder appears under its name only when it is complete, so an interrupted download leaves none behind.
    """
    folder = jars_folder(version, cache)
    if folder.is_dir():
        return folder
    if not shutil.which("mvn"):
        raise ClusterError("a local YARN's jars are fetched by Maven, and there is no mvn on the PATH")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{version}-") as draft:
        _copy_dependencies(pom, version, Path(draft) / "jars")
        try:
            (Path(draft) / "jars").rename(folder)
        except OSError:
            if not folder.is_dir():  # else somebody else has just fetched the same
                raise
    return folder


def _copy_dependencies(pom: Path, version: str, folder: Path) -> None:
    command = (
        "mvn", "-q", "-B", "-f", str(pom), COPY,
        f"-Dhadoop.version={version}", "-DincludeScope=runtime", f"-DoutputDirectory={folder}",
    )  # fmt: skip
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=FETCH_S)
    except subprocess.TimeoutExpired as late:
        raise ClusterError(f"Maven did not fetch Hadoop {version} within {FETCH_S:.0f} s") from late
    except subprocess.CalledProcessError as failed:
        raise ClusterError(f"Maven could not fetch Hadoop {version}:\n{failed.stdout.strip()}") from failed
