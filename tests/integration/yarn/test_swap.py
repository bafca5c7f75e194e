"""Do slots change hands between Spark drivers without preemption: by executors that are let go once they are idle?

Two applications with dynamic allocation, both attached, in a queue of eight slots. Executors are counted by the
ResourceManager. Everybody's idle timeout is longer than any test waits: who goes earlier was let go by us.
"""

import time

import pytest

from tests.integration.driver import plugged
from tests.integration.plane_process import Plane, eventually
from tests.integration.yarn.queue import FULL, PLANE, SLOTS, SOURCE, TTL_MS, Application, Queue, yarn_with_plugin

pytestmark = pytest.mark.integration
DRAINING = {"GRASSHOPPER__ENGINE__DRAIN_EXECUTORS": "true", "GRASSHOPPER__RUNTIME__FORGET_AFTER_S": "60"}
"""As by default, a queue that a busy machine keeps silent is remembered for longer than its pauses between exchanges.

Who forgets it forgets the targets that are fixed for it, too.
"""
LONG_IDLE = {"spark.dynamicAllocation.executorIdleTimeout": "600s"}
STATIC = {"spark.dynamicAllocation.enabled": "false", "spark.executor.instances": "2"}
TASK_S = 1.0
SLACK_S = 10.0


@pytest.fixture(scope="module", params=["3.4.3", FULL["3.5.0"]])
def queue(request, tmp_path_factory):
    """The queue, and both applications in it; there is no preemption."""
    folder = tmp_path_factory.mktemp(f"swap-{request.param}")
    with (
        Plane(folder / "plane", **PLANE, **DRAINING) as plane,
        yarn_with_plugin(request.param, folder, plane.address, folder / "switch") as yarn,
        pytest.MonkeyPatch.context() as environment,
    ):
        environment.setenv("HADOOP_CONF_DIR", str(yarn.conf_dir))
        conf = plugged(plane.address) | LONG_IDLE
        with Application(folder / "a", **conf) as a, Application(folder / "b", **conf) as b:
            queue = Queue(yarn, plane, (a, b))
            eventually(lambda: all(plane.pool(each.source) for each in (a, b)), about=queue.log)
            eventually(queue.is_listed, about=queue.log)
            yield queue


@pytest.fixture(autouse=True)
def rest(queue):
    """After the test nobody works, and drivers that may hold nothing let all executors go."""
    yield
    queue.rest()
    eventually(queue.is_listed, about=queue.log)
    queue.grant(0, 0)
    eventually(lambda: queue.held() == (0, 0), about=queue.held)
    queue.drop_grants()


def caps(queue, **which):
    """What was recorded about executors that an application may hold, newest first."""
    return queue.plane.decisions(SOURCE, action="cap_executors", **which)


def test_slots_change_hands_as_tasks_end(queue, record_testsuite_property):
    """Both always have tasks waiting, so no executor would ever fall idle by itself."""
    queue.work(tasks=10_000, seconds=TASK_S)
    for place, targets in enumerate([(6, 2), (2, 6), (6, 2)]):
        began_s = time.monotonic()
        queue.aim(*targets)
        eventually(
            lambda wanted=targets: queue.held() == wanted,
            about=lambda: (queue.held(), queue.pending(), queue.reserved(), queue.log()[-20_000:], caps(queue)[:5]),
        )
        if place:
            record_testsuite_property(f"swap_{place}_s", round(time.monotonic() - began_s, 1))
    queue.settles_at(6, 2)
    assert all("Lost task" not in application.log() for application in queue.applications)
    assert "above_its_part" in {each["reason"] for each in caps(queue, outcome="applied")}


@pytest.mark.full
def test_a_driver_asks_for_no_more_than_its_cap_until_nobody_says_so_any_more(queue):
    """The cap is a lease: with the control plane silent the driver is Spark's own again."""
    queue.grant(SLOTS, SLOTS)
    queue.applications[0].work(tasks=10_000, seconds=TASK_S)
    eventually(lambda: queue.held() == (SLOTS, 0), about=queue.held)
    queue.grant(3, SLOTS)
    queue.settles_at(3, 0)
    assert queue.pending() == (0, 0)
    queue.plane.pause()
    try:
        paused_s = time.monotonic()
        eventually(lambda: queue.held() == (SLOTS, 0), about=queue.held)
        assert time.monotonic() - paused_s < TTL_MS / 1000 + SLACK_S
    finally:
        queue.plane.resume()


@pytest.mark.full
def test_static_allocation_is_left_alone_and_says_so(queue, tmp_path):
    """Whoever asked for so many executors keeps them."""
    with Application(tmp_path / "fixed", **plugged(queue.plane.address), **STATIC) as fixed:
        alone = Queue(queue.yarn, queue.plane, (fixed,))
        eventually(lambda: alone.held() == (2,), about=alone.held)
        alone.grant(1)
        eventually(lambda: caps(queue, job=fixed.application), about=lambda: queue.plane.decisions(SOURCE)[:5])
        alone.meanwhile(alone.held)
        assert alone.held() == (2,)
        assert {each["reason"] for each in caps(queue, job=fixed.application)} == {"executors_fixed"}
