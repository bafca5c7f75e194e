"""Do the printed keys attach a MapReduce job, and is what cannot be one refused?"""

import json

import pytest
from click.testing import Result

from controlplane.terminal import USAGE
from tests.cli.command import run
from yarn_bridge.mapreduce_conf import SPECULATOR, SPECULATOR_KEY, properties

pytestmark = pytest.mark.unit
JAR = "hdfs:///apps/grasshopper-mapreduce.jar"


def conf(*arguments: str) -> Result:
    return run("mapreduce", "conf", "--jar", JAR, "--server", "http://plane:7272", *arguments)


def test_a_job_finds_its_speculator_by_the_printed_keys() -> None:
    """Both lists name the jar: one brings it to the container, the other puts it on the class path."""
    asked = conf("--deadline", "90s", "--token-alias", "shim", "--mode", "shadow", "-o", "json")
    keys = json.loads(asked.stdout)[1]["properties"]
    assert keys[SPECULATOR_KEY] == SPECULATOR
    assert keys["mapreduce.job.cache.files"].endswith(keys["mapreduce.job.classpath.files"])
    ours = {key: value for key, value in keys.items() if key.startswith("mapreduce.grasshopper.")}
    assert ours == {
        "mapreduce.grasshopper.server": "http://plane:7272",
        "mapreduce.grasshopper.deadline": "90s",
        "mapreduce.grasshopper.token.alias": "shim",
        "mapreduce.grasshopper.mode": "shadow",
    }
    assert "-D mapreduce.grasshopper.deadline=90s" in conf("--deadline", "90s").stdout


def test_configuration_goes_before_the_jar() -> None:
    """A job whose speculator is not found fails."""
    assert "hdfs dfs -put" in conf().stdout.partition("mapred-site.xml")[0]
    steps = json.loads(conf("--uninstall", "-o", "json").stdout)
    assert steps[0]["file"] == "mapred-site.xml"
    assert steps[-1]["commands"] == [f"hdfs dfs -rm {JAR}"]


@pytest.mark.parametrize(
    ("server", "jar"), [("plane:7272", JAR), ("http://plane", "g.jar"), ("http://plane", "hdfs:///g.jar")]
)
def test_what_is_no_address_is_refused(server: str, jar: str) -> None:
    """Both the library and the command say which one it is."""
    with pytest.raises(ValueError, match=r"server is not an address|jar: got"):
        properties(server, jar, {})
    assert conf("--deadline", "soon").exit_code == USAGE
    assert run("mapreduce", "conf", "--jar", jar, "--server", server).exit_code == USAGE
