"""Does an order to copy or to kill do on a real cluster what it says, and never count as a failure?"""

import statistics
import time

import pytest

from tests.integration.driver import JOB_S, Driver, JobError, plugged
from tests.integration.plane_process import Plane, eventually

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("nothing_left")]


def outcomes(plane, source, order_answer):
    """The newest word on each decision of an answer, once none is pending."""
    ids = [decision["id"] for decision in order_answer["decisions"]]
    assert ids, order_answer

    def told():
        found = [plane.call("GET", f"/decisions/{decision}") for decision in ids]
        return found if all(one["result"] != "pending" for one in found) else None

    return eventually(told, about=lambda: plane.decisions(source)[:10])


def three_copies(plane, driver, group, gate):
    """Copies a task three times: the time between the first start and the last, and until that is told, in ms."""
    job = driver.start("squares", group=group, tasks=2, held=[0], gate=str(gate), hold_copies=True)
    original = plane.running(driver.source, group, 0)[0]
    eventually(lambda: len(plane.pool(driver.source)["executors"]) == 4, about=lambda: plane.pool(driver.source))
    ordered = outcomes(plane, driver.source, plane.copy(original, driver.source, copies=3))
    live = plane.running(driver.source, group, 0, count=4)
    assert len({attempt["host"] for attempt in live}) == 4
    gate.touch()
    assert job.result(timeout=JOB_S) == [0, 1]
    starts_s = [one["start_s"] for one in plane.ended(driver.source, f"group-{group}") if one["speculative"]]
    reported_s = [decision["outcomes"][0]["after_s"] for decision in ordered]
    return 1000 * (max(starts_s) - min(starts_s)), 1000 * max(reported_s)


def test_three_copies_of_one_task_start_on_three_other_hosts_at_once(plane, driver, tmp_path, record_property):
    """Shed+ and Dolly ask for r > 1 extra attempts of one task, which stock Spark cannot launch."""
    rounds = [three_copies(plane, driver, f"three-{n}", tmp_path / f"gate-{n}") for n in range(5)]
    spreads_ms, reported_ms = ([round(each) for each in column] for column in zip(*rounds, strict=True))
    record_property("three_copies_spread_ms", spreads_ms)
    record_property("three_copies_reported_after_ms", reported_ms)
    print(f"three copies: {spreads_ms} ms apart, the last one reported {reported_ms} ms after the decision")
    # Both are promised as 100 ms; a start is told with the next exchange, which a busy machine makes late.
    assert statistics.median(spreads_ms) < 100
    assert statistics.median(reported_ms) < 250


def test_an_operators_copy_does_not_wait_for_the_drivers_next_exchange(hosts, tmp_path, gate, record_property):
    """A control plane with a thousand drivers sees each of them once a second; its doorbell rings at once."""
    seldom = {"GRASSHOPPER__RUNTIME__SOURCES_PER_S": "1"}
    with (
        Plane(tmp_path / "plane", **seldom) as plane,
        Driver(hosts, tmp_path / "driver", **plugged(plane.address)) as driver,
    ):
        job = driver.start("squares", group="rung", tasks=1, held=[0], gate=str(gate), hold_copies=True)
        original = plane.running(driver.source, "rung", 0)[0]
        reported_ms = []
        for _ in range(9):
            (copied,) = outcomes(plane, driver.source, plane.copy(original, driver.source))
            reported_ms.append(round(1000 * copied["outcomes"][0]["after_s"]))
            copy = plane.running(driver.source, "rung", 0, count=2)[-1]
            plane.kill_attempt(copy, driver.source)
            eventually(lambda: len(plane.attempts(driver.source, "rung", 0)) == 1)
        gate.touch()
        assert job.result(timeout=JOB_S) == [0]
    record_property("operators_copies_reported_after_ms", reported_ms)
    print(f"copies reported so many ms after the decision: {reported_ms}")
    # What is promised for a quiet machine is 100 ms; without the doorbell it would be half a second for most.
    assert statistics.median(reported_ms) < 250


