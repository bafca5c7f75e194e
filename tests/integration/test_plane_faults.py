"""What does a user of Spark notice when the control plane is gone, slow, old or wrong? One time-out, and nothing else.

The control plane here claims every job and, by its settings, finds every attempt too young to be copied. So a task
that hangs is helped by an operator's order, or by stock speculation once the lease has ended, and by nothing else.
"""

import time

import pytest

from spark_listener.event_log import read_attempts
from tests.integration.absurd import LEASE_MS, absurd_replies
from tests.integration.driver import JOB_S, STOCK_SPECULATION, Driver, plugged
from tests.integration.gateway import Gateway
from tests.integration.plane_process import Plane, eventually

pytestmark = pytest.mark.integration
SQUARES = [n * n for n in range(8)]
LEASE_S = LEASE_MS / 1000
NAPS = {"tasks": 16, "seconds": 1.0}
SOON_S = 1.0
"""What Spark, which looks for stragglers every 100 ms, and a busy machine may add to the lease."""
NOISE_S = 5.0
"""What may be added to it until the copy has started its Python, and ended."""
RECORDED = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
}
"""An event log that can be read while it is written: one file, uncompressed."""
PATIENCE_S = 2
FAR_S = 100


@pytest.fixture(scope="module")
def hesitant(tmp_path_factory):
    """The control plane behind the gateway; not started yet."""
    plane = Plane.hesitant(tmp_path_factory.mktemp("hesitant"))
    yield plane
    plane.stop()


@pytest.fixture(scope="module")
def gateway(hesitant):
    """The address that the driver knows."""
    with Gateway(hesitant.address) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def event_log(tmp_path_factory):
    """The folder of Spark's own record of what started when."""
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def speculating(hosts, gateway, event_log, tmp_path_factory):
    """A driver whose user has Spark's own speculation on, and its event log."""
    conf = plugged(gateway.address) | STOCK_SPECULATION | RECORDED | {"spark.eventLog.dir": event_log.as_uri()}
    with Driver(hosts, tmp_path_factory.mktemp("speculating"), **conf) as driver:
        yield driver


@pytest.fixture(scope="module")
def stock_s(hesitant, speculating, tmp_path_factory):
    """How long a job with one hanging task takes where no control plane has ever answered; then it is started."""
    gate = tmp_path_factory.mktemp("stock") / "gate"
    speculating.run("squares", group="warm", tasks=8)
    began_s = time.monotonic()
    assert hang(speculating, "stock", gate).result(timeout=JOB_S) == SQUARES
    took_s = time.monotonic() - began_s
    hesitant.start()
    eventually(lambda: hesitant.pool(speculating.source))
    return took_s


def hang(driver, group, gate):
    """A job one of whose tasks hangs in its first attempt."""
    return driver.start("squares", group=group, tasks=8, held=[0], gate=str(gate))


def copied_by_spark_at_s(event_log, since_s):
    """The wall-clock time at which Spark started a copy after that time, by its event log."""

    def launched():
        (log,) = event_log.iterdir()
        starts_s = [attempt.launch_ms / 1000 for attempt in read_attempts(log) if attempt.speculative]
        return [start_s for start_s in starts_s if start_s > since_s]

    return eventually(launched)[0]


def under_lease(plane, driver, group):
    """Returns once the control plane knows that all but the hanging attempt are done, and claims the job."""

    def claimed():
        pool = plane.pool(driver.source) or {"jobs": []}
        return any(j["name"] == group and j["speculation_claimed"] and j["remaining_tasks"] == 1 for j in pool["jobs"])

    eventually(claimed, about=lambda: plane.pool(driver.source))


FAULTS = {
    "stopped": (Plane.pause, Plane.resume),
    "killed": (Plane.kill, Plane.start),
    "restarted_with_a_wild_clock": (Plane.kill, lambda plane: plane.start(wild_clock=True)),
    "garbage": None,
    "slow": None,
    "other_version": None,
    "undecided": None,
}
QUICK = ("killed", "slow")
"""What `make test` tries of them: one of the process, one of its answers."""


