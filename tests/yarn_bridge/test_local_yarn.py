"""Are a local YARN's files right, and are only its own processes ended?"""

import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from controlplane.processes import ClusterError, command_line
from tests.integration.plane_process import eventually
from yarn_bridge.hadoop_jars import hadoop_jars
from yarn_bridge.local_conf import (
    FAIR,
    NM_SERVICES,
    RM_SERVICES,
    SHUFFLE,
    Layout,
    capacity_scheduler,
    recovery,
    write_all,
)
from yarn_bridge.local_yarn import STATE_FILE, containers, end, end_all, fresh_folder, is_up, undisturbed

pytestmark = pytest.mark.unit
HOSTS = ("127.0.0.11", "127.0.0.12")
SLEEP = "import time; time.sleep(60)"


@pytest.fixture
def layout(tmp_path) -> Layout:
    return Layout(
        folder=tmp_path,
        jars=tmp_path / "jars",
        rm_ports={"rm": {name: 9000 + number for number, name in enumerate(RM_SERVICES)}},
        nm_ports={host: {name: 9100 + number for number, name in enumerate(NM_SERVICES)} for host in HOSTS},
    )


@pytest.fixture
def sleeper():
    """Starts processes that sleep, with more arguments or another environment, and ends them."""
    started = []

    def start(*arguments: str, **environment: str) -> int:
        started.append(subprocess.Popen([sys.executable, "-c", SLEEP, *arguments], env={**os.environ, **environment}))
        pid = started[-1].pid
        eventually(lambda: SLEEP in command_line(pid))
        return pid

    yield start
    for process in started:
        process.kill()
        process.wait()


def properties(path) -> dict[str, str]:
    return {each.findtext("name"): each.findtext("value") for each in ET.parse(path).iter("property")}


def ended(pid: int) -> bool:
    """Whether nothing is left of it but what its parent has not heard of yet."""
    return not command_line(pid)


def write(layout: Layout, **more) -> None:
    chosen = {"memory_mb": 2200, "vcores": 8, "queues": {"root.default": 100}, "site": {}, "fair": ""} | more
    write_all(layout, **chosen)


def test_every_node_has_its_own_address_and_its_own_disks(layout) -> None:
    """Applications must see as many hosts as there are nodes."""
    write(layout)
    sites = [properties(layout.conf(host) / "yarn-site.xml") for host in HOSTS]
    assert [site["yarn.nodemanager.hostname"] for site in sites] == list(HOSTS)
    assert sites[0]["yarn.nodemanager.address"] == "127.0.0.11:9100"
    assert len({site["yarn.nodemanager.local-dirs"] for site in sites}) == 2
    assert {site["yarn.resourcemanager.resource-tracker.address"] for site in sites} == {"127.0.0.10:9002"}


def test_reduces_fetch_from_each_node_on_a_port_of_its_own(layout) -> None:
    """A node's own file has the port: Hadoop's defaults for MapReduce overrule its yarn-site.xml."""
    ports = {host: ports | {SHUFFLE: 9200 + number} for number, (host, ports) in enumerate(layout.nm_ports.items())}
    write(replace(layout, nm_ports=ports))
    told = [properties(layout.conf(host) / "mapred-site.xml")["mapreduce.shuffle.port"] for host in HOSTS]
    assert told == ["9200", "9201"]
    assert properties(layout.conf(HOSTS[0]) / "yarn-site.xml")["yarn.nodemanager.aux-services"] == "mapreduce_shuffle"


def test_extra_properties_are_the_resource_managers_only_and_have_the_last_word(layout) -> None:
    """A test may change what it wants to see."""
    write(layout, site={"yarn.scheduler.minimum-allocation-mb": 128, **recovery(layout)})
    rm = properties(layout.conf("rm") / "yarn-site.xml")
    assert rm["yarn.scheduler.minimum-allocation-mb"] == "128"
    assert rm["yarn.resourcemanager.recovery.enabled"] == "true"
    assert properties(layout.conf("client") / "yarn-site.xml")["yarn.scheduler.minimum-allocation-mb"] == "64"


