"""Would Grasshopper attach to a MapReduce job of this configuration? Findings, each with its fix.

Every check is a function from the configuration to findings; only an error makes the doctor fail.
"""

from __future__ import annotations

import difflib
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from controlplane import __version__
from controlplane.findings import ERROR, NOTE, OK, WARNING, Finding, worst_first
from controlplane.rest import RestError
from controlplane.shim_settings import misread, unknown
from yarn_bridge.mapreduce_conf import JAR_NAME, KEYS, PREFIX, SPECULATOR, SPECULATOR_KEY
from yarn_bridge.plane_client import PlaneClient

Conf = Mapping[str, str]
TASK_TYPES = ("map", "reduce")
FIX = "take the keys that `grasshopper mapreduce conf` prints"


def read_site(path: Path) -> dict[str, str]:
    """The properties of one of Hadoop's XML files.  Raises OSError, or ValueError for one that is none."""
    try:
        elements = ET.parse(path).iter("property")  # noqa: S314
    except ET.ParseError as broken:
        raise ValueError(f"{path} cannot be read: {broken}") from broken
    return {each.findtext("name", "").strip(): each.findtext("value", "").strip() for each in elements}


def diagnose(conf: Conf, plane: PlaneClient | None = None) -> list[Finding]:
    """All findings, worst first; `plane` is the control plane to ask, by default none."""
    found = [finding for check in CHECKS for finding in check(conf)]
    return worst_first([*found, *_server(conf, plane)])


def _speculator(conf: Conf) -> Iterator[Finding]:
    named = conf.get(SPECULATOR_KEY, "")
    if named == SPECULATOR:
        yield Finding(OK, "speculator", "Grasshopper's")
    elif difflib.get_close_matches(named, [SPECULATOR], cutoff=0.8):
        message = f"{SPECULATOR_KEY} names {named}, which is no class: the job fails"
        yield Finding(ERROR, "speculator", message, f"did you mean {SPECULATOR}?")
    else:
        message = f"{SPECULATOR_KEY} names {named or 'none'}, so Grasshopper does not hear of the job"
        yield Finding(ERROR, "speculator", message, FIX)


def _jar(conf: Conf) -> Iterator[Finding]:
    """Both lists must name it: one brings it to the containers, the other puts it on the class path."""
    fetched = [one for one in conf.get("mapreduce.job.cache.files", "").split(",") if JAR_NAME in one]
    on_path = [one for one in conf.get("mapreduce.job.classpath.files", "").split(",") if JAR_NAME in one]
    if fetched and [urlsplit(one).path for one in fetched] == [urlsplit(one).path for one in on_path]:
        yield Finding(OK, "jar", fetched[0])
    elif not fetched and not on_path:
        message = "no list names it; unless it is on every node's class path, the job fails"
        yield Finding(WARNING, "jar", message, FIX)
    else:
        message = (
            f"mapreduce.job.cache.files names {', '.join(fetched) or 'none'}, mapreduce.job.classpath.files "
            f"{', '.join(on_path) or 'none'}: the job fails"
        )
        yield Finding(ERROR, "jar", message, FIX)


def _speculation(conf: Conf) -> Iterator[Finding]:
    """Hadoop makes a speculator only if it may speculate on something."""
    off = [kind for kind in TASK_TYPES if conf.get(f"mapreduce.{kind}.speculative", "true") == "false"]
    if len(off) == len(TASK_TYPES):
        message = "mapreduce.map.speculative and mapreduce.reduce.speculative are false, so Hadoop makes no speculator"
        yield Finding(ERROR, "speculation", message, "set one of them to true")
    elif off:
        message = f"mapreduce.{off[0]}.speculative is false: no {off[0]} gets a copy"
        yield Finding(NOTE, "speculation", message, "set it to true if their output may be written twice")
    else:
        yield Finding(OK, "speculation", "maps and reduces may be copied")


def _settings(conf: Conf) -> Iterator[Finding]:
    prefix = f"{PREFIX}."
    given = {key.removeprefix(prefix): value for key, value in sorted(conf.items()) if key.startswith(prefix) and value}
    yield from (unknown(prefix, name, KEYS) for name in given if name not in KEYS)
    yield from misread(prefix, {name: value for name, value in given.items() if name in KEYS}, KEYS, unit="job")
    if given.get("enabled") == "false" or given.get("mode") == "off":
        yield Finding(WARNING, "settings", "enabled or mode keeps the shim out of the job", "leave them out")
    if given.get("token.alias") and not conf.get("hadoop.security.credential.provider.path"):
        message = f"{PREFIX}.token.alias is set, and hadoop.security.credential.provider.path names no provider"
        yield Finding(ERROR, "settings", message, "name the provider that has the token")


def _server(conf: Conf, plane: PlaneClient | None) -> Iterator[Finding]:
    if not conf.get(f"{PREFIX}.server"):
        yield Finding(ERROR, "server", f"{PREFIX}.server names no control plane: the shim stays out of the job", FIX)
    if plane is None:
        return
    try:
        version = plane.version()
    except RestError as away:
        if away.status is None:
            fix = "start `grasshopper serve` there; until then Hadoop's own speculation goes on"
            yield Finding(ERROR, "server", str(away), fix)
        else:
            yield Finding(NOTE, "server", f"answers; its version is not shown to us: {away}", "give a token: --token")
        return
    if version == __version__:
        yield Finding(OK, "server", f"answers, version {version}")
    else:
        message = f"is version {version}, this package {__version__}"
        yield Finding(WARNING, "server", message, "update the older one; the server first")


CHECKS: tuple[Callable[[Conf], Iterator[Finding]], ...] = (_speculator, _jar, _speculation, _settings)
