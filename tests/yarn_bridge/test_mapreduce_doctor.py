"""Does the doctor of MapReduce jobs find what would go wrong, before any job runs?"""

import json
import re
from pathlib import Path

import pytest

from controlplane.findings import Severity
from controlplane.processes import free_port
from controlplane.terminal import REFUSED, USAGE
from tests.cli.command import run
from yarn_bridge.mapreduce_conf import OWN, SPECULATOR_KEY, properties
from yarn_bridge.mapreduce_doctor import diagnose
from yarn_bridge.site_files import write_site_file

pytestmark = pytest.mark.unit
ROOT = Path(__file__).parents[2]
GOOD = properties("http://plane:7272", "hdfs:///apps/grasshopper-mapreduce.jar", {"deadline": "90s"})


def found(keys: dict[str, str]) -> dict[str, Severity]:
    """The worst severity of each check, where keys of a good configuration are replaced; an empty one is taken away."""
    changed = GOOD | keys
    worst: dict[str, Severity] = {}
    for finding in diagnose({key: value for key, value in changed.items() if value}):
        worst.setdefault(finding.check, finding.severity)
    return worst


def test_the_printed_keys_have_no_fault() -> None:
    """Otherwise one of the two commands is wrong."""
    assert set(found({}).values()) == {Severity.OK}


@pytest.mark.parametrize(
    ("check", "keys", "severity"),
    [
        ("speculator", {SPECULATOR_KEY: ""}, "error"),
        ("speculator", {SPECULATOR_KEY: "io.grasshopper.mapreduce.GrashopperSpeculator"}, "error"),
        ("jar", {"mapreduce.job.cache.files": ""}, "error"),
        ("jar", {"mapreduce.job.classpath.files": "/other/grasshopper-mapreduce.jar"}, "error"),
        ("jar", {"mapreduce.job.cache.files": "", "mapreduce.job.classpath.files": ""}, "warning"),
        ("speculation", {"mapreduce.map.speculative": "false"}, "note"),
        ("speculation", {"mapreduce.map.speculative": "false", "mapreduce.reduce.speculative": "false"}, "error"),
        ("settings", {"mapreduce.grasshopper.dedline": "90s"}, "error"),
        ("settings", {"mapreduce.grasshopper.deadline": "soon"}, "error"),
        ("settings", {"mapreduce.grasshopper.deadline": "0s"}, "error"),
        ("settings", {"mapreduce.grasshopper.token": "secret"}, "error"),
        ("settings", {"mapreduce.grasshopper.token.alias": "shim"}, "error"),
        ("settings", {"mapreduce.grasshopper.copies.max": "500"}, "warning"),
        ("settings", {"mapreduce.grasshopper.mode": "off"}, "warning"),
        ("server", {"mapreduce.grasshopper.server": ""}, "error"),
    ],
)
def test_each_fault_is_found(check: str, keys: dict[str, str], severity: str) -> None:
    """Before Hadoop ends a job for it, or Grasshopper silently stays out of it."""
    assert found(keys)[check] == severity


@pytest.mark.checkout
def test_keys_are_those_that_the_shim_reads() -> None:
    """What `Attachment.java` adds to the settings that all shims share."""
    java = (ROOT / "jvm-shim/shim-mapreduce/src/main/java/io/grasshopper/mapreduce/Attachment.java").read_text()
    (more,) = re.findall(r"MORE = Arrays\.asList\((.*?)\);", java)
    assert set(re.findall(r'"([a-z.]+)"', more)) == OWN.keys()


def test_the_command_reads_a_conf_dir_and_what_a_job_overrides(tmp_path: Path) -> None:
    """As Hadoop does; the server that the job names is asked."""
    away = f"http://127.0.0.1:{free_port('127.0.0.1')}"
    write_site_file(tmp_path / "mapred-site.xml", GOOD | {"mapreduce.grasshopper.server": away})
    asked = run("mapreduce", "doctor", "--conf-dir", str(tmp_path), "-o", "json")
    faults = [one for one in json.loads(asked.stdout) if one["severity"] == "error"]
    assert (asked.exit_code, [one["check"] for one in faults]) == (REFUSED, ["server"])
    told = run("mapreduce", "doctor", "--conf-dir", str(tmp_path), "-D", "mapreduce.grasshopper.deadline=soon")
    assert "is not a duration" in told.stdout
    assert run("mapreduce", "doctor", "-D", "nonsense").exit_code == USAGE
    (tmp_path / "mapred-site.xml").write_text("<configuration>")
    assert run("mapreduce", "doctor", "--conf-dir", str(tmp_path)).exit_code == USAGE
