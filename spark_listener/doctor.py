"""Is a Spark application ready for Grasshopper, before or after attaching? Findings, each with its fix.

Every check is a function from the examination to findings; only an error makes the doctor fail.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from controlplane import __version__
from controlplane.findings import ERROR, HEADINGS, NOTE, OK, WARNING, Finding, Findings, as_rows, worst_first
from controlplane.hosts.spark import FILE_WRITERS, verdict
from controlplane.model.facts import Mode, StageSubmitted, lowest
from controlplane.shim_settings import READINGS, misread, unknown
from controlplane.terminal import print_table
from spark_listener.attach import PLUGIN_CLASS, jar_path
from spark_listener.examination import LISTENER_CLASS, Examined, examine_session, read_jar
from spark_listener.local_properties import LOCAL_READINGS, PREFIX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS = tuple(READINGS)
"""Keys that the shim reads from the configuration, under `spark.grasshopper.`."""
LOCAL_PROPERTIES = tuple(name for name in LOCAL_READINGS if name not in READINGS)
"""Keys that it reads only from a job's local properties; `mode` and `late.job` are read from both."""
SORT_SHUFFLES = ("sort", "tungsten-sort", "org.apache.spark.shuffle.sort.SortShuffleManager")
LOCAL_SHUFFLE_IO = "org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO"
SQL_PROTOCOL = "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol"
PATH_PROTOCOL = "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol"
FILE_COMMITTER = "org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter"
PARQUET_COMMITTER = "org.apache.parquet.hadoop.ParquetOutputCommitter"
S3A_COMMITTERS = {
    "file": FILE_COMMITTER,
    "magic": "org.apache.hadoop.fs.s3a.commit.magic.MagicS3GuardCommitter",
    "directory": "org.apache.hadoop.fs.s3a.commit.staging.DirectoryStagingCommitter",
    "partitioned": "org.apache.hadoop.fs.s3a.commit.staging.PartitionedStagingCommitter",
}
"""By the name that `fs.s3a.committer.name` gives them."""
CLASSES = {"spark.plugins": PLUGIN_CLASS, "spark.extraListeners": LISTENER_CLASS}
"""Our class that each of these keys may name."""
SILENT_S = 10.0
"""A driver reports at least every few seconds."""
THREE_LINES = "use attach(), or set spark.jars, spark.plugins and spark.grasshopper.server as README says"
READ_TOKEN = "give a token with the read role: --token, or doctor(spark, token=...)"  # noqa: S105


def doctor(spark: SparkSession, *, token: str | None = None) -> Findings:
    """Prints and returns findings about a live session, worst first; changes nothing.

    `token` is for reading over REST, if the server requires one; the shim's own is in the session's configuration.
    """
    findings = Findings(diagnose(examine_session(spark, token=token)))
    print_table(HEADINGS, as_rows(findings))
    return findings


def diagnose(seen: Examined) -> list[Finding]:
    """All findings, worst first, otherwise in the order of the checks."""
    if seen.is_connect:
        message = "this is a Spark Connect session: there is no SparkContext in this process to check or to attach to"
        return [
            Finding(
                ERROR,
                "session",
                message,
                "attach on the host where the Connect server starts, and run the doctor there",
            )
        ]
    return worst_first(finding for check in CHECKS for finding in check(seen))


def _spark_version(seen: Examined) -> Iterator[Finding]:
    version = seen.spark_version
    if version is None:
        yield Finding(NOTE, "Spark", "unknown: no pyspark is installed here", "the shim is for Spark 3.5 and 4.x")
    elif re.match(r"(3\.5|4\.\d+)\b", version):
        yield Finding(OK, "Spark", version)
    else:
        yield Finding(ERROR, "Spark", f"{version}; the shim is for Spark 3.5 and 4.x", "take one of these")


