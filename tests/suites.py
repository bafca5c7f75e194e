"""Which checks belong to which tier? Runs them, some beside others, and ends with one summary line.

`python -m tests.suites lint|unit|test|test-full`. A tier goes on after a failed suite, so that one run shows all.
Where real daemons share a busy machine, a few tests that failed are tried once more, on daemons of their own; the
summary names each that passed only then. One that tests/test-full.json names as such already fails.
`test-full` ends with the share of the code that the measured suites ran, and writes build/coverage.json.
What passed for a commit is remembered, also if the run is killed: `test-full` goes on from there, and writes
build/test-full.json, which is committed as tests/test-full.json.
"""

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from controlplane.processes import exit_on_signals, write_whole
from tests.covered import measured, shares

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "test-results"
SUREFIRE = "jvm-shim/*/target/surefire-reports/TEST-*.xml"
TESTS_FAILED = 1
"""What pytest ends with when it has come to the end and some tests failed."""
TIMED_OUT = 124
"""What `timeout` ends with when it has ended a command."""
COVERED = ".coverage"
"""What the name of a measured suite's data begins with, after the suite's."""
AGAIN = "-again"
"""What the name of a suite's second try ends with."""
FEW = 3
"""With more failed tests than these a suite is broken, not disturbed, and is not tried again."""
SEED = int(os.environ.get("FULL_SEED", "1"))
"""From which the random stories of `test-full` are drawn."""


@dataclass(frozen=True, slots=True)
class Suite:
    """One command; it counts as failed after `minutes`, which do on two cores that have much else to do."""

    name: str
    command: tuple[str, ...]
    minutes: float
    beside: tuple[str, ...] = ()
    """Suites that it leaves a core to, and that may run at the same time."""
    disturbed: bool = False
    """Whether what else the machine does can fail its tests."""

    def again(self) -> "Suite":
        """The tests that failed, once more, in a process of their own."""
        name = self.name + AGAIN
        return replace(self, name=name, command=(*self.command, _report(name), "--last-failed"), disturbed=False)

    def measured(self) -> "Suite":
        """The same, which leaves behind which lines and branches it ran; it may take twice as long."""
        command = measured(self.command, RESULTS / f"{self.name}{COVERED}")
        return replace(self, command=command, minutes=2 * self.minutes)


def _python(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, *arguments)


def _report(name: str) -> str:
    return f"--junitxml={RESULTS / name}.xml"


def _pytest(name: str, *arguments: str, minutes: float, beside: tuple[str, ...] = (), disturbed: bool = False) -> Suite:
    command = _python("-m", "pytest", _report(name), "--durations=5", *arguments)
    return Suite(name, command, minutes, beside, disturbed)


