"""Does a ResourceManager keep to the control plane's grants, and to its own ways whenever anything fails?

On real daemons. Executors are counted by the ResourceManager, not by us. `make test` takes 3.5, which schedules
asynchronously; `make test-full` tries all on 3.4 and 3.3, too, which do not, and what a scheduling thread takes part in
on a 3.4 that has one. pytest groups tests by places in parameter lists, so a version has the same place in both.
"""

import time
from urllib.parse import quote

import pytest
import requests

from controlplane.findings import Severity
from controlplane.processes import ClusterError
from tests.integration.absurd import LEASE_MS, absurd_replies
from tests.integration.plane_process import eventually
from tests.integration.yarn.queue import FULL, KEY, QUEUE, SLOTS, SOURCE, TTL_MS, queue_of_two
from tests.yarn_bridge.sleepers import kill, submit
from yarn_bridge.doctor import diagnose
from yarn_bridge.examination import examine
from yarn_bridge.install_conf import PREFIX, Base, queue_properties
from yarn_bridge.plane_client import PlaneClient
from yarn_bridge.rm_client import RmClient

pytestmark = pytest.mark.integration
PREEMPTING = {f"{PREFIX}.preemption": True}
START_S = 180.0
SWAP_S = 5.0
EXPIRY_S = 2.0
"""From the first container beyond a cap that has ended to all that were asked for."""
MASTER_MB = 1500
"""No node with two executors has room for it, and one without any has."""
SCRIPT = "<script>alert(1)</script>"
MOST_TEXT = 1024
NODE_UPDATE_NS = 4.5e6
"""A hundredth of an exchange's time-out."""
SLACK_S = 8.0
"""For a busy machine: until the ResourceManager has placed, and we have seen, what it may place."""
ASYNCHRONOUS_KEY = "yarn.scheduler.capacity.schedule-asynchronously.enable"
ASYNCHRONOUS = "3.4.3 asynchronous"
VERSIONS = ["3.5.0", FULL["3.4.3"], FULL["3.3.6"]]
every_version = pytest.mark.parametrize("version", VERSIONS, indirect=True)
every_way = pytest.mark.parametrize(
    "version", [*VERSIONS, pytest.param(ASYNCHRONOUS, marks=pytest.mark.full)], indirect=True
)


@pytest.fixture(scope="module")
def version(request):
    return request.param


@pytest.fixture(scope="module")
def switch(version, tmp_path_factory):
    """The file whose text is a fault in the plug-in."""
    return tmp_path_factory.mktemp("fault") / "switch"


@pytest.fixture(scope="module")
def queue(version, switch, tmp_path_factory):
    """A queue of eight slots, two applications in it, and preemption, which ends nothing that a target allows."""
    number, _, how = version.partition(" ")
    site = PREEMPTING | ({ASYNCHRONOUS_KEY: True} if how else {})
    with queue_of_two(number, tmp_path_factory.mktemp(f"yarn-{number}"), switch, site=site) as queue:
        queue.is_asynchronous = bool(how) or number == "3.5.0"
        yield queue


@pytest.fixture(autouse=True)
def rest(queue):
    """After the test nobody works, all executors go, and nothing is granted."""
    yield
    queue.rest()
    queue.drop_grants()
    eventually(lambda: queue.held() == (0, 0), about=queue.held)


@pytest.mark.parametrize("caps", [(6, 2), pytest.param((2, 6), marks=pytest.mark.full)])
@every_way
def test_applications_grow_to_their_caps_not_one_container_further_and_swap_by_preemption(queue, caps, record_property):
    """With proposals in flight a cap that looked at live containers only was overshot by up to two thirds.

    A swap's time is from the moment at which the ResourceManager says that it has both grants.
    """
    queue.grant(*caps)
    queue.work()
    assert queue.settles_at(*caps) == caps
    swapped = caps[::-1]
    queue.grant(*swapped)
    granted_s = time.monotonic()
    eventually(lambda: queue.held() == swapped, about=queue.held)
    swap_s = time.monotonic() - granted_s
    record_property("swap_s", round(swap_s, 1))
    assert swap_s < SWAP_S


@pytest.mark.full
@every_version
def test_the_control_plane_sees_the_queue_as_it_is(queue):
    """What targets are made of: slots, what each application holds and asks for."""
    queue.grant(3, 0)
    queue.applications[0].work()
    queue.settles_at(3, 0)
    pool = queue.plane.pool(SOURCE)
    job = next(job for job in pool["jobs"] if job["job"] == queue.applications[0].application)
    assert pool["slots"] == SLOTS
    assert job["virtual_size"] == 3 + queue.pending()[0] == SLOTS


@every_way
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


@pytest.mark.full
@every_version
def test_a_control_plane_that_falls_silent_leaves_stock_order_behind(queue):
    """Grants end by themselves where they are read; and begin again when it is back."""
    queue.grant(3, 0)
    queue.applications[0].work()
    queue.settles_at(3, 0)
    queue.stays_at(3, 0)
    queue.plane.pause()
    try:
        paused_s = time.monotonic()
        eventually(lambda: queue.held() != (3, 0), about=queue.held)
        ended_s = time.monotonic()
        eventually(lambda: queue.held() == (SLOTS, 0), about=queue.held)
        assert ended_s - paused_s < TTL_MS / 1000 + SLACK_S
        assert time.monotonic() - ended_s < EXPIRY_S
    finally:
        queue.plane.resume()
    eventually(lambda: "answers again" in queue.log())


