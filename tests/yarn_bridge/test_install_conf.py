"""Do the printed changes say what the resource manager reads, in an order in which it always starts?"""

import xml.etree.ElementTree as ET

import pytest

from yarn_bridge.install_conf import (
    EDIT_POLICY,
    FAIR_POLICY,
    MONITOR_KEY,
    ORDERING_POLICY,
    POLICIES_KEY,
    SchedulerKind,
    install,
    policies_in_use,
    render,
    uninstall,
)

pytestmark = pytest.mark.unit
QUEUES = ("root.default", "root.prod.etl")
STOCK = "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy"


def place(steps, word: str) -> int:
    """At which step something is said or typed."""
    return next(n for n, step in enumerate(steps) if any(word in text for text in (step.do, *step.commands)))


def test_the_jar_comes_before_the_configuration_that_needs_it() -> None:
    """A configured class that cannot be loaded keeps a resource manager from starting."""
    steps = install(QUEUES)
    jar, restart = place(steps, "cp "), place(steps, "Restart")
    configured = [number for number, step in enumerate(steps) if step.file]
    assert jar < min(configured)
    assert max(configured) < restart


def test_the_jar_leaves_after_the_configuration_and_a_restart() -> None:
    """The other way round."""
    steps = uninstall(QUEUES)
    configured = [number for number, step in enumerate(steps) if step.file]
    assert max(configured) < place(steps, "Restart") < place(steps, "rm $")
    assert "-refreshQueues" in steps[0].commands[0], "stock order counts at once, without a restart"


def test_every_queue_gets_the_policy_and_a_stock_one_below_it() -> None:
    """The keys that the CapacityScheduler hands to an ordering policy."""
    (step,) = [step for step in install(QUEUES) if step.file == "capacity-scheduler.xml"]
    for queue in QUEUES:
        assert step.properties[f"yarn.scheduler.capacity.{queue}.ordering-policy"] == ORDERING_POLICY
        assert step.properties[f"yarn.scheduler.capacity.{queue}.ordering-policy.base"] == "fifo"


def test_policies_that_a_site_uses_stay(recorded, rm) -> None:
    """Setting the key replaces the list, so a site's preemption would silently end."""
    assert policies_in_use(rm) == (), "the list counts only while the monitor is on"
    recorded.said[f"/conf?name={MONITOR_KEY}"]["property"]["value"] = "true"
    kept = policies_in_use(rm)
    (step,) = [step for step in install(QUEUES, kept_policies=kept) if step.file == "yarn-site.xml"]
    assert step.properties[POLICIES_KEY] == f"{STOCK},{EDIT_POLICY}"
    left = next(step for step in uninstall(QUEUES, kept_policies=(STOCK, EDIT_POLICY)) if step.file == "yarn-site.xml")
    assert left.properties == {POLICIES_KEY: STOCK}


def out_of_yarn_site(*kept_policies: str) -> str:
    """What the step says that takes the plug-in out of yarn-site.xml."""
    steps = uninstall(QUEUES, kept_policies=kept_policies)
    return next(step.do for step in steps if step.file == "yarn-site.xml")


def test_policies_that_nobody_looked_at_are_not_removed_with_ours() -> None:
    """A list whose other entries are unknown may hold the site's own preemption."""
    assert f"Take {EDIT_POLICY} out of {POLICIES_KEY}, and leave others there" in out_of_yarn_site()
    assert out_of_yarn_site(EDIT_POLICY).startswith(f"Remove {POLICIES_KEY} and {MONITOR_KEY};")


def test_a_file_announces_only_what_follows() -> None:
    """A colon with nothing after it looks as if something got lost."""
    lines = render(uninstall(QUEUES)).splitlines()
    assert "   In yarn-site.xml." in lines
    assert "   In capacity-scheduler.xml:" in lines


def test_the_last_look_is_at_the_resource_manager_that_was_named() -> None:
    """So that it can be pasted."""
    assert "doctor --rm http://rm:8088 --server" in install(QUEUES, rm_url="http://rm:8088")[-1].commands[0]
    assert "doctor --rm RM_URL --server" in install(QUEUES)[-1].commands[0]


def test_a_fair_scheduler_names_its_queues_one_inside_the_other() -> None:
    """Its file is a tree, not a list of properties."""
    (step,) = [step for step in install(QUEUES, kind=SchedulerKind.FAIR) if step.file == "fair-scheduler.xml"]
    tree = ET.fromstring(f"<allocations>{step.xml}</allocations>")
    assert tree.findtext("queue[@name='prod']/queue[@name='etl']/schedulingPolicy") == FAIR_POLICY
    assert tree.findtext("queue[@name='default']/schedulingPolicy") == FAIR_POLICY


def test_a_token_is_never_written_into_a_site_file() -> None:
    """Site files are readable by everybody."""
    assert "hadoop credential create" in render(install(QUEUES, token=True))
    assert "credential" not in render(install(QUEUES))
    written = [name for step in install(QUEUES, token=True) for name in step.properties]
    assert not [name for name in written if name.endswith(".token")]


@pytest.mark.parametrize("queue", ["default", "root", "root..a", ""])
def test_what_is_not_a_leaf_queues_path_is_refused(queue) -> None:
    """A wrong key would be ignored by the resource manager without a word."""
    with pytest.raises(ValueError, match="queue: got"):
        install((queue,))


def test_a_server_needs_an_address() -> None:
    """With a scheme and a host."""
    with pytest.raises(ValueError, match="server: got 'plane:7272'"):
        install(QUEUES, server="plane:7272")
