"""Is every result right, and does nothing stay behind, when Spark itself loses, retries, excludes or caches?"""

import os
import signal

import pytest

from controlplane.processes import command_line
from tests.integration.conftest import forgotten
from tests.integration.driver import JOB_S, Driver, plugged
from tests.integration.plane_process import WHY, eventually

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("nothing_left")]


def kill_executor(cluster, driver, host):
    """End the driver's executor on a host as a crash would."""
    for pid in cluster.executor_pids(host):
        if driver.application in command_line(pid):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def whole_pool(plane, driver):
    """The driver has all its slots, also after the test: the cluster starts lost executors again."""
    yield
    eventually(lambda: plane.pool(driver.source)["slots"] == 8, about=lambda: plane.pool(driver.source))


@pytest.mark.parametrize("victim", [0, 1], ids=["original", "copy"])
def test_an_executor_is_lost_under_an_original_or_its_copy(plane, driver, hosts, whole_pool, gate, victim):
    """Whichever of the two dies with its executor, the other one finishes the task, and nothing counts as a failure."""
    group = f"lost-{victim}"
    job = driver.start("squares", group=group, tasks=2, held=[0], gate=str(gate), hold_copies=True)
    original = plane.running(driver.source, group, 0)[0]
    plane.copy(original, driver.source)
    pair = plane.running(driver.source, group, 0, count=2)
    kill_executor(hosts, driver, pair[victim]["host"])
    survivor = pair[1 - victim]["attempt"]
    eventually(lambda: pair[victim]["attempt"] not in [a["attempt"] for a in plane.attempts(driver.source, group)])
    assert survivor in [attempt["attempt"] for attempt in plane.attempts(driver.source, group)]
    gate.touch()
    assert job.result(timeout=JOB_S) == [0, 1]
    ended = {a["attempt"]: a["outcome"] for a in plane.ended(driver.source, f"group-{group}", lost=1)}
    assert ended[pair[victim]["attempt"]] == "lost"
    assert "failed" not in ended.values()


def test_a_fetch_failure_with_a_copy_ordered_retries_the_stage(plane, driver, hosts, whole_pool, gate):
    """Map output dies with its executor; orders for the first stage attempt mean nothing to the second."""
    job = driver.start("shuffled_sums", group="fetch", gate=str(gate))
    attempts = eventually(lambda: reducing(plane, driver), about=lambda: plane.pool(driver.source))
    host = attempts[0]["host"]
    plane.copy(next(attempt for attempt in attempts if attempt["host"] != host), driver.source)
    kill_executor(hosts, driver, host)
    eventually(lambda: host not in {attempt["host"] for attempt in plane.attempts(driver.source, "fetch")})
    gate.touch()
    assert job.result(timeout=JOB_S) == [[key, sum(range(key, 800, 24))] for key in range(24)]
    retried = [a for a in plane.history(driver.source, "group-fetch")["attempts"] if a["stage_attempt"] == 1]
    assert retried, "the stage was not retried, so this test has not tested anything"


def reducing(plane, driver):
    """The attempts of the second stage, once they fill all slots."""
    jobs = plane.pool(driver.source)["jobs"]
    second = {stage["stage"] for job in jobs for stage in job["stages"] if stage["n_tasks"] == 24}
    attempts = [a for a in plane.attempts(driver.source, "fetch") if a["stage"] in second]
    return attempts if len(attempts) == 8 else None


def test_an_adaptive_query_is_copied_in_the_middle(plane, driver, gate):
    """One query is several Spark jobs under adaptive execution, and one job to us."""
    job = driver.start("joined", group="adaptive", gate=str(gate))
    answer = plane.copy(plane.running(driver.source, "adaptive", 0)[0], driver.source)
    assert [decision["action"] for decision in answer["decisions"]] == ["launch_copy"]
    assert job.result(timeout=JOB_S) == [[key, 286 if key < 5 else 285] for key in range(7)]


def test_a_cache_filled_by_a_copy_holds_the_right_rows(plane, driver, gate):
    """The copy and the original both compute the cached block; whoever reads it later must see it once."""
    job = driver.start("cached", group="cached", gate=str(gate))
    plane.copy(plane.running(driver.source, "cached", 0)[0], driver.source)
    assert job.result(timeout=JOB_S) == [sum(n * n for n in range(400))] * 3


