"""What must the files of a local YARN say? Every daemon has its own folder; all ports are given.

Facts behind the choices: node ids are addresses (there is no name for 127.0.0.x), so a host's processes and its
nodes agree; containers of a few hundred megabytes need a small minimum allocation; a full development disk would
make every node unhealthy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from yarn_bridge.site_files import write_site_file

Properties = Mapping[str, object]

RM_HOST = "127.0.0.10"
RM_NAMES = ("rm", "rm2")
"""The resource manager, and its standby if there is one."""
RM_SERVICES = ("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address")
NM_SERVICES = ("address", "localizer.address", "webapp.address", "collector-service.address")
SHUFFLE = "shuffle"
"""The service of a node from which reduces fetch what maps have written; nodes for MapReduce jobs have it."""
CAPACITY = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
FAIR = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"
HEARTBEAT_MS = 200
RETRY_MS = 500
# Hadoop 3.4 on Java 17 dies without these; they are the ones that Hadoop's own scripts use.
OPENED = (
    "java.io", "java.lang", "java.lang.reflect", "java.math", "java.net", "java.text", "java.util",
    "java.util.concurrent", "java.util.zip", "sun.security.util", "sun.security.x509",
)  # fmt: skip
EXPORTED = ("sun.net.dns", "sun.net.util")
JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
    *(f"--add-exports=java.base/{package}=ALL-UNNAMED" for package in EXPORTED),
)  # fmt: skip
LOG4J = """\
log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where a local YARN keeps its files, and on which ports its daemons listen, by service."""

    folder: Path
    jars: Path
    rm_ports: Mapping[str, Mapping[str, int]]
    """By the resource manager's name, then by service."""
    nm_ports: Mapping[str, Mapping[str, int]]
    """By the node's host, then by service."""

    def conf(self, daemon: str) -> Path:
        """The configuration folder of a resource manager, `client` or a node's host."""
        return self.folder / "conf" / daemon


def write_all(
    layout: Layout, *, memory_mb: int, vcores: int, queues: Mapping[str, float], site: Properties, fair: str
) -> None:
    """All files of all daemons; `site` has the last word on the resource managers'.

    `queues` gives each queue's percent of its parent; `fair`, if given, is the text of a fair-scheduler.xml.
    """
    shared = _shared(layout)
    scheduler = {"yarn.resourcemanager.scheduler.class": FAIR if fair else CAPACITY}
    for rm in layout.rm_ports:
        _write(layout, rm, shared | _one_of_a_pair(layout, rm) | scheduler | dict(site))
        if fair:
            (layout.conf(rm) / "fair-scheduler.xml").write_text(fair)
    write_capacity_scheduler(layout, capacity_scheduler(queues))
    _write(layout, "client", shared)
    write_site_file(layout.conf("client") / "mapred-site.xml", _mapreduce(layout))
    for host, ports in layout.nm_ports.items():
        _write(layout, host, shared | _node(layout, host, memory_mb=memory_mb, vcores=vcores))
        if SHUFFLE in ports:
            write_site_file(layout.conf(host) / "mapred-site.xml", {"mapreduce.shuffle.port": ports[SHUFFLE]})


def capacity_scheduler(queues: Mapping[str, float]) -> dict[str, object]:
    """The CapacityScheduler's properties for queues below root, each with its percent of its parent.

    >>> conf = capacity_scheduler({"root.batch": 70, "root.adhoc": 30})
    >>> conf["yarn.scheduler.capacity.root.queues"], conf["yarn.scheduler.capacity.root.batch.capacity"]
    ('batch,adhoc', 70)
    """
    conf: dict[str, object] = {
        "yarn.scheduler.capacity.maximum-am-resource-percent": 0.6,
        "yarn.scheduler.capacity.resource-calculator": (
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
        ),
        "yarn.scheduler.capacity.node-locality-delay": 0,
    }
    children: dict[str, list[str]] = {}
    for path, percent in queues.items():
        parent, _, name = path.rpartition(".")
        children.setdefault(parent, []).append(name)
        conf[f"yarn.scheduler.capacity.{path}.capacity"] = percent
        conf[f"yarn.scheduler.capacity.{path}.maximum-capacity"] = 100
        conf[f"yarn.scheduler.capacity.{path}.user-limit-factor"] = 1
    for parent, names in children.items():
        conf[f"yarn.scheduler.capacity.{parent}.queues"] = ",".join(names)
    return conf


def write_capacity_scheduler(layout: Layout, properties: Properties) -> None:
    """The resource managers' capacity-scheduler.xml."""
    for rm in layout.rm_ports:
        write_site_file(layout.conf(rm) / "capacity-scheduler.xml", properties)