def test_stock_speculation_rests_while_the_lease_is_held(hesitant, speculating, stock_s, gate):
    """The counterexample to all below: under a lease only our orders make copies."""
    job = hang(speculating, "leased", gate)
    under_lease(hesitant, speculating, "leased")
    time.sleep(LEASE_S + stock_s)
    (hanging,) = hesitant.attempts(speculating.source, "leased")
    hesitant.copy(hanging, speculating.source)
    assert job.result(timeout=JOB_S) == SQUARES
    copies = [a for a in hesitant.ended(speculating.source, "group-leased") if a["speculative"]]
    assert [copy["order"] > 0 for copy in copies] == [True]


def test_a_plane_that_can_judge_nothing_leaves_the_job_to_its_host(hesitant, speculating, stock_s, gate):
    """It answers, claims the job at first, and would never help it; so stock's own copy comes after all."""
    with hesitant.engine(judge_within_ms=PATIENCE_S * 1000):
        job = hang(speculating, "unjudged", gate)
        start_s = time.monotonic()
        assert job.result(timeout=JOB_S) == SQUARES
        assert time.monotonic() - start_s < stock_s + PATIENCE_S + LEASE_S + NOISE_S
    copies = [a for a in hesitant.ended(speculating.source, "group-unjudged") if a["speculative"]]
    assert [copy["order"] > 0 for copy in copies] == [False]


@pytest.mark.parametrize("fault", [pytest.param(f, marks=() if f in QUICK else pytest.mark.full) for f in FAULTS])
def test_a_faulty_control_plane_costs_one_time_out_and_steers_again(
    hesitant, gateway, speculating, event_log, stock_s, gate, tmp_path, fault, record_property
):
    """Law 6: our bug is never the host's bug; and nobody restarts Spark because we were restarted."""
    job = hang(speculating, fault, gate)
    under_lease(hesitant, speculating, fault)
    began_s = time.time()
    if FAULTS[fault]:
        FAULTS[fault][0](hesitant)
    else:
        gateway.fault = fault
    try:
        assert job.result(timeout=JOB_S) == SQUARES
        took_s = time.time() - began_s
        copied_s = copied_by_spark_at_s(event_log, began_s) - began_s
    finally:
        gateway.fault = ""
        if FAULTS[fault]:
            FAULTS[fault][1](hesitant)
    print(f"{fault}: Spark's copy after {copied_s:.1f} s, the job's end after {took_s:.1f} s; stock {stock_s:.1f} s")
    record_property("copied_by_spark_after_s", round(copied_s, 1))
    record_property("job_ended_after_s", round(took_s, 1))
    assert copied_s < LEASE_S + SOON_S
    assert took_s < stock_s + LEASE_S + NOISE_S

    healed = gateway.passed
    # A full report may be asked for, made and acknowledged before anything is claimed again.
    eventually(lambda: gateway.passed > healed + 3)
    again = hang(speculating, f"{fault}-after", tmp_path / "never")
    under_lease(hesitant, speculating, f"{fault}-after")
    hesitant.copy(hesitant.attempts(speculating.source, f"{fault}-after")[0], speculating.source)
    assert again.result(timeout=JOB_S) == SQUARES
    attempts = hesitant.ended(speculating.source, f"group-{fault}-after")
    assert [attempt["order"] > 0 for attempt in attempts if attempt["speculative"]] == [True]


@pytest.mark.full
def test_stock_takes_a_job_with_a_deadline_over_in_its_middle(hesitant, speculating, event_log, stock_s, gate):
    """Shed+ waits with copies until a task would miss the deadline, and is lost before; Spark need not wait for it."""
    with hesitant.engine(startup_prior_s=0.5), hesitant.policy(speculating.source, "fifo+shed-plus"):
        job = speculating.start("bounded", within=f"{FAR_S}s", group="due", tasks=8, held=[0], gate=str(gate))
        under_lease(hesitant, speculating, "due")
        (live,) = [one for one in hesitant.pool(speculating.source)["jobs"] if one["name"] == "due"]
        assert 0 < live["deadline_s"] < FAR_S
        began_s = time.time()
        hesitant.kill()
        try:
            assert job.result(timeout=JOB_S) == SQUARES
            took_s = time.time() - began_s
        finally:
            hesitant.start()
            eventually(lambda: hesitant.pool(speculating.source))
    assert copied_by_spark_at_s(event_log, began_s) - began_s < LEASE_S + SOON_S
    assert took_s < stock_s + LEASE_S + NOISE_S < FAR_S


