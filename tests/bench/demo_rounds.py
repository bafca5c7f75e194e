"""What came out of the large demo's rounds at this commit? Those that are missing are run: a killed run goes on there.

A round's folder holds its outcomes, event logs and the control plane's store, with which the next one begins. So a
round counts only if all before it do, and one that was cut short leaves nothing behind.
"""

import os
import shutil
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path

import msgspec
from msgspec import Struct
from rich.console import Console

from controlplane.processes import exit_on_sigterm
from spark_listener.demo.application import Outcome
from spark_listener.demo.contestants import contestants
from spark_listener.demo.control_plane import control_plane, store_of
from spark_listener.demo.runner import only_one, run_rounds
from spark_listener.demo.world import SIZES
from spark_listener.local_cluster import LocalCluster
from tests.bench.__main__ import ROOT, commit

SIZE = SIZES["large"]
COMPETITORS = tuple(one for one in contestants() if one.name in ("stock", "stock-tuned", "hopper+ras"))
FIRST_SEED = 2001
"""The demo's seeds begin with 1, those of stock's tuning with 1001."""
ROUNDS = int(os.environ.get("DEMO_ROUNDS", "12"))
FOLDER = ROOT / "build" / "demo-ratio"


class Round(Struct, frozen=True, kw_only=True):
    """All contestants once, on one seed."""

    commit: str
    outcomes: dict[str, Outcome]


def measured(kind: str, rounds: int = ROUNDS, folder: Path = FOLDER) -> list[Round]:
    """The first `rounds` rounds of a world; those that this commit has not run yet are run.

    Raises SystemExit where files have changed during a round: what ran is nobody's.
    """
    at, found = commit(), kept(kind, rounds, folder)
    for number in range(len(found) + 1, rounds + 1):
        place = folder / kind / str(number)
        found.append(Round(commit=at, outcomes=run_round(kind, number, place)))
        if commit() != at:
            raise SystemExit(f"it is {commit()} by now, and was {at} when the round began")
        (place / "round.json").write_bytes(msgspec.json.encode(found[-1]))
    return found


def kept(kind: str, rounds: int = ROUNDS, folder: Path = FOLDER) -> list[Round]:
    """The rounds of a world, up to the first one that this commit has not run."""
    at = commit()
    each = (recorded(folder / kind / str(number), at) for number in range(1, rounds + 1))
    return [one for one in takewhile(bool, each) if one]


def event_log(kind: str, number: int, contestant: str) -> Path:
    """Spark's event log of a contestant's turn in a round."""
    (log,) = (FOLDER / kind / str(number) / f"{number}-{contestant}").glob("app-*")
    return log


def recorded(place: Path, at: str) -> Round | None:
    """The round in a folder, if commit `at` ran it; files that differ from their commit may differ again."""
    record = place / "round.json"
    if at.endswith("-dirty") or not record.exists():
        return None
    kept = msgspec.json.decode(record.read_bytes(), type=Round)
    return kept if kept.commit == at else None


def run_round(kind: str, number: int, place: Path) -> dict[str, Outcome]:
    """Run every contestant once; what is worth keeping is in `place` once all are through."""
    exit_on_sigterm()
    console = Console()
    world = SIZE.world(seed=FIRST_SEED + number - 1, kind=kind)
    console.print(f"{kind}, round {number}, seed {world.seed}")
    work_dir = place.parents[2] / "demo-ratio-running"
    with only_one(work_dir):
        with ExitStack() as stack:
            addresses = {}
            for one in COMPETITORS:
                if one.allocator:
                    before = store_of(one, place.with_name(str(number - 1)))
                    for part in before.parent.glob(f"{before.name}*"):  # none before the first round
                        shutil.copy(part, work_dir)
                    plane = control_plane(one, work_dir=work_dir, report=work_dir / "demo.json")
                    addresses[one.name] = stack.enter_context(plane)
            cluster = LocalCluster(cores_per_worker=SIZE.cores_per_worker, log_dir=work_dir / "cluster")
            outcomes = run_rounds(
                COMPETITORS, [world], SIZE.workload(), addresses, stack.enter_context(cluster), work_dir, console,
                first_round=number,
            )  # fmt: skip
        for folder in ("cluster", "inputs"):
            shutil.rmtree(work_dir / folder)
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        work_dir.rename(place)
    return {name: only for name, (only,) in outcomes.items()}
