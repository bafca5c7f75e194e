"""Does the client read what real resource managers say, and do its errors name who is to blame?"""

import socket
import threading

import pytest

from controlplane.rest import RestError
from tests.yarn_bridge.recorded_rm import APPS, SCHEDULER
from yarn_bridge.rm_client import RmClient, parse_scheduler

pytestmark = pytest.mark.unit
INFO = "/ws/v1/cluster/info"


def test_leaf_queues_are_read_with_their_capacity_and_policy(rm) -> None:
    """Both versions give the paths under which the queues are configured."""
    scheduler = rm.scheduler()
    assert scheduler.type == "capacityScheduler"
    assert {queue.path: round(queue.capacity_percent) for queue in scheduler.queues} == {
        "root.batch": 70,
        "root.adhoc": 30,
    }
    assert {queue.policy for queue in scheduler.queues} == {"fifo"}


def test_an_application_that_waits_holds_nothing_and_one_that_runs_holds_its_master(rm) -> None:
    """A master's container is not one that targets count."""
    apps = {app.priority: app for app in rm.apps()}
    assert [apps[number].running_containers for number in (0, 1, 2)] == [1, 0, 1]
    assert [(app.held, app.due) for app in apps.values()] == [(0, 0)] * 3
    assert apps[1].ask_mb == 2048


def test_four_nodes_run(rm) -> None:
    """What the local cluster waits for."""
    nodes = rm.nodes()
    assert [node.state for node in nodes] == ["RUNNING"] * 4
    assert {node.used_mb + node.available_mb for node in nodes} == {2200}


@pytest.mark.parametrize("none", [None, {}, {"app": None}])
def test_no_applications_are_said_in_three_ways(recorded, rm, none) -> None:
    """Hadoop's versions differ in how they write an empty list."""
    recorded.said[APPS] = {"apps": none}
    assert rm.apps() == []


def test_a_key_without_a_value_is_none(rm) -> None:
    """A missing key is an answer, not an error."""
    assert rm.conf("yarn.scheduler.grasshopper.server") is None
    assert rm.conf("yarn.cluster.max-application-priority") == "10"


def test_an_answer_of_another_shape_names_server_and_path(recorded, rm) -> None:
    """Somebody typed the address of another web page."""
    recorded.said[INFO] = {"clusterInfo": {"id": 1}}
    with pytest.raises(RestError, match=f"{recorded.url}{INFO}.*does not answer like a resource manager"):
        rm.info()
    recorded.said[INFO] = "<html>"
    with pytest.raises(RestError, match="does not answer like a resource manager"):
        rm.info()


def test_a_refusal_is_told_in_the_managers_own_words(rm) -> None:
    """It knows best why."""
    with pytest.raises(RestError, match="status 404: app with id: application_1_1 not found"):
        rm.set_priority("application_1_1", 3)


def test_a_manager_that_never_answers_costs_one_deadline() -> None:
    """An RM in a long garbage collection accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(RestError, match=r"no answer within 0\.2 s"):
            RmClient(url, timeout_s=0.2).info()


def test_an_answer_that_trickles_costs_one_deadline() -> None:
    """A deadline is for the whole answer, not for each byte of it."""
    with socket.create_server(("127.0.0.1", 0)) as slow:
        over = threading.Event()

        def trickle() -> None:
            connection, _ = slow.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                while not over.wait(0.05):
                    connection.sendall(b" ")

        thread = threading.Thread(target=trickle)
        thread.start()
        try:
            with pytest.raises(RestError, match=r"no answer within 0\.3 s"):
                RmClient(f"http://127.0.0.1:{slow.getsockname()[1]}", timeout_s=0.3).info()
        finally:
            over.set()
            thread.join()


def test_nobody_there_is_told_as_such() -> None:
    """Without a status, because there was no answer."""
    with pytest.raises(RestError, match="no resource manager can be reached") as told:
        RmClient("http://127.0.0.1:1").info()
    assert told.value.status is None


def test_queues_below_queues_are_found_by_their_whole_path(recorded) -> None:
    """Only leaves hold applications."""
    info = recorded.said[SCHEDULER]["scheduler"]["schedulerInfo"]
    inner = {"queueName": "prod", "queues": info["queues"]}
    nested = {**info, "queues": {"queue": [inner]}}
    assert [queue.path for queue in parse_scheduler(nested).queues] == ["root.prod.batch", "root.prod.adhoc"]


def test_a_cluster_is_called_by_its_name_or_by_its_address(recorded, rm) -> None:
    """As the plug-in does, so that both mean the same queues; a site that hides /conf has at least its start."""
    key = "/conf?name=yarn.resourcemanager.cluster-id"
    recorded.said["/conf?name=yarn.resourcemanager.address"] = {"property": {"value": "rm1:8032"}}
    recorded.status |= {"/conf?name=yarn.resourcemanager.address": 200, key: 404}
    assert rm.cluster_id() == "rm1:8032"
    recorded.said[key] = {"property": {"value": "prod"}}
    recorded.status[key] = 200
    assert rm.cluster_id() == "prod"
    recorded.status[key] = 403
    assert rm.cluster_id() == str(rm.info().id)
