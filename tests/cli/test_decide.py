"""Does `grasshopper decide` answer from a file, without a server?"""

import json

import msgspec
import pytest
from typer.testing import CliRunner

from controlplane.cli.app import app
from controlplane.model.parameters import EngineSettings
from controlplane.processes import COMPILED_ONCE
from controlplane.terminal import USAGE
from tests.scenario import Scenario

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """A dump of eight tasks, one of them slow, that nobody has copied."""
    scenario = Scenario(EngineSettings(speculator="none"))
    scenario.run_with_straggler()
    file = tmp_path_factory.mktemp("state") / "state.json"
    file.write_bytes(msgspec.json.encode(scenario.scheduler.snapshot(scenario.now_s)))
    return file


def decide(*arguments):
    return CliRunner().invoke(app, ["decide", *map(str, arguments)])


def test_a_person_reads_targets_and_reasons(state):
    """The straggler is task 3 of stage 1."""
    told = decide("--policy", "hopper+ras", "--snapshot", state)
    assert told.exit_code == 0
    assert "spark:app, 8 slots, under hopper+ras" in told.stdout
    (line,) = [line for line in told.stdout.splitlines() if line.strip().startswith("copy")]
    assert "1/3" in line
    assert "A copy saves" in line


def test_a_program_reads_json(state):
    """All fields of the answer; that it may take a minute is told beside it, or one would think that it hangs."""
    result = decide("--policy", "fair+ras", "--snapshot", state, "-o", "json")
    assert result.stderr.startswith(f"grasshopper: loading kernels; they are {COMPILED_ONCE}\n")
    told = json.loads(result.stdout)
    assert told["policy"] == "fair+ras"
    assert [each["index"] for each in told["pools"][0]["copies"]] == [3]


def test_settings_come_from_the_file_of_settings(state, tmp_path):
    """As the server would have them."""
    file = tmp_path / "plane.yaml"
    file.write_text("engine: {max_copies_per_task: 0}\n")
    told = json.loads(decide("--policy", "fair+ras", "--snapshot", state, "--config", file, "-o", "json").stdout)
    assert {each["reason"] for each in told["pools"][0]["refusals"]} == {"host_cannot"}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (None, "No such file"),
        ("{}", "missing required field `cycle`"),
        ('{"cycle": 0, "now_s": "x"}', "$.now_s"),
        ("[" * 100_000, ""),
    ],
)
def test_a_bad_snapshot_is_one_line_and_exit_code_2(tmp_path, body, told):
    """Naming the file and the field."""
    file = tmp_path / "state.json"
    if body is not None:
        file.write_text(body)
    result = decide("--policy", "fair+ras", "--snapshot", file)
    assert result.exit_code == USAGE
    assert str(file) in result.stderr
    assert told in result.stderr
    assert "loading kernels" not in result.stderr


def test_an_unknown_policy_is_exit_code_2(state):
    """With those there are."""
    result = decide("--policy", "fair+best", "--snapshot", state)
    assert result.exit_code == USAGE
    assert "want none or late or mantri" in result.stderr