def test_a_streaming_query_is_left_alone_beside_a_batch_job(plane, driver, gate, tmp_path):
    """A stream's tasks are never copied; the batch job next to it is."""
    source = tmp_path / "lines"
    source.mkdir()
    (source / "one.txt").write_text("early\nlate\nlast\n")
    paths = {"source": str(source), "sink": str(tmp_path / "sink"), "gate": str(gate)}
    stream = driver.start("stream_lines", group="stream", **paths)

    def streaming():
        jobs = plane.pool(driver.source)["jobs"]
        keys = [j["job"] for j in jobs if any(stage["verdict_reason"] == "streaming query" for stage in j["stages"])]
        return [attempt for key in keys for attempt in plane.attempts(driver.source, key)]

    late = eventually(streaming, about=lambda: plane.pool(driver.source))[0]
    refused = plane.copy(late, driver.source)
    assert [(d["action"], d["reason"]) for d in refused["decisions"]] == [("refuse_copy", "streaming")]
    batch = driver.start("squares", group="beside", tasks=2, held=[0], gate=str(gate))
    plane.copy(plane.running(driver.source, "beside", 0)[0], driver.source)
    assert batch.result(timeout=JOB_S) == [0, 1]
    gate.touch()
    assert stream.result(timeout=JOB_S) == ["early", "last", "late"]


ELASTIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "2",
    "spark.dynamicAllocation.initialExecutors": "2",
    "spark.dynamicAllocation.maxExecutors": "3",
    "spark.dynamicAllocation.executorIdleTimeout": "3s",
    "spark.scheduler.minRegisteredResourcesRatio": "0.0",
    "spark.excludeOnFailure.enabled": "true",
}


@pytest.fixture(scope="module")
def elastic_driver(hosts, plane, tmp_path_factory):
    """A driver whose executors come and go, and whose executors are excluded after failures."""
    with Driver(hosts, tmp_path_factory.mktemp("elastic"), **plugged(plane.address), **ELASTIC) as driver:
        eventually(lambda: plane.pool(driver.source) and plane.pool(driver.source)["slots"] == 4)
        yield driver
    eventually(lambda: plane.pool(driver.source) is None)


@pytest.fixture
def elastic(plane, elastic_driver):
    """The same, of which nothing is left after each test."""
    yield elastic_driver
    forgotten(plane, elastic_driver)


def test_a_pending_copy_brings_an_executor_and_leaves_with_it(plane, elastic, gate):
    """Dynamic allocation must count ordered copies as work, or a copy without a free slot would wait for ever."""
    plane.call("PATCH", "/settings", json=WHY | {"engine": {"order_ttl_ms": 60_000}})
    try:
        job = elastic.start("squares", group="grown", tasks=4, held=[0, 1, 2, 3], gate=str(gate), hold_copies=True)
        eventually(lambda: len(plane.attempts(elastic.source, "grown")) == 4)
        before = {executor["host"] for executor in plane.pool(elastic.source)["executors"]}
        plane.copy(plane.running(elastic.source, "grown", 0)[0], elastic.source)
        copy = plane.running(elastic.source, "grown", 0, count=2)[-1]
        assert copy["host"] not in before
    finally:
        plane.call("PATCH", "/settings", json=WHY | {"engine": {"order_ttl_ms": 5000}})
    gate.touch()
    assert job.result(timeout=JOB_S) == [0, 1, 4, 9]
    eventually(lambda: plane.pool(elastic.source)["slots"] == 4, about=lambda: plane.pool(elastic.source))


def test_an_order_does_not_override_an_exclusion(plane, elastic, gate):
    """Spark has excluded an executor for a task that failed there; an order that names its host is not served."""
    job = elastic.start("fails_once", group="excluded", gate=str(gate))
    second = eventually(lambda: [a for a in plane.attempts(elastic.source, "excluded", 0) if a["attempt_number"] == 1])[
        0
    ]
    attempts = plane.history(elastic.source, "group-excluded")["attempts"]
    failed = next(attempt for attempt in attempts if attempt["outcome"] == "failed")
    assert second["host"] != failed["host"]
    (order,) = plane.copy(second, elastic.source, host=failed["host"])["decisions"]
    told = eventually(
        lambda: (d := plane.call("GET", f"/decisions/{order['id']}"))["result"] != "pending" and d,
        about=lambda: plane.pool(elastic.source),
    )
    assert (told["result"], told["outcomes"][-1]["reason"]) == ("expired", "no_slot")
    assert [a["attempt"] for a in plane.attempts(elastic.source, "excluded", 0)] == [second["attempt"]]
    gate.touch()
    assert job.result(timeout=JOB_S) == [0, 1, 2, 3]