def test_a_copy_runs_on_the_host_that_was_named(plane, driver, hosts, gate):
    """An order can say where; every other host serves as the counterexample in turn."""
    job = driver.start("squares", group="named", tasks=1, held=[0], gate=str(gate), hold_copies=True)
    original = plane.running(driver.source, "named", 0)[0]
    elsewhere = [host for host in reversed(hosts.hosts) if host != original["host"]]
    for count, host in enumerate(elsewhere, start=2):
        plane.copy(original, driver.source, host=host)
        assert plane.running(driver.source, "named", 0, count=count)[-1]["host"] == host
    gate.touch()
    assert job.result(timeout=JOB_S) == [0]


@pytest.mark.full
def test_the_shim_forgets_a_job_that_ends_before_its_last_attempt(plane, driver):
    """When the attempt ends at last, nobody else would ever drop what is kept of its job."""

    def jobs_kept():
        return driver.run("shim_status")["jobs"]

    before = jobs_kept()
    job = driver.start("deaf", group="deaf", seconds=15)
    plane.running(driver.source, "deaf", 0)
    assert jobs_kept() == before + 1
    driver.run("cancel", group="deaf")
    with pytest.raises(JobError):
        job.result(timeout=JOB_S)
    assert driver.run("running_tasks") == 1
    eventually(lambda: jobs_kept() == before, about=jobs_kept)


@pytest.mark.parametrize("first", [True, False])
def test_a_copy_goes_before_waiting_originals_only_if_the_order_says_so(plane, driver, tmp_path, first):
    """Of all slots one gets free: the order says whether the copy or the next original has it."""
    name = f"queue-{first}"
    gates = [tmp_path / f"gate-{index}" for index in range(2)]
    blocker = driver.start("squares", group=f"{name}-blocker", tasks=1, held=[0], gate=str(gates[0]), hold_copies=True)
    freed = plane.running(driver.source, f"{name}-blocker", 0)[0]["host"]
    job = driver.start("squares", group=name, tasks=10, held=list(range(10)), gate=str(gates[1]), hold_copies=True)
    eventually(lambda: len(plane.attempts(driver.source, name)) == 7)
    try:
        original = next(attempt for attempt in plane.attempts(driver.source, name) if attempt["host"] != freed)
        answer = plane.copy(original, driver.source, before_waiting=first)
        # The order reaches the driver with its next exchange, which is due every 100 ms; only then a slot gets free.
        time.sleep(1)
        gates[0].touch()
        assert blocker.result(timeout=JOB_S) == [0]
        (copy,) = outcomes(plane, driver.source, answer)
        eventually(lambda: len(plane.attempts(driver.source, name)) == 8)
        speculative = [attempt for attempt in plane.attempts(driver.source, name) if attempt["speculative"]]
        assert [attempt["index"] for attempt in speculative] == ([original["index"]] if first else [])
        assert copy["result"] == ("applied" if first else "expired")
    finally:
        gates[1].touch()
    assert job.result(timeout=JOB_S) == [n * n for n in range(10)]


def test_killing_chosen_attempts_again_and_again_is_no_failure(plane, driver, gate):
    """Spark gives a task up after four failures; five kills must not count as one."""
    job = driver.start("squares", group="kills", tasks=1, held=[0], gate=str(gate), hold_copies=True)
    original = plane.running(driver.source, "kills", 0)[0]
    for _ in range(5):
        plane.copy(original, driver.source)
        copy = plane.running(driver.source, "kills", 0, count=2)[-1]
        (kill,) = outcomes(plane, driver.source, plane.kill_attempt(copy, driver.source))
        assert kill["result"] == "applied"
        eventually(lambda: [a["attempt"] for a in plane.attempts(driver.source, "kills")] == [original["attempt"]])
    gate.touch()
    assert job.result(timeout=JOB_S) == [0]
    ended = plane.ended(driver.source, "group-kills")
    assert sorted(attempt["outcome"] for attempt in ended) == ["killed"] * 5 + ["success"]


