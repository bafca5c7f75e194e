"""What do the integration tests share? One real cluster of four hosts, and one controlled driver on it.

The Spark is the installed one, or that in the folder which SPARK_UNDER_TEST names.
"""

import os
import signal
from pathlib import Path

import pytest

from spark_listener import class_archive
from spark_listener.local_cluster import LocalCluster
from tests.integration import java_jar
from tests.integration.driver import Driver, plugged
from tests.integration.gateway import Gateway
from tests.integration.plane_process import Plane, eventually


@pytest.fixture(scope="session", autouse=True)
def orderly_end():
    """Whoever stops the run by SIGTERM finds no cluster left behind: all fixtures are taken down."""
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated"))


@pytest.fixture(scope="session", autouse=True)
def quick_starts():
    """Starting JVMs is most of the work here."""
    with class_archive.quick_starts():
        yield


@pytest.fixture(scope="session")
def hosts(tmp_path_factory):
    """A cluster of four hosts with room for four applications of eight slots, two on each host."""
    home = os.environ.get("SPARK_UNDER_TEST")
    cluster = LocalCluster(
        spark_home=Path(home) if home else None,
        cores_per_worker=8,
        memory_per_worker_mb=4096,
        log_dir=tmp_path_factory.mktemp("cluster"),
    )
    try:
        cluster.start(timeout_s=300)
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def plane(tmp_path_factory):
    """A control plane that decides nothing by itself: what happens is what the tests ask for over REST."""
    with Plane(tmp_path_factory.mktemp("plane")) as plane:
        yield plane


@pytest.fixture(scope="module")
def gateway(plane):
    """Between the module's control plane and a driver that knows no other address."""
    with Gateway(plane.address) as gateway:
        yield gateway


@pytest.fixture(scope="session")
def driver(hosts, plane, tmp_path_factory):
    """A driver attached by configuration alone, whose user brings classes of his own to write with."""
    conf = plugged(plane.address)
    sinks = java_jar.build(Path(__file__).with_name("Sinks.java"), hosts.spark_home, tmp_path_factory.mktemp("sinks"))
    conf["spark.jars"] += f",{sinks}"
    with Driver(hosts, tmp_path_factory.mktemp("driver"), **conf) as driver:
        yield driver


@pytest.fixture
def gate(tmp_path):
    """A file that held tasks wait for; it is made when the test is over, so that no slot stays taken."""
    path = tmp_path / "gate"
    yield path
    path.touch()


@pytest.fixture
def nothing_left(plane, driver):
    """After the test nobody knows of any job or attempt of the driver."""
    yield
    forgotten(plane, driver)


def forgotten(plane, driver):
    """Returns once the driver is idle, and neither the control plane nor its own shim knows of any work of it."""

    def left():
        pool = plane.pool(driver.source)
        work = pool and [*pool["jobs"], *pool["attempts"], *pool["tasks"]]
        return pool is None or work or driver.run("shim_status")["jobs"]

    eventually(lambda: not left(), about=left)
