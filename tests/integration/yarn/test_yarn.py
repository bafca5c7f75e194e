"""Is the local YARN a real one, do our tools tell the truth about it, and is nothing left of it afterwards?"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from controlplane.findings import Severity
from controlplane.processes import command_line
from tests.integration.plane_process import Plane, eventually
from tests.integration.yarn.queue import FULL
from tests.yarn_bridge.sleepers import kill, submit
from yarn_bridge.doctor import diagnose
from yarn_bridge.examination import examine
from yarn_bridge.local_yarn import LocalYarn, containers, is_up, read_state
from yarn_bridge.plane_client import PlaneClient
from yarn_bridge.priorities import PriorityDriver, highest_priority
from yarn_bridge.rm_client import RmClient

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[3]
START_S = 180.0
SITE = {"yarn.cluster.max-application-priority": 10}
ONE_MASTER = {"yarn.scheduler.capacity.maximum-am-resource-percent": 0.3}
FAIR_ORDER = {"yarn.scheduler.capacity.root.default.ordering-policy": "fair"}
GRASSHOPPER = [sys.executable, "-m", "controlplane.cli"]
OURS = {**os.environ, "PYTHONPATH": str(ROOT)}
THREE_LOOKS_S = 6.0
MENTIONED = re.compile(r"^grasshopper (yarn (?:doctor|status) .*)$", re.MULTILINE)


def up_and_down(folder: Path, *command: str) -> subprocess.Popen[str]:
    """`grasshopper yarn local up|down` in `folder`, with the jars that are there already."""
    (folder / "build").mkdir(exist_ok=True)
    if not (folder / "build" / "hadoop").exists():
        (ROOT / "build" / "hadoop").mkdir(parents=True, exist_ok=True)
        (folder / "build" / "hadoop").symlink_to(ROOT / "build" / "hadoop")
    return subprocess.Popen(
        [*GRASSHOPPER, "yarn", "local", *command], cwd=folder, env=OURS, text=True, stdout=subprocess.PIPE
    )


def test_up_stays_until_down_and_leaves_nothing_when_it_is_interrupted(tmp_path) -> None:
    """An operator's first minute."""
    folder = tmp_path / "build" / "yarn"
    try:
        interrupted = up_and_down(tmp_path, "up")
        eventually(lambda: is_up(folder), within_s=START_S)
        interrupted.send_signal(signal.SIGTERM)
        assert interrupted.wait(timeout=60) != 0
        assert not naming(folder)

        with Plane(tmp_path / "plane", mode="shadow", NUMBA_DISABLE_JIT="1") as plane:
            started = up_and_down(tmp_path, "up", "--plugin", "--server", plane.address)
            told, _ = started.communicate(timeout=START_S)
            assert started.returncode == 0
            rm_url = read_state(folder)["rm_url"]
            assert rm_url in told
            assert len(RmClient(rm_url).nodes()) == 4
            follow_the_page(rm_url, plane)
    finally:
        assert up_and_down(tmp_path, "down").wait(timeout=60) == 0
    assert not is_up(folder)
    assert not naming(folder)
    assert not list(folder.glob("*/local")), "what nodes had fetched"


def follow_the_page(rm_url: str, plane: Plane) -> None:
    """What docs/yarn.md says to type once YARN is up: the doctor finds no error, in shadow mode and in control."""
    page = (ROOT / "docs" / "yarn.md").read_text().partition("On a real cluster")[0]
    typed = [line.replace("RM_URL", rm_url).replace("http://127.0.0.1:7272", plane.address).split()
             for line in MENTIONED.findall(page)]  # fmt: skip
    assert [words[1] for words in typed] == ["doctor", "status"]
    id = submit(rm_url)
    eventually(lambda: len(PlaneClient(plane.address).grants()) == 1)
    for mode in ("shadow", "control"):
        plane.set_mode(mode)
        eventually(lambda: all(run(words) for words in typed), about=lambda: PlaneClient(plane.address).queues())
        status = json.loads(subprocess.check_output([*GRASSHOPPER, *typed[1], "-o", "json"], env=OURS))
        assert [queue["mode"] for queue in status["queues"]] == [mode]
        assert [each["grant"]["application"] for each in status["applications"]] == [id]


def run(words: list[str]) -> bool:
    """Whether a command of ours ends well."""
    return subprocess.run([*GRASSHOPPER, *words], env=OURS, stdout=subprocess.DEVNULL).returncode == 0


def naming(folder: Path) -> list[str]:
    """The command lines on this machine that name `folder`."""
    lines = [command_line(int(process.name)) for process in Path("/proc").glob("[0-9]*")]
    return [line for line in lines if f"{folder}/" in line]


