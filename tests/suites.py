"""Which checks belong to which tier? Runs them one after the other and ends with one summary line.

`python -m tests.suites lint|unit|test|test-full`. A tier goes on after a failed suite, so that one run shows all.
What passed for a commit is remembered: `test-full` goes on from there, and writes build/test-full.json, which is
committed as tests/test-full.json.
"""

import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "test-results"
SUREFIRE = "jvm-shim/*/target/surefire-reports/TEST-*.xml"
SEED = int(os.environ.get("FULL_SEED", "1"))
"""From which the random stories of `test-full` are drawn."""


@dataclass(frozen=True, slots=True)
class Suite:
    """One command; `minutes` is its budget on two cores, after which it counts as failed."""

    name: str
    command: tuple[str, ...]
    minutes: float


def _python(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, *arguments)


def _pytest(name: str, *arguments: str, minutes: float) -> Suite:
    report = f"--junitxml={RESULTS / name}.xml"
    return Suite(name, _python("-m", "pytest", report, "--durations=5", *arguments), minutes)


LINT = (
    Suite("style", _python("-m", "ruff", "check", "."), 1),
    Suite("types", _python("-m", "mypy"), 2),
    Suite("layers", (str(Path(sys.executable).with_name("lint-imports")), "--no-cache"), 1),
)
UNIT = (
    *LINT,
    Suite("kernels", _python("-m", "controlplane.engine.warming"), 6),
    _pytest("doctests", "--doctest-modules", "controlplane", "spark_listener", "yarn_bridge", minutes=4),
    _pytest("unit", "-m", "unit", minutes=8),
)
TEST = (
    *UNIT,
    Suite("java", ("mvn", "-B", "-q", "-f", "jvm-shim/pom.xml", "verify"), 8),
    Suite("wheel", _python("-m", "tests.wheel", str(RESULTS / "wheel.xml")), 12),
    _pytest("browser", "-m", "browser", minutes=8),
    _pytest("integration", "-m", "integration and not full", minutes=60),
)
FULL = (*TEST, _pytest("full", "-m", "full", f"--hypothesis-seed={SEED}", minutes=600))
TIERS = {"lint": LINT, "unit": UNIT, "test": TEST, "test-full": FULL}


def run(suite: Suite) -> bool:
    """Run one suite with its output shown; True if it passed within its budget."""
    print(f"--- {suite.name}", flush=True)
    started = time.monotonic()
    with subprocess.Popen(suite.command, cwd=ROOT, start_new_session=True) as process:
        try:
            code = process.wait(timeout=suite.minutes * 60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 15)
            code = f"no end after {suite.minutes:g} minutes"
        except BaseException:
            os.killpg(process.pid, 15)
            raise
    verdict = "passed" if code == 0 else f"FAILED ({code})"
    print(f"--- {suite.name} {verdict} in {time.monotonic() - started:.0f} s", flush=True)
    return code == 0


def count() -> tuple[int, int]:
    """(passed, failed) over all reports of this run, pytest's and surefire's."""
    passed = failed = 0
    for report in [*RESULTS.glob("*.xml"), *ROOT.glob(SUREFIRE)]:
        for suite in ET.parse(report).getroot().iter("testsuite"):
            bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            failed += bad
            passed += int(suite.get("tests", 0)) - bad - int(suite.get("skipped", 0))
    return passed, failed


def main(tier: str) -> int:
    """Run a tier; returns the process's exit code."""
    describe = ["git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"]
    head = subprocess.run(describe, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    done = ROOT / "build" / f"passed-{head}"
    before = set(done.read_text().split()) if done.exists() and not head.endswith("-dirty") else set()
    left = [suite for suite in TIERS[tier] if tier != "test-full" or suite.name not in before]
    if any(suite.name == "java" for suite in left):
        for old in ROOT.glob(SUREFIRE):
            old.unlink()
    results = {suite.name: True for suite in TIERS[tier]} | {suite.name: run(suite) for suite in left}
    done.parent.mkdir(exist_ok=True)
    done.write_text("\n".join(sorted(before - results.keys() | {name for name, ok in results.items() if ok})))
    passed, failed = count()
    broken = [name for name, ok in results.items() if not ok]
    if tier == "test-full":
        record = {"commit": head, "seed": SEED, "passed": passed, "failed": failed, "suites": results}
        (ROOT / "build" / "test-full.json").write_text(json.dumps(record, indent=2) + "\n")
    if broken:
        print(f"failed suites: {', '.join(broken)}")
    print(f"{tier}: {passed} passed, {max(failed, len(broken))} failed")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
