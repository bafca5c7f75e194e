"""How is the plug-in put under load? A real resource manager with simulated nodes and applications, all in one JVM.

Hadoop's Scheduler Load Simulator drives the real CapacityScheduler; the classes in `sls/` take the plug-in out and put
it in again from one node update to the next, and write down what each update cost. Two simulations cannot be compared
with each other, not even two that are alike.
"""

import json
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from controlplane.processes import free_port, java_home
from yarn_bridge.hadoop_jars import hadoop_jars
from yarn_bridge.install_conf import POLICIES_KEY, PREFIX, Base, plugin_jar, queue_properties, rm_properties
from yarn_bridge.local_conf import LOG4J, OPENED, RM_SERVICES, capacity_scheduler
from yarn_bridge.site_files import write_site_file

HADOOP = "3.4.2"
"""The newest version whose simulator is published with all that it needs."""
SOURCES = Path(__file__).with_name("sls")
JARS = Path("build/hadoop-sls")
QUEUE = "root.default"
NODES = 500
SLOTS_PER_NODE = 10
TASK_MS = 6000
LOAD_S = 26
WARM_MS = 4000
"""So long after the first container the JVM is still compiling."""
PATIENCE_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One simulation once it was warm: columns with a row for each node update, and with one for each tick."""

    at_ms: np.ndarray
    arm: np.ndarray
    """0 and 1 with the stock policy, 2 and 3 with the plug-in."""
    placed: np.ndarray
    """Containers placed."""
    visited: np.ndarray
    """Applications that were offered a container."""
    cpu_us: np.ndarray
    tick_applications: np.ndarray
    tick_cpu_ms: np.ndarray


def simulate(folder: Path, server: str, *, applications: int, containers: int, seed: int) -> Measured:
    """Half a minute of load on a resource manager whose plug-in knows this control plane.

    `containers` are of all applications together.
    """
    jars = hadoop_jars(HADOOP, cache=JARS, pom=SOURCES / "pom.xml")
    conf, classes = folder / "conf", folder / "classes"
    conf.mkdir(parents=True)
    _write_conf(conf, server)
    trace = folder / "trace.json"
    trace.write_text(json.dumps(_trace(applications, containers)))
    class_path = f"{conf}:{classes}:{plugin_jar()}:{jars}/*"
    binaries = java_home() / "bin"
    compiling = (binaries / "javac", "-nowarn", "-cp", class_path, "-d", classes, *sorted(SOURCES.glob("*.java")))
    subprocess.run(compiling, check=True)
    command = (
        binaries / "java", "-Xmx3g", "-Xms3g", "-XX:+UseParallelGC",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
        f"-Djdk.net.hosts.file={conf / 'hosts'}", f"-Dhadoop.tmp.dir={folder / 'tmp'}",
        f"-Dbench.folder={folder}", f"-Dbench.seconds={LOAD_S}", f"-Dbench.seed={seed}",
        "-cp", class_path, "io.grasshopper.yarn.Simulation",
        "--tracetype", "SYNTH", "--tracelocation", trace, "--output", folder / "output",
    )  # fmt: skip
    with (folder / "log").open("wb") as log:
        subprocess.run(command, cwd=folder, stdout=log, stderr=log, check=True, timeout=PATIENCE_S)
    return _measured(folder)


def _measured(folder: Path) -> Measured:
    at_ms, arm, placed, visited, cpu_ns = np.loadtxt(folder / "updates.csv", delimiter=",", dtype=np.int64).T
    assert placed.any(), f"nothing was placed; the log is {folder / 'log'}"
    warm = at_ms >= at_ms[placed > 0][0] + WARM_MS
    ticks = np.loadtxt(folder / "ticks.csv", delimiter=",", dtype=np.int64)
    return Measured(
        at_ms=at_ms[warm],
        arm=arm[warm],
        placed=placed[warm],
        visited=visited[warm],
        cpu_us=cpu_ns[warm] / 1e3,
        tick_applications=ticks[:, 0],
        tick_cpu_ms=ticks[:, 1] / 1e6,
    )


def _write_conf(conf: Path, server: str) -> None:
    write_site_file(conf / "core-site.xml", {"hadoop.security.token.service.use_ip": False})
    write_site_file(
        conf / "yarn-site.xml",
        rm_properties(server)
        | {f"yarn.resourcemanager.{port}": "127.0.0.1:0" for port in RM_SERVICES}
        | {
            "yarn.resourcemanager.scheduler.class": "io.grasshopper.yarn.TimedScheduler",
            POLICIES_KEY: "io.grasshopper.yarn.TimedEditPolicy",
            "yarn.resourcemanager.cluster-id": "simulated",
            f"{PREFIX}.timeout-ms": 450,
        },
    )
    write_site_file(
        conf / "capacity-scheduler.xml",
        capacity_scheduler({QUEUE: 100})
        | queue_properties((QUEUE,), Base.FAIR)
        | {
            "yarn.scheduler.capacity.maximum-am-resource-percent": 1.0,
            "yarn.scheduler.capacity.maximum-applications": 10_000,
            f"yarn.scheduler.capacity.{QUEUE}.user-limit-factor": 100,
        },
    )
    write_site_file(
        conf / "sls-runner.xml",
        {
            "yarn.sls.runner.pool.size": 8,
            "yarn.sls.nm.memory.mb": 1024 * SLOTS_PER_NODE,
            "yarn.sls.nm.vcores": SLOTS_PER_NODE,
            "yarn.sls.nm.heartbeat.interval.ms": 1000,
            "yarn.sls.am.heartbeat.interval.ms": 1000,
            "yarn.sls.am.type.mapreduce": "org.apache.hadoop.yarn.sls.appmaster.MRAMSimulator",
            "yarn.sls.container.memory.mb": 1024,
            "yarn.sls.container.vcores": 1,
            "yarn.sls.metrics.web.address.port": free_port("127.0.0.1"),
        },
    )
    # The simulator's nodes have names, and a container's token needs an address for each.
    names = ("localhost", socket.gethostname(), *(f"node{number}" for number in range(NODES + 1)))
    (conf / "hosts").write_text("".join(f"127.0.0.1 {name}\n" for name in names))
    (conf / "log4j.properties").write_text(LOG4J.replace("INFO", "WARN"))


def _trace(applications: int, containers: int) -> dict:
    """Applications of eight users that arrive within seconds, each with its share of the containers."""
    tasks = {
        "type": "map",
        "priority": 20,
        "count": {"val": containers // applications},
        "time": {"val": TASK_MS, "std": TASK_MS / 2},
        "max_memory": {"val": 1024},
        "max_vcores": {"val": 1},
    }
    classes = [
        {
            "class_name": f"class{number}",
            "user_name": f"user{number}",
            "class_weight": 1,
            "type": "mapreduce",
            "deadline_factor": {"val": 10},
            "duration": {"val": 60},
            "reservation": {"val": 0},
            "tasks": [tasks],
        }
        for number in range(8)
    ]
    workload = {
        "workload_name": "load",
        "workload_weight": 1,
        "queue_name": QUEUE,
        "time_distribution": [{"time": 1, "weight": 1}, {"time": 6, "weight": 0}],
        "job_classes": classes,
    }
    return {
        "num_nodes": NODES,
        "nodes_per_rack": 20,
        "num_jobs": applications,
        "rand_seed": 7,
        "workloads": [workload],
    }