@pytest.mark.parametrize(
    "fault",
    ["trickle", *(pytest.param(f, marks=pytest.mark.full) for f in ("other_version", "dead", "garbage", "slow"))],
)
@every_version
def test_a_control_plane_that_answers_wrongly_leaves_stock_order_behind_and_holds_nothing_up(
    queue, fault, record_property
):
    """No node update waits for the network; the doctor sees it; and nobody restarts a ResourceManager because of us."""
    queue.grant(3, 0)
    queue.applications[0].work()
    queue.settles_at(3, 0)
    assert not ailments(queue)
    told, before = queue.log().count("answers again"), node_updates(queue)
    queue.gateway.fault = fault
    try:
        began_s = time.monotonic()
        eventually(lambda: queue.held() == (SLOTS, 0), about=queue.held)
        assert time.monotonic() - began_s < TTL_MS / 1000 + SLACK_S
        count, average_ns = eventually(lambda: (now := node_updates(queue)) != before and now)
        record_property("node_update_us", round(average_ns / 1000))
        assert count > before[0]
        assert average_ns < NODE_UPDATE_NS
        assert {"plan"} <= ailments(queue) <= {"plan", "server"}
    finally:
        queue.gateway.fault = ""
    eventually(lambda: queue.log().count("answers again") > told)
    eventually(queue.is_listed, about=queue.log)
    queue.grant(SLOTS, 0)


@pytest.fixture(scope="module")
def stock_squares(queue):
    """The answer of a job where no control plane answers and the last plan has ended, and how many seconds it took."""
    queue.gateway.fault = "dead"
    time.sleep(TTL_MS / 1000)
    try:
        return squares(queue, "stock")
    finally:
        queue.gateway.fault = ""
        eventually(lambda: queue.held() == (0, 0), about=queue.held)


def squares(queue, group):
    """The first application's answer, and how many seconds it took with executors that had to come for it."""
    began_s = time.monotonic()
    answer = queue.applications[0].run("squares", group=group, tasks=SLOTS)
    return answer, time.monotonic() - began_s


@pytest.mark.parametrize("absurd", absurd_replies(quick=0, count=20))
@every_version
def test_an_absurd_reply_and_then_silence_hold_an_application_up_for_one_lease(
    queue, stock_squares, absurd, record_property
):
    """A cap of none that never ended would be an application without executors, for as long as its queue exists."""
    answer, stock_s = stock_squares
    jobs = [application.application for application in queue.applications]
    eventually(queue.is_listed, about=queue.log)
    queue.gateway.spoil = lambda reply: absurd.reply(reply, jobs, list(queue.yarn.hosts))
    queue.gateway.fault = "absurd"
    try:
        eventually(lambda: queue.gateway.fault == "dead")
        told, took_s = squares(queue, absurd.name)
    finally:
        queue.gateway.fault = ""
    record_property("job_ended_after_s", round(took_s, 1))
    assert told == answer
    assert took_s < stock_s + LEASE_MS / 1000 + SLACK_S


def node_updates(queue):
    """(number so far, nanoseconds on average) as of the last time that the ResourceManager looked, each ten seconds."""
    query = "Hadoop:service=ResourceManager,name=CapacitySchedulerMetrics"
    (bean,) = requests.get(f"{queue.yarn.rm_url}/jmx", params={"qry": query}, timeout=30).json()["beans"]
    return bean["NodeUpdateNumOps"], bean["NodeUpdateAvgTime"]


def ailments(queue):
    """Checks in which the doctor finds an error."""
    seen = examine(RmClient(queue.yarn.rm_url), PlaneClient(queue.plane.address), queue.gateway.address)
    return {finding.check for finding in diagnose(seen) if finding.severity is Severity.ERROR}


@every_version
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


@pytest.mark.full
@every_version
def test_a_refresh_with_a_class_that_is_not_there_is_refused_and_changes_nothing(queue):
    """Nor does it end the ResourceManager, as the same at its start would."""
    queue.grant(3, 0)
    queue.applications[0].work()
    queue.settles_at(3, 0)
    queue.yarn.configure_queues({KEY: "io.grasshopper.yarn.Missing"})
    try:
        with pytest.raises(ClusterError, match="re-init"):
            queue.yarn.refresh_queues()
        queue.stays_at(3, 0)
    finally:
        queue.yarn.configure_queues(queue_properties((QUEUE,)))
        queue.yarn.refresh_queues()
    queue.stays_at(3, 0)


