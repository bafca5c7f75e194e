"""How does one contestant run on YARN? Three drivers on this machine share a queue, judged by Spark's event logs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from controlplane.machine_load import machine_load
from controlplane.processes import command_line
from controlplane.yarn_demo.contestants import EXECUTOR_MB, SLOTS
from spark_listener.class_archive import in_container
from spark_listener.demo.application import (
    COMMON_CONF,
    ApplicationError,
    Outcome,
    driver_process,
    driver_task,
    read_events,
    say,
    was_steered,
)
from spark_listener.demo.contestants import Contestant
from spark_listener.demo.runner import OnEvent
from spark_listener.demo.world import World
from spark_listener.event_log import count_copies, count_executors
from spark_listener.local_cluster import installed_spark_home
from spark_listener.sick_host import SickHost
from spark_listener.swim import ModelJob
from yarn_bridge.local_yarn import LocalYarn, containers
from yarn_bridge.plane_client import PlaneClient
from yarn_bridge.rm_client import RmClient

EXECUTOR_CLASS = "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend"
HEAP_MB = 512
MASTER_CONF = {"spark.yarn.am.memory": "256m", "spark.yarn.am.memoryOverhead": "64m"}
# Executors come as tasks wait and go soon after the last one, so that slots change hands.
ALLOCATION_CONF = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.initialExecutors": "0",
    "spark.dynamicAllocation.maxExecutors": str(SLOTS),
    "spark.dynamicAllocation.executorIdleTimeout": "2s",
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
    "spark.yarn.scheduler.heartbeat.interval-ms": "1000",
}
PATIENCE_S = 120.0
TIMEOUT_S = 600.0
REST_S = 30.0


def run_applications(
    contestant: Contestant,
    *,
    world: World,
    streams: dict[str, list[ModelJob]],
    inputs: dict[str, Path],
    yarn: LocalYarn,
    server: str | None,
    work_dir: Path,
    on_event: OnEvent,
) -> Outcome:
    """Run each stream of jobs as its own application, while one node is sick.  Raises ApplicationError.

    Applications are submitted in the order of `streams`, which first come, first served follows. The clock starts once
    each has warmed up and has let its executors go again.
    """
    conf = _conf(work_dir, yarn.folder / "staging") | world.spark_conf() | contestant.spark_conf
    with contextlib.ExitStack() as stack:
        drivers = {name: Driver(name, work_dir / f"driver-{name}.log", on_event) for name in streams}
        rm = RmClient(yarn.rm_url, timeout_s=REST_S)
        before = len(rm.apps())
        for count, (name, driver) in enumerate(drivers.items(), start=1):
            stack.enter_context(driver.process(yarn))
            driver.say_task(conf, streams[name], inputs, server)
            _wait(lambda: len(rm.apps()) == before + count, "an application is not submitted")  # noqa: B023
        ids = [driver.expect("ready")["app_id"] for driver in drivers.values()]
        if server:
            plane = PlaneClient(server, timeout_s=REST_S)
            _wait(plane.queues, "the control plane has not heard from the queue")
        _wait(lambda: not any(app.held for app in rm.apps()), "executors of the warm-up are still there")
        with sick_node(yarn, world):
            began_ms = 1000 * time.time()
            for driver in drivers.values():
                driver.go()
            finished = [driver.expect("finished") for name, driver in drivers.items() for _ in streams[name]]
        for driver in drivers.values():
            driver.expect("stopped")
    if server and not all(was_steered(server, id) for id in ids):
        raise ApplicationError(f"{contestant.name}: the control plane made no decision for an application")
    job_s = {event["job"]: event["seconds"] for event in finished}
    logs = [work_dir / id for id in ids]
    return Outcome(
        contestant=contestant.name,
        seed=world.seed,
        job_s=job_s,
        results={event["job"]: event["result"] for event in finished},
        copies=count_copies(logs, began_ms),
        load=machine_load(),
        application_s={name: stream_s(jobs, job_s) for name, jobs in streams.items()},
        executors_started=count_executors(logs, began_ms),
    )


def stream_s(jobs: list[ModelJob], job_s: dict[str, float]) -> float:
    """Seconds from the first arrival to the last result of a stream.

    >>> jobs = [ModelJob(job_id=name, arrival_s=at_s, tasks=1) for name, at_s in (("a", 1.0), ("b", 5.0))]
    >>> stream_s(jobs, {"a": 8.0, "b": 2.0})
    8.0
    """
    return max(job.arrival_s + job_s[job.job_id] for job in jobs) - min(job.arrival_s for job in jobs)


class Driver:
    """One application's driver process, whose events are read when they are waited for."""

    def __init__(self, name: str, log_path: Path, on_event: OnEvent) -> None:
        self._name = name
        self._log_path = log_path
        self._on_event = on_event

    @contextlib.contextmanager
    def process(self, yarn: LocalYarn) -> Iterator[None]:
        """The driver runs as a client of `yarn` in this context."""
        with driver_process(
            installed_spark_home(), self._log_path, timeout_s=TIMEOUT_S, HADOOP_CONF_DIR=str(yarn.conf_dir)
        ) as self._process:
            self._events = read_events(self._process)
            yield

    def say_task(self, conf: dict[str, str], jobs: list[ModelJob], inputs: dict[str, Path], server: str | None) -> None:
        """The first thing that it reads: it warms up before it is ready. Its executors go, so one slot is enough."""
        say(
            self._process,
            driver_task(
                f"demo-{self._name}",
                conf=conf,
                jobs=jobs,
                inputs=inputs,
                server=server,
                warm_slots=1,
                map_only=True,
            ),
        )

    def go(self) -> None:
        """Let the driver begin."""
        say(self._process, "go")

    def expect(self, name: str) -> dict[str, Any]:
        """The next event of this name.  Raises ApplicationError if the driver ends before."""
        for event in self._events:
            self._on_event(event)
            if event["event"] == name:
                return event
        raise ApplicationError(f"the driver {self._name} ended before it was {name}; see {self._log_path}")


def sick_node(yarn: LocalYarn, world: World) -> SickHost:
    """A context in which the executors of the world's sick host run only for a share of each second.

    Masters there run on: their placement must not decide who wins.
    """

    def executors() -> list[int]:
        return [pid for pid in containers(yarn.folder / world.sick_host) if EXECUTOR_CLASS in command_line(pid)]

    return SickHost(executors, duty=world.sick_duty)


def _conf(work_dir: Path, staging: Path) -> dict[str, str]:
    """Where an application's parts run, and how much it asks for."""
    home = installed_spark_home()
    own = {
        "spark.master": "yarn",
        "spark.driver.extraJavaOptions": COMMON_CONF["spark.executor.extraJavaOptions"],
        "spark.executor.cores": "1",
        "spark.executor.memory": f"{HEAP_MB}m",
        "spark.executor.memoryOverhead": f"{EXECUTOR_MB - HEAP_MB}m",
        "spark.executor.extraJavaOptions": f"-XX:+UseSerialGC {in_container(home)}",
        # Executors are young all the time, and compiling a plan costs one more than running it.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.yarn.jars": f"local:{home}/jars/*",
        # Spark takes it for a path, not an address: encoded, the plus of a contestant's name would be another folder.
        "spark.yarn.stagingDir": f"file:{staging}",
        "spark.eventLog.dir": work_dir.resolve().as_uri(),
    }
    return MASTER_CONF | ALLOCATION_CONF | own


def _wait(condition: Callable[[], object], complaint: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline_s:
            raise ApplicationError(f"{complaint} after {PATIENCE_S:.0f} s")
        time.sleep(0.2)
