"""Do a real driver with the shim and a real ResourceManager with the plug-in become one application?

Two applications in one queue under Hopper: `with_shim` is attached itself, `without` is known to its queue alone.
"""

import json
from types import SimpleNamespace

import pytest
import requests

from tests.integration.driver import JOB_S, plugged
from tests.integration.plane_process import Plane, eventually
from tests.integration.yarn.queue import FULL, SLOTS, SOURCE, Application, Queue, submitted, yarn_with_plugin

pytestmark = pytest.mark.integration
ENVIRONMENT = {"NUMBA_DISABLE_JIT": "1", "GRASSHOPPER__ENGINE__ORDER_TTL_MS": "60000"}
"""No minute of compiling for a queue of two, and orders that wait for an executor that is to start first."""
THREE_EXECUTORS = {
    "spark.dynamicAllocation.enabled": "false",
    "spark.executor.instances": "3",
    "spark.driver.memoryOverhead": "256m",
}
"""A node has room for two, so that there is a host for the copy."""
ONE_A_NODE = {"spark.executor.memory": "1g"}
"""The second executor is on another node than the first."""


@pytest.fixture(scope="module", params=[FULL["3.4.3"], "3.5.0"])
def whole(request, tmp_path_factory):
    """The control plane, the queue and both applications; every slot is a container of one core.

    What a driver and a queue say of an application is the same in all versions.
    """
    folder = tmp_path_factory.mktemp(f"whole-{request.param}")
    with (
        Plane(folder / "plane", policy="hopper+none", **ENVIRONMENT) as plane,
        yarn_with_plugin(request.param, folder, plane.address, folder / "switch") as yarn,
        pytest.MonkeyPatch.context() as environment,
    ):
        environment.setenv("HADOOP_CONF_DIR", str(yarn.conf_dir))
        with (
            Application(folder / "with_shim", **plugged(plane.address)) as with_shim,
            Application(folder / "without") as without,
        ):
            queue = Queue(yarn, plane, (with_shim, without))
            yield SimpleNamespace(plane=plane, queue=queue, with_shim=with_shim, without=without)


@pytest.fixture
def gate(tmp_path, whole):
    """Held tasks wait until this file is there; afterwards nobody works, and all executors go."""
    path = tmp_path / "gate"
    yield path
    path.touch()
    for application in whole.queue.applications:
        application.rest()
    eventually(lambda: whole.queue.held() == (0, 0), about=whole.queue.held)


def application(whole, driver):
    """How the control plane sees an application in its queue; empty while it does not."""
    jobs = (whole.plane.pool(SOURCE) or {"jobs": []})["jobs"]
    return next((job for job in jobs if job["job"] == driver.application and job["queued"]), {})


def wanted_slots(job, tasks):
    """Hopper's virtual size of so many tasks of transfer ratio 1, two copies each at most; a container is a slot."""
    return pytest.approx(min(max(2 / job["tail_index"], 1.0), 2.0) * tasks)


def test_an_attached_driver_counts_by_its_tasks_and_another_by_its_containers(whole, gate):
    """Of sixteen tasks two are left: what is held and asked for says nothing of that."""
    whole.with_shim.start("squares", group="few are left", tasks=2 * SLOTS, held=[0, 1], gate=str(gate))

    def nearly_done():
        mine = application(whole, whole.with_shim)
        return mine and mine["virtual_size"] == wanted_slots(mine, 2) and mine

    mine = eventually(nearly_done, about=lambda: whole.plane.pool(SOURCE))
    assert (mine["remaining_tasks"], mine["queued"]["driver"]) == (2, whole.with_shim.source)
    whole.without.work()
    other = eventually(lambda: (seen := application(whole, whole.without)) and seen["n_running"] and seen)
    assert other["queued"]["driver"] == ""
    assert other["virtual_size"] == other["queued"]["running"] + other["queued"]["pending"]


def test_a_driver_is_shown_with_its_queue(whole, gate):
    """And is steered as on any other cluster, because the ResourceManager knows it and its user."""
    whole.with_shim.work()
    pool = eventually(lambda: (pool := whole.plane.pool(whole.with_shim.source)) and pool["listed"] and pool)
    assert (pool["listed"]["queue"], pool["listed"]["reason"], pool["mode"]) == (SOURCE, "joined", "control")


def has_room(executor, other_host):
    """Whether an executor is on another host than this, and a copy could start there."""
    return executor["host"] != other_host and executor["running"] < executor["slots"]


