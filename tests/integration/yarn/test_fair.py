"""Does a FairScheduler give applications the shares that their targets come to?

It has no caps, but preemption of its own, which moves what targets alone do not. Seconds of patience are cut short.
"""

import pytest

from tests.integration.yarn.queue import QUEUE, queue_of_two
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
    "yarn.scheduler.fair.waitTimeBeforeNextStarvationCheck": 1000,
    "yarn.scheduler.fair.user-as-default-queue": False,
    "yarn.resource-types.memory-mb.increment-allocation": "64Mi",
}


@pytest.fixture
def queue(tmp_path):
    """A queue under the FairScheduler, whose code here is the same in all versions."""
    with queue_of_two("3.4.3", tmp_path, tmp_path / "switch", site=SITE, fair=QUEUES) as queue:
        yield queue


def test_targets_become_shares_and_move_by_the_schedulers_own_preemption(queue):
    """Equal shares would be four and four."""
    for application in queue.applications:
        application.work()
    queue.aim(2, 6)
    queue.settles_at(2, 6)
    queue.aim(5, 3)
    queue.settles_at(5, 3)
