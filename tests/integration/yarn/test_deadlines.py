"""Does the one free container of a queue go to the application whose job would miss its deadline without it?"""

import time
from pathlib import Path

import pytest

from tests.integration.driver import JOB_S, plugged
from tests.integration.plane_process import Plane, eventually
from tests.integration.yarn.queue import PLANE, SLOTS, Application, Queue, yarn_with_plugin

pytestmark = [pytest.mark.integration, pytest.mark.full]
WITHIN_S = 90
"""A copy waits for an executor that starts, on a busy machine for half a minute."""
WIDE = SLOTS - 2
ONE_HELD = {"tasks": 2, "held": [1]}
LONG_ORDERS = {"GRASSHOPPER__ENGINE__ORDER_TTL_MS": "60000"}


@pytest.fixture(scope="module")
def queue(tmp_path_factory):
    """Two attached applications, whose executors go back to the queue within a second."""
    folder = tmp_path_factory.mktemp("kappa")
    with (
        Plane(folder / "plane", policy="fifo+shed-plus", **PLANE, **LONG_ORDERS) as plane,
        yarn_with_plugin("3.5.0", folder, plane.address, folder / "switch") as yarn,
        pytest.MonkeyPatch.context() as environment,
    ):
        environment.setenv("HADOOP_CONF_DIR", str(yarn.conf_dir))
        conf = plugged(plane.address)
        with Application(folder / "first", **conf) as first, Application(folder / "second", **conf) as second:
            queue = Queue(yarn, plane, (first, second))
            eventually(queue.is_listed, about=queue.log)
            yield queue


def fill(queue: Queue, folder: Path) -> dict[str, Path]:
    """The first application holds all containers but one; returns the gates of its short jobs, by their hosts.

    Its other job has a deadline that is far away, and waits as well.
    """
    first, plane = queue.applications[0], queue.plane
    first.start("bounded", group="far", within="1h", gate=str(folder / "far"), **ONE_HELD)
    gates = [folder / str(number) for number in range(WIDE)]
    for number, gate in enumerate(gates):
        first.start("squares", group=f"wide-{number}", tasks=1, held=[0], gate=str(gate))
    plane.running(first.source, "far", 1)
    running = [plane.running(first.source, f"wide-{number}", 0)[0] for number in range(WIDE)]
    return {attempt["host"]: gate for attempt, gate in zip(running, gates, strict=True)}


def copied(queue: Queue) -> set[str]:
    """Jobs of either application for which a copy has been ordered."""
    sources = [application.source for application in queue.applications]
    return {one["job"] for source in sources for one in queue.plane.decisions(source, action="launch_copy")}


def reason_of(queue: Queue, source: str, group: str) -> str:
    """Why a job's straggler has no copy."""
    tasks = queue.plane.pool(source)["tasks"]
    return next((task["reason"] for task in tasks if task["job"] == f"group-{group}" and task["index"] == 1), "")


def test_the_free_container_goes_to_the_application_whose_job_it_brings_in_time(queue, tmp_path):
    """While there is none, no copy is ordered. FIFO's targets are the first application's, which holds most."""
    gates, second = fill(queue, tmp_path), queue.applications[1]
    begun_s = time.monotonic()
    near = second.start("bounded", group="near", within=f"{WITHIN_S}s", gate=str(tmp_path / "near"), **ONE_HELD)
    (original,) = queue.plane.running(second.source, "near", 1)
    eventually(
        lambda: reason_of(queue, second.source, "near") == "no_spare_slot",
        about=lambda: reason_of(queue, second.source, "near"),
    )
    assert (queue.held(), copied(queue)) == ((SLOTS - 1, 1), set())
    next(gate for host, gate in gates.items() if host != original["host"]).touch()
    assert near.result(timeout=JOB_S) == [0, 1]
    assert time.monotonic() - begun_s < WITHIN_S, "a copy has ended it"
    assert copied(queue) == {"group-near"}