@every_version
def test_a_cap_never_holds_a_master_back(queue):
    """An application without its master could never say what it asks for. The first one fills the queue until then."""
    queue.grant(SLOTS, 0)
    queue.applications[0].work()
    queue.settles_at(SLOTS, 0)
    rm = RmClient(queue.yarn.rm_url)
    sleeper = submit(queue.yarn.rm_url, memory_mb=MASTER_MB)
    try:
        queue.cap(sleeper, 0)
        queue.meanwhile(queue.held)
        assert {app.id: app.running_containers for app in rm.apps()}[sleeper] == 0
        queue.applications[0].rest()
        eventually(lambda: {app.id: app.running_containers for app in rm.apps()}[sleeper] == 1, about=rm.apps)
    finally:
        kill(queue.yarn.rm_url, sleeper)


@every_version
def test_what_users_write_is_cut_and_escaped(queue):
    """Names and tags come from anybody who may submit, and are shown to operators."""
    sleeper = submit(queue.yarn.rm_url, name=SCRIPT + "x" * 5000, tags=(SCRIPT,))
    try:
        jobs = eventually(lambda: [job for job in queue.plane.pool(SOURCE)["jobs"] if job["job"] == sleeper])
        assert jobs[0]["name"] == (SCRIPT + "x" * 5000)[:MOST_TEXT]
        for page in ("", f"jobs/{quote(SOURCE, safe='')}/{sleeper}"):
            shown = requests.get(f"{queue.plane.address}/{page}", timeout=30)
            assert shown.ok
            assert SCRIPT not in shown.text
        assert "&lt;script&gt;" in shown.text
    finally:
        kill(queue.yarn.rm_url, sleeper)


@every_way
def test_a_plug_in_that_fails_wherever_it_can_is_stock_order(queue, switch):
    """Unguarded, one throw ends the ResourceManager, or its scheduling for good; each kind is warned about once.

    The second application asks in vain throughout, so the scheduler never stops asking for an order.
    """
    queue.grant(3, 0)
    queue.work()
    queue.settles_at(3, 0)
    schedules_by_itself(queue)
    strike(queue, switch, "Enforcement StackOverflowError", "tick")
    queue.stays_at(3, 0)
    hooks = "container allocated", "application added", "application removed"
    strike(queue, switch, "Holdings StackOverflowError", "assignment", "assignment order", *hooks, ends_caps=True)
    strike(queue, switch, "InFlight IllegalStateException", "assignment order")
    strike(queue, switch, "CoveredQueue IllegalStateException", "tick")
    strike(queue, switch, "Plan IllegalStateException", "assignment")
    strike(queue, switch, "TargetOrder IllegalStateException", "container released", *hooks)
    schedules_by_itself(queue)
    assert RmClient(queue.yarn.rm_url).info().state == "STARTED"


@pytest.mark.full
@every_way
def test_a_plug_in_on_a_hadoop_that_does_not_fit_is_off_until_the_next_start(queue, switch):
    """The first `LinkageError` ends its part, with one warning."""
    queue.grant(3, 0)
    queue.applications[0].work()
    queue.settles_at(3, 0)
    switch.write_text("InFlight NoSuchMethodError")
    try:
        eventually(lambda: queue.held() == (SLOTS, 0), about=queue.held)
        assert RmClient(queue.yarn.rm_url).info().state == "STARTED"
        assert queue.log().count("Grasshopper is off: this host version does not fit, found in assignment order") == 1
    finally:
        switch.unlink()
        queue.yarn.restart_rm(timeout_s=START_S)


def schedules_by_itself(queue):
    """Asynchronous scheduling's thread, which nobody replaces, lives. A deep stack is told without its end."""
    client = RmClient(queue.yarn.rm_url)
    if queue.is_asynchronous:
        eventually(lambda: "AsyncScheduleThread." in client.threads())


def strike(queue, switch, fault, *hooks, ends_caps=False):
    """Let a fault be there until these hooks have met it, as an application with a container comes and goes.

    Each of them warns once.
    """
    client = RmClient(queue.yarn.rm_url)
    switch.write_text(fault)
    try:
        comes = submit(queue.yarn.rm_url)
        eventually(lambda: {app.id: app.running_containers for app in client.apps()}.get(comes) == 1, about=client.apps)
        kill(queue.yarn.rm_url, comes)
        for hook in hooks:
            eventually(lambda hook=hook: queue.warnings(hook, fault), about=lambda hook=hook: f"{hook} did not meet it")
        if ends_caps:
            eventually(lambda: sum(queue.held()) == SLOTS, about=queue.held)
    finally:
        switch.unlink()
    assert [queue.warnings(hook, fault) for hook in hooks] == [1] * len(hooks)


@every_way
def test_a_killed_resource_manager_costs_no_executor_and_its_successor_follows_grants(queue):
    """It finds its applications again, and grants come back by themselves but for those that were fixed by hand."""
    queue.grant(4, 4)
    queue.work()
    queue.settles_at(4, 4)
    lost, newest = queue.executors_lost(), queue.newest_grant()
    with queue.plane.policy(SOURCE, "fair+none"):
        queue.yarn.restart_rm(timeout_s=START_S)
        eventually(lambda: queue.newest_grant() > newest, about=queue.log)
        queue.settles_at(4, 4)
    assert queue.executors_lost() == lost
    queue.grant(3, 5)
    queue.settles_at(3, 5)
