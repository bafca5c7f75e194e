"""Does `grasshopper simulate --model cluster` do what its help says?"""

import json

import pytest
from typer.testing import CliRunner

from controlplane.cli_simulator import app

pytestmark = pytest.mark.unit

SIMULATE = ["simulate", "--model", "cluster", "--jobs", "60", "--seeds", "1,2", "--nodes", "10", "--slots", "4"]


def grasshopper(*arguments: str):
    return CliRunner().invoke(app, [*SIMULATE, *arguments])


def test_the_table_tells_response_times_by_job_size_and_the_measured_load():
    """What the papers report, beside what the slots were seen to do."""
    told = grasshopper("--policy", "srpt+late", "--workload", "facebook")
    assert told.exit_code == 0
    for words in ("response time, s, 1-50 tasks", "busy slots", "standard error"):
        assert words in told.stdout


def test_the_record_holds_everything_that_went_in():
    """The pair of policies, the world, and a summary for each seed."""
    found = json.loads(grasshopper("-o", "json", "--shared", "0.5", "--noise", "0").stdout)
    assert (found["model"], found["scenario"]["policy"], found["seeds"]) == ("cluster", "hopper+late", [1, 2])
    assert (found["scenario"]["shared_share"], found["scenario"]["noise"]) == (0.5, 0.0)
    assert [one["finished"] for one in found["runs"]] == [True, True]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--policy", "hopper"), "--policy"),
        (("--policy", "best+late"), "--policy"),
        (("--shared", "2"), "--shared"),
        (("--nodes", "0"), "--nodes"),
    ],
)
def test_bad_input_names_its_option(arguments, named):
    """Exit code 2, and no traceback."""
    told = grasshopper(*arguments)
    assert told.exit_code == 2
    assert named in told.stderr
