"""How does a test hold a real leaf queue in its hand? A local YARN with the plug-in, a control plane, two Spark apps.

The plug-in's jar is the shipped one but for a call at the head of some methods: it looks for a file, and fails as
that says.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spark_listener.class_archive import in_container
from spark_listener.local_cluster import installed_spark_home
from tests.integration import spark_jobs
from tests.integration.driver import COMMON, Driver
from tests.integration.gateway import Gateway
from tests.integration.plane_process import ROOT, Plane, eventually
from yarn_bridge.hadoop_jars import VERSIONS, hadoop_jars
from yarn_bridge.install_conf import PREFIX, plugin_jar, queue_properties, rm_properties
from yarn_bridge.local_conf import Properties
from yarn_bridge.local_yarn import LocalYarn
from yarn_bridge.rm_client import RmClient

QUEUE = "root.default"
KEY = f"yarn.scheduler.capacity.{QUEUE}.ordering-policy"
CLUSTER = "test"
SOURCE = f"yarn:{CLUSTER}:{QUEUE}"
TTL_MS = 6000
PLANE = {"GRASSHOPPER__ENGINE__GRANT_TTL_MS": str(TTL_MS), "NUMBA_DISABLE_JIT": "1"}
"""Grants that survive a slow moment, and no minute of compiling for a queue of two."""
SLOTS = 8
STEADY_S = 3.0
"""Fifteen heartbeats of each node."""
SUBMITTED_S = 60.0
FULL = {version: pytest.param(version, marks=pytest.mark.full) for version in VERSIONS}
"""Hadoop versions as parameters of tests that `make test` tries on another version only."""
PLUGIN = ROOT / "jvm-shim" / "shim-yarn" / "src" / "main" / "java" / "io" / "grasshopper" / "yarn"
STRUCK = {
    "Holdings": (r"      public .*\{", 4),
    "InFlight": (r"  boolean take\(.*\{", 1),
    "TargetOrder": (r"  void (?:add|update|remove)\(.*\{", 3),
    "Plan": (r"  static Plan current\(\) \{", 1),
    "CoveredQueue": (r"  static List<CoveredQueue> of\(.*\{", 1),
    "Enforcement": (r"  void .*\{", 2),
    "GrasshopperFairPolicy": (r"  private static \w+ (?:follow|isHungry)\(.*\{", 2),
}
"""Classes that can fail, and the heads of their methods: all that the plug-in's hooks go through."""
FAULT = """package io.grasshopper.yarn;

final class Fault {
  private static final java.nio.file.Path SWITCH = java.nio.file.Paths.get("%s");

  static void strike(String place) {
    String told = "";
    try {
      told = java.nio.file.Files.exists(SWITCH) ? new String(java.nio.file.Files.readAllBytes(SWITCH)) : "";
    } catch (java.io.IOException gone) {
      return;
    }
    String what = "a fault, on purpose, in " + place;
    if (told.equals(place + " StackOverflowError")) {
      throw new StackOverflowError(what);
    }
    if (told.equals(place + " IllegalStateException")) {
      throw new IllegalStateException(what);
    }
    if (told.equals(place + " NoSuchMethodError")) {
      throw new NoSuchMethodError(what);
    }
  }
}
"""
EXECUTORS = {
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executor.memoryOverhead": "256m",
    "spark.yarn.am.memory": "256m",
    "spark.yarn.am.memoryOverhead": "64m",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.initialExecutors": "0",
    "spark.dynamicAllocation.maxExecutors": str(SLOTS),
    "spark.dynamicAllocation.executorIdleTimeout": "1s",
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
    "spark.task.reaper.enabled": "true",
    "spark.task.reaper.killTimeout": "20s",
}
"""Two executors fit on a node of 2200 MB, whether or not it hosts masters of 320 MB: eight slots on four nodes.

A cancelled task whose interrupt came while its classes were being loaded sleeps on; it ends with its executor then.
"""


def faulty_jar(version: str, folder: Path, switch: Path) -> Path:
    """A copy of the plug-in's jar in which the text of the file `switch` is a fault: `Plan NoSuchMethodError`."""
    sources = [folder / "Fault.java"]
    sources[0].write_text(FAULT % switch)
    for place, (head, count) in STRUCK.items():
        text = (PLUGIN / f"{place}.java").read_text()
        text, found = re.subn(rf"(?m)^({head})$", rf'\1 Fault.strike("{place}");', text)
        assert found == count, f"{place} looks different from what this file expects"
        sources.append(folder / f"{place}.java")
        sources[-1].write_text(text)
    jar = Path(shutil.copy(plugin_jar(), folder))
    class_path = f"{jar}:{hadoop_jars(version)}/*"
    classes = folder / "classes"
    subprocess.run(["javac", "-nowarn", "--release", "8", "-cp", class_path, "-d", classes, *sources], check=True)
    subprocess.run(["jar", "--update", "--file", jar, "-C", classes, "."], check=True)
    return jar


