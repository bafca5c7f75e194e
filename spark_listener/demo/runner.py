"""How does the demo proceed? One cluster, each round every contestant in turn, then the table and the page."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from controlplane.processes import COMPILED_ONCE, exit_on_signals, java_home
from spark_listener.demo.application import Outcome, run_application
from spark_listener.demo.contestants import Contestant, contestants
from spark_listener.demo.control_plane import control_planes, store_of
from spark_listener.demo.report import Row, print_table, rows_of, write_json
from spark_listener.demo.world import Size, Workload, World, testkit_jar
from spark_listener.local_cluster import LocalCluster

OnEvent = Callable[[dict[str, Any]], None]


def run_demo(*, rounds: int, world_kind: str, size: Size, build_dir: Path, first_seed: int = 1) -> None:
    """All contestants, the same seeds for each, control planes that keep learning from round to round.

    Raises FileNotFoundError or ClusterError, before anything is started, for what is missing.
    """
    console = begin()
    report = build_dir / "demo.json"
    work_dir = build_dir / "demo"
    four = contestants(size.best_stock)
    worlds = [size.world(seed=first_seed + number, kind=world_kind) for number in range(rounds)]
    with only_one(work_dir), served(four, work_dir, report, console) as addresses:
        with LocalCluster(cores_per_worker=size.cores_per_worker, log_dir=work_dir / "cluster") as cluster:
            outcomes = run_rounds(four, worlds, size.workload(), addresses, cluster, work_dir, console)
        rows = rows_of(four, outcomes, world_kind)
        conclude(rows, report, work_dir, console)
        keep_page(addresses[four[-1].name], console)
    tell_store(store_of(four[-1], work_dir), console)
    check_results(rows)


def begin() -> Console:
    """Where a demo prints, once its jar and Java are there; from here on SIGTERM ends it as Ctrl-C does.

    Raises FileNotFoundError or ClusterError for what is missing.
    """
    exit_on_signals()
    testkit_jar()
    java_home()
    return Console()


@contextlib.contextmanager
def served(
    contestants: Sequence[Contestant], work_dir: Path, report: Path, console: Console
) -> Iterator[dict[str, str]]:
    """`control_planes`, announced."""
    console.print("Starting a Spark cluster (one master, four workers) and control planes.")
    console.print(f"Their policies are {COMPILED_ONCE}.")
    with control_planes(contestants, work_dir=work_dir, report=report) as addresses:
        yield addresses


def conclude(rows: list[Row], report: Path, work_dir: Path, console: Console) -> None:
    """Print the table and write the report."""
    print_table(rows, console)
    write_json(rows, report)
    console.print(f"Written: {report}; logs and event logs: {work_dir}")


def check_results(rows: list[Row]) -> None:
    """Raises SystemExit if any contestant's results differ from stock's."""
    if not all(one.results_equal_stock for one in rows):
        raise SystemExit("a contestant's results differ from stock's")


@contextlib.contextmanager
def only_one(work_dir: Path) -> Iterator[None]:
    """An empty folder to work in.  Raises SystemExit while another demo writes next to it."""
    build_dir = work_dir.parent
    build_dir.mkdir(parents=True, exist_ok=True)
    with (build_dir / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"another demo is running in {build_dir}") from None
        shutil.rmtree(work_dir, ignore_errors=True)
        work_dir.mkdir()
        yield


def run_rounds(
    competitors: Sequence[Contestant],
    worlds: list[World],
    workload: Workload,
    addresses: dict[str, str],
    cluster: LocalCluster,
    work_dir: Path,
    console: Console,
    first_round: int = 1,
) -> dict[str, list[Outcome]]:
    """Each round runs every contestant once on the cluster, starting with a different one each time."""
    inputs = workload.write_inputs(work_dir / "inputs")

    def run(contestant: Contestant, world: World, folder: str, on_event: OnEvent) -> Outcome:
        return run_application(
            contestant,
            world=world,
            jobs=workload.jobs,
            inputs=inputs,
            cluster=cluster,
            server=addresses.get(contestant.name),
            work_dir=work_dir / folder,
            on_event=on_event,
        )

    return take_turns(competitors, worlds, run, n_jobs=len(workload.jobs), console=console, first_round=first_round)


def take_turns(
    competitors: Sequence[Contestant],
    worlds: list[World],
    run: Callable[[Contestant, World, str, OnEvent], Outcome],
    *,
    n_jobs: int,
    console: Console,
    first_round: int = 1,
) -> dict[str, list[Outcome]]:
    """Each world is a round: `run` gets every contestant once, a folder's name, and a callback for events.

    The first round's number decides who begins.
    """

    def tell(line: str) -> None:
        if not console.is_terminal:
            console.print(line, highlight=False)

    outcomes: dict[str, list[Outcome]] = {contestant.name: [] for contestant in competitors}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # A log file gets lines instead of moving bars, and must not be silent for minutes.
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        for number, world in enumerate(worlds, start=first_round):
            turn = (number - 1) % len(competitors)
            for contestant in (*competitors[turn:], *competitors[:turn]):
                label = f"round {number}  {contestant.name}"
                bar = progress.add_task(f"{label}: starting Spark", total=n_jobs)
                tell(f"{label}: starting Spark")
                started_s = time.monotonic()

                def show(event: dict[str, Any], bar: Any = bar, label: str = label) -> None:
                    if event["event"] == "finished":
                        progress.advance(bar)
                    if event["event"] != "stopped":  # that is how it is done, which is told next
                        progress.update(bar, description=f"{label}: {event['event']} {event.get('job', '')}")

                outcome = run(contestant, world, f"{number}-{contestant.name}", show)
                outcomes[contestant.name].append(outcome)
                done = f"{label}: done, mean {statistics.fmean(outcome.job_s.values()):.1f} s"
                progress.update(bar, description=done)
                tell(f"{done}; {n_jobs} jobs in {time.monotonic() - started_s:.0f} s")
    return outcomes


def keep_page(address: str, console: Console) -> None:
    """Keep the decision page up until Enter; end at once if nobody can press it."""
    if not is_attended():
        return
    console.print(f"Why was an attempt copied, and why was another one not? {address}/   (Enter ends the demo)")
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        input()


def tell_store(store: Path, console: Console) -> None:
    """Say where the decisions are kept after the demo, and which command shows them again."""
    grasshopper = Path(sys.executable).with_name("grasshopper")
    if grasshopper.is_relative_to(Path.cwd()):
        grasshopper = grasshopper.relative_to(Path.cwd())
    command = shlex.join([str(grasshopper), "serve", "--store", str(store)])
    told = f"The decisions stay in {store} until the next demo. This shows them:\n{command}"
    console.print(told, highlight=False, markup=False, soft_wrap=True)


def is_attended() -> bool:
    """Whether somebody may look at a page and press Enter."""
    return os.environ.get("CI") != "true" and sys.stdin.isatty()
