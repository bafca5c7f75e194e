"""Do concurrent jobs hold the slots they are given, no more where a cap says so, and for no longer than granted?"""

import time
from pathlib import Path

import pytest

from spark_listener.local_cluster import LocalCluster
from tests.integration.driver import JOB_S, Driver, plugged
from tests.integration.plane_process import ROOT, eventually

pytestmark = pytest.mark.integration
TASK_S = 1.0
LONG_TASK_S = 4.0
TASKS = 120
SICK = "127.0.0.4"
SUM = TASKS * (TASKS - 1) // 2


@pytest.fixture(scope="module")
def steered(hosts, gateway, tmp_path_factory):
    """A driver behind the gateway."""
    with Driver(hosts, tmp_path_factory.mktemp("steered"), **plugged(gateway.address)) as driver:
        yield driver


def held_slots(plane, source, *groups):
    """Running attempts by job."""
    return tuple(len(plane.attempts(source, group)) for group in groups)


def hold(plane, source, groups, targets):
    """Returns once the jobs hold exactly so many slots each."""
    eventually(lambda: held_slots(plane, source, *groups) == targets, about=lambda: plane.pool(source))


def assert_never_more(driver, cap):
    """By Spark's own count, for more than a task's time, from the end of the tasks that ran before the cap."""

    def kept_the_cap():
        limit_s = time.monotonic() + 1.5 * TASK_S
        while time.monotonic() < limit_s:
            if driver.run("running_tasks") > cap:
                return False
        return True

    eventually(kept_the_cap)


def naps(driver, group, gate, seconds=TASK_S):
    """A job of many tasks that ends soon after the gate has opened."""
    return driver.start("naps", group=group, tasks=TASKS, seconds=seconds, gate=str(gate))


def test_two_jobs_follow_their_targets_within_one_task_duration(plane, driver, gate, record_property):
    """Targets are what Hopper's allocation acts through; nothing is preempted, so a task's time is the best."""
    source, pair = driver.source, ("left", "right")
    jobs = [naps(driver, group, gate, LONG_TASK_S) for group in pair]
    hold(plane, source, pair, (4, 4))
    for targets in ((6, 2), (2, 6)):
        began_s = time.monotonic()
        for group, target in zip(pair, targets, strict=True):
            plane.set_target(source, f"group-{group}", target)
        hold(plane, source, pair, targets)
        took_s = time.monotonic() - began_s
        print(f"targets {targets} held after {took_s:.2f} s, tasks take {LONG_TASK_S} s")
        record_property(f"targets_{targets[0]}_{targets[1]}_held_after_s", round(took_s, 2))
        # A task that started just before the change ends after LONG_TASK_S; the rest is launching and reporting.
        assert took_s < LONG_TASK_S + 1.5
        samples = []
        while time.monotonic() < began_s + took_s + LONG_TASK_S:
            samples.append(held_slots(plane, source, *pair))
            time.sleep(0.1)
        means = [sum(column) / len(samples) for column in zip(*samples, strict=True)]
        assert means == pytest.approx(targets, abs=0.7), samples
    gate.touch()
    assert [job.result(timeout=JOB_S) for job in jobs] == [SUM, SUM]


def test_a_capped_job_leaves_slots_free_until_the_cap_goes(plane, driver, gate):
    """Reserved slots are idle on purpose; taken back, they are used at once."""
    source = driver.source
    job = naps(driver, "capped", gate)
    hold(plane, source, ["capped"], (8,))
    plane.set_target(source, "group-capped", 5, cap=5)
    assert_never_more(driver, 5)
    plane.drop_target(source, "group-capped")
    hold(plane, source, ["capped"], (8,))
    gate.touch()
    assert job.result(timeout=JOB_S) == SUM


