"""Do originals still wait for the hosts they prefer, by `spark.locality.wait`, where we decline offers of other hosts?

Two hosts are preferred, and one runs out of work first: from then on its slots are Spark's to give away after the wait.
"""

from pathlib import Path

import pytest

from tests.integration import java_jar
from tests.integration.driver import JOB_S, Driver, plugged
from tests.integration.plane_process import eventually

pytestmark = pytest.mark.integration
SHORT, LONG, *OTHERS = ("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5")
NAP_S = 0.5
WAIT = "6s"
HOMES = [SHORT] * 32 + [LONG] * 44
"""With two slots a host: 8 s and 11 s of naps. Longer than the wait, and the difference shorter than it."""
HOLD_S = 25.0
"""Longer than all of them take."""


@pytest.fixture(scope="module")
def patient(hosts, gateway, tmp_path_factory):
    """A driver that waits for preferred hosts."""
    conf = plugged(gateway.address) | {"spark.locality.wait": WAIT}
    jar = java_jar.build(Path(__file__).with_name("Homes.java"), hosts.spark_home, tmp_path_factory.mktemp("homes"))
    conf["spark.jars"] += f",{jar}"
    with Driver(hosts, tmp_path_factory.mktemp("patient"), **conf) as driver:
        yield driver


def until_told(gateway):
    """The driver's next whole exchange is over: it has heard all that was decided."""
    told = gateway.passed
    eventually(lambda: gateway.passed > told + 1)


def test_originals_keep_the_hosts_they_prefer_while_others_are_avoided(patient, gateway):
    """To Spark, a declined offer looks as if delay scheduling had turned it down, and lets the wait run out."""
    gateway.avoid_hosts = OTHERS
    until_told(gateway)
    strays = patient.run("naps_at_home", group="avoiding", homes=HOMES, seconds=NAP_S)
    gateway.avoid_hosts = []
    assert strays == 0


@pytest.mark.full
def test_originals_keep_the_hosts_they_prefer_while_their_job_is_capped(plane, patient, gateway):
    """The same for a job that must not take a slot: it has turned nothing down."""
    source = patient.source
    held = patient.start("naps_at_home", group="capped-at-home", homes=OTHERS[:1], seconds=HOLD_S)
    eventually(lambda: plane.attempts(source, "capped-at-home"), about=lambda: plane.pool(source))
    plane.set_target(source, "group-capped-at-home", 5, cap=5)
    eventually(lambda: plane.decisions(source, action="grant", job="group-capped-at-home"))
    until_told(gateway)
    assert patient.run("naps_at_home", group="capped-at-home", homes=HOMES, seconds=NAP_S) == 0
    assert held.result(timeout=JOB_S) == 0
