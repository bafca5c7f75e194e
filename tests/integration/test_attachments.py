"""What if only a listener may be attached, or if the shim itself is at fault? Control by heartbeats; Spark as stock."""

import time

import pytest

from controlplane import __version__
from spark_listener.attach import jar_path
from spark_listener.demo.world import testkit_jar as find_testkit_jar
from tests.integration import faulty_jar
from tests.integration.driver import JOB_S, STOCK_SPECULATION, Driver, plugged
from tests.integration.plane_process import Plane, eventually

pytestmark = pytest.mark.integration
SQUARES = [n * n for n in range(8)]
SPLIT_BYTES = 1024 * 1024
SPLITS = 4
LISTENING = {
    "spark.extraListeners": "io.grasshopper.spark.GrasshopperListener",
    "spark.executor.heartbeatInterval": "250ms",
    "spark.hadoop.fs.paced.impl": "io.grasshopper.testkit.PacedFileSystem",
    "spark.hadoop.fs.paced.bytes-per-second": str(SPLIT_BYTES // 6),
    "spark.hadoop.fs.paced.max-slowdown": "1.0",
    "spark.sql.files.maxPartitionBytes": str(SPLIT_BYTES),
    "spark.sql.files.openCostInBytes": str(SPLIT_BYTES),
}


def test_a_driver_tells_the_version_of_its_jar(plane, driver):
    """The jar and the control plane are built together and deployed apart."""
    assert plane.pool(driver.source)["shim_version"] == __version__


def test_the_doctor_finds_an_attached_driver_fit(plane, driver):
    """It reads the session through the JVM, and the control plane by the session's configuration."""
    driver.run("squares", group="looked-at", tasks=2)

    def found():
        return {(severity, told) for severity, _, told in driver.run("doctor")}

    eventually(
        lambda: any("shuffle output" in told or "returns to the driver" in told for _, told in found()), about=found
    )
    told = found()
    assert [each for each in told if each[0] == "error"] == []
    assert ("ok", "control by the application, control by the server: control counts") in told
    assert any("executors on" in each[1] and each[0] == "ok" for each in told)
    assert any(each[1].endswith(f"version {__version__}") and "jar" in each[1] for each in told)
    assert any(each[1].startswith("the server heard from this driver") for each in told)


def test_what_the_user_has_set_is_left_alone(plane, driver, hosts, gate, tmp_path):
    """The kill time-out is ours only where nobody chose one, and who asked for FIFO keeps it: no target is ordered.

    A key that nobody reads is told once, with the one that was meant; Spark itself never would.
    """
    name = "spark.python.task.killTimeout"
    assert driver.run("configured", names=[name]) == ["100ms"]
    chosen = {name: "3s", "spark.scheduler.mode": "FIFO"}
    misspelt = {f"spark.{name}": "5" for name in ("grasshopper.servr", "grasshopper.weight", "grashopper.copies.max")}
    with Driver(hosts, tmp_path / "own", **plugged(plane.address), **chosen, **misspelt) as own:
        assert own.run("configured", names=list(chosen)) == ["3s", "FIFO"]
        told = [
            "grasshopper.servr is no key of ours, did you mean spark.grasshopper.server?",
            "grasshopper.weight has no effect here",
            "grashopper.copies.max is no key of ours, did you mean spark.grasshopper.copies.max?",
        ]
        assert [own.log().count(f"spark.{each}") for each in told] == [1, 1, 1]
        job = own.start("squares", group="fifo", tasks=1, held=[0], gate=str(gate))
        plane.running(own.source, "fifo", 0)
        plane.set_target(own.source, "group-fifo", 1, cap=1)
        eventually(lambda: plane.decisions(own.source, action="grant"))
        assert {grant["order"] for grant in plane.decisions(own.source, action="grant")} == {0}
        gate.touch()
        assert job.result(timeout=JOB_S) == [0]


def test_a_listener_alone_steers_and_reports_progress_by_heartbeats(plane, hosts, gate, tmp_path):
    """Where plug-ins are not allowed, spark.extraListeners must do: from the first job on, with true byte counts."""
    text = tmp_path / "lines.txt"
    text.write_text("x" * 63 + "\n")
    text.write_bytes(text.read_bytes() * (SPLITS * SPLIT_BYTES // 64))
    jars = f"{jar_path()},{find_testkit_jar()}"
    conf = LISTENING | {"spark.jars": jars, "spark.grasshopper.server": plane.address}
    with Driver(hosts, tmp_path / "listening", **conf) as driver:
        first = driver.start("squares", group="first", tasks=1, held=[0], gate=str(gate))
        plane.copy(plane.running(driver.source, "first", 0)[0], driver.source)
        assert first.result(timeout=JOB_S) == [0]

        reading = driver.start("read_text", group="reading", path=f"paced://{text}")
        seen = set()

        def half_read():
            seen.update(attempt["bytes_read"] for attempt in plane.attempts(driver.source, "reading"))
            return len([count for count in seen if 0 < count < SPLIT_BYTES]) >= 4

        eventually(half_read, about=lambda: (seen, plane.pool(driver.source)))
        assert reading.result(timeout=JOB_S) == SPLITS * SPLIT_BYTES // 64
    eventually(lambda: plane.pool(driver.source) is None)


@pytest.fixture(scope="module")
def claiming(tmp_path_factory):
    """A control plane that leaves it to others to help a task."""
    with Plane.hesitant(tmp_path_factory.mktemp("claiming")) as plane:
        yield plane


@pytest.fixture(scope="module")
def fragile(hosts, claiming, tmp_path_factory):
    """A driver whose user has stock speculation on, and whose shim fails on demand."""
    jar = faulty_jar.build(hosts.spark_home, tmp_path_factory.mktemp("faulty"))
    conf = plugged(claiming.address) | STOCK_SPECULATION
    conf["spark.jars"] = f"{jar},{conf['spark.jars']}"
    conf["spark.executor.extraClassPath"] = f"{jar}:{jar_path()}"
    with Driver(hosts, tmp_path_factory.mktemp("fragile"), **conf) as driver:
        driver.run("squares", group="warm", tasks=8)
        yield driver


@pytest.mark.parametrize("fault", [pytest.param("throw", marks=pytest.mark.full), "misfit"])
def test_a_fault_in_the_executors_fails_no_task(claiming, fragile, gate, fault):
    """The hook at a task's start throws, or does not fit this Spark: the job's one failure stays its own.

    A misfit ends the reports of progress for good, so it comes last.
    """
    gate.touch()

    def strike(which):
        """Sets the fault in all executors."""
        fragile.run("on_executors", method="setProperty", arguments=[faulty_jar.FAULT_PROPERTY, which])
        return fragile.run("on_executors", method="getProperty", arguments=[faulty_jar.FAULT_PROPERTY]) == [which]

    eventually(lambda: strike(fault))
    group = f"{fault}-in-executors"
    assert fragile.run("fails_once", group=group, gate=str(gate)) == [0, 1, 2, 3]
    ended = claiming.ended(fragile.source, f"group-{group}")
    assert sorted(attempt["outcome"] for attempt in ended) == ["failed"] + ["success"] * 4
    assert fragile.run("on_executors", method="getProperty", arguments=[faulty_jar.STRUCK_PROPERTY]) == [fault]
    eventually(lambda: strike(""))


@pytest.mark.parametrize("fault", ["throw", pytest.param("slow", marks=pytest.mark.full), "misfit"])
def test_a_fault_in_the_shim_itself_leaves_spark_as_stock(claiming, fragile, gate, fault):
    """A hook that throws, takes long, or does not fit this Spark: the job is helped by stock speculation, and right.

    A misfit switches the shim off for good, so it comes last.
    """
    hanging = {"tasks": 8, "held": [0], "gate": str(gate)}
    job = fragile.start("squares", group=f"{fault}-before", **hanging)
    claiming.copy(claiming.running(fragile.source, f"{fault}-before", 0)[0], fragile.source)
    assert job.result(timeout=JOB_S) == SQUARES, "without a fault, control works"

    before = fragile.run("shim_status")
    fragile.run("set_property", name=faulty_jar.FAULT_PROPERTY, value=fault)
    began_s = time.monotonic()
    assert fragile.run("squares", group=fault, **hanging) == SQUARES
    took_s = time.monotonic() - began_s
    print(f"{fault}: {took_s:.1f} s")
    assert took_s < 20, "stock speculation has not helped"
    after = fragile.run("shim_status")
    met = {
        "throw": after["errors"] > before["errors"],
        "slow": after["lock_longest_us"] > 50_000,
        "misfit": before["on"] and not after["on"],
    }
    assert met[fault], (before, after)
    fragile.run("set_property", name=faulty_jar.FAULT_PROPERTY, value="")
