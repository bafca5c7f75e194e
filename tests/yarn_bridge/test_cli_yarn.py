"""Does every command of `grasshopper yarn` do what its help says, and end with the documented code?"""

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from click.testing import Result
from typer.testing import CliRunner

from controlplane.cli import yarn
from controlplane.cli.app import app
from controlplane.processes import command_line
from controlplane.rest import RestError
from controlplane.terminal import NOT_FOUND, REFUSED, UNREACHABLE, USAGE
from tests.integration.plane_process import eventually
from tests.yarn_bridge.recorded_rm import APPS, SCHEDULER
from yarn_bridge.examination import PRIORITY_KEY
from yarn_bridge.hadoop_jars import VERSIONS
from yarn_bridge.local_yarn import STATE_FILE
from yarn_bridge.plane_client import PlaneClient
from yarn_bridge.priorities import Change
from yarn_bridge.rest_source import RestSources
from yarn_bridge.status import look

pytestmark = pytest.mark.unit


def run(*arguments: str) -> Result:
    """One command line, in this process."""
    return CliRunner().invoke(app, ["yarn", *arguments])


def test_help_is_that_of_the_sub_command() -> None:
    """Though it is imported only when it is asked for."""
    assert "drive-priorities" in run().stdout
    assert "--uninstall" in run("install-conf", "--help").stdout


def test_the_changes_are_printed_for_people_and_for_programs() -> None:
    """Nothing is written anywhere."""
    told = run("install-conf", "--queue", "root.default", "--server", "http://plane:7272")
    assert told.exit_code == 0
    assert "<value>http://plane:7272</value>" in told.stdout
    steps = json.loads(run("install-conf", "--queue", "root.default", "--uninstall", "-o", "json").stdout)
    assert steps[-1]["commands"][0].startswith("rm ")
    assert run("install-conf", "--queue", "default").exit_code == USAGE


def test_a_named_resource_manager_is_the_one_to_look_at_afterwards(recorded) -> None:
    """Whoever gave its address need not type it into the printed command."""
    told = run("install-conf", "--queue", "root.default", "--rm", recorded.url)
    assert f"grasshopper yarn doctor --rm {recorded.url} " in told.stdout


def test_the_doctor_fails_only_for_errors(recorded) -> None:
    """So it may stand in a pipeline that installs."""
    told = run("doctor", "--rm", recorded.url)
    assert told.exit_code == 0, told.output
    assert "not installed" in told.stdout
    recorded.said[SCHEDULER]["scheduler"]["schedulerInfo"]["type"] = "fifoScheduler"
    told = run("doctor", "--rm", recorded.url, "-o", "json")
    assert told.exit_code == REFUSED
    assert json.loads(told.stdout)[0]["severity"] == "error"


@pytest.mark.parametrize("command", [("doctor",), ("status",), ("drive-priorities",)])
def test_a_resource_manager_that_is_away_has_its_own_code(command) -> None:
    """And is named."""
    told = run(*command, "--rm", "http://127.0.0.1:1")
    assert told.exit_code == UNREACHABLE
    assert "http://127.0.0.1:1/ws/v1/cluster" in told.stderr


def test_the_status_shows_queues_and_applications(recorded) -> None:
    """With and without a control plane."""
    told = run("status", "--rm", recorded.url)
    assert told.exit_code == 0, told.output
    assert all(word in told.stdout for word in ("root.batch", "root.adhoc", recorded.apps[0]["id"]))
    said = json.loads(run("status", "--rm", recorded.url, "-o", "json").stdout)
    assert len(said["applications"]) == len(recorded.said[APPS]["apps"]["app"])
    assert {queue["mode"] for queue in said["queues"]} == {None}


def test_the_status_shows_grants_and_modes_where_the_control_plane_has_them(recorded, server, rm) -> None:
    """Reported over REST here; the plug-in's queues look the same."""
    RestSources(rm, PlaneClient(server, timeout_s=60)).targets()
    said = json.loads(run("status", "--rm", recorded.url, "--server", server, "-o", "json").stdout)
    assert {queue["mode"] for queue in said["queues"]} == {"control"}
    assert all(each["grant"]["application"] == each["id"] for each in said["applications"])


def test_the_status_says_by_what_each_application_counts(recorded, server, rm) -> None:
    """Virtual size and why, beside what it holds and asks for."""
    RestSources(rm, PlaneClient(server, timeout_s=60)).targets()
    told = run("status", "--rm", recorded.url, "--server", server)
    assert told.exit_code == 0, told.output
    assert "virtual size" in told.stdout
    assert "No driver reports for it, so its size is what it runs and asks for." in told.stdout
    said = json.loads(run("status", "--rm", recorded.url, "--server", server, "-o", "json").stdout)
    grant = said["applications"][0]["grant"]
    assert (grant["driver"], grant["virtual_size"]) == ("", grant["running"] + grant["pending"])


def test_a_grant_of_another_clusters_application_is_not_shown(recorded, server, rm) -> None:
    """Two resource managers that started at once give the same ids."""
    RestSources(rm, PlaneClient(server, timeout_s=60)).targets()
    seen = look(rm, PlaneClient(server, timeout_s=60))
    assert all(map(seen.grant, seen.applications))
    elsewhere = replace(seen, cluster="another")
    assert not any(map(elsewhere.grant, elsewhere.applications))


