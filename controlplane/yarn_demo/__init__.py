"""What do stragglers cost under each scheduler when applications share a YARN queue? `grasshopper demo-yarn`."""

from __future__ import annotations

from pathlib import Path


def run(rounds: int = 1, build_dir: Path = Path("build"), first_seed: int = 1) -> None:
    """Run all contestants `rounds` times, print the table, write `build_dir`/demo-yarn.json, keep the decision page.

    Spark and everything heavy is imported only here.
    """
    from controlplane.yarn_demo.runner import run_demo

    run_demo(rounds=rounds, build_dir=build_dir, first_seed=first_seed)
