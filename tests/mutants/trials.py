"""Do the tests notice a change? Each is tried in a copy of the tree, by the tests that run the changed line."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.changes import Change
from tests.mutants.recording import Recording

BUDGET_S = 20.0
"""Processor time, as recorded, of the tests that try one change: the first ones, and at least one."""
PATIENCE = 2.0
"""Tests that take that many times what they took are in an endless loop."""
START_S = 20.0
"""Processor time until pytest has started, at the most."""
BUSY = 4.0
"""Seconds for a second of processor time, at the most, on a machine that has something else to do."""
MEMORY_BYTES = 16 * 2**30
"""Address space; a loop that fills lists ends there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Whether a change was noticed, by how many tests at hand, and by which of them or by what else."""

    noticed: bool
    tests: int
    by: str = ""


def chosen(recording: Recording, change: Change) -> list[str]:
    """The tests that try a change."""
    tests, left_s = [], BUDGET_S
    for test in recording.tests_of(change.file, change.line):
        left_s -= recording.seconds.get(test, 0.0)
        if tests and left_s < 0:
            break
        tests.append(test)
    return tests


def run_pytest(tree: Path, arguments: Sequence[str], seconds: float, **more: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a tree, with kernels as plain Python, for as long as `seconds` of processor time call for."""
    limit_s = int(START_S + PATIENCE * seconds)
    limits = ("timeout", f"{BUSY * limit_s:.0f}", "prlimit", f"--cpu={limit_s}", f"--as={MEMORY_BYTES}")
    environment = os.environ | {"PYTHONPATH": str(tree), "NUMBA_DISABLE_JIT": "1", **more}
    command = [*limits, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


def tried(tree: Path, change: Change, recording: Recording) -> Outcome | None:
    """Whether a test fails with the change, twice, and not without it; one that does otherwise is not asked again.

    None where pytest does not come to its end, with the change or without it: the machine is too busy to tell.
    """
    while tests := chosen(recording, change):
        by = failing(tree, tests, recording, change)
        if by and by not in tests and failing(tree, tests, recording):
            return None
        if by not in tests or (failing(tree, [by], recording, change) and not failing(tree, [by], recording)):
            return Outcome(noticed=bool(by), tests=len(tests), by=by)
        recording.seconds.pop(by, None)
    return Outcome(noticed=False, tests=0)


def failing(tree: Path, tests: list[str], recording: Recording, change: Change | None = None) -> str:
    """The first test that fails in a tree, with a change of it or as it is; `exit` and a number if pytest ends else."""
    list_of_tests = tree.with_suffix(".tests")
    list_of_tests.write_text("\n".join(tests))
    seconds = sum(recording.seconds.get(test, 0.0) for test in tests)
    with changed(tree, change) if change else nullcontext():
        arguments = ("-x", "--doctest-modules", "--tb=no", f"@{list_of_tests}")
        ended = run_pytest(tree, arguments, seconds, PYTHONDONTWRITEBYTECODE="1")
    if ended.returncode == 0:
        return ""
    said = [line.partition(" ")[2] for line in ended.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    failed = [test for test in tests if any(line.startswith(test) for line in said)]
    return max(failed, key=len, default=f"exit {ended.returncode}")


@contextmanager
def changed(tree: Path, change: Change) -> Iterator[None]:
    """The tree with a change, for as long as this lasts."""
    path = tree / change.file
    source = path.read_text()
    try:
        path.write_text(change.apply(source))
        yield
    finally:
        path.write_text(source)
