"""Does a ResourceManager keep to the control plane's grants, and to its own ways whenever anything fails?

On real daemons, once with synchronous scheduling (3.4) and once with the asynchronous one that 3.5 begins with.
Executors are counted by the ResourceManager, not by us. Caps are tried on both; what does not depend on how containers
are proposed on 3.4, and on 3.5 what its scheduling thread takes part in. `make test-full` tries all on all.
"""

import time

import pytest

from tests.integration.plane_process import eventually
from tests.integration.yarn.queue import FULL, KEY, QUEUE, SLOTS, SOURCE, TTL_MS, queue_of_two
from yarn_bridge.install_conf import PREFIX, Base, queue_properties
from yarn_bridge.rm_client import RmClient

pytestmark = pytest.mark.integration
PREEMPTING = {f"{PREFIX}.preemption": True}
START_S = 180.0
SWAP_S = 5.0
SLACK_S = 4.0
"""For a busy machine: until the ResourceManager has placed, and we have seen, what it may place."""
synchronous = pytest.mark.parametrize("version", ["3.4.3", FULL["3.5.0"], FULL["3.3.6"]], indirect=True)
asynchronous = pytest.mark.parametrize("version", [FULL["3.4.3"], "3.5.0", FULL["3.3.6"]], indirect=True)


@pytest.fixture(scope="module", params=["3.4.3", "3.5.0", FULL["3.3.6"]])
def version(request):
    return request.param


@pytest.fixture(scope="module")
def switch(version, tmp_path_factory):
    """The file whose presence is a fault in the plug-in."""
    return tmp_path_factory.mktemp("fault") / "switch"


@pytest.fixture(scope="module")
def queue(version, switch, tmp_path_factory):
    """A queue of eight slots, two applications in it, and preemption, which ends nothing that a target allows."""
    with queue_of_two(version, tmp_path_factory.mktemp(f"yarn-{version}"), switch, site=PREEMPTING) as queue:
        yield queue


@pytest.fixture(autouse=True)
def rest(queue):
    """After the test nobody works, all executors go, and nothing is granted."""
    yield
    for application in queue.applications:
        application.rest()
    queue.drop_grants()
    eventually(lambda: queue.held() == (0, 0), about=queue.held)


def work_of_both(queue):
    for application in queue.applications:
        application.work()


@pytest.mark.parametrize("caps", [(2, 6), (6, 2)])
def test_applications_grow_to_their_caps_not_one_container_further_and_swap_by_preemption(queue, caps):
    """With proposals in flight a cap that looked at live containers only was overshot by up to two thirds."""
    queue.grant(*caps)
    work_of_both(queue)
    assert queue.settles_at(*caps) == caps
    swapped, asked_s = caps[::-1], time.monotonic()
    queue.grant(*swapped)
    eventually(lambda: queue.held() == swapped, about=queue.held)
    assert time.monotonic() - asked_s < SWAP_S + SLACK_S


@synchronous
def test_the_control_plane_sees_the_queue_as_it_is(queue):
    """What targets are made of: slots, what each application holds and asks for."""
    queue.grant(3, 0)
    queue.applications[0].work()
    queue.settles_at(3, 0)
    pool = queue.plane.pool(SOURCE)
    job = next(job for job in pool["jobs"] if job["job"] == queue.applications[0].application)
    assert pool["slots"] == SLOTS
    assert job["virtual_size"] == 3 + queue.pending()[0] == SLOTS


@asynchronous
def test_an_application_at_its_cap_has_nothing_reserved(queue):
    """The scheduler serves reservations without asking any ordering policy."""
    first, second = queue.applications
    queue.grant(SLOTS, SLOTS)
    first.work()
    queue.settles_at(SLOTS, 0)
    second.work()
    eventually(lambda: queue.reserved()[1], about=queue.pending)
    queue.grant(SLOTS, 0)
    eventually(lambda: queue.reserved() == (0, 0), about=queue.reserved)
    assert queue.meanwhile(queue.reserved) == {(0, 0)}


@synchronous
def test_a_control_plane_that_falls_silent_leaves_stock_order_behind(queue):
    """Grants end by themselves where they are read; and begin again when it is back."""
    queue.grant(3, 0)
    queue.applications[0].work()
    queue.settles_at(3, 0)
    queue.stays_at(3, 0)
    queue.plane.pause()
    try:
        paused_s = time.monotonic()
        eventually(lambda: queue.held() == (SLOTS, 0), about=queue.held)
        assert time.monotonic() - paused_s < TTL_MS / 1000 + SLACK_S
    finally:
        queue.plane.resume()
    eventually(lambda: "answers again" in queue.log())


@synchronous
def test_a_plan_outlives_a_refresh_of_the_queues_and_its_operator_ends_it_by_one(queue):
    """`refreshQueues` builds new policies, with a changed configuration even two of them."""
    queue.grant(3, 0)
    queue.applications[0].work()
    queue.settles_at(3, 0)
    queue.yarn.configure_queues(queue_properties((QUEUE,), Base.FAIR))
    queue.yarn.refresh_queues()
    queue.stays_at(3, 0)
    assert "GrasshopperOrderingPolicy over FairOrderingPolicy" in queue.log()
    queue.yarn.configure_queues(queue_properties((QUEUE,)) | {f"{KEY}.enabled": "false"})
    queue.yarn.refresh_queues()
    try:
        eventually(lambda: queue.held() == (SLOTS, 0), about=queue.held)
    finally:
        queue.yarn.configure_queues(queue_properties((QUEUE,)))
        queue.yarn.refresh_queues()


@asynchronous
def test_a_plug_in_that_fails_at_every_call_is_stock_order(queue, switch):
    """Unguarded, one throw ends the ResourceManager, or its scheduling for good."""
    queue.grant(3, 0)
    queue.applications[0].work()
    queue.settles_at(3, 0)
    switch.touch()
    try:
        eventually(lambda: queue.held() == (SLOTS, 0), about=queue.held)
    finally:
        switch.unlink()
    assert RmClient(queue.yarn.rm_url).info().state == "STARTED"
    assert 1 <= queue.log().count("a fault, on purpose") <= 10


@asynchronous
def test_a_killed_resource_manager_costs_no_executor_and_its_successor_follows_grants(queue):
    """It finds its applications again. Who starts anew has no fixed targets, so both begin with their fair share."""
    queue.grant(4, 4)
    work_of_both(queue)
    queue.settles_at(4, 4)
    lost = executors_lost(queue)
    queue.yarn.restart_rm(timeout_s=START_S)
    queue.settles_at(4, 4)
    assert executors_lost(queue) == lost
    queue.grant(3, 5)
    queue.settles_at(3, 5)


def executors_lost(queue):
    return [application.log().count("Lost executor") for application in queue.applications]
