"""How does the YARN demo proceed? Contestants take turns in the queue of one YARN, then the table and the page."""

from __future__ import annotations

import contextlib
from pathlib import Path

from rich.console import Console

from controlplane.processes import COMPILED_ONCE, free_port
from controlplane.yarn_demo.applications import run_applications
from controlplane.yarn_demo.contestants import contestants, order_of, streams, workload, worlds, yarn_of_all
from spark_listener.class_archive import quick_starts
from spark_listener.demo.application import Outcome
from spark_listener.demo.contestants import Contestant
from spark_listener.demo.control_plane import control_plane, store_of
from spark_listener.demo.report import rows_of
from spark_listener.demo.runner import (
    OnEvent,
    begin,
    check_results,
    conclude,
    is_attended,
    keep_page,
    only_one,
    take_turns,
    tell_store,
)
from spark_listener.demo.world import Workload, World


def run_demo(*, rounds: int, build_dir: Path, first_seed: int = 1) -> None:
    """All contestants, the same seeds for each, control planes that keep learning from round to round.

    Raises FileNotFoundError or ClusterError, before anything is started, for what is missing.
    """
    console = begin()
    report = build_dir / "demo-yarn.json"
    work_dir = build_dir / "demo-yarn"
    four, seeds = contestants(), worlds(first_seed, rounds)
    with only_one(work_dir):
        console.print("Starting a YARN: one ResourceManager, four NodeManagers. Control planes take turns, too;")
        console.print(f"their policies are {COMPILED_ONCE}.")
        outcomes = run_rounds(four, seeds, workload(), work_dir, report, console)
        rows = rows_of(four, outcomes, seeds[0].kind)
        conclude(rows, report, work_dir, console)
        if is_attended():
            with control_plane(four[-1], work_dir=work_dir, report=report) as address:
                keep_page(address, console)
        tell_store(store_of(four[-1], work_dir), console)
    check_results(rows)


def run_rounds(
    competitors: tuple[Contestant, ...],
    rounds: list[World],
    work: Workload,
    work_dir: Path,
    report: Path,
    console: Console,
    first_round: int = 1,
) -> dict[str, list[Outcome]]:
    """Each round runs every contestant once on one YARN, starting with a different one each time.

    The ResourceManager knows one address of a control plane; each contestant's own runs there during its turns.
    """
    inputs = work.write_inputs(work_dir / "inputs")
    port = free_port("127.0.0.1")

    def run(contestant: Contestant, world: World, folder: str, on_event: OnEvent) -> Outcome:
        place = work_dir / folder
        place.mkdir()
        yarn.configure_queues(order_of(contestant))
        yarn.refresh_queues()
        with contextlib.ExitStack() as stack:
            server = None
            if contestant.allocator:
                plane = control_plane(contestant, work_dir=work_dir, report=report, port=port)
                server = stack.enter_context(plane)
            return run_applications(
                contestant,
                world=world,
                streams=streams(work.jobs),
                inputs=inputs,
                yarn=yarn,
                server=server,
                work_dir=place,
                on_event=on_event,
            )

    with quick_starts(), yarn_of_all(f"http://127.0.0.1:{port}", work_dir / "yarn") as yarn:
        return take_turns(competitors, rounds, run, n_jobs=len(work.jobs), console=console, first_round=first_round)
