"""How does the YARN demo proceed? Each contestant in turn on a fresh YARN of its own, then the table and the page."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from rich.console import Console

from controlplane.processes import exit_on_sigterm, java_home
from controlplane.yarn_demo.applications import run_applications
from controlplane.yarn_demo.contestants import contestants, workload, worlds, yarn_for
from spark_listener.demo.application import Outcome
from spark_listener.demo.contestants import Contestant
from spark_listener.demo.control_plane import control_plane
from spark_listener.demo.report import row
from spark_listener.demo.runner import OnEvent, conclude, only_one, take_turns
from spark_listener.demo.world import Workload, World, testkit_jar


def run_demo(*, rounds: int, build_dir: Path, first_seed: int = 1) -> None:
    """All contestants, the same seeds for each, control planes that keep learning from round to round.

    Raises FileNotFoundError or ClusterError, before anything is started, for what is missing.
    """
    exit_on_sigterm()
    testkit_jar()
    java_home()
    console = Console()
    report = build_dir / "demo-yarn.json"
    work_dir = build_dir / "demo-yarn"
    four = contestants()
    with contextlib.ExitStack() as servers:
        servers.enter_context(only_one(build_dir))
        shutil.rmtree(work_dir, ignore_errors=True)
        work_dir.mkdir(parents=True)
        console.print("Starting the control planes (the first time they compile their policies, for about a minute);")
        console.print("then each contestant has a YARN of its own: one ResourceManager, four NodeManagers.")
        addresses = {
            contestant.name: servers.enter_context(control_plane(contestant, work_dir=work_dir, report=report))
            for contestant in four
            if contestant.allocator
        }
        outcomes = run_rounds(four, worlds(first_seed, rounds), workload(), addresses, work_dir, console)
        stock = outcomes[four[0].name]
        rows = [row(contestant, outcomes[contestant.name], stock, worlds(1, 1)[0].kind) for contestant in four]
        conclude(rows, report, work_dir, addresses[four[-1].name], console, subject="application")


def run_rounds(
    competitors: tuple[Contestant, ...],
    rounds: list[World],
    work: Workload,
    addresses: dict[str, str],
    work_dir: Path,
    console: Console,
) -> dict[str, list[Outcome]]:
    """Each round runs every contestant once, starting with another one each time."""
    inputs = work.write_inputs(work_dir / "inputs")

    def run(contestant: Contestant, world: World, folder: str, on_event: OnEvent) -> Outcome:
        server = addresses.get(contestant.name)
        place = work_dir / folder
        place.mkdir()
        with yarn_for(contestant, server, place / "yarn") as yarn:
            return run_applications(
                contestant,
                world=world,
                jobs=work.jobs,
                inputs=inputs,
                yarn=yarn,
                server=server,
                work_dir=place,
                on_event=on_event,
            )

    return take_turns(competitors, rounds, run, n_jobs=len(work.jobs), console=console)
