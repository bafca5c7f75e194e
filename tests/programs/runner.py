"""How is one case of the matrix run? On a real cluster, slowed from inside and outside, judged by Spark's event log."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from controlplane.machine_load import machine_load
from controlplane.processes import child_pids, write_whole
from spark_listener.class_archive import quick_starts
from spark_listener.demo.application import COMMON_CONF, ApplicationError, driver_process, read_events, say
from spark_listener.demo.contestants import BEST_STOCK, StockSetting, grasshopper
from spark_listener.demo.control_plane import control_plane
from spark_listener.demo.world import testkit_jar
from spark_listener.event_log import read_attempts
from spark_listener.local_cluster import LocalCluster
from spark_listener.sick_host import SickHost, signal_all
from tests.bench.__main__ import commit
from tests.integration.java_jar import build
from tests.programs import inputs
from tests.programs.case import CONTROL, SHADOW, STOCK, TUNED, Case
from tests.programs.program import Program
from tests.programs.recording import Recorder
from tests.programs.slowness import HOSTS, SLOTS, SLOWNESS, Slowness, labels, stall_row

ROOT = Path(__file__).parents[2]
STALL, DIGESTS = (Path(__file__).with_name(f"{name}.java") for name in ("Stall", "LineDigests"))
FOLDER = ROOT / "build" / "programs"
SPARKS = {"4": None, "3.5": ROOT / "build" / "spark-3.5" / "pyspark"}
"""By name; None is the installed one."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """What all cases of one Spark share: a cluster, a jar, a control plane's address, and a folder with the inputs."""

    spark: str
    folder: Path
    cluster: LocalCluster
    stall_jar: Path
    server: str


@contextlib.contextmanager
def grounds(spark: str, folder: Path = FOLDER) -> Iterator[Grounds]:
    """A cluster of one Spark with a control plane beside it, and inputs."""
    work = folder / f"work-{spark}"
    fresh(work)
    inputs.make(folder / "inputs")
    with (
        quick_starts(),
        control_plane(grasshopper("hopper", "ras"), work_dir=work, report=work / "none.json") as server,
        LocalCluster(
            spark_home=SPARKS[spark], workers=HOSTS, cores_per_worker=SLOTS, log_dir=work / "cluster"
        ) as cluster,
    ):
        yield Grounds(spark, folder, cluster, build(STALL, cluster.spark_home, work, DIGESTS), server)


def spark_conf(contestant: str) -> dict[str, str]:
    """How a contestant speculates."""
    if contestant == STOCK:
        return {"spark.speculation": "true"}
    if contestant == TUNED:
        return BEST_STOCK.spark_conf()
    return StockSetting().spark_conf() if contestant == SHADOW else {}


def run(on: Grounds, program: Program, slowness_name: str, contestant: str) -> Case:
    """Run one case, and write what came of it; of shadow also a recording.  Raises ApplicationError."""
    slowness = SLOWNESS[slowness_name]
    work = on.folder / f"work-{on.spark}" / f"{program.name}-{slowness_name}-{contestant}"
    fresh(work)
    with contextlib.ExitStack() as stack:
        recorder = stack.enter_context(Recorder(on.server)) if contestant == SHADOW else None
        server = recorder.address if recorder else on.server if contestant == CONTROL else None
        others = [
            stack.enter_context(driving(on, program, contestant, Slowness(), work / f"beside-{n}", server))
            for n in range(1, program.drivers)
        ]
        driver = stack.enter_context(driving(on, program, contestant, slowness, work, server))
        for one in [*others, driver]:
            application = one.expect("ready")["app_id"]
        for one in [*others, driver]:
            one.go_on()
        with slowed(on.cluster, slowness) as frozen_ms:
            finished = driver.expect("finished")
        for one in others:
            one.expect("finished")
        for one in [*others, driver]:
            one.go_on()
        for one in [*others, driver]:
            one.expect("stopped")
        load = machine_load()
    attempts = [one for one in read_attempts(work / application) if one.launch_ms >= finished["begun_ms"]]
    notes = [json.loads(note.read_text()) for note in sorted(work.glob("stall-*.json"))]
    if slowness.stall and not notes:
        raise ApplicationError(f"{program.name}: task {program.slow_task} has no row at which it stalls")
    case = Case(
        program=program.name,
        operator=program.operator,
        slowness=slowness_name,
        contestant=contestant,
        spark=on.spark,
        application=application,
        slots=HOSTS * SLOTS // program.drivers,
        begun_ms=finished["begun_ms"],
        job_s=finished["seconds"],
        result=finished["result"],
        attempts=attempts,
        labels=labels(slowness, program, attempts, notes, frozen_ms[0] if frozen_ms else None),
        recorded_ms=recorder.start_ms if recorder else 0,
        load=load,
        commit=commit(),
    )
    if recorder:
        recorder.write(case, on.folder / "recordings" / f"{case.name}.jsonl.xz")
    write_whole(on.folder / f"{case.name}.json", msgspec.json.format(msgspec.json.encode(case)).decode())
    return case