def test_the_status_counts_containers_as_grants_do(recorded) -> None:
    """With the master's among them every application would seem to be one over its target."""
    recorded.apps[0] |= {"state": "RUNNING", "runningContainers": 3}
    id = recorded.apps[0]["id"]
    shown = next(line for line in run("status", "--rm", recorded.url).stdout.splitlines() if id in line)
    assert re.search(r"RUNNING +\d+ +2 +0\b", shown), shown
    said = json.loads(run("status", "--rm", recorded.url, "-o", "json").stdout)["applications"]
    (application,) = [each for each in said if each["id"] == id]
    assert (application["running_containers"], application["held"], application["due"]) == (3, 2, 0)


def test_a_user_cannot_steer_the_operators_terminal(recorded) -> None:
    """Users name themselves, their queues and their applications."""
    recorded.apps[0]["user"] = "\x1b[2Jmallory"
    told = run("status", "--rm", recorded.url)
    assert "\x1b" not in told.stdout
    assert "[2Jmallory" in told.stdout


def test_priorities_are_not_driven_where_there_are_none(recorded) -> None:
    """The site must allow them first."""
    recorded.said[f"/conf?name={PRIORITY_KEY}"]["property"]["value"] = "0"
    told = run("drive-priorities", "--rm", recorded.url)
    assert told.exit_code == REFUSED
    assert PRIORITY_KEY in told.stderr


def drive(monkeypatch, *answers: tuple[dict[str, int], list[RestError]] | RestError) -> list[dict[str, int]]:
    """The targets that the driver is given, round by round."""
    stepped: list[dict[str, int]] = []
    rounds = iter(answers)

    class Driver:
        def step(self, targets: dict[str, int]) -> list[Change]:
            stepped.append(targets)
            return []

    def wanted() -> tuple[dict[str, int], list[RestError]]:
        said = next(rounds, KeyboardInterrupt())
        if isinstance(said, BaseException):
            raise said
        return said

    monkeypatch.setattr(yarn.time, "sleep", lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        yarn._drive(Driver(), wanted, 1.0)
    return stepped


def test_priorities_go_back_while_no_control_plane_answers(monkeypatch) -> None:
    """Its grants have ended by then; who was last had better not stay last until somebody looks."""
    silent = RestError("http://plane", "/shim/v1/sync", "no answer")
    assert drive(monkeypatch, ({"application_1": 3}, []), silent) == [{"application_1": 3}, {}]


def test_a_refused_queue_is_told_and_the_others_are_driven(monkeypatch, capsys) -> None:
    """One queue that is refused in every round must not switch the command off for all."""
    refused = RestError("http://plane", "/shim/v1/sync", "status 422", status=422)
    assert drive(monkeypatch, ({"application_1": 3}, [refused])) == [{"application_1": 3}]
    assert "status 422" in capsys.readouterr().err


def test_priorities_that_cannot_be_put_back_end_with_a_sentence(recorded, monkeypatch, tmp_path) -> None:
    """The ResourceManager may be the one that has gone."""

    def gone(*_: object) -> None:
        recorded.status[APPS] = 500
        raise KeyboardInterrupt

    recorded.said[f"/conf?name={PRIORITY_KEY}"]["property"]["value"] = "10"
    monkeypatch.setattr(yarn, "_drive", gone)
    targets = tmp_path / "targets.json"
    targets.write_text("{}")
    told = run("drive-priorities", "--rm", recorded.url, "--targets", str(targets))
    assert (told.exit_code, "priorities are not restored" in told.stderr) == (UNREACHABLE, True)


def test_queues_are_not_looked_at_so_seldom_that_they_seem_gone(recorded) -> None:
    """The control plane counts a queue as gone that it has not heard for ten seconds."""
    told = run("drive-priorities", "--rm", recorded.url, "--interval", "11")
    assert told.exit_code == USAGE
    assert "--interval" in told.stderr


def test_down_where_nothing_is_up_says_where_it_looked(tmp_path, monkeypatch) -> None:
    """Somebody typed it in another folder, and daemons run on; there is its own code for what is not found."""
    monkeypatch.chdir(tmp_path)
    told = run("local", "down")
    assert told.exit_code == NOT_FOUND
    assert f"no local YARN is up in {tmp_path / 'build' / 'yarn'}" in told.stderr


def test_down_leaves_logs_but_not_what_was_fetched_for_containers(tmp_path, monkeypatch) -> None:
    """One small Spark application leaves hundreds of megabytes on each node."""
    monkeypatch.chdir(tmp_path)
    node = tmp_path / "build" / "yarn" / "127.0.0.11"
    for name in ("local/filecache", "containers"):
        (node / name).mkdir(parents=True)
        (node / name / "file").touch()
    daemon = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", f"{node.parent}/conf/rm"])
    try:
        eventually(lambda: str(node.parent) in command_line(daemon.pid))
        (node.parent / STATE_FILE).write_text(json.dumps({"pids": {"rm": daemon.pid}}))
        told = run("local", "down")
    finally:
        daemon.kill()
        daemon.wait()
    assert told.exit_code == 0, told.output
    assert str(node.parent) in told.stdout
    assert [path.name for path in node.iterdir()] == ["containers"]


def test_up_says_what_it_does_and_where_to_end_it(tmp_path, monkeypatch) -> None:
    """The first time it fetches for a minute; and `down` looks in the folder where it is typed."""

    class Started:
        rm_url, folder, conf_dir = "http://127.0.0.10:1", tmp_path, tmp_path

        def __init__(self, **_: object) -> None: ...

        def start(self) -> None: ...

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("yarn_bridge.local_yarn.LocalYarn", Started)
    told = run("local", "up")
    assert "fetching the jars of Hadoop" in told.stderr
    assert "starting the resource manager" in told.stderr
    assert f"typed in {tmp_path}" in told.stdout
    (tmp_path / "build" / "hadoop" / VERSIONS[0]).mkdir(parents=True)
    assert "fetching" not in run("local", "up").stderr
