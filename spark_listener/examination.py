"""What do a Spark application's configuration, its jar and its control plane reveal about how it will run?

Needs no running driver; a running driver's configuration is read through the session. Nothing here changes anything.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote, urlsplit

import msgspec

from controlplane.model.facts import Mode, lowest
from controlplane.processes import read_token
from controlplane.rest import RestClient, RestError
from controlplane.wire.envelope import PROTOCOL, DoorbellRequest, Source
from spark_listener.attach import JAR_NAME, PLUGIN_CLASS
from spark_listener.local_properties import LOCAL_READINGS, PREFIX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Shown = TypeVar("Shown")

TIMEOUT_S = 5.0
LISTENER_CLASS = "io.grasshopper.spark.GrasshopperListener"
_JAR = re.compile(re.escape(JAR_NAME.removesuffix(".jar")) + r"[^/]*\.jar$")
_GLOB = re.compile(r"[*?\[{]")
_NOBODY = DoorbellRequest(protocol=PROTOCOL, source=Source(kind="spark", id="doctor", epoch=0), wait_ms=0)
"""A request that changes nothing: after checking the token, it is refused to sources that have not reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jar:
    """The shim's jar that an application would load."""

    place: str
    version: str | None = None
    """The manifest's version; None if it cannot be read from here."""
    fault: str = ""
    """Why it cannot be loaded from there; empty if it can, or if nothing is known against it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """What the control plane says of the application."""

    mode: Mode
    shim_version: str
    last_heard_s: float
    hosts: tuple[str, ...]
    """The host of each of its executors."""
    verdicts: tuple[tuple[str, str, int], ...]
    """(verdict, its basis, number of its stages)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """The control plane's answers; None means not shown to us, or not known."""

    fault: str = ""
    """Why it does not answer; empty if it does."""
    troubles: str = ""
    """Its own report of what is wrong."""
    token_fault: str = ""
    """Why it does not accept the shim's token; empty if it does."""
    takes_anybody: bool = False
    """Whether a token is given although the shim would also be served without it."""
    version: str | None = None
    mode: Mode | None = None
    chosen: Mode | None = None
    """The lowest mode that operators have chosen for everybody or for this application; None if they chose none."""
    attached: Attached | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """Everything that was read."""

    conf: Mapping[str, str]
    application: str = ""
    """Id of a live session's application; empty if there is only configuration."""
    is_connect: bool = False
    spark_version: str | None = None
    local: Mapping[str, str] = field(default_factory=dict)
    """Our local properties of the calling thread, without the prefix: they hold for the jobs that it starts."""
    shim_is_on: bool | None = None
    """The shim's own report; None if there is no live one."""
    jar: Jar | None = None
    missing_jars: tuple[str, ...] = ()
    """Other jars that `spark.jars` names on this machine's disk and that do not exist."""
    token_file_fault: str = ""
    """Why the file that `token.file` names cannot be read; empty if it can."""
    server: str = ""
    """The one that was asked; empty for none."""
    plane: Plane | None = None

    def text(self, key: str, otherwise: str = "") -> str:
        """The value of a key, as the shim reads it."""
        return self.conf.get(key, "").strip() or otherwise

    def flag(self, key: str, otherwise: bool = False) -> bool:
        """The value of a key that is true or false."""
        return self.text(key, str(otherwise)).lower() == "true"

    def items(self, key: str) -> list[str]:
        """The parts of a list separated by commas."""
        return [item.strip() for item in self.text(key).split(",") if item.strip()]

    @property
    def named_server(self) -> str:
        """The control plane of the configuration; empty for none."""
        return self.text(f"{PREFIX}server")

    @property
    def has_plugin(self) -> bool:
        """Whether the configuration names our plug-in."""
        return PLUGIN_CLASS in self.items("spark.plugins")

    @property
    def has_listener(self) -> bool:
        """Whether the configuration names our listener."""
        return LISTENER_CLASS in self.items("spark.extraListeners")

    @property
    def is_live(self) -> bool:
        """Whether a running driver was read."""
        return bool(self.application)