def test_a_kill_is_on_the_meter_of_the_time_under_the_lock(plane, driver, gate):
    """What we tell of our share of the scheduler's lock is worth nothing if some of our ways there are left out."""
    job = driver.start("squares", group="metered", tasks=1, held=[0], gate=str(gate), hold_copies=True)
    original = plane.running(driver.source, "metered", 0)[0]
    plane.copy(original, driver.source)
    copy = plane.running(driver.source, "metered", 0, count=2)[-1]
    before = driver.run("shim_status")["lock_calls"]
    plane.kill_attempt(copy, driver.source)
    eventually(lambda: len(plane.attempts(driver.source, "metered")) == 1)
    # The attempt is condemned, and later taken off the count of its job.
    assert driver.run("shim_status")["lock_calls"] >= before + 2
    gate.touch()
    assert job.result(timeout=JOB_S) == [0]


def test_the_last_attempt_of_a_task_is_not_killed(plane, driver, gate):
    """A task without an attempt is a task that Spark has to start again: the kill is refused."""
    job = driver.start("squares", group="last", tasks=1, held=[0], gate=str(gate))
    original = plane.running(driver.source, "last", 0)[0]
    answer = plane.kill_attempt(original, driver.source)
    assert [decision["reason"] for decision in answer["decisions"]] == ["last_attempt"]
    gate.touch()
    assert job.result(timeout=JOB_S) == [0]
    assert [attempt["outcome"] for attempt in plane.ended(driver.source, "group-last")] == ["success"]


def test_losers_are_killed_by_spark_and_never_failures(plane, driver, gate):
    """The copies win here, in several tasks at once; what loses must not bring its task nearer to its end."""
    job = driver.start("squares", group="losers", tasks=3, held=[0, 1, 2], gate=str(gate))
    for index in range(3):
        plane.copy(plane.running(driver.source, "losers", index)[0], driver.source)
    assert job.result(timeout=JOB_S) == [0, 1, 4]
    ended = plane.ended(driver.source, "group-losers")
    assert sorted(attempt["outcome"] for attempt in ended) == ["killed"] * 3 + ["success"] * 3
    assert {attempt["speculative"] for attempt in ended if attempt["outcome"] == "success"} == {True}


def test_a_file_write_with_copies_has_every_row_once(plane, driver, gate, tmp_path):
    """Two attempts write the same part; the commit that Spark arbitrates lets one of them in."""
    path = str(tmp_path / "rows.csv")
    job = driver.start("write_files", group="write", path=path, rows=1000, tasks=4, held=[0, 1], gate=str(gate))
    for index in range(2):
        answer = plane.copy(plane.running(driver.source, "write", index)[0], driver.source)
        assert [decision["action"] for decision in answer["decisions"]] == ["launch_copy"]
    assert job.result(timeout=JOB_S) == [1000, 1000]


def test_a_query_that_is_run_in_a_thread_is_copied(plane, driver, gate):
    """In an InheritableThread Spark calls the stage after PySpark's own wrapper; what it does is in its last step."""
    job = driver.start("collected_in_a_thread", group="threaded", gate=str(gate))
    answer = plane.copy(plane.running(driver.source, "threaded", 0)[0], driver.source)
    assert [decision["action"] for decision in answer["decisions"]] == ["launch_copy"]
    assert job.result(timeout=JOB_S) == 100


def test_a_job_that_writes_where_it_likes_is_never_copied(plane, driver, gate, tmp_path):
    """Nobody arbitrates what foreachPartition writes, so not even an operator gets a copy of it."""
    path = str(tmp_path / "sink")
    job = driver.start("foreach_files", group="foreach", path=path, tasks=4, held=[2], gate=str(gate))
    answer = plane.copy(plane.running(driver.source, "foreach", 2)[0], driver.source)
    assert [(d["action"], d["order"]) for d in answer["decisions"]] == [("refuse_copy", 0)]
    gate.touch()
    assert job.result(timeout=JOB_S) == [1, 1, 1, 1]