class Driving:
    """One driver process of the corpus, whose events are waited for in their order."""

    def __init__(self, process: Any, log_path: Path) -> None:
        self._process = process
        self._log_path = log_path
        self._events = read_events(process)

    def expect(self, name: str) -> dict[str, Any]:
        """The next event.  Raises ApplicationError if it is another one, or none comes."""
        event = next(self._events, None)
        if event is None or event["event"] != name:
            raise ApplicationError(f"got {event}, want {name}; see {self._log_path}")
        return event

    def go_on(self) -> None:
        """Let it take its next step."""
        say(self._process, "go")


@contextlib.contextmanager
def driving(
    on: Grounds, program: Program, contestant: str, slowness: Slowness, work: Path, server: str | None
) -> Iterator[Driving]:
    """A driver of the program that has been told everything; it ends with the context."""
    work.mkdir(parents=True, exist_ok=True)
    paced = slowness.slow_source_s > 0
    conf = {
        **COMMON_CONF,
        "spark.master": on.cluster.master_url,
        "spark.eventLog.dir": work.resolve().as_uri(),
        "spark.jars": f"{on.stall_jar},{testkit_jar()}",
        "spark.executorEnv.PYTHONPATH": str(ROOT),
        "spark.cores.max": str(HOSTS * SLOTS // program.drivers),
        "spark.sql.files.maxPartitionBytes": str(inputs.PARTITION_BYTES),
        "spark.sql.files.openCostInBytes": "0",
        **program.conf,
        **(paced_conf(program, slowness) if paced else {}),
        **spark_conf(contestant),
    }
    row = stall_row(slowness, program)
    stall = {
        "kind": slowness.stall,
        "task": program.slow_task,
        "row": row,
        "seconds": slowness.seconds,
        "folder": str(work),
    }
    task = {
        "name": f"{program.name} {contestant}",
        "conf": conf,
        "server": server,
        "mode": SHADOW if contestant == SHADOW else CONTROL,
        "program": program.name,
        "inputs": str(on.folder / "inputs"),
        "output": str(work / "output"),
        "scheme": "paced" if paced else "file",
        "cold": slowness.cold,
        "stall": stall if slowness.stall else None,
    }
    log_path = work / "driver.log"
    variables = {"PYSPARK_PYTHON": sys.executable}
    with driver_process(on.cluster.spark_home, log_path, "tests.programs.driver", **variables) as process:
        say(process, json.dumps(task))
        yield Driving(process, log_path)


def paced_conf(program: Program, slowness: Slowness) -> dict[str, str]:
    """A source that hands out each split in a listed time, and to copies in that of a healthy one."""
    seconds = [slowness.source_s] * (inputs.TEXT_SPLITS + 1)
    seconds[program.slow_task] = slowness.slow_source_s
    return {
        "spark.hadoop.fs.paced.impl": "io.grasshopper.testkit.PacedFileSystem",
        "spark.hadoop.fs.paced.world": "listed",
        "spark.hadoop.fs.paced.seconds.lines.txt": ",".join(map(str, seconds)),
        "spark.hadoop.fs.paced.copy-seconds": str(slowness.source_s),
    }


@contextlib.contextmanager
def slowed(cluster: LocalCluster, slowness: Slowness) -> Iterator[list[tuple[int, int]]]:
    """Slow a host from outside while a program runs; holds begin and end of its freeze, once that is over."""
    frozen_ms: list[tuple[int, int]] = []

    def pids() -> list[int]:
        return [pid for executor in cluster.executor_pids(slowness.host) for pid in family(executor)]

    with contextlib.ExitStack() as stack:
        if slowness.duty:
            stack.enter_context(SickHost(pids, duty=slowness.duty))
        if slowness.freeze_after_s:
            freezer = threading.Thread(target=freeze, args=(slowness, pids, frozen_ms))
            freezer.start()
            stack.callback(freezer.join)
        yield frozen_ms


def freeze(slowness: Slowness, pids: Callable[[], list[int]], frozen_ms: list[tuple[int, int]]) -> None:
    """Stop the processes once, and let them go on."""
    time.sleep(slowness.freeze_after_s)
    stopped, begin_ms = pids(), round(time.time() * 1000)
    try:
        signal_all(stopped, signal.SIGSTOP)
        time.sleep(slowness.seconds)
    finally:
        signal_all(stopped, signal.SIGCONT)
        frozen_ms.append((begin_ms, round(time.time() * 1000)))


def family(pid: int) -> list[int]:
    """A process and all that it has begot: an executor with its Python workers."""
    return [pid, *(one for child in child_pids(pid) for one in family(child))]


def fresh(folder: Path) -> None:
    """An empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