def read_properties(text: str) -> dict[str, str]:
    """A spark-defaults.conf: a key and its value on each line, with blanks, `=` or `:` between.

    >>> read_properties("# none\\nspark.master  yarn\\nspark.a=b c\\n")
    {'spark.master': 'yarn', 'spark.a': 'b c'}
    """
    lines = (line.strip() for line in text.splitlines())
    pairs = [re.split(r"\s*[=:]\s*|\s+", line, maxsplit=1) for line in lines if line and line[0] not in "#!"]
    return {key: value for key, *values in pairs for value in values}


def examine(conf: Mapping[str, str], *, server: str = "", token: str | None = None) -> Examined:
    """Examines what a driver with this configuration would meet; `server` is asked instead of the configuration's own.

    `token` is for reading over REST; the shim's is in the configuration.
    """
    seen = Examined(conf=conf, is_connect="spark.remote" in conf, spark_version=_installed())
    return _examined(seen, server, token)


def examine_session(spark: SparkSession, *, token: str | None = None) -> Examined:
    """Reads a live session."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return Examined(conf={}, is_connect=True)
    context = spark.sparkContext
    seen = Examined(
        conf=dict(context.getConf().getAll()),
        application=context.applicationId,
        spark_version=spark.version,
        local={name: value for name in LOCAL_READINGS if (value := context.getLocalProperty(f"{PREFIX}{name}"))},
        shim_is_on=_shim_is_on(spark),
    )
    return _examined(seen, "", token)


def find_jar(conf: Mapping[str, str], home: str | None) -> Jar | None:
    """The shim's jar as `spark.jars`, the driver's class path or the `jars` folder of a Spark's home name it."""
    places = [*conf.get("spark.jars", "").split(","), *conf.get("spark.driver.extraClassPath", "").split(":")]
    if home:
        places += [str(path) for path in sorted(Path(home, "jars").glob("grasshopper-spark*.jar"))]
    place = next((place.strip() for place in places if _JAR.search(place.strip())), None)
    return None if place is None else read_jar(place)


def missing_jars(conf: Mapping[str, str]) -> tuple[str, ...]:
    """Jars other than the shim's that `spark.jars` names on this machine's disk and that do not exist."""
    places = [place.strip() for place in conf.get("spark.jars", "").split(",")]
    paths = {place: _local_path(place) for place in places if place and not _JAR.search(place)}
    return tuple(place for place, path in paths.items() if path and not _GLOB.search(path) and not Path(path).exists())


def read_jar(place: str) -> Jar:
    """The jar's own description; a jar on another machine's disk has none."""
    path = _local_path(place)
    if path is None:
        return Jar(place=place)
    try:
        with zipfile.ZipFile(path) as jar:
            manifest = jar.read("META-INF/MANIFEST.MF").decode(errors="replace")
    except FileNotFoundError:
        return Jar(place=place, fault="it does not exist")
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        return Jar(place=place, fault=f"{type(error).__name__}: {error}")
    version = re.search(r"^Implementation-Version: *(\S+)", manifest, re.MULTILINE)
    return Jar(place=place, version=version and version[1])


def _local_path(place: str) -> str | None:
    """The path of a file on this machine's disk; None if it is elsewhere."""
    address = urlsplit(place)
    return unquote(address.path) if address.scheme in ("", "file", "local") else None


def _examined(seen: Examined, server: str, token: str | None) -> Examined:
    """The same with its jar and its control plane's answers."""
    seen = replace(
        seen,
        jar=find_jar(seen.conf, os.environ.get("SPARK_HOME")),
        missing_jars=missing_jars(seen.conf),
        token_file_fault=_shim_token(seen)[1],
        server=server or seen.named_server,
    )
    return replace(seen, plane=_ask(seen, token)) if seen.server and not seen.is_connect else seen


