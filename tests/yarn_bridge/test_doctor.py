"""Does the doctor find what is wrong, and only that?"""

from dataclasses import replace

import pytest

from controlplane.findings import Finding, Severity
from yarn_bridge.doctor import diagnose
from yarn_bridge.examination import INTRA_QUEUE_KEY, PRIORITY_KEY, RECOVERY_KEY, Examined, examine
from yarn_bridge.install_conf import EDIT_POLICY, JAR_NAME, MONITOR_KEY, ORDERING_POLICY, POLICIES_KEY, SERVER_KEY
from yarn_bridge.plane_client import AttachedQueue, PlaneClient

pytestmark = pytest.mark.unit
SERVER = "http://plane:7272"


@pytest.fixture
def bare(rm) -> Examined:
    """A resource manager without the plug-in, as it was recorded."""
    return examine(rm)


@pytest.fixture
def healthy(bare) -> Examined:
    """The same with the plug-in in all queues, applications that all run, and a control plane that hears from it."""
    queues = tuple(replace(queue, policy=ORDERING_POLICY, pending=0) for queue in bare.scheduler.queues)
    ours = {MONITOR_KEY: "true", POLICIES_KEY: EDIT_POLICY, SERVER_KEY: SERVER, RECOVERY_KEY: "true"}
    attached = [
        AttachedQueue(source=f"yarn:{bare.cluster}:{queue.path}", mode="control", last_heard_s=0.4, plan_age_s=0.6)
        for queue in queues
    ]
    return replace(
        bare,
        info=replace(bare.info, clock_ahead_s=0.0),
        scheduler=replace(bare.scheduler, queues=queues),
        conf={**bare.conf, **ours},
        threads=f"{bare.threads}\nThread 99 (SchedulingMonitor (GrasshopperEditPolicy)):",
        server=SERVER,
        attached=attached,
        busy=frozenset(each.source for each in attached),
    )


def found(seen: Examined, *severities: Severity) -> list[Finding]:
    """The findings of these severities; whatever is not well has a fix."""
    findings = diagnose(seen)
    assert all(each.fix for each in findings if each.severity is not Severity.OK)
    return [each for each in findings if each.severity in severities]


def told(seen: Examined, *severities: Severity) -> dict[str, str]:
    """What they say, by check."""
    return {each.check: each.message for each in found(seen, *severities)}


def test_a_healthy_installation_has_no_complaint(healthy) -> None:
    """Otherwise nobody believes the complaints."""
    assert {finding.severity for finding in diagnose(healthy)} == {Severity.OK}


def test_a_bare_resource_manager_is_told_how_to_begin(bare) -> None:
    """Not having the plug-in is no error; a restart that ends every application is worth a warning."""
    assert told(bare, Severity.ERROR) == {}
    warnings = told(bare, Severity.WARNING)
    assert warnings["plug-in"] == "not installed"
    assert "ends every application" in warnings["recovery"]
    assert warnings["AM share"].startswith("root.batch: 1 applications wait")


def test_how_containers_are_given_is_seen_in_the_threads(bare) -> None:
    """Hadoop 3.5 schedules asynchronously by default, 3.4 in the nodes' heartbeats."""
    expected = "asynchronous" if bare.info.version.startswith("3.5") else "synchronous"
    assert told(bare, Severity.OK)["scheduler"] == f"CapacityScheduler, {expected}"
    hidden = replace(bare, threads=None)
    assert told(hidden, Severity.OK)["scheduler"] == f"CapacityScheduler, {expected} unless configured otherwise"


@pytest.mark.parametrize(
    ("change", "check", "severity", "words"),
    [
        ({MONITOR_KEY: "false"}, "plug-in", Severity.ERROR, "no plan ever comes"),
        ({SERVER_KEY: None}, "plug-in", Severity.ERROR, "does not know a server"),
        ({SERVER_KEY: "http://other:7272"}, "server", Severity.NOTE, "reports to http://other:7272"),
        ({RECOVERY_KEY: "false"}, "recovery", Severity.WARNING, "ends every application"),
        ({INTRA_QUEUE_KEY: "true"}, "preemption", Severity.WARNING, "may undo"),
    ],
)
def test_a_wrong_key_is_found(healthy, change, check, severity, words) -> None:
    """Each by its own finding, with a fix."""
    sick = replace(healthy, conf={**healthy.conf, **change})
    (finding,) = found(sick, severity)
    assert finding.check == check
    assert words in finding.message


def test_a_plugin_that_is_configured_but_does_not_run_is_an_error(healthy) -> None:
    """After a change of configuration without a restart."""
    assert "thread does not run" in told(replace(healthy, threads=""), Severity.ERROR)["plug-in"]


