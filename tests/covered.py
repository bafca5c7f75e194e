"""Which share of each package do the measured suites run? Statements and branches, one line for each package.

What they did not run is in the JSON report, by file and line. Processes that a test starts are measured like its own.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import coverage

ROOT = Path(__file__).resolve().parent.parent
COUNTED = ("num_statements", "covered_lines", "num_branches", "covered_branches")
NOTES = (
    "A kernel's body counts where a test runs it as plain Python (NUMBA_DISABLE_JIT=1); compiled, it is not seen.",
    "The tests of the simulator are not measured: of its code only what other tests run counts.",
)
"""What the shares leave out."""


def measured(command: Sequence[str], data_file: Path) -> tuple[str, ...]:
    """The same command of Python; each of its processes leaves a file whose name begins like `data_file`."""
    python, *arguments = command
    return (python, "-m", "coverage", "run", f"--data-file={data_file}", *arguments)


def shares(data_files: Sequence[Path], report: Path) -> list[str]:
    """What these files come to, in lines for people; the whole goes to `report`."""
    whole = coverage.Coverage(data_file=None, config_file=str(ROOT / "pyproject.toml"))
    whole.combine([str(each) for each in data_files], keep=True)
    whole.json_report(outfile=str(report))
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for file, found in sorted(json.loads(report.read_text())["files"].items()):
        counts = {name: found["summary"][name] for name in COUNTED}
        for package in (package_of(file), "all"):
            totals[package].update(counts)
    lines = [line(package, **counts) for package, counts in sorted(totals.items(), key=lambda each: each[0] == "all")]
    return [*lines, *NOTES]


def package_of(file: str) -> str:
    """The package that a file is counted for.

    >>> [package_of(f"controlplane/{file}") for file in ("main.py", "api/shim.py", "policies/grass/ras.py")]
    ['controlplane', 'controlplane.api', 'controlplane.policies']
    """
    return ".".join(file.split("/")[:-1][:2])


def line(package: str, *, num_statements: int, covered_lines: int, num_branches: int, covered_branches: int) -> str:
    """One package's share: statements and branches count alike.

    >>> line("controlplane.api", num_statements=1500, covered_lines=1400, num_branches=500, covered_branches=400)
    'controlplane.api           1,500 statements    500 branches   90.0 % covered'
    """
    share = (covered_lines + covered_branches) / max(1, num_statements + num_branches)
    return f"{package:<24}{num_statements:>8,} statements{num_branches:>7,} branches{100 * share:>7.1f} % covered"