def yarn_with_plugin(
    version: str,
    folder: Path,
    server: str,
    switch: Path,
    *,
    queues: tuple[str, ...] = (QUEUE,),
    site: Properties | None = None,
    fair: str = "",
    standby: bool = False,
) -> LocalYarn:
    """A YARN whose leaf queues the control plane steers, and whose ResourceManager may die."""
    ours = rm_properties(server) | {
        "yarn.resourcemanager.cluster-id": CLUSTER,
        f"{PREFIX}.timeout-ms": 450,
        f"{PREFIX}.plan-ttl-ms": TTL_MS,
    }
    return LocalYarn(
        version=version, queues={queue: 100 / len(queues) for queue in queues},
        site=ours | dict(site or {}), capacity=queue_properties(queues), fair=fair,
        plugin_jar=faulty_jar(version, folder, switch), recover=True, standby=standby, folder=folder / "yarn",
    )  # fmt: skip


def on_yarn(folder: Path) -> dict[str, str]:
    """The configuration of a Spark application whose executors are containers, as many as it has tasks waiting."""
    return EXECUTORS | {
        "spark.executor.extraJavaOptions": f"-XX:+UseSerialGC {in_container(installed_spark_home())}",
        "spark.yarn.jars": f"local:{installed_spark_home()}/jars/*",
        "spark.yarn.stagingDir": (folder / "staging").as_uri(),
        "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1",
        "spark.executorEnv.PYSPARK_PYTHON": sys.executable,
    }


