"""What did a demo's rounds come to with this code? Missing rounds are run, so a killed run resumes.

A round's folder holds its outcomes, event logs and the control planes' stores, with which the next one begins. So a
round counts only if all before it do, and one that was cut short leaves nothing behind. The rounds may be run in
several sittings: `python -m tests.bench.demo_rounds` puts this one's outcomes where they can be committed, and the next
one goes on with empty stores.
"""

import hashlib
import shutil
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path

import msgspec
from msgspec import Struct
from rich.console import Console

from controlplane.policies.rows import ROWS
from controlplane.processes import exit_on_signals
from controlplane.simulator.provenance import fingerprint
from spark_listener.demo.application import Outcome
from spark_listener.demo.contestants import Contestant
from spark_listener.demo.control_plane import control_planes
from spark_listener.demo.report import print_table, rows_of, write_json
from spark_listener.demo.runner import check_results, only_one, run_rounds
from spark_listener.demo.world import Size, Workload, World
from spark_listener.local_cluster import LocalCluster
from tests.bench.__main__ import ROOT, commit

BULKY = ("cluster", "yarn", "inputs")
"""Parts of a round's folder that nobody reads once it is over."""
EARLIER = ROOT / "tests" / "bench" / "rounds"
"""Rounds of earlier sittings, `<folder>/<number>.json`."""
DECIDING = {
    "controlplane": ("api/shim.py", "runtime/live.py", "yarn_demo/runner.py"),
    "spark_listener": ("demo/runner.py", "demo/workload.py"),
}
"""Entry points of the code that takes part in a round, by package, beside the policies that contestants run under.
Pages, commands and reports do not."""
ALL_POLICIES = ROOT / "controlplane" / "policies" / "rows.py"
"""Its imports would make every policy take part."""
NOT_PYTHON = (
    *(f"jvm-shim/shim-{module}/src/main/java/**/*.java" for module in ("core", "spark", "yarn")),
    "requirements/run.lock",
)


class Round(Struct, frozen=True, kw_only=True):
    """All contestants once, on one seed."""

    commit: str
    code: str
    outcomes: dict[str, Outcome]


def measured(
    folder: Path, rounds: int, competitors: Sequence[Contestant], run: Callable[[int, Path], dict[str, list[Outcome]]]
) -> dict[str, list[Outcome]]:
    """Each competitor's outcomes of the first `rounds` rounds; those that this code has not run yet are run.

    `run` gets a round's number and a folder to work in, which holds the stores of the round before.

    Raises SystemExit where files have changed during a round: it is not known which code ran.
    """
    exit_on_signals()
    at, found = commit(), kept(folder, rounds, competitors)
    work_dir = folder.with_name("demo-round")
    for number in range(len(found) + 1, rounds + 1):
        print(f"{folder.name}, round {number} of {rounds}", flush=True)
        with only_one(work_dir):
            for part in (folder / str(number - 1)).glob("*.db*"):  # none before the first round
                shutil.copy(part, work_dir)
            outcomes = {name: only for name, (only,) in run(number, work_dir).items()}
            if (now := commit()) != at:
                raise SystemExit(f"it is {now} by now, and was {at} when the round began")
            found.append(Round(commit=at, code=code(policies_of(competitors)), outcomes=outcomes))
            (work_dir / "round.json").write_bytes(msgspec.json.encode(found[-1]))
            for name in BULKY:
                shutil.rmtree(work_dir / name, ignore_errors=True)
            place = folder / str(number)
            shutil.rmtree(place, ignore_errors=True)
            folder.mkdir(exist_ok=True)
            work_dir.rename(place)
    return {name: [one.outcomes[name] for one in found] for name in found[0].outcomes}


def kept(folder: Path, rounds: int, competitors: Sequence[Contestant]) -> list[Round]:
    """The rounds that count, up to the first one that is missing: a folder's, or an earlier sitting's."""
    if commit().endswith("-dirty"):
        return []  # files that differ from their commit may differ again
    now = code(policies_of(competitors))
    each = (
        recorded(folder / str(number) / "round.json", now) or recorded(EARLIER / folder.name / f"{number}.json", now)
        for number in range(1, rounds + 1)
    )
    return [one for one in takewhile(bool, each) if one]


def recorded(record: Path, ran: str) -> Round | None:
    """The round in a file, if the code with the fingerprint `ran` has run it."""
    if not record.exists():
        return None
    one = msgspec.json.decode(record.read_bytes(), type=Round)
    return one if one.code == ran else None


def policies_of(competitors: Iterable[Contestant]) -> frozenset[str]:
    """Names of the allocators and speculators that they run under."""
    return frozenset(name for one in competitors for name in (one.allocator, one.speculator) if name)


@cache
def code(policies: frozenset[str]) -> str:
    """A fingerprint of the code that takes part in a round; Python's comments and docstrings do not count."""
    data = b"".join(path.read_bytes() for pattern in NOT_PYTHON for path in sorted(ROOT.glob(pattern)))
    for package, files in entry_points(policies).items():
        data += fingerprint(package, files, b"", without={ALL_POLICIES}).encode()
    return hashlib.sha256(data).hexdigest()[:16]


def entry_points(policies: frozenset[str]) -> dict[Path, list[Path]]:
    """The files of `DECIDING`, by their package's folder, and those that policies of these names are in."""
    found = {ROOT / name: [ROOT / name / file for file in files] for name, files in DECIDING.items()}
    for row in ROWS:
        if row.name in policies:
            found[ROOT / "controlplane"].append(Path(str(sys.modules[row.kernel.__module__].__file__)))
    return found


def on_one_cluster(
    competitors: Sequence[Contestant], size: Size, world: World, work: Workload, number: int, work_dir: Path
) -> dict[str, list[Outcome]]:
    """Every contestant once in a world; ours have a control plane each, which begins with the stores in the folder."""
    with (
        control_planes(competitors, work_dir=work_dir, report=work_dir / "demo.json") as addresses,
        LocalCluster(cores_per_worker=size.cores_per_worker, log_dir=work_dir / "cluster") as cluster,
    ):
        return run_rounds(competitors, [world], work, addresses, cluster, work_dir, Console(), first_round=number)


def event_log(folder: Path, number: int, contestant: str) -> Path:
    """Spark's event log of a contestant's turn in a round."""
    (log,) = (folder / str(number) / f"{number}-{contestant}").glob("app-*")
    return log


def mean_times(
    contestants: Sequence[Contestant], outcomes: dict[str, list[Outcome]], kind: str, report: Path
) -> dict[str, list[float]]:
    """Each contestant's mean job time of every round, in seconds; prints the table, and keeps it as a report.

    Raises SystemExit if any contestant's results differ from stock's.
    """
    table = rows_of(contestants, outcomes, kind)
    print_table(table, Console())
    write_json(table, report)
    check_results(table)
    return {name: [statistics.fmean(one.job_s.values()) for one in rounds] for name, rounds in outcomes.items()}


def commit_sitting() -> None:
    """Put this sitting's rounds where the next one looks for them, to be committed."""
    for record in (ROOT / "build").glob("*/*/round.json"):
        place = EARLIER / record.parent.parent.name / f"{record.parent.name}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(record, place)


if __name__ == "__main__":
    commit_sitting()
