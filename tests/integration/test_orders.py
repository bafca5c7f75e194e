"""Does the shim refuse what the state of Spark forbids, and carry out what no policy orders yet?

The control plane would not send such orders. So an operator asks for a copy, and the gateway puts something else over
that order on its way; what the shim says of it comes back to the decision about the copy.
"""

import pytest

from tests.integration.driver import JOB_S, Driver, JobError, plugged
from tests.integration.plane_process import eventually

pytestmark = pytest.mark.integration
SLOTS = 8


@pytest.fixture(scope="module")
def driver(hosts, gateway, tmp_path_factory):
    """A driver that hears the control plane through the gateway only."""
    with Driver(hosts, tmp_path_factory.mktemp("misled"), **plugged(gateway.address)) as driver:
        driver.run("squares", group="warm", tasks=2 * SLOTS)
        yield driver


@pytest.fixture
def misled(plane, gateway, driver, nothing_left):
    """Orders a copy of an attempt's task, in place of which something else arrives; answers the decision."""

    def order(original, /, at=driver, **instead):
        gateway.instead = instead
        (decision,) = plane.copy(original, at.source)["decisions"]
        assert decision["action"] == "launch_copy", decision
        return decision["id"]

    yield order
    gateway.instead = {}


@pytest.fixture
def told(plane):
    """What became of a decision, and the reason: the shim's word, once it is there."""

    def outcome(decision):
        path = f"/decisions/{decision}"
        eventually(lambda: plane.call("GET", path)["outcomes"], about=lambda: plane.call("GET", path))
        answer = plane.call("GET", path)
        return answer["result"], answer["outcomes"][0]["reason"]

    return outcome


def held(driver, group, gate, tasks=1, **more):
    """A job whose tasks all wait at the gate."""
    return driver.start(
        "squares", group=group, tasks=tasks, held=list(range(tasks)), gate=str(gate), hold_copies=True, **more
    )


def test_no_attempt_of_a_barrier_stage_is_copied_moved_or_killed(plane, driver, misled, told, gate):
    """Its tasks wait for each other, so Spark would start them all again; the control plane refuses, and so does it."""
    together = driver.start("together", group="together", gate=str(gate))
    pair = [plane.running(driver.source, "together", index)[0] for index in range(2)]
    refused = plane.copy(pair[0], driver.source)["decisions"]
    assert [(d["action"], d["reason"]) for d in refused] == [("refuse_copy", "barrier")]
    beside = held(driver, "beside", gate)
    original = plane.running(driver.source, "beside", 0)[0]
    place = {name: pair[1][name] for name in ("stage", "stage_attempt", "index")}
    for change in ({}, {"type": "run_next", "indices": [0]}, {"type": "kill_attempt", "attempt": pair[1]["attempt"]}):
        assert told(misled(original, **place, **change)) == ("refused", "barrier"), change
    gate.touch()
    assert (together.result(timeout=JOB_S), beside.result(timeout=JOB_S)) == ([0, 1], [0])
    assert [a["outcome"] for a in plane.ended(driver.source, "group-together")] == ["success"] * 2


def test_waiting_originals_run_in_the_order_that_is_given(plane, gateway, driver, misled, told, gate, tmp_path):
    """One slot gets free: without the order Spark would start the first that waits, and not the last."""
    first = tmp_path / "first"
    blocker = held(driver, "blocker", first)
    plane.running(driver.source, "blocker", 0)
    job = held(driver, "queue", gate, tasks=SLOTS + 2)
    eventually(lambda: len(plane.attempts(driver.source, "queue")) == SLOTS - 1)
    running = plane.attempts(driver.source, "queue")
    last = SLOTS + 1
    assert told(misled(running[0], type="run_next", indices=[SLOTS + 2])) == ("refused", "unknown_task")
    with plane.engine(order_ttl_ms=60_000):
        decision, heard = misled(running[0], type="run_next", indices=[0, last, SLOTS]), gateway.passed
        eventually(lambda: gateway.passed > heard + 1)
        first.touch()
        assert blocker.result(timeout=JOB_S) == [0]
        assert told(decision) == ("applied", "")
    (next_one,) = plane.running(driver.source, "queue", last)
    assert (next_one["order"] > 0, next_one["speculative"]) == (True, False)
    assert len(plane.attempts(driver.source, "queue")) == SLOTS
    gate.touch()
    assert job.result(timeout=JOB_S) == [n * n for n in range(SLOTS + 2)]