def test_queues_may_lie_inside_queues() -> None:
    """Each parent lists its own children."""
    conf = capacity_scheduler({"root.prod": 60, "root.adhoc": 40, "root.prod.etl": 100})
    assert conf["yarn.scheduler.capacity.root.queues"] == "prod,adhoc"
    assert conf["yarn.scheduler.capacity.root.prod.queues"] == "etl"


def test_a_fair_schedulers_file_chooses_that_scheduler(layout) -> None:
    """Its text is the caller's own."""
    write(layout, fair="<allocations/>")
    assert properties(layout.conf("rm") / "yarn-site.xml")["yarn.resourcemanager.scheduler.class"] == FAIR
    assert (layout.conf("rm") / "fair-scheduler.xml").read_text() == "<allocations/>"


def test_of_a_pair_each_has_its_own_name_and_everybody_knows_both(layout) -> None:
    """Nodes and clients must find the one that is active, and each of the two must know which one it is."""
    pair = replace(layout, rm_ports={"rm": layout.rm_ports["rm"], "rm2": dict.fromkeys(RM_SERVICES, 9500)})
    write(pair, site=recovery(pair))
    sites = {name: properties(pair.conf(name) / "yarn-site.xml") for name in ("rm", "rm2", "client", HOSTS[0])}
    assert {site["yarn.resourcemanager.ha.rm-ids"] for site in sites.values()} == {"rm,rm2"}
    assert {site["yarn.resourcemanager.address.rm2"] for site in sites.values()} == {"127.0.0.10:9500"}
    assert [sites[name].get("yarn.resourcemanager.ha.id") for name in sites] == ["rm", "rm2", None, None]
    assert (pair.conf("rm2") / "capacity-scheduler.xml").exists()


def test_a_pid_that_belongs_to_another_program_is_left_alone(tmp_path, sleeper) -> None:
    """After a restart of the machine a state file names pids that others have."""
    ours, other = sleeper(str(tmp_path / "conf")), sleeper("/elsewhere/conf")
    end([ours, other], tmp_path)
    assert ended(ours)
    assert not ended(other)


def test_what_the_nodes_left_is_found_by_what_yarn_told_it(tmp_path, sleeper) -> None:
    """Containers are in sessions of their own, so ending a node does not end them."""
    container = sleeper(LOCAL_DIRS=f"{tmp_path}/127.0.0.11/local/usercache")
    sleeper(LOCAL_DIRS="/elsewhere/local")
    assert containers(tmp_path) == [container]
    end_all(tmp_path)
    eventually(lambda: ended(container))


def test_a_folder_is_taken_only_if_it_is_ours_and_nothing_runs_there(tmp_path, sleeper) -> None:
    """`up` empties it."""
    folder = tmp_path / "yarn"
    folder.mkdir()
    (folder / "thesis.txt").touch()
    with pytest.raises(ClusterError, match="holds something else"):
        fresh_folder(folder)
    (folder / "conf" / "rm").mkdir(parents=True)
    (folder / "conf" / "rm" / "yarn-site.xml").touch()
    pid = sleeper(f"{folder}/conf/rm")
    (folder / STATE_FILE).write_text(f'{{"pids": {{"rm": {pid}}}}}')
    with pytest.raises(ClusterError, match="is already up"):
        fresh_folder(folder)
    end_all(folder)
    assert not is_up(folder)
    fresh_folder(folder)
    assert not folder.exists()


def test_an_interrupted_download_is_no_cache(tmp_path, monkeypatch) -> None:
    """The next start must not run with half of the jars; and what Maven says is told."""
    broken = tmp_path / "mvn"
    broken.write_text('#!/bin/sh\nfor last; do :; done\nmkdir -p "${last#*=}"\necho "no such artifact"\nexit 1\n')
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(ClusterError, match="no such artifact"):
        hadoop_jars("3.5.0", cache=tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_is_just_being_started_is_not_forgotten(signum) -> None:
    """SIGTERM between a start and its record would leave a daemon behind that nobody knows."""
    seen = []
    before = signal.signal(signum, lambda *_: seen.append("handled"))
    try:
        with undisturbed():
            signal.raise_signal(signum)
            seen.append("recorded")
        assert seen == ["recorded", "handled"]
    finally:
        signal.signal(signum, before)