def naps(driver, group, folder):
    """The answer of a job of two short waves, and how many seconds it took."""
    began_s = time.monotonic()
    answer = driver.run("naps", group=group, gate=str(folder / "never"), **NAPS)
    return answer, time.monotonic() - began_s


@pytest.fixture(scope="module")
def stock_naps(gateway, speculating, stock_s, tmp_path_factory):
    """The same where no control plane answers, after the last lease."""
    gateway.fault = "dead"
    time.sleep(LEASE_S)
    try:
        return naps(speculating, "stock-naps", tmp_path_factory.mktemp("naps"))
    finally:
        gateway.fault = ""


@pytest.mark.parametrize("absurd", absurd_replies(quick=2))
def test_an_absurd_reply_and_then_silence_hold_a_job_up_for_one_lease(
    hesitant, gateway, speculating, stock_naps, tmp_path, absurd, record_property
):
    """One valid reply was enough to stop a job for good: nothing ended what it had ordered."""
    answer, stock_s = stock_naps
    healed = gateway.passed
    eventually(lambda: gateway.passed > healed + 1)
    hosts = [executor["host"] for executor in eventually(lambda: hesitant.pool(speculating.source))["executors"]]

    def spoil(reply):
        jobs = [claim["job"] for claim in reply.get("claims", [])]
        return absurd.reply(reply, jobs, hosts) if jobs else None

    gateway.spoil, gateway.fault = spoil, "absurd"
    try:
        told, took_s = naps(speculating, f"absurd-{absurd.name}", tmp_path)
        assert gateway.fault == "dead"
    finally:
        gateway.fault = ""
    record_property("job_ended_after_s", round(took_s, 1))
    assert told == answer
    assert took_s < stock_s + LEASE_S + NOISE_S
    healed = gateway.passed
    eventually(lambda: gateway.passed > healed + 3)


def test_a_restarted_control_plane_steers_the_job_that_was_running(hesitant, speculating, stock_s, gate):
    """Soft state: with an empty store, everything about running work comes back by the full report."""
    job = speculating.start("squares", group="survivor", tasks=2, held=[0], gate=str(gate), hold_copies=True)
    under_lease(hesitant, speculating, "survivor")
    before = hesitant.attempts(speculating.source, "survivor", 0)
    hesitant.kill()
    hesitant.start()
    after = hesitant.running(speculating.source, "survivor", 0)
    assert [a["attempt"] for a in before] == [a["attempt"] for a in after if not a["speculative"]]
    hesitant.copy(after[0], speculating.source, host=free_host(hesitant, speculating, after))
    hesitant.running(speculating.source, "survivor", 0, count=len(after) + 1)
    gate.touch()
    assert job.result(timeout=JOB_S) == [0, 1]


def free_host(plane, driver, attempts):
    """A host on which none of these attempts runs."""
    hosts = {executor["host"] for executor in plane.pool(driver.source)["executors"]}
    return min(hosts - {attempt["host"] for attempt in attempts})


def test_nothing_stays_behind_when_a_driver_dies(hosts, hesitant, gateway, stock_s, gate, tmp_path):
    """A driver that is killed cannot say good-bye; it is forgotten when it has been silent long enough."""
    with Driver(hosts, tmp_path / "dying", **plugged(gateway.address)) as dying:
        hang(dying, "orphan", gate)
        under_lease(hesitant, dying, "orphan")
        dying.kill()
        eventually(lambda: hesitant.pool(dying.source) is None)
    assert {attempt["index"] for attempt in hesitant.ended(dying.source, "group-orphan", lost=1)} == set(range(8))
