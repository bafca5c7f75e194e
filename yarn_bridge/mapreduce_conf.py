"""Which keys attach a MapReduce job to Grasshopper? A job sets them itself, or a site sets them for all jobs.

Hadoop ends a job whose speculator's class cannot be loaded: so the jar is in its place before any job names it, and
stays there until none does.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from controlplane.shim_settings import READINGS, Reading, anything, deadline
from yarn_bridge.install_conf import Step, built_jar

SPECULATOR_KEY = "yarn.app.mapreduce.am.job.speculator.class"
SPECULATOR = "io.grasshopper.mapreduce.GrasshopperSpeculator"
PREFIX = "mapreduce.grasshopper"
JAR_NAME = "grasshopper-mapreduce.jar"
OWN: Mapping[str, Reading] = {"deadline": deadline, "policy": anything, "token.alias": anything}
KEYS: Mapping[str, Reading] = {**{key: one for key, one in READINGS.items() if key != "token"}, **OWN}
"""Keys that the shim reads, under `mapreduce.grasshopper.`. `token` is missing on purpose: a job's configuration is
readable by anyone who may view the job."""


def mapreduce_jar() -> Path:
    """The jar for ApplicationMasters.  Raises FileNotFoundError."""
    return built_jar(JAR_NAME, module="shim-mapreduce")


def properties(server: str, jar: str, more: dict[str, str]) -> dict[str, str]:
    """The keys of a job; `jar` is a URI on the job's file system, `more` are further keys of ours without prefix.

    Raises ValueError for a jar or a value that cannot be one.

    >>> jar = "hdfs:///apps/grasshopper-mapreduce.jar"
    >>> properties("http://plane:7272", jar, {"deadline": "90s"})["mapreduce.job.classpath.files"]
    '/apps/grasshopper-mapreduce.jar'
    """
    place = urlsplit(jar)
    if not place.scheme or not place.path.endswith(f"/{JAR_NAME}"):
        raise ValueError(f"jar: got {jar!r}, want a URI on the jobs' file system, such as hdfs:///apps/{JAR_NAME}")
    ours = {"server": server, **more}
    if faults := [f"{key} {fault}" for key, value in ours.items() if (fault := KEYS[key](value))]:
        raise ValueError("; ".join(faults))
    return {
        SPECULATOR_KEY: SPECULATOR,
        "mapreduce.job.classpath.files": place.path,
        "mapreduce.job.cache.files": jar,
        **{f"{PREFIX}.{key}": value for key, value in ours.items()},
    }


def install(server: str, jar: str, more: dict[str, str]) -> list[Step]:
    """The steps that attach a job.  Raises ValueError as `properties` does."""
    keys = properties(server, jar, more)
    words = [word for key, value in keys.items() for word in ("-D", f"{key}={value}")]
    return [
        Step(
            do="Put the jar where the jobs' containers can fetch it.", commands=(f"hdfs dfs -put {_shown_jar()} {jar}",)
        ),
        Step(
            do="Give the job these keys by -D, if its program is run by ToolRunner; or all jobs, by the file.",
            file="mapred-site.xml",
            properties=keys,
            commands=(f"hadoop jar PROGRAM.jar {shlex.join(words)} ...",),
        ),
        Step(do="See it attached.", commands=(f"grasshopper status --server {server}",)),
    ]


def uninstall(jar: str) -> list[Step]:
    """The steps that take the keys of a site back."""
    return [
        Step(
            do=f"Take {SPECULATOR_KEY} and the keys of {PREFIX} out, and the jar out of mapreduce.job.cache.files and "
            "mapreduce.job.classpath.files.",
            file="mapred-site.xml",
        ),
        Step(do="Remove the jar once no job that names it runs any more.", commands=(f"hdfs dfs -rm {jar}",)),
    ]


def _shown_jar() -> str:
    try:
        return str(mapreduce_jar())
    except FileNotFoundError:
        return JAR_NAME