def _way_in(seen: Examined) -> Iterator[Finding]:
    misspelt = [(key, name) for key in CLASSES for name in seen.items(key) if _is_meant_for_ours(key, name)]
    for key, name in misspelt:
        message = f"{key} names {name}, which is not a class of Grasshopper's for this key: Spark does not start"
        yield Finding(ERROR, "way in", message, f"did you mean {CLASSES[key]}?")
    if seen.has_plugin:
        beside = "; with it the listener does nothing" if seen.has_listener else ""
        yield Finding(OK, "way in", f"plug-in, progress from the executors{beside}")
    elif seen.has_listener:
        interval = seen.text("spark.executor.heartbeatInterval", "10s")
        yield Finding(
            NOTE, "way in", f"listener only: progress comes by heartbeat, every {interval}",
            f"spark.plugins {PLUGIN_CLASS} instead, where plug-ins are allowed"
        )  # fmt: skip
    elif not misspelt:
        message = "neither spark.plugins nor spark.extraListeners names Grasshopper"
        yield Finding(ERROR if seen.is_live else WARNING, "way in", message, THREE_LINES)
    if seen.text(f"{PREFIX}enabled") == "false":
        yield Finding(WARNING, "way in", f"{PREFIX}enabled is false, so the shim stays out", "take it away")
    if seen.shim_is_on is False:
        yield Finding(
            ERROR, "way in", "the shim has switched itself off in this driver",
            "look for Grasshopper in the driver's log, which says why, and restart the driver"
        )  # fmt: skip


def _is_meant_for_ours(key: str, name: str) -> bool:
    """Whether a class is not valid there, but so similar to ours that one of them is meant."""
    full = name if "." in name else f"{PLUGIN_CLASS.rpartition('.')[0]}.{name}"
    return name != CLASSES[key] and bool(difflib.get_close_matches(full, CLASSES.values(), n=1, cutoff=0.8))


def _jar(seen: Examined) -> Iterator[Finding]:
    jar, place = seen.jar, seen.jar.place if seen.jar else ""
    attached = seen.plane.attached if seen.plane else None
    for path in seen.missing_jars:
        yield Finding(WARNING, "jar", f"spark.jars names {path}, which does not exist", "correct the path")
    if seen.shim_is_on is None and jar is None:
        if seen.has_plugin or seen.has_listener:
            message = "neither spark.jars nor the driver's class path names it: ClassNotFoundException"
            yield Finding(ERROR, "jar", message, "set spark.jars to the path that `grasshopper jars` prints")
            return
        if seen.is_live:
            return
        try:
            jar = read_jar(str(jar_path()))
        except FileNotFoundError as missing:
            yield Finding(ERROR, "jar", str(missing), "install the wheel, which contains it, or build it")
            return
        place = f"{jar.place}, which attach() takes"
    if jar is not None and jar.fault and seen.shim_is_on is None:
        yield Finding(ERROR, "jar", f"{place}: {jar.fault}", "`grasshopper jars` prints where it is")
        return
    version = (attached and attached.shim_version) or (jar and jar.version)
    if not version:
        message = f"{place or 'loaded'}; its version cannot be read from here"
        yield Finding(NOTE, "jar", message, f"it should be {__version__}, as this package")
    elif version != __version__:
        yield Finding(
            WARNING, "jar", f"{place or 'loaded'} is {version}, this Python package {__version__}",
            "use the jar that `grasshopper jars` prints"
        )  # fmt: skip
    else:
        yield Finding(OK, "jar", f"{place or 'loaded'}, version {version}")


def _keys(seen: Examined) -> Iterator[Finding]:
    for key in sorted(seen.conf):
        name = key.removeprefix(PREFIX)
        if not key.startswith(PREFIX):
            spark, _, rest = key.partition(".")
            area, _, rest = rest.partition(".")
            if difflib.get_close_matches(f"{spark}.{area}.", [PREFIX], cutoff=0.85):
                message = f"{key} is no setting, and nobody reads it"
                yield Finding(ERROR, "settings", message, f"did you mean {PREFIX}{rest}?")
            continue
        if name in KEYS:
            continue
        if name in LOCAL_PROPERTIES:
            yield Finding(
                WARNING, "settings", f"{key} is a local property of jobs; nothing reads it in the configuration",
                f'sparkContext.setLocalProperty("{key}", ...) before the job'
            )  # fmt: skip
            continue
        yield unknown(PREFIX, name, READINGS)
    yield from misread(PREFIX, _given(seen), READINGS, unit="application")


def _local_properties(seen: Examined) -> Iterator[Finding]:
    """Those of the calling thread that the shim cannot read as they stand."""
    for name, value in seen.local.items():
        if counts := LOCAL_READINGS[name](value):
            message = f"this thread's local property {PREFIX}{name}={value} counts as {counts}"
            yield Finding(WARNING, "settings", message, "correct it before the job starts, or set it to None")


