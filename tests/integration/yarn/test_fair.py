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


@pytest.mark.parametrize(
    ("version", "is_silenced"), [("3.4.3", False), pytest.param("3.5.0", True, marks=pytest.mark.full)]
)
def test_targets_become_shares_and_move_by_the_schedulers_own_preemption(version, is_silenced, tmp_path):
    """Two and six is what is left where the plug-in fails, or the control plane is silent.

    Shares are equal then. Stock preemption spares an executor without which its application had less than its share: of
    8800 MB, six executors and a master have 4928, and with five 4160.
    """
    switch = tmp_path / "switch"
    with queue_of_two(version, tmp_path, switch, site=SITE, fair=QUEUES) as queue:
        follow_and_fall_back(queue, switch)
        if is_silenced:
            queue.plane.pause()
            queue.settles_at(2, 6)
            queue.plane.resume()
            queue.settles_at(1, 7)


def follow_and_fall_back(queue, switch):
    queue.work()
    queue.aim(5, 3)
    queue.settles_at(5, 3)
    queue.aim(1, 7)
    queue.settles_at(1, 7)
    fault = "GrasshopperFairPolicy StackOverflowError"
    switch.write_text(fault)
    queue.settles_at(2, 6)
    switch.unlink()
    assert [queue.warnings(hook, fault) for hook in ("shares", "fair order")] == [1, 1]
    queue.settles_at(1, 7)