def _ask(seen: Examined, token: str | None) -> Plane:
    rest = RestClient(seen.server, what="Grasshopper server", timeout_s=TIMEOUT_S, token=token)
    try:
        troubles = rest.call("GET", "/readyz").body.decode(errors="replace").strip()
    except RestError as error:
        if error.status != HTTPStatus.SERVICE_UNAVAILABLE:
            return Plane(fault=str(error))
        troubles = "it decides nothing"
    shim_token, file_fault = _shim_token(seen)
    token_fault = "" if file_fault else _token_fault(seen.server, shim_token)
    return Plane(
        troubles="" if troubles == "ok" else troubles,
        token_fault=token_fault,
        takes_anybody=bool(shim_token) and not token_fault and not _token_fault(seen.server, ""),
        version=_shown(lambda: rest.get("/api/v1/openapi.json", lambda said: str(said["info"]["version"]))),
        mode=_shown(lambda: rest.get("/api/v1/mode", lambda said: Mode(said["mode"]))),
        chosen=_shown(lambda: rest.get("/api/v1/mode", lambda said: _chosen(said, seen))),
        attached=_shown(lambda: _attached(rest, seen)) if seen.is_live else None,
    )


def _chosen(said: Any, seen: Examined) -> Mode | None:
    """The lowest mode that operators have chosen for everybody or for this application."""
    places = ("", f"spark:{seen.application}")
    chosen = [Mode(each["value"]) for each in said["choices"] if each["what"] == "mode" and each["source"] in places]
    return lowest(*chosen) if chosen else None


def _token_fault(server: str, token: str) -> str:
    """Why a server does not accept a shim with this token, which may be empty; empty if it does."""
    rest = RestClient(server, what="Grasshopper server", timeout_s=TIMEOUT_S, token=token)
    headers = {"Content-Type": "application/json"}
    try:
        rest.call("POST", "/shim/v1/doorbell", data=msgspec.json.encode(_NOBODY), headers=headers)
    except RestError as error:
        return "" if error.status == HTTPStatus.CONFLICT else str(error)
    return ""


def _shim_token(seen: Examined) -> tuple[str, str]:
    """The shim's token, empty for none, and why its file cannot be read, empty if it can."""
    file = seen.text(f"{PREFIX}token.file")
    try:
        return read_token(Path(file)) if file else seen.text(f"{PREFIX}token"), ""
    except (OSError, UnicodeDecodeError) as error:
        return "", str(error)


def _attached(rest: RestClient, seen: Examined) -> Attached:
    source = quote(f"spark:{seen.application}", safe="")
    hosts = rest.get(f"/api/v1/pools/{source}", lambda said: tuple(each["host"] for each in said["executors"]))
    verdicts = rest.get(
        f"/api/v1/applications/{source}/verdicts",
        lambda said: tuple((each["verdict"], each["because"], int(each["stages"])) for each in said["items"]),
    )
    return rest.get(
        f"/api/v1/applications/{source}",
        lambda said: Attached(
            mode=Mode(said["mode"]),
            shim_version=said["shim_version"],
            last_heard_s=float(said["last_heard_s"]),
            hosts=hosts,
            verdicts=verdicts,
        ),
    )


def _shim_is_on(spark: SparkSession) -> bool | None:
    """The status of the shim in the driver; None if there is none."""
    jvm: Any = spark._jvm
    try:
        return json.loads(jvm.io.grasshopper.spark.GrasshopperPlugin.status()).get("on")
    except TypeError:  # To py4j, a missing class is a package, and a package cannot be called.
        return None


def _installed() -> str | None:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version("pyspark")
    return None


def _shown(read: Callable[[], Shown]) -> Shown | None:
    """The answer of a server that may refuse it; None if it does."""
    with contextlib.suppress(RestError):
        return read()
    return None