LINT = (
    Suite("types", _python("-m", "mypy"), 2, beside=("style", "layers", "kernels")),
    Suite("style", _python("-m", "ruff", "check", "."), 1),
    Suite("layers", (str(Path(sys.executable).with_name("lint-imports")), "--no-cache"), 1),
)
PACKAGES = ("controlplane", "spark_listener", "yarn_bridge")
PROPERTIES = "tests/properties"
PLAIN = f"{PROPERTIES}/test_plain.py"
MODELS = ("tests/simulator", PROPERTIES)
"""Where half of the unit tests' time goes; they compute, and wait for nothing."""
WITHOUT_MODELS = tuple(f"--ignore={folder}" for folder in MODELS)
BESIDE_MODELS = ("doctests", "plain", "unit", "java")
QUICK_UNIT = "unit and not full"
UNIT = (
    *LINT,
    Suite("kernels", _python("-m", "controlplane.engine.warming"), 10),
    _pytest("models", "-m", QUICK_UNIT, *MODELS, f"--ignore={PLAIN}", minutes=20, beside=BESIDE_MODELS),
    _pytest("doctests", "--doctest-modules", *PACKAGES, "tests/bench", "tests/covered.py", minutes=5),
    _pytest("plain", "-m", "unit", PLAIN, minutes=10),
    _pytest("unit", "-m", QUICK_UNIT, *WITHOUT_MODELS, minutes=20),
)
PACKAGED = ("browser", "cli", "docs", "simulator/test_cli.py", "spark_listener", "wire", "yarn_bridge")
OF_THE_WHEEL = [f"tests/{name}" for name in (*PACKAGED, "api/test_rest.py", "store/test_store.py")]
"""Tests of what a wheel may lack: commands, pages, tables, traces, jars, and libraries that the rest imports."""
QUICK = "integration and not full"
YARN = "tests/integration/yarn"
TEST = (
    *UNIT,
    Suite("java", ("mvn", "-B", "-q", "-f", "jvm-shim/pom.xml", "verify"), 15),
    _pytest("soak", "-m", "soak and not full", minutes=40, beside=("wheel", "browser", "classes")),
    Suite("wheel", _python("-m", "tests.wheel", _report("wheel"), *OF_THE_WHEEL), 30),
    _pytest("browser", "-m", "browser", minutes=15, disturbed=True),
    Suite("classes", _python("-m", "spark_listener.class_archive"), 5),
    _pytest("spark", "-m", QUICK, f"--ignore={YARN}", minutes=45, disturbed=True),
    _pytest("yarn", "-m", QUICK, YARN, minutes=45, disturbed=True),
)
ON_OLDER_SPARK = [
    f"tests/integration/test_{name}.py"
    for name in ("approximate", "attachments", "copies", "modes", "plane_faults", "spark_faults", "targets", "writes")
]
OLDER_SPARK = _pytest("spark-3.5", "-m", QUICK, *ON_OLDER_SPARK, minutes=60, disturbed=True)
MEASURED = ("doctests", "plain", "unit")
"""Suites whose coverage `test-full` measures: it makes them take 1.4 to 1.8 times as long.

`models` is not measured: most of its time goes to kernels, which are not seen where they are compiled.
"""
FULL = (
    *(suite.measured() if suite.name in MEASURED else suite for suite in TEST),
    replace(OLDER_SPARK, command=("env", f"SPARK_UNDER_TEST={ROOT / 'build/spark-3.5/pyspark'}", *OLDER_SPARK.command)),
    Suite("wheel-full", _python("-m", "tests.wheel", _report("wheel-full"), f"--ignore={PROPERTIES}"), 30),
    Suite("programs", _python("-m", "tests.programs", "all"), 420),
    Suite("programs-3.5", _python("-m", "tests.programs", "all", "--spark", "3.5"), 180),
    _pytest("trials", "-m", "full", "--ignore=tests/integration", f"--hypothesis-seed={SEED}", minutes=300),
    _pytest("spark-full", "-m", "full", "tests/integration", f"--ignore={YARN}", minutes=300, disturbed=True),
    _pytest("yarn-full", "-m", "full", YARN, minutes=300, disturbed=True),
)
TIERS = {"lint": LINT, "unit": UNIT, "test": TEST, "test-full": FULL}


class Running:
    """A suite that was started; what one says beside others is shown when it is over."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self._started_s = time.monotonic()
        self._log = RESULTS / f"{suite.name}.log" if suite.beside else None
        print(f"--- {suite.name}{', beside what follows' if suite.beside else ''}", flush=True)
        with self._log.open("wb") if self._log else nullcontext() as output:
            command = ("timeout", f"{suite.minutes}m", *suite.command)
            self._process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, stdout=output, stderr=output)

    def wait(self) -> int:
        """Waits for its end; what it ended with, 0 if it passed within its budget."""
        code = self._process.wait()
        took = f" in {time.monotonic() - self._started_s:.0f} s"
        if self._log:
            print(self._log.read_text(errors="replace"), end="")
            took = ""
        why = f"no end after {self.suite.minutes:g} minutes" if code == TIMED_OUT else code
        print(f"--- {self.suite.name} {f'FAILED ({why})' if code else 'passed'}{took}", flush=True)
        return code

    def end(self) -> None:
        """Ends it with all that it has started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait()


def run(suites: Sequence[Suite], on_end: Callable[[dict[str, bool]], object] = lambda _: None) -> dict[str, bool]:
    """Run suites in their order; by name, whether each passed. `on_end` hears it of those that have ended."""
    results: dict[str, bool] = {}
    running: list[Running] = []

    def finish(some: list[Running]) -> None:
        for one in some:
            suite, code = one.suite, one.wait()
            running.remove(one)
            if code == TESTS_FAILED and suite.disturbed and 0 < len(_failed(suite.name)) <= FEW:
                running.append(again := Running(suite.again()))
                code = again.wait()
                running.remove(again)
            results[suite.name] = code == 0
            on_end(results)

    try:
        for suite in suites:
            finish([one for one in running[::-1] if suite.name not in one.suite.beside])
            running.append(Running(suite))
        finish(running[::-1])
    finally:
        for one in running:
            one.end()
    return results