def test_a_jar_without_configuration_is_told(bare) -> None:
    """Somebody stopped half way."""
    half = replace(bare, class_path=f"/opt/hadoop/lib/{JAR_NAME}")
    assert JAR_NAME in told(half, Severity.WARNING)["plug-in"]


def test_a_leaf_that_may_take_kept_slots_is_a_warning(healthy) -> None:
    """Slots kept free in one queue are given to its siblings, up to their own maximum."""
    batch, adhoc = healthy.scheduler.queues
    one = replace(healthy, scheduler=replace(healthy.scheduler, queues=(batch, replace(adhoc, policy="fifo"))))
    partly, greedy = found(one, Severity.WARNING)
    assert adhoc.path in partly.message
    assert "no queue lists" in partly.message
    assert greedy.message == f"allowed to take slots that covered queues keep free: {adhoc.path}"
    bounded = replace(adhoc, policy="fifo", max_capacity_percent=adhoc.capacity_percent)
    one = replace(one, scheduler=replace(healthy.scheduler, queues=(batch, bounded)))
    (partly,) = found(one, Severity.WARNING)
    assert adhoc.path in partly.message


def test_an_old_plan_is_an_error(healthy) -> None:
    """The plug-in speaks twice a second; what is older than its time to live is stock order."""
    old = [replace(each, last_heard_s=30.0) for each in healthy.attached]
    assert "has expired" in told(replace(healthy, attached=old), Severity.ERROR)["plan"]
    assert "never heard" in told(replace(healthy, attached=[]), Severity.ERROR)["plan"]
    assert "never heard" in told(replace(healthy, cluster="another"), Severity.ERROR)["plan"]


def test_a_plan_that_is_not_applied_is_an_error_although_the_queue_reports(healthy) -> None:
    """A resource manager that cannot read the answers is heard all the same; nothing is granted where nobody asks."""
    for age_s, words in ((None, "applied never"), (30.0, "applied last 30 s ago")):
        stale = replace(healthy, attached=[replace(each, plan_age_s=age_s) for each in healthy.attached])
        assert words in told(stale, Severity.ERROR)["plan"]
        assert told(replace(stale, busy=frozenset()), Severity.ERROR) == {}
        shadow = [replace(each, mode="shadow") for each in stale.attached]
        assert told(replace(stale, attached=shadow), Severity.ERROR) == {}
    assert "newest grant 0.6 s old" in told(healthy, Severity.OK)["plan"]


def test_a_clock_that_is_off_and_a_strange_version_are_warnings(healthy) -> None:
    """Neither changes an order."""
    strange = replace(healthy, info=replace(healthy.info, clock_ahead_s=-3600.0, version="3.10.0"))
    warnings = told(strange, Severity.WARNING)
    assert "3600 s behind" in warnings["clock"]
    assert "3.10.0" in warnings["version"]


def test_a_standby_and_a_strange_scheduler_are_errors(healthy) -> None:
    """Nothing can be done there."""
    standby = replace(healthy, info=replace(healthy.info, ha_state="STANDBY"))
    assert "STANDBY" in told(standby, Severity.ERROR)["state"]
    fifo = replace(healthy, scheduler=replace(healthy.scheduler, type="fifoScheduler"))
    assert "no place" in told(fifo, Severity.ERROR)["scheduler"]


def test_what_a_site_hides_is_unknown_and_no_error(recorded, rm) -> None:
    """Many sites show /conf, /jmx and /stacks to administrators only."""
    for path in recorded.status:
        if not path.startswith("/ws/"):
            recorded.status[path] = 403
    seen = examine(rm)
    assert told(seen, Severity.ERROR) == {}
    assert "unknown" in told(seen, Severity.NOTE)["plug-in"]


def test_a_control_plane_that_is_away_is_an_error_of_its_own(rm) -> None:
    """The resource manager's own findings still come."""
    seen = examine(rm, PlaneClient("http://127.0.0.1:1"), "http://127.0.0.1:1")
    assert "no Grasshopper server can be reached" in told(seen, Severity.ERROR)["server"]
    assert "version" in told(seen, Severity.OK)


def test_without_priorities_the_way_without_a_jar_is_closed(bare) -> None:
    """The recorded site allows ten of them."""
    assert "priorities" not in told(bare, Severity.NOTE)
    none = replace(bare, conf={**bare.conf, PRIORITY_KEY: "0"})
    assert "drive-priorities" in told(none, Severity.NOTE)["priorities"]
