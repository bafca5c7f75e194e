"""Does a FairScheduler give applications the shares that their targets come to?

It has no caps, but preemption of its own, which moves what targets alone do not. Seconds of patience are cut short.
"""

import pytest

from tests.integration.plane_process import Plane, eventually
from tests.integration.yarn.queue import QUEUE, SOURCE, Application, Queue, yarn_with_plugin
from yarn_bridge.install_conf import FAIR_POLICY

pytestmark = pytest.mark.integration
QUEUES = f"""<?xml version="1.0"?>
<allocations>
  <queue name="{QUEUE.rpartition(".")[2]}">
    <schedulingPolicy>{FAIR_POLICY}</schedulingPolicy>
    <fairSharePreemptionTimeout>1</fairSharePreemptionTimeout>
    <fairSharePreemptionThreshold>1.0</fairSharePreemptionThreshold>
  </queue>
</allocations>
"""
SITE = {
    "yarn.scheduler.fair.preemption": True,
    "yarn.scheduler.fair.preemption.cluster-utilization-threshold": 0,
    "yarn.scheduler.fair.waitTimeBeforeKill": 1000,
    "yarn.scheduler.fair.user-as-default-queue": False,
    "yarn.resource-types.memory-mb.increment-allocation": "64Mi",
}


@pytest.fixture
def queue(tmp_path):
    """A queue of eight slots, and two applications in it that hold nothing yet."""
    with (
        Plane(tmp_path / "plane", NUMBA_DISABLE_JIT="1") as plane,
        yarn_with_plugin("3.4.3", tmp_path, plane, tmp_path / "switch", site=SITE, fair=QUEUES) as yarn,
        pytest.MonkeyPatch.context() as environment,
    ):
        environment.setenv("HADOOP_CONF_DIR", str(yarn.conf_dir))
        with Application(tmp_path / "a") as a, Application(tmp_path / "b") as b:
            queue = Queue(yarn, plane, (a, b))
            eventually(lambda: len((plane.pool(SOURCE) or {"jobs": []})["jobs"]) == 2, about=queue.log)
            yield queue


def test_targets_become_shares_and_move_by_the_schedulers_own_preemption(queue, tmp_path):
    """Equal shares would be four and four."""
    gate = tmp_path / "gate"
    try:
        queue.grant(2, 6)
        for application in queue.applications:
            application.work(gate)
        queue.settles_at(2, 6)
        queue.grant(5, 3)
        queue.settles_at(5, 3)
    finally:
        gate.touch()