def _given(seen: Examined) -> dict[str, str]:
    """The values of the settings that the shim knows."""
    return {name: value for name in KEYS if (value := seen.text(f"{PREFIX}{name}"))}


def _server(seen: Examined) -> Iterator[Finding]:
    plane, named = seen.plane, seen.named_server
    if (given := _given(seen).get("server")) and READINGS["server"](given):
        if named == seen.server:
            return
        named = ""
    elif not named:
        fix = f"set it, as in {seen.server or 'http://127.0.0.1:7272'}"
        yield Finding(ERROR, "server", f"{PREFIX}server names no control plane", fix)
    if plane is None:
        return
    if named and named.rstrip("/") != seen.server.rstrip("/"):
        message = f"the application reports to {named}, not to {seen.server}"
        yield Finding(NOTE, "server", message, f"leave --server out, or set {PREFIX}server")
    if plane.fault:
        fix = f"start `grasshopper serve` there, or correct {PREFIX}server; until then Spark is as configured"
        yield Finding(ERROR, "server", plane.fault, fix)
        return
    if plane.troubles:
        yield Finding(WARNING, "server", f"{seen.server}: {plane.troubles}", f"look at {seen.server}/readyz?verbose")
    if plane.version is None:
        yield Finding(NOTE, "server", f"{seen.server} answers; its version is not shown to us", READ_TOKEN)
    elif plane.version != __version__:
        message = f"{seen.server} is version {plane.version}, this package {__version__}"
        yield Finding(WARNING, "server", message, "update the older one; the server first")
    else:
        yield Finding(OK, "server", f"{seen.server} answers, version {plane.version}")


def _token(seen: Examined) -> Iterator[Finding]:
    if seen.token_file_fault:
        message = f"{PREFIX}token.file cannot be read: {seen.token_file_fault}; the shim stays out of the application"
        yield Finding(ERROR, "token", message, "correct it, or leave it out")
        return
    if seen.plane is None or seen.plane.fault:
        return
    has_one = seen.text(f"{PREFIX}token") or seen.text(f"{PREFIX}token.file")
    if seen.plane.token_fault:
        fix = f"set {PREFIX}token or {PREFIX}token.file to the server's shim token"
        yield Finding(ERROR, "token", seen.plane.token_fault, fix)
    elif seen.plane.takes_anybody:
        fix = "leave it out, or set the server's auth.shim_token; without tokens it serves every user of its machine"
        yield Finding(NOTE, "token", "one is given, but the server requires none", fix)
    else:
        yield Finding(OK, "token", "accepted" if has_one else "none is given, and the server requires none")


def _mode(seen: Examined) -> Iterator[Finding]:
    text = seen.text(f"{PREFIX}mode", "control")
    if seen.plane is None or seen.plane.fault or text not in set(Mode):
        return
    mine, server, attached = Mode(text), seen.plane.mode, seen.plane.attached
    if server is None:
        yield Finding(NOTE, "mode", f"{mine} by the application; what the server allows is not shown to us", READ_TOKEN)
        return
    counts = attached.mode if attached else lowest(mine, server)
    message = f"{mine} by the application, {server} by the server: {counts} counts"
    if counts is Mode.CONTROL:
        yield Finding(OK, "mode", message)
    elif mine.rank <= counts.rank:
        yield Finding(NOTE, "mode", f"{message}, nothing is ordered", f"set {PREFIX}mode to control, or leave it out")
    elif seen.plane.chosen is counts:
        done = "an operator switched it off" if counts is Mode.OFF else f"an operator chose {counts}"
        fix = "`grasshopper mode get -o json` and the page /audit say when and why"
        yield Finding(NOTE, "mode", f"{message}, nothing is ordered: {done}", fix)
    else:
        fix = 'look at `grasshopper report`, then `grasshopper mode set control --reason "..."`'
        yield Finding(NOTE, "mode", f"{message}, nothing is ordered", fix)


