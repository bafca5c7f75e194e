"""How does the demo of Table 1 proceed? One cluster, one driver, one control plane, each schedule in turn."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import requests
from rich.console import Console
from rich.table import Table

from controlplane.processes import COMPILED_ONCE, exit_on_signals
from spark_listener.demo.application import COMMON_CONF, ApplicationError, driver_process, read_events, say
from spark_listener.demo.contestants import grasshopper
from spark_listener.demo.control_plane import control_plane, store_of
from spark_listener.demo.runner import keep_page, only_one, tell_store
from spark_listener.demo.table1 import (
    ENGINE,
    SCHEDULES,
    SLOTS,
    SPECULATOR,
    UNIT_S,
    Outcome,
    Schedule,
    outcome,
    spark_conf,
    stages_in_order,
    task_of,
    write_inputs,
)  # fmt: skip
from spark_listener.demo.table1_picture import svg
from spark_listener.event_log import read_attempts
from spark_listener.local_cluster import LocalCluster

MEMORY_MB = 4096
"""Cores of the one worker, one executor per slot."""


def run_table1(build_dir: Path) -> list[Outcome]:
    """Run the three schedules, print the table, write `build_dir`/demo-table1.json and .svg, keep the decision page."""
    exit_on_signals()
    console = Console()
    work_dir = build_dir / "demo-table1"
    with contextlib.ExitStack() as stack:
        stack.enter_context(only_one(work_dir))
        console.print(f"Starting a Spark cluster (one worker, {SLOTS} executors) and a control plane.")
        console.print(f"Its policies are {COMPILED_ONCE}.")
        first = grasshopper(SCHEDULES[0].allocator, SCHEDULES[0].speculator)
        address = stack.enter_context(control_plane(first, work_dir=work_dir, report=build_dir / "demo.json"))
        cluster = LocalCluster(
            workers=1, cores_per_worker=SLOTS, memory_per_worker_mb=MEMORY_MB, log_dir=work_dir / "cluster"
        )
        with cluster:
            outcomes, equal = run_schedules(cluster, address, work_dir, console)
        print_table(outcomes, console)
        write_report(outcomes, equal, build_dir)
        console.print(f"Written: {build_dir / 'demo-table1.json'} and its picture, demo-table1.svg")
        keep_page(f"{address}/demo", console)
    tell_store(store_of(first, work_dir), console)
    if not equal:
        raise SystemExit("the jobs' results differ from schedule to schedule")
    return outcomes


def run_schedules(cluster: LocalCluster, address: str, work_dir: Path, console: Console) -> tuple[list[Outcome], bool]:
    """Both jobs under each schedule, and whether their results are equal throughout. Raises ApplicationError.

    Hopper, the last, goes first: its slots a task follow the tail index, which the other schedules' copies would teach.
    """
    place = {"spark.master": cluster.master_url, "spark.eventLog.dir": work_dir.resolve().as_uri()}
    task = task_of(write_inputs(work_dir / "inputs"), COMMON_CONF | place | spark_conf(), address)
    log_path = work_dir / "driver.log"
    app_id, results, left = "", set(), list(SCHEDULES)
    with driver_process(cluster.spark_home, log_path, "spark_listener.demo.table1_program") as driver:
        say(driver, json.dumps(task))
        for event in read_events(driver):
            app_id = event.get("app_id", app_id)
            if event["event"] == "finished":
                results.add((event["job"], event["result"]))
            elif event["event"] in ("ready", "drained"):
                if not left:
                    assert driver.stdin is not None
                    driver.stdin.close()
                    continue
                schedule = left.pop()
                console.print(f"{schedule.name} ({schedule.policy})", highlight=False)
                choose(address, schedule)
                say(driver, "go")
    ended = stages_in_order(read_attempts(work_dir / app_id)) if app_id else []
    if len(ended) < len(SCHEDULES):
        raise ApplicationError(f"{len(ended)} of {len(SCHEDULES)} schedules ended; see {log_path}")
    outcomes = [outcome(schedule, stages) for schedule, stages in zip(SCHEDULES, reversed(ended), strict=True)]
    return outcomes, len(results) == len({job for job, _ in results})


def choose(address: str, schedule: Schedule) -> None:
    """Let the control plane decide by a schedule's policies from here on."""
    engine: dict[str, Any] = ENGINE | {
        "allocator": schedule.allocator,
        "allocator_settings": schedule.allocator_settings,
        "speculator": schedule.speculator,
        "speculator_settings": SPECULATOR,
    }
    wish: dict[str, Any] = {"reason": f"Table 1: {schedule.name}", "engine": engine}
    requests.patch(f"{address}/api/v1/settings", json=wish, timeout=30).raise_for_status()


def print_table(outcomes: list[Outcome], console: Console) -> None:
    """Print the paper's numbers next to the measured ones."""
    table = Table(title=f"Hopper's Table 1: when jobs A and B end, in units of {UNIT_S:g} s")
    for heading in ("schedule", "policies"):
        table.add_column(heading, no_wrap=True)
    for heading in ("paper A", "paper B", "here A", "here B"):
        table.add_column(heading, justify="right")
    for one in outcomes:
        ends = [*(f"{end:.0f}" for end in one.paper), *(f"{end:.1f}" for end in one.measured)]
        table.add_row(one.name, one.policy, *ends)
    console.print(table)


def write_report(outcomes: list[Outcome], equal: bool, build_dir: Path) -> None:
    """The numbers and the picture, each written whole: a control plane may be reading them."""
    report = {"unit_s": UNIT_S, "results_equal": equal, "schedules": [asdict(one) for one in outcomes]}
    for name, text in (("demo-table1.json", json.dumps(report, indent=2) + "\n"), ("demo-table1.svg", svg(outcomes))):
        draft = build_dir / f"{name}.{os.getpid()}"
        draft.write_text(text)
        draft.replace(build_dir / name)
