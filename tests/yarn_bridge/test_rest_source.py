"""Does the control plane see a queue that is only reported over REST, and do its grants come back?"""

from dataclasses import replace

import msgspec
import pytest

from controlplane.model.facts import QueueDemand
from controlplane.rest import RestError
from tests.plane import Clock
from yarn_bridge.plane_client import PlaneClient
from yarn_bridge.rest_source import RestSources, demand, free_slots

pytestmark = pytest.mark.unit


@pytest.fixture
def queue(rm):
    return next(queue for queue in rm.scheduler().queues if queue.path == "root.adhoc")


def test_slots_are_what_nodes_and_queue_have_room_for(rm, queue) -> None:
    """Four nodes of 2200 MB, two of them empty: room for two of 768 MB on each, and two on the one with 64 MB used."""
    nodes = rm.nodes()
    assert free_slots(queue, nodes, ask_mb=768) == 6
    assert free_slots(replace(queue, max_capacity_percent=30.0), nodes, ask_mb=768) == 3, "30 % are 2640 MB, less 275"
    assert free_slots(queue, nodes, ask_mb=0) == 0
    lost = [replace(node, state="LOST") for node in nodes]
    assert free_slots(queue, lost, ask_mb=768) == 0


def test_a_queues_demand_leaves_masters_out(rm, queue) -> None:
    """They are neither granted nor capped."""
    running, waiting, _ = sorted(rm.apps(), key=lambda app: app.priority)
    busy = replace(running, state="RUNNING", running_containers=4, pending_containers=5, ask_mb=768)
    told = demand(queue, [busy, waiting], rm.nodes())
    assert [(app.running, app.pending) for app in told.applications] == [(3, 5), (0, 0)]
    assert told.slots == 3 + 6
    assert told.applications[0].memory_bytes == 768 << 20


def run_all(recorded) -> None:
    """Lets every application run and ask for containers."""
    for app in recorded.apps:
        app |= {"state": "RUNNING", "runningContainers": 1}
        app["resourceRequests"] = [
            {"resourceName": "*", "numContainers": 2, "capability": {"memory": 512, "vCores": 1}},
            {"resourceName": "/default-rack", "numContainers": 2, "capability": {"memory": 512, "vCores": 1}},
        ]


def test_grants_come_back_as_targets_and_end_with_their_time(server, recorded, rm) -> None:
    """A control plane in control mode, over its own protocol; without news stock order counts again."""
    run_all(recorded)
    clock = Clock()
    plane = PlaneClient(server, timeout_s=60)
    sources = RestSources(rm, plane, clock)
    targets, failures = sources.targets()
    assert failures == []
    assert set(targets) == {app["id"] for app in recorded.apps}
    assert all(target >= 1 for target in targets.values())
    expected = {f"yarn:{rm.cluster_id()}:{path}" for path in ("root.batch", "root.adhoc")}
    assert {queue.source for queue in plane.queues()} == expected
    assert {grant.application for grant in plane.grants()} == set(targets)
    recorded.apps.clear()
    clock.advance(3600)
    assert sources.targets() == ({}, [])


def test_an_endless_name_costs_nobody_the_report(server, recorded, rm) -> None:
    """Names are their users' input; the protocol takes a thousand characters."""
    recorded.apps[0]["name"] = "x" * 5000
    plane = PlaneClient(server, timeout_s=60)
    RestSources(rm, plane).targets()
    assert recorded.apps[0]["id"] in {grant.application for grant in plane.grants()}


@pytest.fixture
def plane(server):
    """The control plane's client; `refused` names queues whose reports fail, and `sent` keeps all reports."""
    plane = PlaneClient(server, timeout_s=60)
    sync, plane.sent, plane.refused = plane.sync, [], set()

    def refusing(request):
        plane.sent.append(request)
        if request.source.id.rpartition(":")[2] in plane.refused:
            raise RestError("http://plane", "/shim/v1/sync", "too much", status=422)
        return sync(request)

    plane.sync = refusing
    return plane


def test_a_queue_that_is_refused_keeps_no_other_from_being_reported(plane, recorded, rm) -> None:
    """Its outcomes are sent again with the next report."""
    run_all(recorded)
    sources = RestSources(rm, plane)
    sources.targets()
    plane.refused = {"root.batch"}
    sources.targets()
    plane.refused = set()
    sources.targets()
    first, second, third = ({each.source.id: each for each in plane.sent[at : at + 2]} for at in (0, 2, 4))
    assert first.keys() == second.keys()
    (batch,) = [id for id in second if id.endswith("root.batch")]
    assert second[batch].facts[2:] == third[batch].facts[2:] != []


def test_a_queue_that_is_refused_in_every_round_takes_no_other_queues_targets(plane, recorded, rm) -> None:
    """Each queue's grants are its own, and the failure is told beside them."""
    run_all(recorded)
    plane.refused = {"root.batch"}
    sources = RestSources(rm, plane, Clock())
    for _ in range(2):
        targets, failures = sources.targets()
        assert set(targets) == {app["id"] for app in recorded.apps if not app["queue"].endswith("batch")} != set()
        assert [failure.status for failure in failures] == [422]


def test_grants_outlast_a_round_without_an_answer_and_end_with_their_time(plane, recorded, rm) -> None:
    """Only where none is left does the round end with the error."""
    run_all(recorded)
    clock = Clock()
    sources = RestSources(rm, plane, clock)
    targets, _ = sources.targets()
    plane.refused = {"root.batch", "root.adhoc"}
    kept, failures = sources.targets()
    assert (kept, len(failures)) == (targets, 1)
    clock.advance(3600)
    with pytest.raises(RestError):
        sources.targets()


def test_numbers_that_the_protocol_refuses_cost_nobody_the_report(rm, queue) -> None:
    """A clock may be set back, and tiny containers fit in millions."""
    application = replace(rm.apps()[0], state="RUNNING", pending_containers=1, ask_mb=1, age_ms=-5)
    told = demand(queue, [application], [replace(rm.nodes()[0], available_mb=1 << 31)])
    assert (told.applications[0].age_ms, told.slots) == (0, 10**6)
    assert msgspec.json.decode(msgspec.json.encode(told), type=QueueDemand) == told
