"""What do stragglers cost on a real Spark cluster under each scheduler? `grasshopper demo`."""

from __future__ import annotations

from pathlib import Path


def run(
    rounds: int = 1,
    world: str = "independent",
    size: str = "small",
    build_dir: Path = Path("build"),
    first_seed: int = 1,
) -> None:
    """Run all contestants `rounds` times, print the table, write `build_dir`/demo.json, keep the decision page.

    `world` is `independent` (a copy draws its slowness again), `data` (a copy meets the same slowness again) or `half`
    (it does for half of the tasks). `size` is `small` (10 jobs, 8 slots) or `large` (40 jobs, 24 slots).
    Spark and everything heavy is imported only here.
    """
    from spark_listener.demo.runner import run_demo
    from spark_listener.demo.world import SIZES

    run_demo(rounds=rounds, world_kind=world, size=SIZES[size], build_dir=build_dir, first_seed=first_seed)


def run_deadlines(rounds: int = 1, world: str = "independent", build_dir: Path = Path("build")) -> None:
    """Jobs with deadlines, at two loads: how many keep theirs under tuned stock, and under two of our policies?"""
    from spark_listener.demo import deadlines_runner

    deadlines_runner.run_deadlines(rounds=rounds, world_kind=world, build_dir=build_dir)


def run_table1(build_dir: Path = Path("build")) -> None:
    """Run Hopper's Table 1: two jobs on seven slots under three policies, next to the paper's numbers."""
    from spark_listener.demo import table1_runner

    table1_runner.run_table1(build_dir)