@contextlib.contextmanager
def submitted(folder: Path, deploy_mode: str, job: str, *, conf: dict[str, str], **arguments: Any) -> Iterator[Path]:
    """A job of spark_jobs.py by `spark-submit`, as users do it; yields the file that its answer will be in.

    The application goes on until the block is left, and must end well then.
    """
    home, answer = installed_spark_home(), folder / "answer.json"
    conf = COMMON | on_yarn(folder) | {"spark.yarn.appMasterEnv.PYSPARK_PYTHON": sys.executable} | conf
    program = Path(spark_jobs.__file__).with_name("submitted_program.py")
    command = [
        home / "bin" / "spark-submit", "--master", "yarn", "--deploy-mode", deploy_mode, "--name", folder.name,
        *(word for key, value in conf.items() for word in ("--conf", f"{key}={value}")),
        "--py-files", spark_jobs.__file__, program, job, json.dumps(arguments), answer,
    ]  # fmt: skip
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    with (folder / "submit.log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        try:
            yield answer
        finally:
            answer.with_name("left").touch()
        assert process.wait(timeout=SUBMITTED_S) == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Application(Driver):
    """A Spark driver beside the cluster whose executors are containers."""

    def __init__(self, folder: Path, **more: str) -> None:
        cluster = SimpleNamespace(master_url="yarn", spark_home=installed_spark_home())
        super().__init__(cluster, folder, **on_yarn(folder) | more)
        self._work: Future[Any] | None = None

    def work(self, *, tasks: int = 2 * SLOTS, **more: float) -> None:
        """Ask for as many executors as there may be, until `rest`; nothing waits for their Python to start."""
        self._work = self.start("asleep", group="work", tasks=tasks, **more)

    def rest(self) -> None:
        """Ask for no more executors, and let those that are there go; work may only be about to start."""
        eventually(lambda: self._work is None or self._work.done() or self.run("cancel", group="work"))


class Queue:
    """The queue as the ResourceManager and the control plane see it."""

    def __init__(
        self, yarn: LocalYarn, plane: Plane, applications: Iterable[Application], gateway: Gateway | None = None
    ) -> None:
        self.yarn, self.plane, self.applications, self.gateway = yarn, plane, tuple(applications), gateway
        self._rm = RmClient(yarn.rm_url)

    def is_listed(self) -> bool:
        """Whether the control plane knows the applications."""
        pool = self.plane.pool(SOURCE) or {"jobs": []}
        return {each.application for each in self.applications} <= {job["job"] for job in pool["jobs"]}

    def work(self, **more: Any) -> None:
        """All applications work, until `rest`."""
        for application in self.applications:
            application.work(**more)

    def rest(self) -> None:
        """None of them does."""
        for application in self.applications:
            application.rest()

    def executors_lost(self) -> list[int]:
        """How often each application's log says that it has lost one."""
        return [application.log().count("Lost executor") for application in self.applications]

    def named(self, name: str) -> str:
        """The id of the application that runs under this name."""
        apps = eventually(lambda: [app.id for app in self._rm.apps("RUNNING") if app.name == name], about=self.log)
        return apps[0]

    def held(self) -> tuple[int, ...]:
        """Executors of each application, in order, by the ResourceManager's own count."""
        held = {app.id: app.held for app in self._rm.apps("RUNNING")}
        return tuple(held.get(application.application, 0) for application in self.applications)

    def pending(self) -> tuple[int, ...]:
        """Executors that each application still asks for."""
        due = {app.id: app.due for app in self._rm.apps("RUNNING")}
        return tuple(due.get(application.application, 0) for application in self.applications)

    def reserved(self) -> tuple[int, ...]:
        """Containers reserved for each application on nodes that have no room for them yet."""
        jobs = {job["job"]: job for job in self.plane.pool(SOURCE)["jobs"]}
        return tuple(jobs[application.application]["queued"]["reserved"] for application in self.applications)

    def grant(self, *caps: int) -> None:
        """Fix each application's target, as its cap too; returns when the ResourceManager has them."""
        for application, cap in zip(self.applications, caps, strict=True):
            self.plane.set_target(SOURCE, application.application, cap, cap)
        eventually(lambda: self._granted("cap") == caps, about=lambda: self.plane.decisions(SOURCE)[:5])

    def cap(self, application: str, most: int) -> None:
        """Fix the target and cap of any application of the queue; returns when the ResourceManager has them."""
        eventually(lambda: any(job["job"] == application for job in (self.plane.pool(SOURCE) or {"jobs": []})["jobs"]))
        self.plane.set_target(SOURCE, application, most, most)
        eventually(
            lambda: [
                one
                for one in self.plane.decisions(SOURCE, action="grant", outcome="applied", job=application)
                if one["inputs"]["cap"] == most
            ],
            about=self.log,
        )

    def aim(self, *targets: int) -> None:
        """Fix targets and no caps; returns when the ResourceManager has them, which takes work for all applications."""
        for application, target in zip(self.applications, targets, strict=True):
            self.plane.set_target(SOURCE, application.application, target)
        eventually(lambda: self._granted("target") == targets, about=lambda: self.plane.decisions(SOURCE)[:5])

    def _granted(self, what: str) -> tuple[float | None, ...]:
        """The cap or target of each application's latest grant that was applied."""
        latest: dict[str, float | None] = {}
        for decision in self.plane.decisions(SOURCE, action="grant", outcome="applied"):
            latest.setdefault(decision["job"], decision["inputs"][what])
        return tuple(latest.get(application.application) for application in self.applications)

    def newest_grant(self) -> int:
        """The id of the newest decision whose grant was applied; 0 where there is none."""
        return max((one["id"] for one in self.plane.decisions(SOURCE, action="grant", outcome="applied")), default=0)

    def drop_grants(self) -> None:
        """Nobody's target is fixed any more; on a busy machine the queue may have fallen silent for a while."""
        eventually(self.is_listed, about=self.log)
        for application in self.applications:
            self.plane.drop_target(SOURCE, application.application)

    def settles_at(self, *wanted: int) -> tuple[int, ...]:
        """Wait until this is what applications hold, and for a while longer; returns the most that each ever held."""
        most = list(self.held())

        def look() -> tuple[int, ...]:
            held = self.held()
            most[:] = map(max, most, held)
            return held

        eventually(lambda: look() == wanted, about=lambda: f"{most} at most, {self.pending()} asked, {wanted} wanted")
        self.meanwhile(look)
        return tuple(most)

    def stays_at(self, *wanted: int) -> None:
        """This is what applications hold, and it stays so for a while although they ask for more."""
        assert self.meanwhile(self.held) == {wanted}
        assert any(self.pending())

    @staticmethod
    def meanwhile(look: Callable[[], Any]) -> set[Any]:
        """All that is to be seen for a while."""
        seen, limit_s = set(), time.monotonic() + STEADY_S
        while time.monotonic() < limit_s:
            seen.add(look())
            time.sleep(0.1)
        return seen

    def warnings(self, hook: str, fault: str) -> int:
        """How often the plug-in has warned that this hook met this fault, as it stands in the switch."""
        place, error = fault.split()
        return len(re.findall(rf"an error in {hook};.*\n\S*{error}: a fault, on purpose, in {place}\n", self.log()))

    def log(self) -> str:
        """What the ResourceManager has said."""
        return (self.yarn.folder / "log" / "rm.log").read_text(errors="replace")


@contextlib.contextmanager
def queue_of_two(
    version: str, folder: Path, switch: Path, *, site: Properties, fair: str = "", standby: bool = False
) -> Iterator[Queue]:
    """A queue of eight slots in control mode, and two applications in it that hold nothing yet."""
    with (
        Plane(folder / "plane", **PLANE) as plane,
        Gateway(plane.address) as gateway,
        yarn_with_plugin(version, folder, gateway.address, switch, site=site, fair=fair, standby=standby) as yarn,
        pytest.MonkeyPatch.context() as environment,
    ):
        environment.setenv("HADOOP_CONF_DIR", str(yarn.conf_dir))
        with Application(folder / "a") as a, Application(folder / "b") as b:
            queue = Queue(yarn, plane, (a, b), gateway)
            eventually(queue.is_listed, about=queue.log)
            yield queue