def test_a_cap_that_nobody_renews_expires(plane, driver, gate):
    """A control plane that hangs must not keep slots idle: the grant's own time ends it."""
    source = driver.source
    job = naps(driver, "expiring", gate)
    hold(plane, source, ["expiring"], (8,))
    plane.set_target(source, "group-expiring", 3, cap=3)
    assert_never_more(driver, 3)
    plane.pause()
    try:
        began_s = time.monotonic()
        eventually(lambda: driver.run("running_tasks") > 3)
        print(f"capped slots were used again {time.monotonic() - began_s:.1f} s after the plane fell silent")
        # The grant lives for 3 s; a slot may then wait for the end of a task.
        assert time.monotonic() - began_s < 8
    finally:
        plane.resume()
    gate.touch()
    assert job.result(timeout=JOB_S) == SUM


def test_originals_stay_off_the_hosts_that_the_driver_is_told_to_avoid(plane, gateway, steered, gate):
    """What would end later there than by waiting is not started there, for as long as it is told so."""
    gateway.avoid_hosts = [SICK]
    job = naps(steered, "avoiding", gate)
    hold(plane, steered.source, ["avoiding"], (6,))
    assert SICK not in {attempt["host"] for attempt in plane.attempts(steered.source, "avoiding")}
    gateway.avoid_hosts = []
    hold(plane, steered.source, ["avoiding"], (8,))
    gate.touch()
    assert job.result(timeout=JOB_S) == SUM


def test_a_job_that_has_waited_in_vain_for_other_hosts_uses_all_slots(hosts, plane, gateway, steered, gate):
    """With nothing but avoided hosts each launch is on one of them, and must not start the wait anew."""
    gateway.avoid_hosts, gateway.patience_ms = list(hosts.hosts), round(2000 * TASK_S)
    job = naps(steered, "in-vain", gate)
    hold(plane, steered.source, ["in-vain"], (8,))
    gate.touch()
    assert job.result(timeout=JOB_S) == SUM


@pytest.mark.full
def test_two_drivers_of_two_spark_versions_each_share_out_their_own_slots(plane, driver, gate, tmp_path):
    """A driver cannot lend its executors, so targets are made per pool; one control plane serves both versions.

    Where Spark 3.5 is under test, it is the same version twice.
    """
    older = LocalCluster(spark_home=ROOT / "build" / "spark-3.5" / "pyspark", workers=2, log_dir=tmp_path / "cluster")
    try:
        older.start(timeout_s=300)
        with Driver(older, tmp_path / "driver", **plugged(plane.address), **{"spark.cores.max": "4"}) as other:
            assert other.version == "3.5.9"
            jobs = [naps(one, f"pool-{n}", gate) for one in (driver, other) for n in range(2)]
            for source, slots in ((driver.source, 8), (other.source, 4)):
                eventually(
                    lambda source=source: all(held_slots(plane, source, "pool-0", "pool-1")),
                    about=lambda source=source: plane.pool(source),
                )
                plane.set_target(source, "group-pool-0", slots - 1)
                hold(plane, source, ["pool-0", "pool-1"], (slots - 1, 1))
                pool = plane.pool(source)
                assert (pool["slots"], sum(job["target"] for job in pool["jobs"])) == (slots, slots)
            gate.touch()
            assert [job.result(timeout=JOB_S) for job in jobs] == [SUM] * 4
            copied_on_35(plane, other, tmp_path / "second-gate")
        eventually(lambda: plane.pool(other.source) is None)
    finally:
        older.stop()


def copied_on_35(plane, driver, gate: Path) -> None:
    """The same jar launches a copy on the older version, too, and sees what a query does that is run in a thread."""
    for name, more, result in (("squares", {"held": [0], "tasks": 1}, [0]), ("collected_in_a_thread", {}, 100)):
        job = driver.start(name, group=name, gate=str(gate), **more)
        plane.copy(plane.running(driver.source, name, 0)[0], driver.source)
        assert job.result(timeout=JOB_S) == result
    assert [a["speculative"] for a in plane.ended(driver.source, "group-squares")] == [False, True]
