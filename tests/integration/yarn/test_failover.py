"""Does a queue stay what it is when its ResourceManager fails over? Two of them on one state store, moved by hand."""

import pytest

from tests.integration.plane_process import eventually
from tests.integration.yarn.queue import SOURCE, Queue, queue_of_two
from yarn_bridge.install_conf import PREFIX

pytestmark = [pytest.mark.integration, pytest.mark.full]
PREEMPTING = {f"{PREFIX}.preemption": True}
START_S = 180.0


@pytest.mark.parametrize("version", ["3.4.3", "3.5.0"])
def test_applications_live_through_a_failover_and_the_new_master_follows_grants(version, tmp_path) -> None:
    """Grants come back by themselves but for those that were fixed by hand."""
    with queue_of_two(version, tmp_path, tmp_path / "fault", site=PREEMPTING, standby=True) as queue:
        queue.grant(4, 4)
        queue.work()
        queue.settles_at(4, 4)
        lost, newest = queue.executors_lost(), queue.newest_grant()
        with queue.plane.policy(SOURCE, "fair+none"):
            queue.yarn.fail_over(timeout_s=START_S)
            taken_over = Queue(queue.yarn, queue.plane, queue.applications, queue.gateway)
            eventually(lambda: taken_over.newest_grant() > newest, about=taken_over.log)
            taken_over.settles_at(4, 4)
        assert queue.executors_lost() == lost
        taken_over.grant(3, 5)
        taken_over.settles_at(3, 5)
