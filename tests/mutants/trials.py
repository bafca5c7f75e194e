"""Do the tests notice a change? Each is tried in a copy of the tree, by the tests that run the changed line."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.changes import Change
from tests.mutants.forks import Request
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


class Forks:
    """A process that runs pytest in a tree again and again, with kernels as plain Python."""

    def __init__(self, tree: Path, modules: Sequence[str] = (), **environment: str) -> None:
        self.tree = tree
        self._output = tree.with_suffix(".output")
        command = [sys.executable, "-P", str(Path(__file__).with_name("forks.py")), *modules]
        whole = os.environ | {"PYTHONPATH": str(tree), "NUMBA_DISABLE_JIT": "1", **environment}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, cwd=tree, env=whole, text=True, **pipes)

    def run(self, arguments: Sequence[str], seconds: float) -> tuple[int, str]:
        """Run pytest for as long as `seconds` of processor time call for; returns how it ended, and what it said."""
        limit_s = int(START_S + PATIENCE * seconds)
        request = Request(
            arguments=["-p", "no:cacheprovider", *arguments],
            output=str(self._output),
            cpu_s=limit_s,
            wall_s=int(BUSY * limit_s),
            memory_bytes=MEMORY_BYTES,
        )
        print(json.dumps(request), file=self._process.stdin, flush=True)
        code = int(self._process.stdout.readline())
        return code, self._output.read_text(errors="replace")

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def tried(forks: Forks, change: Change, recording: Recording) -> Outcome | None:
    """Whether a test fails with the change, twice, and not without it; one that does otherwise is not asked again.

    None where pytest does not come to its end, with the change or without it: the machine is too busy to tell.
    """
    while tests := chosen(recording, change):
        by = failing(forks, tests, recording, change)
        if by and by not in tests and failing(forks, tests, recording):
            return None
        if by not in tests or (failing(forks, [by], recording, change) and passes(forks, by, recording)):
            return Outcome(noticed=bool(by), tests=len(tests), by=by)
        recording.seconds.pop(by, None)
    return Outcome(noticed=False, tests=0)


def passes(forks: Forks, test: str, recording: Recording) -> bool:
    """Whether a test passes by itself without any change, which is asked once."""
    if test not in recording.steady and not failing(forks, [test], recording):
        recording.steady.add(test)
    return test in recording.steady


def failing(forks: Forks, tests: list[str], recording: Recording, change: Change | None = None) -> str:
    """The first test that fails in a tree, with a change of it or as it is; `exit` and a number if pytest ends else."""
    list_of_tests = forks.tree.with_suffix(".tests")
    list_of_tests.write_text("\n".join(tests))
    seconds = sum(recording.seconds.get(test, 0.0) for test in tests)
    with changed(forks.tree, change) if change else nullcontext():
        code, said = forks.run(("-x", "--doctest-modules", "--tb=no", f"@{list_of_tests}"), seconds)
    if code == 0:
        return ""
    lines = [line.partition(" ")[2] for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    failed = [test for test in tests if any(line.startswith(test) for line in lines)]
    return max(failed, key=len, default=f"exit {code}")


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