@pytest.mark.parametrize("deploy_mode", [pytest.param("client", marks=pytest.mark.full), "cluster"])
def test_a_submitted_job_is_copied_and_gives_its_result(whole, deploy_mode, tmp_path, gate):
    """In cluster mode the driver is a container, too, and gets the jar from YARN; its original never ends by itself."""
    conf = plugged(whole.plane.address) | THREE_EXECUTORS
    work = {"group": "submitted", "tasks": 4, "held": [0], "gate": str(gate)}
    with submitted(tmp_path, deploy_mode, "squares", conf=conf, **work) as answer:
        source = f"spark:{whole.queue.named(tmp_path.name)}"
        (original,) = whole.plane.running(source, "submitted", 0)
        eventually(lambda: any(has_room(each, original["host"]) for each in whole.plane.pool(source)["executors"]))
        copy = whole.plane.copy(original, source)
        text = eventually(lambda: answer.is_file() and answer.read_text(), about=lambda: copy)
        assert json.loads(text) == [0, 1, 4, 9]
        attempts = whole.plane.ended(source, "group-submitted")
    outcomes = {(attempt["index"], attempt["speculative"]): attempt["outcome"] for attempt in attempts}
    assert (outcomes[0, False], outcomes[0, True]) == ("killed", "success")


@pytest.mark.full
def test_a_straggler_on_a_drivers_only_executor_gets_its_copy_on_one_that_comes(whole, tmp_path, gate):
    """Nothing else asks for a second one, and an order of usual life would expire before it has started."""
    conf = plugged(whole.plane.address) | ONE_A_NODE
    work = {"group": "alone", "tasks": 1, "held": [0], "gate": str(gate)}
    with (
        whole.plane.engine(order_ttl_ms=1000),
        submitted(tmp_path, "client", "squares", conf=conf, **work) as answer,
    ):
        source = f"spark:{whole.queue.named(tmp_path.name)}"
        (original,) = whole.plane.running(source, "alone", 0)
        assert len(whole.plane.pool(source)["executors"]) == 1
        whole.plane.copy(original, source)
        assert json.loads(eventually(lambda: answer.is_file() and answer.read_text())) == [0]
        attempts = whole.plane.ended(source, "group-alone")
    straggler, copy = sorted(attempts, key=lambda each: each["speculative"])
    assert (straggler["outcome"], copy["outcome"]) == ("killed", "success")
    assert straggler["host"] != copy["host"]


def test_a_cap_keeps_a_slot_free_for_a_copy_that_is_still_to_come(whole, gate):
    """Executors live long: whoever may take every slot has them when the copy's executor is asked for.

    Of three executors one is on another host than the original, so that the copy may be ordered.
    """
    queue, driver = whole.queue, whole.with_shim
    with whole.plane.policy(SOURCE, "fixed+none"):
        eventually(queue.is_listed, about=queue.log)
        queue.grant(4, SLOTS - 4)
        hanging = driver.start("squares", group="copied", tasks=3, held=[0, 1, 2], gate=str(gate), hold_copies=True)
        queue.settles_at(3, 0)
        whole.without.work()
        queue.settles_at(3, SLOTS - 4)
        queue.stays_at(3, SLOTS - 4)
        (original,) = whole.plane.running(driver.source, "copied", 0)
        whole.plane.copy(original, driver.source)
        whole.plane.running(driver.source, "copied", 0, count=2)
        assert queue.held() == (4, SLOTS - 4)
        whole.plane.kill_attempt(original, driver.source)
        eventually(lambda: len(whole.plane.attempts(driver.source, "copied", 0)) == 1)
        gate.touch()
        assert hanging.result(timeout=JOB_S) == [0, 1, 4]
        queue.drop_grants()
    ended = [each for each in whole.plane.ended(driver.source, "group-copied") if each["index"] == 0]
    assert {each["speculative"]: each["outcome"] for each in ended} == {False: "killed", True: "success"}


def stranger(whole, application, user):
    """The answer to a driver that calls itself by an application's id."""
    attached = {"type": "driver_attached", "application": application, "user": user, "capabilities": {"max_copies": 4}}
    job = {"type": "stage_submitted", "job": "j", "stage": 1, "stage_attempt": 0, "n_tasks": 1, "kind": "shuffle_map"}
    identity = {"kind": "spark", "id": application, "epoch": 1}
    body = {"protocol": 1, "source": identity, "sequence": 1, "full": True, "facts": [attached, job]}
    return requests.post(f"{whole.plane.address}/shim/v1/sync", json=body, timeout=10).json()


def test_strangers_get_no_orders(whole):
    """Another user's id, and one that the ResourceManager has not given to anybody."""
    eventually(lambda: application(whole, whole.without), about=whole.queue.log)
    unlisted = whole.without.application.rpartition("_")[0] + "_9999"
    for id, reason in ((whole.without.application, "other_user"), (unlisted, "unlisted")):
        reply = stranger(whole, id, "mallory")
        assert (reply["mode"], reply.get("orders", []), reply.get("claims", [])) == ("shadow", [], [])
        assert [each["reason"] for each in whole.plane.decisions(f"spark:{id}", action="join")] == [reason]