def _outcomes(report: Path) -> dict[tuple[str, str], bool]:
    """By class and name, whether each test of a report passed; skipped ones are not in it."""
    outcomes: dict[tuple[str, str], bool] = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        if case.find("skipped") is None:
            test = (case.get("classname", ""), case.get("name", ""))
            passed = case.find("failure") is None and case.find("error") is None
            outcomes[test] = outcomes.get(test, True) and passed
    return outcomes


def _failed(suite: str) -> set[tuple[str, str]]:
    report = RESULTS / f"{suite}.xml"
    return {test for test, passed in _outcomes(report).items() if not passed} if report.exists() else set()


class Count(NamedTuple):
    """What the tests of one run came to; one that several suites run is one test, and passed if it did in each."""

    passed: int
    runs: int
    """How often any passed, once for each suite."""
    failed: list[str]
    again: list[str]
    """Those that passed at the second try only."""


def count() -> Count:
    """Over this run's reports, pytest's and surefire's."""
    passed, runs, failed, again = set(), 0, set(), set()
    for report in [*RESULTS.glob("*.xml"), *ROOT.glob(SUREFIRE)]:
        if report.stem.endswith(AGAIN):
            continue
        second = report.with_stem(report.stem + AGAIN)
        mended = _outcomes(second) if second.exists() else {}
        for test, ok in _outcomes(report).items():
            name, is_mended = "::".join(test), not ok and mended.get(test, False)
            runs += ok or is_mended
            (passed if ok or is_mended else failed).add(name)
            if is_mended:
                again.add(name)
    return Count(len(passed - failed), runs, sorted(failed), sorted(again))


def relapsed(again: Sequence[str]) -> list[str]:
    """Of the tests that passed at the second try only, those that did so in the recorded run of `test-full`, too."""
    record = ROOT / "tests" / "test-full.json"
    before = json.loads(record.read_text())["again"] if record.exists() else []
    return [name for name in again if name in before]


def forget_reports(kept: set[str]) -> None:
    """Remove the reports of earlier runs, but for those of suites that this one counts without running them."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    for old in RESULTS.glob("*.xml"):
        if old.stem.removesuffix(AGAIN) not in kept:
            old.unlink()
    for old in RESULTS.glob(f"*{COVERED}.*"):
        if old.name.partition(COVERED)[0] not in kept:
            old.unlink()
    for old in () if "java" in kept else ROOT.glob(SUREFIRE):
        old.unlink()


def main(tier: str) -> int:
    """Run a tier; returns the process's exit code."""
    started_s = time.monotonic()
    describe = ["git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"]
    head = subprocess.run(describe, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    done = ROOT / "build" / f"passed-{head}"
    before = set(done.read_text().split()) if done.exists() and not head.endswith("-dirty") else set()
    left = [suite for suite in TIERS[tier] if tier != "test-full" or suite.name not in before]
    forget_reports({suite.name for suite in TIERS[tier] if suite not in left})

    def remember(ended: dict[str, bool]) -> None:
        done.parent.mkdir(exist_ok=True)
        write_whole(done, "\n".join(sorted(before - ended.keys() | {name for name, ok in ended.items() if ok})))

    results = {suite.name: True for suite in TIERS[tier]} | run(left, remember)
    found = count()
    broken, twice = [name for name, ok in results.items() if not ok], relapsed(found.again)
    if tier == "test-full":
        record = {"commit": head, "seed": SEED, **found._asdict(), "suites": results}
        (ROOT / "build" / "test-full.json").write_text(json.dumps(record, indent=2) + "\n")
    if data_files := sorted(RESULTS.glob(f"*{COVERED}.*")):
        print(*shares(data_files, ROOT / "build" / "coverage.json"), sep="\n")
    if broken:
        print(f"failed suites: {', '.join(broken)}")
    if found.again:
        print(f"passed at the second try only: {', '.join(found.again)}")
    if twice:
        print(f"failed, for tests/test-full.json says that they needed a second try before: {', '.join(twice)}")
    took_min = (time.monotonic() - started_s) / 60
    n_failed = max(len(found.failed), len(broken)) + len(twice)
    told = f"{found.passed - len(twice)} tests passed ({found.runs} runs, {len(found.again)} retried)"
    print(f"{tier}: {told}, {n_failed} failed in {took_min:.0f} minutes")
    return 1 if broken or twice else 0


if __name__ == "__main__":
    exit_on_signals()
    sys.exit(main(sys.argv[1]))
