"""How does one machine become a real standalone Spark cluster? One master, one worker per loopback address.

Every worker has its own address (127.0.0.2, 127.0.0.3, ...), so Spark sees as many hosts as there are workers
and applies its host rules as on a real cluster.  Linux answers on all of 127.0.0.0/8 without configuration.

Try it:  python -m spark_listener.local_cluster --workers 4
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Self

from controlplane.processes import (
    ClusterError,
    child_pids,
    command_line,
    exit_on_signals,
    free_port,
    java_home,
    leaving_files_in,
)
from spark_listener.sick_host import SickHost

MASTER_HOST = "127.0.0.1"
MASTER_CLASS = "org.apache.spark.deploy.master.Master"
WORKER_CLASS = "org.apache.spark.deploy.worker.Worker"
EXECUTOR_CLASS = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
# Daemons that live for minutes start faster without the optimising compiler, and leave cores to the executors.
DAEMON_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dspark.master.rest.enabled=false"


class LocalCluster:
    """A standalone cluster as a context manager; leaving it ends every process it started.

    Logs go to `log_dir`, by default a temporary folder that is kept only if something went wrong.

    Example: `with LocalCluster(workers=4) as cluster: SparkSession.builder.master(cluster.master_url).getOrCreate()`
    """

    def __init__(
        self,
        *,
        spark_home: Path | None = None,
        workers: int = 4,
        cores_per_worker: int = 2,
        memory_per_worker_mb: int = 1024,
        log_dir: Path | None = None,
    ) -> None:
        self.spark_home = spark_home or installed_spark_home()
        self.hosts = tuple(f"127.0.0.{2 + number}" for number in range(workers))
        self._log_dir_is_ours = log_dir is None
        self.log_dir = log_dir or Path(tempfile.mkdtemp(prefix="grasshopper-cluster-"))
        self.log_dir.mkdir(parents=True, exist_ok=True)
        self._scratch = self.log_dir / "scratch"
        self.cores_per_worker = cores_per_worker
        self._memory_per_worker_mb = memory_per_worker_mb
        self._java_home = java_home()
        self._port = free_port(MASTER_HOST)
        self._page_port = free_port(MASTER_HOST)
        self._master: subprocess.Popen[bytes] | None = None
        self._workers: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def master_url(self) -> str:
        """The address that drivers connect to."""
        return f"spark://{MASTER_HOST}:{self._port}"

    @property
    def slots(self) -> int:
        """Tasks that all workers together run at a time."""
        return len(self.hosts) * self.cores_per_worker

    @property
    def page_url(self) -> str:
        """The master's web page."""
        return f"http://{MASTER_HOST}:{self._page_port}"

    def start(self, timeout_s: float = 60.0) -> None:
        """Start master and workers; return when all workers are registered.  Raises ClusterError."""
        ports = ("--port", str(self._port), "--webui-port", str(self._page_port))
        self._master = self._spawn("master", MASTER_HOST, MASTER_CLASS, *ports)
        for host in self.hosts:
            self._workers[host] = self._spawn(
                f"worker-{host}", host, WORKER_CLASS, "--webui-port", "0",
                "--cores", str(self.cores_per_worker), "--memory", f"{self._memory_per_worker_mb}m",
                "--work-dir", str(self.log_dir / f"work-{host}"), self.master_url,
            )  # fmt: skip
        deadline_s = time.monotonic() + timeout_s
        while self.alive_workers() < len(self.hosts):
            ended = [process.args for process in self._processes() if process.poll() is not None]
            if ended or time.monotonic() > deadline_s:
                what = f"ended early: {ended}" if ended else f"not ready after {timeout_s:.0f} s"
                raise ClusterError(f"the local cluster {what}; logs are in {self.log_dir}")
            time.sleep(0.2)

    def alive_workers(self) -> int:
        """How many workers the master counts as alive; 0 while the master does not answer."""
        try:
            with urllib.request.urlopen(f"{self.page_url}/json/", timeout=2) as answer:  # noqa: S310  # http
                return int(json.load(answer)["aliveworkers"])
        except (OSError, ValueError, KeyError):
            return 0

    def executor_pids(self, host: str) -> list[int]:
        """The executors on one host, of all applications: those children of its worker that run one."""
        return [pid for pid in child_pids(self._workers[host].pid) if EXECUTOR_CLASS in command_line(pid)]

    def sick_host(self, host: str, *, duty: float) -> SickHost:
        """A context in which the executors of `host` run only for the share `duty` of each second."""
        return SickHost(lambda: self.executor_pids(host), duty=duty)

    def stop(self) -> None:
        """End workers, their executors and the master; only processes this object started are touched."""
        processes = self._processes()
        for signum in (signal.SIGTERM, signal.SIGKILL):
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signum)
            for process in processes:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=5)
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._workers.clear()
        self._master = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, exception_type: object, *_: object) -> None:
        self.stop()
        if exception_type is None and self._log_dir_is_ours:
            shutil.rmtree(self.log_dir, ignore_errors=True)

    def _processes(self) -> list[subprocess.Popen[bytes]]:
        return [*self._workers.values(), *([self._master] if self._master else [])]

    def _spawn(self, name: str, host: str, main_class: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Start one daemon as the leader of its own process group, which its executors will belong to."""
        environment = {
            **os.environ,
            **leaving_files_in(self._scratch),
            "JAVA_HOME": str(self._java_home),
            "SPARK_HOME": str(self.spark_home),
            "SPARK_LOCAL_IP": host,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": DAEMON_OPTIONS,
        }
        with (self.log_dir / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [str(self.spark_home / "bin" / "spark-class"), main_class, "--host", host, *arguments],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip


def installed_spark_home() -> Path:
    """The Spark that comes with the installed pyspark.  Raises ClusterError."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise ClusterError("pyspark is not installed; run `pip install pyspark` or name a spark_home")
    return Path(found.origin).parent


def main() -> None:
    """Keep a cluster up until Ctrl-C."""
    parser = argparse.ArgumentParser(description="A real standalone Spark cluster on loopback addresses.")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--cores", type=int, default=2, help="cores per worker")
    parser.add_argument("--spark-home", type=Path, help="default: the installed pyspark's")
    chosen = parser.parse_args()
    exit_on_signals()
    cluster = LocalCluster(spark_home=chosen.spark_home, workers=chosen.workers, cores_per_worker=chosen.cores)
    with contextlib.suppress(KeyboardInterrupt), cluster:
        print(f"master {cluster.master_url}   page {cluster.page_url}   logs {cluster.log_dir}")
        print("Ctrl-C ends it.")
        signal.pause()


if __name__ == "__main__":
    main()
