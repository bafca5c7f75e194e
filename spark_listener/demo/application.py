"""How does one contestant run? One Spark driver process, watched from outside, judged by Spark's own event log."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from controlplane.machine_load import machine_load
from controlplane.processes import leaving_files_in
from spark_listener.demo.contestants import Contestant
from spark_listener.demo.world import World
from spark_listener.event_log import CopyCounts, count_copies
from spark_listener.local_cluster import LocalCluster
from spark_listener.swim import TRACE_PATH, ModelJob

TIMEOUT_S = 300.0
ROOT = Path(__file__).parents[2]
# The same for every contestant.  No locality wait: no input has a home here, and it would only add noise.  The
# tasks wait more than they compute, so executors start with the quick compiler and collector.  Spark knows how many
# executors to wait for only where spark.cores.max is set.
COMMON_CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "2",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
    "spark.locality.wait": "0s",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}


class ApplicationError(RuntimeError):
    """A contestant's driver ended without all results; the message names its log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One contestant in one round: seconds and result per job, and what its copies did.

    A result is a hash; of an approximate job, the answers of the partitions that it has seen, in JSON.

    Where jobs have deadlines, also these, in seconds from submission; where applications share a queue, also seconds
    per application and how many executors were started.
    """

    contestant: str
    seed: int
    job_s: dict[str, float]
    results: dict[str, str]
    copies: CopyCounts
    load: float
    """The machine's load, over the last minute of its run."""
    deadline_s: dict[str, float] = field(default_factory=dict)
    application_s: dict[str, float] = field(default_factory=dict)
    executors_started: int = 0


def run_application(
    contestant: Contestant,
    *,
    world: World,
    jobs: list[ModelJob],
    inputs: dict[str, Path],
    cluster: LocalCluster,
    server: str | None,
    work_dir: Path,
    on_event: Callable[[dict[str, Any]], None],
) -> Outcome:
    """Run the jobs under one contestant while one host is sick.  Raises ApplicationError."""
    work_dir.mkdir(parents=True, exist_ok=True)
    placement = {
        "spark.master": cluster.master_url,
        "spark.executor.cores": str(cluster.cores_per_worker),
        "spark.cores.max": str(cluster.slots),
        "spark.eventLog.dir": work_dir.resolve().as_uri(),
    }
    conf = placement | world.spark_conf() | contestant.spark_conf
    app_id, began_ms = "", 0.0
    finished: dict[str, dict[str, Any]] = {}
    stopped = False
    log_path = work_dir / "driver.log"
    with driver_process(cluster.spark_home, log_path) as driver, contextlib.ExitStack() as sickness:
        task = driver_task(
            f"demo-{contestant.name}", conf=conf, jobs=jobs, inputs=inputs, server=server, warm_slots=cluster.slots
        )
        say(driver, task)
        for event in read_events(driver):
            on_event(event)
            if event["event"] == "ready":
                app_id = event["app_id"]
                sickness.enter_context(cluster.sick_host(world.sick_host, duty=world.sick_duty))
                began_ms = 1000 * time.time()
                say(driver, "go")
            elif event["event"] == "finished":
                finished[event["job"]] = event
                if len(finished) == len(jobs):
                    sickness.close()
            stopped = stopped or event["event"] == "stopped"
    if not stopped or len(finished) < len(jobs):
        raise ApplicationError(f"{contestant.name}: {len(finished)} of {len(jobs)} jobs ended; see {log_path}")
    if server and not was_steered(server, app_id):
        raise ApplicationError(f"{contestant.name}: the control plane made no decision for it; see {log_path}")
    return Outcome(
        contestant=contestant.name,
        seed=world.seed,
        job_s={job.job_id: finished[job.job_id]["seconds"] for job in jobs},
        results={job.job_id: finished[job.job_id]["result"] for job in jobs},
        copies=count_copies([work_dir / app_id], began_ms),
        load=machine_load(),
        deadline_s={job.job_id: job.deadline_s for job in jobs if job.deadline_s is not None},
    )


def driver_task(
    name: str,
    *,
    conf: Mapping[str, str],
    jobs: list[ModelJob],
    inputs: Mapping[str, Path],
    server: str | None,
    warm_slots: int,
    map_only: bool = False,
) -> str:
    """What `spark_listener.demo.workload` reads first: `conf` beside COMMON_CONF, and the jobs with their inputs.

    The warm-up has a task for each of `warm_slots` slots; `map_only` jobs shuffle nothing.
    """
    task = {
        "name": name,
        "conf": {**COMMON_CONF, **conf},
        "server": server,
        "warm_up_url": f"paced://{TRACE_PATH}",
        "warm_slots": warm_slots,
        "map_only": map_only,
        "jobs": [
            {"id": job.job_id, "arrival_s": job.arrival_s, "tasks": job.tasks, "deadline_s": job.deadline_s}
            | {"is_approximate": job.is_approximate}
            | {"url": f"paced://{inputs[job.job_id].resolve()}"}
            for job in jobs
        ],
    }
    return json.dumps(task)


def was_steered(server: str, app_id: str) -> bool:
    """Whether the control plane made any decision about the application: a run without one shows stock Spark."""
    wanted: dict[str, str | int] = {"source": f"spark:{app_id}", "limit": 1}
    answer = requests.get(f"{server}/api/v1/decisions", params=wanted, timeout=30)
    answer.raise_for_status()
    return bool(answer.json()["items"])


@contextlib.contextmanager
def driver_process(
    spark_home: Path,
    log_path: Path,
    program: str = "spark_listener.demo.workload",
    *,
    timeout_s: float = TIMEOUT_S,
    **variables: str,
) -> Iterator[subprocess.Popen[str]]:
    """The driver and its JVM in one process group, which ends with the context or after `timeout_s`.

    `variables` are added to its environment.
    """
    paths = [str(spark_home.parent), str(ROOT), os.environ.get("PYTHONPATH", "")]
    with tempfile.TemporaryDirectory(prefix="grasshopper-driver-", ignore_cleanup_errors=True) as scratch:
        environment = {
            **os.environ,
            **leaving_files_in(Path(scratch)),
            "SPARK_HOME": str(spark_home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            **variables,
        }
        with log_path.open("w") as log:
            driver = subprocess.Popen(
                [sys.executable, "-m", program],
                env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        watchdog = threading.Timer(timeout_s, end_group, [driver.pid])
        watchdog.start()
        try:
            yield driver
            driver.wait()
        finally:
            watchdog.cancel()
            end_group(driver.pid)
            driver.wait()


def end_group(group: int) -> None:
    """Kill a group of processes, if it is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def say(driver: subprocess.Popen[str], line: str) -> None:
    """Write a line to the driver's standard input."""
    assert driver.stdin is not None
    driver.stdin.write(line + "\n")
    driver.stdin.flush()


def read_events(driver: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """The driver's events until its output ends; other lines on its standard output are not ours."""
    assert driver.stdout is not None
    for line in driver.stdout:
        if line.startswith('{"event"'):
            yield json.loads(line)