def _heard(seen: Examined) -> Iterator[Finding]:
    if not seen.is_live or seen.plane is None or seen.plane.fault:
        return
    attached = seen.plane.attached
    if attached is None and seen.plane.mode is None:
        yield Finding(NOTE, "reports", "whether the server hears from this driver is not shown to us", READ_TOKEN)
    elif attached is None:
        yield Finding(
            ERROR, "reports", f"the server has not heard from spark:{seen.application}",
            "look for Grasshopper in the driver's log: address, token, firewall"
        )  # fmt: skip
    elif attached.last_heard_s > SILENT_S:
        message = f"the server last heard from this driver {attached.last_heard_s:.0f} s ago"
        yield Finding(ERROR, "reports", message, "look for Grasshopper in the driver's log: address, token, firewall")
    else:
        yield Finding(OK, "reports", f"the server heard from this driver {attached.last_heard_s:.1f} s ago")


def _places(seen: Examined) -> Iterator[Finding]:
    """Whether a copy has any place to run."""
    master = seen.text("spark.master")
    attached = seen.plane.attached if seen.plane else None
    more = "for copies, run on two hosts; the README says how to have two on one machine"
    if re.fullmatch(r"local(\[[^]]*\])?", master):
        message = f"{master} is one JVM, and a copy needs another executor: you see only decisions (no_other_host)"
        yield Finding(WARNING, "places", message, more)
        return
    alone = "one executor: a copy needs another one, so there are none"
    same = "all executors are on one host: a copy goes to another one there, and a slow host slows it, too"
    if attached and attached.hosts:
        executors, hosts = len(attached.hosts), len(set(attached.hosts))
        if executors == 1:
            yield Finding(WARNING, "places", alone, more)
        elif hosts == 1:
            yield Finding(NOTE, "places", same, more)
        else:
            yield Finding(OK, "places", f"{executors} executors on {hosts} hosts")
    elif found := re.match(r"local-cluster\[\s*(\d+)", master):
        yield Finding(WARNING, "places", alone, more) if found[1] == "1" else Finding(NOTE, "places", same, more)
    elif seen.text("spark.executor.instances") == "1" and not seen.flag("spark.dynamicAllocation.enabled"):
        yield Finding(WARNING, "places", alone, "raise spark.executor.instances")


def _sinks(seen: Examined) -> Iterator[Finding]:
    attached = seen.plane.attached if seen.plane else None
    for word, because, stages in attached.verdicts if attached else ():
        message = f"{stages} {'stage' if stages == 1 else 'stages'} so far: {because}"
        if word == "safe":
            yield Finding(OK, "sinks", f"{message}; copied where it pays")
        else:
            fix = "correct, if its output could be written twice; the README says what is copied"
            yield Finding(NOTE, "sinks", f"{message}; never copied ({word})", fix)
    coordinated = seen.flag("spark.hadoop.outputCommitCoordination.enabled", True)
    for what, committers in _file_writes(seen):
        write = StageSubmitted(
            job="", stage=0, stage_attempt=0, n_tasks=1, kind="result", writer=FILE_WRITERS[0], committers=committers,
            commit_coordinated=coordinated,
        )  # fmt: skip
        found = verdict(write)
        if found.label == "safe":
            yield Finding(OK, "sinks", f"{what}: {found.because}; copied where it pays")
        elif not coordinated:
            fix = "take spark.hadoop.outputCommitCoordination.enabled=false away"
            yield Finding(NOTE, "sinks", f"{what}: {found.because}; never copied ({found.label})", fix)
        else:
            message = f"{what}: {found.because} ({', '.join(committers)}); never copied ({found.label})"
            yield Finding(NOTE, "sinks", message, f"for copies of writes use {SQL_PROTOCOL} with {FILE_COMMITTER}")
    if seen.text("spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version") == "2":
        yield Finding(
            NOTE, "sinks", "commit algorithm 2 moves files task by task: a driver that dies leaves some, copies or not",
            "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version=1, if that matters more than time"
        )  # fmt: skip
    always = "map stages, and results that return to the driver: copied where it pays"
    never = "foreach, barrier, pipelined and streaming stages, and writers that are not known: never copied"
    own = "data sources (DataSource V2): copied if they use Spark's commit coordinator, else never"
    yield from (Finding(OK, "sinks", message) for message in (always, own, never))


