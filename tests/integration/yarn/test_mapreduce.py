"""Does a MapReduce job on a real YARN get its copies from us, and Hadoop's own where we are away?"""

import os
import signal

import pytest

from controlplane.processes import command_line
from tests.integration.plane_process import Plane
from tests.integration.yarn.mapreduce import FILES, Words
from tests.integration.yarn.queue import CLUSTER, FULL, QUEUE, SOURCE
from tests.waiting import eventually
from yarn_bridge.hadoop_jars import VERSIONS
from yarn_bridge.install_conf import plugin_jar, queue_properties, rm_properties
from yarn_bridge.local_yarn import LocalYarn, containers

pytestmark = pytest.mark.integration
NEWEST, *OLDER = VERSIONS
STARTED_S = 120.0
SLOW_MAP = {"words_slow_map": 2}
REDUCES = 4
TRIES = 3
"""Attempts by which a copy tries to be on another host than its original."""
RM_ID = {"yarn.resourcemanager.cluster-id": CLUSTER}


@pytest.fixture(scope="module", params=[NEWEST, *(FULL[version] for version in OLDER)])
def yarn(request, tmp_path_factory):
    """Four nodes with room for two jobs."""
    spread = {"yarn.scheduler.capacity.per-node-heartbeat.multiple-assignments-enabled": False}
    folder = tmp_path_factory.mktemp("yarn")
    with LocalYarn(version=request.param, mapreduce=True, capacity=spread, folder=folder) as yarn:
        yield yarn


@pytest.fixture(scope="module")
def words(yarn, tmp_path_factory):
    """The user's program."""
    return Words(yarn, tmp_path_factory.mktemp("words"))


@pytest.fixture
def plane(tmp_path):
    """A control plane that copies what saves slot time."""
    with Plane(tmp_path / "plane", policy="hopper+ras", NUMBA_DISABLE_JIT="1") as plane:
        yield plane


def won(plane: Plane) -> set[tuple[int, int]]:
    """Stage and index of each task of which a copy has won."""
    return {(one["stage"], one["index"]) for one in copies(plane) if one["result"] == "won"}


def hosts(plane: Plane, copy: dict) -> list[str]:
    """Where the attempts of a copied task ran."""
    attempts = plane.history(copy["source"], copy["job"])["attempts"]
    return [one["host"] for one in attempts if (one["stage"], one["index"]) == (copy["stage"], copy["index"])]


def copies(plane: Plane) -> list[dict]:
    """All copies that were ordered, of any job."""
    return plane.call("GET", "/decisions", params={"action": "launch_copy"})["items"]


def test_a_straggling_map_and_a_straggling_reduce_are_copied_once(plane, words):
    """Two jobs at once, each with an ApplicationMaster of its own; Hadoop's own speculation rests.

    YARN chooses where a copy begins. Beside its original it is moved, but not for ever.
    """
    one = words.start("map", plane.address, mapreduce_job_reduces=0, **SLOW_MAP)
    other = words.start(
        "reduce", plane.address, mapreduce_job_reduces=REDUCES, words_slow_reduce=1, words_ms_map=1, words_ms_reduce=400
    )
    one.end()
    other.end()
    assert won(plane) == {(0, 2), (1, 1)}
    assert other.launched()["map"] == FILES
    more = {0: one.launched()["map"] - FILES, 1: other.launched()["reduce"] - REDUCES}
    for copy in copies(plane):
        original, copied = hosts(plane, copy)
        assert original != copied or more[copy["stage"]] == TRIES
    assert one.counted() == other.counted() == words.expected()


def test_hadoop_speculates_once_the_control_plane_is_gone(tmp_path, words):
    """A plane that claims the job and orders nothing keeps it slow until it dies."""
    with Plane.hesitant(tmp_path / "plane") as plane:
        run = words.start("alone", plane.address, mapreduce_job_reduces=0, **SLOW_MAP)
        try:
            eventually(lambda: plane.call("GET", "/attempts")["items"], within_s=STARTED_S)
            plane.kill()
            run.end()
        finally:
            run.kill()
    assert run.launched() == {"map": FILES + 1}
    assert run.counted() == words.expected()


@pytest.mark.full
def test_a_new_application_master_is_steered_again(plane, yarn, words):
    """The first one is killed while its copy runs; its attempts end with it, and the slow one is slow again."""
    run = words.start("master", plane.address, mapreduce_job_reduces=0, **SLOW_MAP)
    try:
        eventually(lambda: copies(plane), within_s=STARTED_S)
        masters = [pid for pid in containers(yarn.folder) if "MRAppMaster" in command_line(pid)]
        for pid in masters:
            os.kill(pid, signal.SIGKILL)
        run.end()
    finally:
        run.kill()
    assert (0, 2) in won(plane)
    assert run.counted() == words.expected()


@pytest.mark.full
def test_a_queue_with_the_plug_in_counts_a_job_by_its_tasks(plane, tmp_path):
    """As it counts a Spark application by its driver's jobs: what a container count cannot say."""
    yarn = LocalYarn(
        version=NEWEST, mapreduce=True, plugin_jar=plugin_jar(), site=rm_properties(plane.address) | RM_ID,
        capacity=queue_properties((QUEUE,)), folder=tmp_path / "yarn",
    )  # fmt: skip
    with yarn:
        run = Words(yarn, tmp_path).start("counted", plane.address, mapreduce_job_reduces=0, **SLOW_MAP)
        try:
            (driver,) = eventually(lambda: counting_drivers(plane), within_s=STARTED_S)
            assert driver.startswith("mapreduce:application_")
            assert plane.decisions(driver, action="join")
            run.end()
        finally:
            run.kill()
    assert won(plane) == {(0, 2)}


def counting_drivers(plane: Plane) -> list[str]:
    """The sources by whose tasks the queue counts its applications."""
    pool = plane.pool(SOURCE) or {"jobs": []}
    return [job["queued"]["driver"] for job in pool["jobs"] if job["queued"]["driver"] and job["virtual_size"] > 1]