@pytest.fixture(scope="module", params=[FULL["3.4.3"], "3.5.0"])
def yarn(request, tmp_path_factory):
    """Masters may hold 30 % of four nodes of 2200 MB: of masters of 2000 MB one is active at a time."""
    folder = tmp_path_factory.mktemp("yarn")
    cluster = LocalYarn(version=request.param, site=SITE, capacity=ONE_MASTER, recover=True, folder=folder)
    try:
        cluster.start(timeout_s=START_S)
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def rm(yarn):
    return RmClient(yarn.rm_url, timeout_s=30)


def running(rm: RmClient) -> set[str]:
    """Applications whose master has its container."""
    return {app.id for app in rm.apps() if app.running_containers}


def test_four_hosts_run_and_the_doctor_sees_how_they_are_served(yarn, rm) -> None:
    """3.5 schedules asynchronously by default; nothing is wrong with a bare resource manager."""
    assert {node.id.partition(":")[0] for node in rm.nodes()} == set(yarn.hosts)
    findings = diagnose(examine(rm))
    assert not [finding for finding in findings if finding.severity is Severity.ERROR]
    told = {finding.check: finding.message for finding in findings}
    assert told["version"] == f"Hadoop {yarn.version}"
    assert told["scheduler"].endswith(" asynchronous" if yarn.version == "3.5.0" else " synchronous")


def test_a_driven_priority_decides_who_becomes_active_next(yarn, rm) -> None:
    """First come, first served would let the second application go before the third."""
    first, second, third = (submit(yarn.rm_url, memory_mb=2000) for _ in range(3))
    eventually(lambda: running(rm) == {first}, about=rm.apps)
    driver = PriorityDriver(rm, highest=highest_priority(rm))
    (change,) = driver.step({third: 1})
    assert (change.application, change.after, change.fault) == (third, 10, "")
    kill(yarn.rm_url, first)
    eventually(lambda: running(rm) == {third}, about=rm.apps)
    assert [change.after for change in driver.restore()] == [0]
    for id in (second, third):
        kill(yarn.rm_url, id)
    eventually(lambda: not rm.apps() and not containers(yarn.folder), about=rm.apps)


def test_priorities_are_driven_by_a_command_a_few_a_minute_and_put_back(yarn, rm, tmp_path) -> None:
    """The way without a jar, whole. Who holds all it can use stands in the middle; eight would be changed at once."""
    for _ in range(8):
        submit(yarn.rm_url)

    def priorities() -> list[int]:
        return sorted(app.priority for app in rm.apps())

    with Plane(tmp_path / "plane", NUMBA_DISABLE_JIT="1") as plane:
        driving = subprocess.Popen(
            [*GRASSHOPPER, "yarn", "drive-priorities", "--rm", yarn.rm_url, "--server", plane.address], env=OURS
        )
        try:
            eventually(lambda: len(PlaneClient(plane.address).grants()) == 8, about=rm.apps)
            for grant in PlaneClient(plane.address).grants():
                plane.set_target(grant.source, grant.application, 1)
            eventually(lambda: priorities() == [0, 0, *[5] * 6], about=rm.apps)
            time.sleep(THREE_LOOKS_S)
            assert priorities() == [0, 0, *[5] * 6]
        finally:
            driving.send_signal(signal.SIGTERM)
            driving.wait(timeout=60)
    assert priorities() == [0] * 8
    for app in rm.apps():
        kill(yarn.rm_url, app.id)
    eventually(lambda: not rm.apps() and not containers(yarn.folder), about=rm.apps)


def test_a_refresh_changes_a_queues_order_without_a_restart(yarn, rm) -> None:
    """As installing and removing the plug-in's ordering policy do."""
    assert [queue.policy for queue in rm.scheduler().queues] == ["fifo"]
    yarn.configure_queues(FAIR_ORDER)
    yarn.refresh_queues()
    assert [queue.policy for queue in rm.scheduler().queues] == ["fair"]


@pytest.mark.full
def test_a_new_resource_manager_finds_its_applications_again(yarn, rm) -> None:
    """With recovery on, what installing the plug-in takes costs no application anything."""
    id = submit(yarn.rm_url)
    before = eventually(lambda: containers(yarn.folder), about=rm.apps)
    yarn.restart_rm(timeout_s=START_S)
    eventually(lambda: running(rm) == {id}, about=rm.apps)
    # A launching shell among them may have ended by itself.
    assert set(before) & set(containers(yarn.folder))


def test_stopping_ends_daemons_and_containers(yarn, rm) -> None:
    """Also the application that still runs, whose processes are in sessions of their own."""
    submit(yarn.rm_url)
    eventually(lambda: containers(yarn.folder), about=rm.apps)
    assert len(naming(yarn.folder)) >= 5
    yarn.stop()
    assert not containers(yarn.folder)
    assert not naming(yarn.folder)
    assert yarn.nodes_running() == 0