def _file_writes(seen: Examined) -> list[tuple[str, list[str]]]:
    """The kinds of file writes, with the commit protocol and the committer that the configuration gives them."""
    protocol = seen.text("spark.sql.sources.commitProtocolClass", SQL_PROTOCOL)
    if protocol == PATH_PROTOCOL:
        name = seen.text("spark.hadoop.fs.s3a.committer.name", "file")
        return [(f"files under S3A's committer {name}", [protocol, S3A_COMMITTERS.get(name, name)])]
    chosen = seen.text("spark.sql.sources.outputCommitterClass")
    parquet = chosen or seen.text("spark.sql.parquet.output.committer.class", PARQUET_COMMITTER)
    return [("files", [protocol, chosen or FILE_COMMITTER]), ("parquet files", [protocol, parquet])]


def _shuffle(seen: Examined) -> Iterator[Finding]:
    manager = seen.text("spark.shuffle.manager", "sort")
    writer = seen.text("spark.shuffle.sort.io.plugin.class", LOCAL_SHUFFLE_IO)
    foreign = manager if manager not in SORT_SHUFFLES else writer if writer != LOCAL_SHUFFLE_IO else ""
    if foreign:
        yield Finding(
            WARNING, "shuffle", f"{foreign} is not Spark's own; copies of map stages need it to keep attempts apart",
            f"ask its maker if it supports spark.speculation; the local property {PREFIX}copies.enabled opts jobs out"
        )  # fmt: skip
    else:
        yield Finding(OK, "shuffle", "Spark's own, which keeps attempts apart")


def _executors(seen: Examined) -> Iterator[Finding]:
    if not seen.flag("spark.dynamicAllocation.enabled"):
        yield Finding(OK, "executors", "allocated statically")
        return
    most = seen.text("spark.dynamicAllocation.maxExecutors")
    if most in ("0", "1"):
        message = f"dynamic, at most {most}: a copy needs a second one"
        yield Finding(WARNING, "executors", message, "raise spark.dynamicAllocation.maxExecutors")
    elif seen.flag("spark.shuffle.service.enabled"):
        yield Finding(OK, "executors", "dynamic, with an external shuffle service: a copy asks for one if necessary")
    elif seen.flag("spark.dynamicAllocation.shuffleTracking.enabled", True):
        message = "dynamic, without an external shuffle service: those with shuffle output stay; a copy asks for one"
        yield Finding(OK, "executors", message)
    else:
        yield Finding(
            WARNING, "executors", "dynamic, with neither a shuffle service nor tracking: only Spark decides which go",
            "set spark.dynamicAllocation.shuffleTracking.enabled to true, or run an external shuffle service"
        )  # fmt: skip


def _speculation(seen: Examined) -> Iterator[Finding]:
    on = "Spark's own is on: it is paused where Grasshopper decides, and active elsewhere, in shadow mode everywhere"
    off = "Spark's own is off: where Grasshopper does not decide, there are no copies"
    yield Finding(OK, "speculation", on if seen.flag("spark.speculation") else off)


def _scheduling(seen: Examined) -> Iterator[Finding]:
    if seen.text("spark.scheduler.mode").upper() == "FIFO":
        message = "spark.scheduler.mode is FIFO, which the shim keeps: jobs get no grants of slots, only copies"
        yield Finding(WARNING, "scheduling", message, "leave it out, or set FAIR")
    else:
        yield Finding(OK, "scheduling", "jobs can be granted slots")


def _reaper(seen: Examined) -> Iterator[Finding]:
    timeout = seen.text("spark.task.reaper.killTimeout", "-1")
    if not seen.flag("spark.task.reaper.enabled"):
        yield Finding(OK, "task reaper", "off: a beaten attempt that ignores its end keeps its slot")
    elif timeout.startswith("-"):
        yield Finding(OK, "task reaper", "on, and ends no executor")
    else:
        yield Finding(
            WARNING, "task reaper", f"a beaten attempt that has not ended after {timeout} takes its executor with it",
            "set spark.task.reaper.killTimeout to -1, or to a time within which your tasks end"
        )  # fmt: skip


CHECKS: tuple[Callable[[Examined], Iterator[Finding]], ...] = (
    _way_in, _jar, _spark_version, _keys, _local_properties, _server, _token, _mode, _heard, _places, _sinks, _shuffle,
    _executors, _speculation, _scheduling, _reaper,
)  # fmt: skip