def recovery(layout: Layout) -> dict[str, object]:
    """Properties by which a restarted resource manager finds its applications again."""
    return {
        "yarn.resourcemanager.recovery.enabled": True,
        "yarn.resourcemanager.store.class": (
            "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore"
        ),
        "yarn.resourcemanager.fs.state-store.uri": (layout.folder / "state-store").as_uri(),
    }


def _write(layout: Layout, daemon: str, yarn_site: Properties) -> None:
    folder = layout.conf(daemon)
    core = {"fs.defaultFS": "file:///", "hadoop.tmp.dir": layout.folder / "tmp" / daemon}
    write_site_file(folder / "core-site.xml", core)
    write_site_file(folder / "yarn-site.xml", yarn_site)
    (folder / "log4j.properties").write_text(LOG4J)


def _shared(layout: Layout) -> dict[str, object]:
    return {
        **(_pair(layout) if len(layout.rm_ports) > 1 else _addresses(layout.rm_ports["rm"])),
        "yarn.scheduler.minimum-allocation-mb": 64,
        "yarn.scheduler.maximum-allocation-mb": 4096,
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": HEARTBEAT_MS,
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-min-ms": HEARTBEAT_MS,
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-max-ms": HEARTBEAT_MS,
        "yarn.log-aggregation-enable": False,
        "yarn.node-attribute.fs-store.root-dir": (layout.folder / "node-attribute").as_uri(),
        "yarn.application.classpath": f"{layout.conf('client')},{layout.jars}/*",
    }


def _addresses(ports: Mapping[str, int], suffix: str = "") -> dict[str, object]:
    services = {f"yarn.resourcemanager.{name}{suffix}": f"{RM_HOST}:{port}" for name, port in ports.items()}
    return {f"yarn.resourcemanager.hostname{suffix}": RM_HOST, **services}


def _pair(layout: Layout) -> dict[str, object]:
    """Two resource managers, one of which an administrator makes active; clients soon find out which one."""
    conf: dict[str, object] = {
        "yarn.resourcemanager.cluster-id": "local",
        "yarn.resourcemanager.ha.enabled": True,
        "yarn.resourcemanager.ha.automatic-failover.enabled": False,
        "yarn.resourcemanager.ha.rm-ids": ",".join(layout.rm_ports),
        "yarn.resourcemanager.connect.retry-interval.ms": RETRY_MS,
        "yarn.client.failover-sleep-base-ms": RETRY_MS,
        "yarn.client.failover-sleep-max-ms": RETRY_MS,
    }
    for rm, ports in layout.rm_ports.items():
        conf |= _addresses(ports, f".{rm}")
    return conf


def _one_of_a_pair(layout: Layout, rm: str) -> dict[str, object]:
    return {"yarn.resourcemanager.ha.id": rm} if len(layout.rm_ports) > 1 else {}


def _mapreduce(layout: Layout) -> dict[str, object]:
    """For clients, whose jobs hand it on. Masters and tasks are small: by default each has a gigabyte or more."""
    java_options = " ".join(JAVA_OPTIONS)
    return {
        "mapreduce.framework.name": "yarn",
        "mapreduce.application.classpath": f"{layout.jars}/*",
        "yarn.app.mapreduce.am.staging-dir": layout.folder / "staging",
        "yarn.app.mapreduce.am.resource.mb": 512,
        "yarn.app.mapreduce.am.command-opts": f"-Xmx384m {java_options}",
        "mapreduce.map.memory.mb": 256,
        "mapreduce.reduce.memory.mb": 256,
        "mapred.child.java.opts": f"-Xmx160m {java_options}",
        "mapreduce.task.io.sort.mb": 16,
        "mapreduce.task.progress-report.interval": 500,
    }


def _node(layout: Layout, host: str, *, memory_mb: int, vcores: int) -> dict[str, object]:
    place = layout.folder / host
    return {
        "yarn.nodemanager.hostname": host,
        **{f"yarn.nodemanager.{name}": f"{host}:{layout.nm_ports[host][name]}" for name in NM_SERVICES},
        **({"yarn.nodemanager.aux-services": "mapreduce_shuffle"} if SHUFFLE in layout.nm_ports[host] else {}),
        "yarn.nodemanager.resource.memory-mb": memory_mb,
        "yarn.nodemanager.resource.cpu-vcores": vcores,
        "yarn.nodemanager.vmem-check-enabled": False,
        "yarn.nodemanager.pmem-check-enabled": False,
        "yarn.nodemanager.container-executor.class": (
            "org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor"
        ),
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": 99.5,
        "yarn.nodemanager.disk-health-checker.min-free-space-per-disk-mb": 0,
        "yarn.nodemanager.local-dirs": place / "local",
        "yarn.nodemanager.log-dirs": place / "containers",
    }
