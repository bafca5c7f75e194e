"""Does a ResourceManager stay healthy with thousands of applications in a queue, and under a flood of an answer?

All applications but the first are active and wait for their masters, because their one user is at his limit: every
container is offered to each of them before it comes to the next user's.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from tests.integration.plane_process import Plane, eventually
from tests.integration.yarn.queue import CLUSTER, QUEUE, SOURCE, TTL_MS
from tests.yarn_bridge.sleepers import submit
from yarn_bridge.install_conf import PREFIX, plugin_jar, queue_properties, rm_properties
from yarn_bridge.local_yarn import LocalYarn
from yarn_bridge.rm_client import RmClient

pytestmark = pytest.mark.integration
ROOMY = {
    "yarn.scheduler.capacity.maximum-applications": 200_000,
    "yarn.scheduler.capacity.maximum-am-resource-percent": 10_000,
    f"yarn.scheduler.capacity.{QUEUE}.user-limit-factor": 0.1,
}
"""A user may have a tenth of all applications, as of the slots."""
NODE_MB = 2200
MASTER_MB = 300
"""More than a tenth of the node, so that one application fills its user's share."""
TICK_MS = 1000
TOKEN = "known to both of them"
SERVED_S = 30.0
LOOK_S = 1.0
"""Between two looks at a crowd, each of which costs the control plane a part of an exchange's time-out."""
START_S = 180.0
SITE = {
    "yarn.resourcemanager.cluster-id": CLUSTER,
    f"{PREFIX}.tick-ms": TICK_MS,
    f"{PREFIX}.timeout-ms": TICK_MS,
    f"{PREFIX}.token": TOKEN,
}
"""A crowd takes longer to be told than a handful; and without the secret nothing of it would be heard."""
CROWDS = [
    pytest.param(("3.5.0", 400), id="3.5.0-400"),
    pytest.param(("3.4.3", 10_000), id="3.4.3-10000", marks=pytest.mark.full),
    pytest.param(("3.5.0", 10_000), id="3.5.0-10000", marks=pytest.mark.full),
]


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with Plane(tmp_path_factory.mktemp("plane"), token=TOKEN, GRASSHOPPER__ENGINE__GRANT_TTL_MS=str(TTL_MS)) as plane:
        yield plane


@pytest.fixture(scope="module", params=CROWDS)
def yarn(request, gateway, plane, tmp_path_factory):
    """One node, and a crowd in its queue that the control plane knows."""
    version, count = request.param
    cluster = LocalYarn(
        version=version, nodes=1, memory_per_node_mb=NODE_MB, plugin_jar=plugin_jar(),
        site=rm_properties(gateway.address) | SITE, capacity=queue_properties((QUEUE,)) | ROOMY,
        folder=tmp_path_factory.mktemp("crowd") / "yarn",
    )  # fmt: skip
    try:
        cluster.start(timeout_s=START_S)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: submit(cluster.rm_url, memory_mb=MASTER_MB), range(count)))
        eventually(lambda: len(queued(plane)) == count, every_s=LOOK_S, about=lambda: log(cluster)[-5000:])
        yield cluster
    finally:
        cluster.stop()


def log(yarn: LocalYarn) -> str:
    return (yarn.folder / "log" / "rm.log").read_text(errors="replace")


def serves(yarn: LocalYarn, user: str) -> str:
    """Submit an application of somebody who has none; returns its id once it has its container, if all else is well."""
    small = submit(yarn.rm_url, user=user)
    page = f"{yarn.rm_url}/ws/v1/cluster/apps/{small}"
    eventually(
        lambda: requests.get(page, timeout=SERVED_S).json()["app"]["runningContainers"] == 1,
        within_s=SERVED_S,
        about=lambda: log(yarn)[-5000:],
    )
    assert RmClient(yarn.rm_url, timeout_s=SERVED_S).info().state == "STARTED"
    assert "OutOfMemoryError" not in log(yarn)
    assert "Grasshopper: an error in" not in log(yarn)
    return small


def grants(plane: Plane, yarn: LocalYarn, job: str) -> None:
    """Fix an application's target; returns once the ResourceManager has it."""
    eventually(lambda: job in queued(plane), every_s=LOOK_S, about=lambda: log(yarn)[-5000:])
    plane.set_target(SOURCE, job, 1, 1)
    eventually(
        lambda: [one for one in plane.decisions(SOURCE, outcome="applied", job=job) if one["inputs"]["cap"] == 1],
        about=lambda: log(yarn)[-5000:],
    )


def queued(plane: Plane) -> set[str]:
    return {job["job"] for job in (plane.pool(SOURCE) or {"jobs": []})["jobs"]}


def test_an_application_behind_a_crowd_gets_its_container_and_its_grant(yarn, plane) -> None:
    """The queue is told as a whole at each tick, so a crowd must fit into one exchange."""
    grants(plane, yarn, serves(yarn, "alice"))


def test_an_answer_of_50_megabytes_costs_a_time_out_and_nothing_else(yarn, plane, gateway) -> None:
    """It is left after the first eight; and nobody restarts a ResourceManager because we were restarted."""
    told = log(yarn).count("answers again")
    gateway.fault = "flood"
    try:
        eventually(lambda: "the control plane is away" in log(yarn), every_s=LOOK_S)
        small = serves(yarn, "bob")
    finally:
        gateway.fault = ""
    eventually(lambda: log(yarn).count("answers again") > told, every_s=LOOK_S)
    grants(plane, yarn, small)
