"""Does `grasshopper doctor` ask the right server, and say what it finds?"""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from controlplane import __version__
from controlplane.terminal import REFUSED, USAGE
from spark_listener.attach import PLUGIN_CLASS
from tests.cli.command import NOT_THE_ONE, run

pytestmark = pytest.mark.unit


def doctor(*more: str, server: str = "", token: str = "shim-c47d20e1ab95", **options: str) -> Result:
    """The doctor's word on a driver that would be attached to a server, with its shim's token."""
    conf = {"spark.plugins": PLUGIN_CLASS, "spark.grasshopper.server": server, "spark.grasshopper.token": token}
    given = [f"--conf={key}={value}" for key, value in conf.items()]
    return run("doctor", "--spark", *given, *more, **options)


def test_the_doctor_asks_the_server_of_the_configuration(server: str, tmp_path: Path) -> None:
    """Version, mode and whether it takes the shim's token; the file's keys count where --conf says nothing."""
    jar = tmp_path / "grasshopper-spark.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", f"Implementation-Version: {__version__}\n")
    properties = tmp_path / "spark-defaults.conf"
    properties.write_text(f"spark.jars {jar}\nspark.grasshopper.server http://127.0.0.1:1\n")
    options = (f"--properties-file={properties}", "--token=reader-5d1c83fa97")
    told = doctor(*options, server=server)
    assert told.exit_code == 0, told.output
    assert f"{server} answers, version {__version__}" in told.stdout
    assert "control by the application, shadow by the server: shadow counts" in told.stdout
    findings = json.loads(doctor(*options, "-o", "json", server=server).stdout)
    assert {"severity": "ok", "check": "token", "message": "accepted", "fix": ""} in findings


def test_the_doctor_tells_a_token_that_the_server_does_not_ask_for(other_server: Callable[..., str]) -> None:
    """Whoever gives one takes the server for a protected one; without tokens it does not look at any."""
    address = other_server(b"ok", status_of_posts=409)
    told = [json.loads(doctor("-o", "json", server=address, token=token).stdout) for token in ("any-token", "")]
    given, none = ([(f["severity"], f["message"]) for f in each if f["check"] == "token"] for each in told)
    assert given == [("note", "one is given, but the server requires none")]
    assert none == [("ok", "none is given, and the server requires none")]


def test_the_doctor_fails_where_the_server_refuses_the_shim(server: str) -> None:
    """It reports nothing then; who may read is another question."""
    told = doctor("-o", "json", server=server, token="wrong")
    assert told.exit_code == REFUSED
    (refused,) = [each for each in json.loads(told.stdout) if each["check"] == "token"]
    assert refused["severity"] == "error"
    assert refused["message"] == f"{server}/shim/v1/doorbell: status 401: {NOT_THE_ONE} the shim token"
    assert "wrong" not in told.stdout
    assert "its version is not shown to us" in told.stdout


def test_the_doctor_needs_no_server_and_no_driver(server: str) -> None:
    """What nobody answers is told, and what was mistyped is refused."""
    away = doctor("-o", "json", server="http://127.0.0.1:1")
    assert away.exit_code == REFUSED
    assert "no Grasshopper server can be reached there" in away.stdout
    other = doctor("--server", server, "-o", "json", server="http://127.0.0.1:1")
    assert f"the application reports to http://127.0.0.1:1, not to {server}" in other.stdout
    assert run("doctor").exit_code == USAGE
    assert "'spark.a' is not KEY=VALUE" in run("doctor", "--spark", "--conf", "spark.a").stderr
    assert run("doctor", "--spark", "--properties-file", "/nowhere").exit_code == USAGE


def test_the_command_lines_own_server_is_not_the_applications(server: str) -> None:
    """The driver does not read that variable, so the doctor judges without it."""
    told = doctor("-o", "json", GRASSHOPPER__CLIENT__SERVER=server)
    assert told.exit_code == REFUSED
    assert "spark.grasshopper.server names no control plane" in told.stdout
    assert server not in told.stdout


def test_something_else_on_the_port_is_not_taken_for_a_server(other_server: Callable[[bytes], str]) -> None:
    """It answers to everything, and to nothing as Grasshopper does."""
    told = doctor("-o", "json", server=other_server(b"ok"))
    assert told.exit_code == REFUSED
    assert "accepted" not in told.stdout


def test_the_doctor_tells_an_operators_switch(other_server: Callable[[bytes], str]) -> None:
    """Handing over again is not the next step after somebody has pulled the plug."""
    choice = {"what": "mode", "value": "off", "source": "", "reason": "incident", "at_unix_ms": 1}
    for source, told_of in (("", True), ("spark:other", False)):
        said = {"mode": "off", "sources": {}, "recorded": True, "choices": [choice | {"source": source}]}
        findings = json.loads(doctor("-o", "json", server=other_server(json.dumps(said).encode())).stdout)
        (found,) = (each for each in findings if each["check"] == "mode")
        assert ("an operator switched it off" in found["message"]) is told_of
        assert ("grasshopper mode get -o json" in found["fix"]) is told_of
