"""How does a test hold a Spark driver in its hand? A process that runs jobs on demand, and is gone afterwards."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self

from controlplane.processes import leaving_files_in
from spark_listener.attach import PLUGIN_CLASS, jar_path
from spark_listener.local_cluster import LocalCluster

START_S = 300.0
JOB_S = 180.0
PROGRAM = Path(__file__).with_name("driver_program.py")
ROOT = Path(__file__).parents[2]
"""Drivers import the packages beside their tests."""
COMMON = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "2",
    "spark.cores.max": "8",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
    "spark.locality.wait": "0s",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
STOCK_SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.minTaskRuntime": "500ms",
}
"""Stock speculation that is as quick as a test needs it."""


def plugged(address: str) -> dict[str, str]:
    """The configuration by which a user attaches the plug-in."""
    return {"spark.jars": str(jar_path()), "spark.plugins": PLUGIN_CLASS, "spark.grasshopper.server": address}


class JobError(RuntimeError):
    """A Spark job failed in the driver."""


class Driver:
    """A driver process as a context manager; leaving it ends the application in good order."""

    def __init__(self, cluster: LocalCluster, folder: Path, **conf: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log_path = folder / "driver.log"
        self._conf = COMMON | {"spark.master": cluster.master_url} | conf
        self._home = cluster.spark_home
        self._ids = itertools.count(1)
        self._waiting: dict[int, Future[Any]] = {0: Future()}
        self.application = ""
        self.version = ""

    @property
    def source(self) -> str:
        """Its name at the control plane."""
        return f"spark:{self.application}"

    def start(self, job: str, **arguments: Any) -> Future[Any]:
        """Begin a job of driver_program.py's JOBS; the future holds its answer."""
        request = next(self._ids)
        future = self._waiting[request] = Future()
        self._write(json.dumps({"id": request, "job": job, "arguments": arguments}) + "\n")
        return future

    def run(self, job: str, **arguments: Any) -> Any:
        """Run a job to its end.  Raises JobError."""
        return self.start(job, **arguments).result(timeout=JOB_S)

    def log(self) -> str:
        """What the driver has logged so far."""
        return self.log_path.read_text(errors="replace")

    def kill(self) -> None:
        """End driver and JVM at once, without a good-bye."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def __enter__(self) -> Self:
        environment = {
            **os.environ,
            **leaving_files_in(self.log_path.with_suffix(".scratch")),
            "SPARK_HOME": str(self._home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYTHONPATH": os.pathsep.join([str(self._home.parent), str(ROOT)]),
            "PYSPARK_PYTHON": sys.executable,
        }
        with self.log_path.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(PROGRAM)], env=environment, text=True, start_new_session=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._write(json.dumps(self._conf) + "\n")
        try:
            ready = self._waiting[0].result(timeout=START_S)
        except BaseException:
            self.kill()
            raise
        self.application, self.version = ready["application"], ready["version"]
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=20)
        self.kill()

    def _write(self, line: str) -> None:
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def _read(self) -> None:
        for line in self._process.stdout:
            if line.startswith('{"id"'):
                answer = json.loads(line)
                future = self._waiting.pop(answer["id"])
                if "error" in answer:
                    future.set_exception(JobError(answer["error"]))
                else:
                    future.set_result(answer["result"])
        for future in self._waiting.values():
            future.set_exception(JobError(f"the driver has ended; see {self.log_path}"))