def test_a_copy_that_should_resume_in_the_middle_is_refused(plane, driver, misled, told, gate):
    """Spark cannot merge two parts of a partition: such a copy would lose what lies before its offset."""
    job = held(driver, "offset", gate)
    assert told(misled(plane.running(driver.source, "offset", 0)[0], byte_offset=1 << 20)) == (
        "refused",
        "byte_offset_unsupported",
    )
    gate.touch()
    assert job.result(timeout=JOB_S) == [0]
    assert [a["speculative"] for a in plane.ended(driver.source, "group-offset")] == [False]


def test_no_job_is_stopped_unless_its_user_has_said_so(plane, driver, misled, told, gate):
    """Whoever sends such an order: the driver's own word decides. The control plane knows it, and the job's bounds."""
    bounds = {"spark.grasshopper.deadline": "5min", "spark.grasshopper.error.bound": "0.05"}
    job = held(driver, "dear", gate, properties=bounds)
    original = plane.running(driver.source, "dear", 0)[0]
    seen = plane.call("GET", f"/jobs/{driver.source}/group-dear")
    assert (seen["error_bound"], seen["kill_late"]) == (0.05, False)
    assert 0 < seen["deadline_s"] < 300
    assert told(misled(original, type="stop_job")) == ("refused", "late_jobs_kept")
    gate.touch()
    assert job.result(timeout=JOB_S) == [0]


@pytest.mark.parametrize("speculator", ["gs", pytest.param("ras", marks=pytest.mark.full)])
def test_waiting_originals_of_a_job_with_a_deadline_are_ordered(plane, driver, gate, speculator):
    """All that end in time are named, judging by an earlier run, whose order was left to Spark: it had no bound."""
    earlier, bounded, tasks = f"earlier-{speculator}", f"bounded-{speculator}", SLOTS + 4

    def ordered(group):
        return plane.decisions(driver.source, action="run_next", job=f"group-{group}")

    with plane.policy(driver.source, f"fair+{speculator}"):
        driver.run("squares", group=earlier, tasks=tasks)
        job = held(driver, bounded, gate, tasks, properties={"spark.grasshopper.deadline": "5min"})
        eventually(lambda: "applied" in [one["result"] for one in ordered(bounded)], about=lambda: ordered(bounded))
        assert ordered(bounded)[0]["inputs"]["named"] == ordered(bounded)[0]["inputs"]["waiting"] > 1
        gate.touch()
        assert job.result(timeout=JOB_S) == [n * n for n in range(tasks)]
        assert ordered(earlier) == []


@pytest.mark.full
def test_only_a_job_that_its_user_leaves_to_us_is_stopped(plane, hosts, gateway, misled, told, gate, tmp_path):
    """A stop ends this job and no other; who keeps his job to himself has it to the end, and so has everybody else."""
    conf = plugged(gateway.address) | {"spark.grasshopper.late.job": "kill"}
    with Driver(hosts, tmp_path / "driver", **conf) as hasty:
        hasty.run("squares", group="warm", tasks=2 * SLOTS)
        kept = held(hasty, "kept", gate, properties={"spark.grasshopper.mode": "shadow"})
        dear = held(hasty, "dear", gate, properties={"spark.grasshopper.late.job": "keep"})
        late = held(hasty, "late", gate, tasks=2)
        for group in ("kept", "dear"):
            plane.running(hasty.source, group, 0)
        original = plane.running(hasty.source, "late", 0)[0]
        assert plane.call("GET", f"/jobs/{hasty.source}/group-late")["kill_late"]
        assert told(misled(original, at=hasty, type="stop_job", job="group-kept")) == ("refused", "mode")
        assert told(misled(original, at=hasty, type="stop_job", job="group-dear")) == ("refused", "late_jobs_kept")
        assert told(misled(original, at=hasty, type="stop_job", job="group-nobody")) == ("moot", "unknown_job")
        misled(original, at=hasty, type="stop_job", reason="nobody waits for it any more")
        with pytest.raises(JobError, match="grasshopper: nobody waits for it any more"):
            late.result(timeout=JOB_S)
        gate.touch()
        assert kept.result(timeout=JOB_S) == dear.result(timeout=JOB_S) == [0]
