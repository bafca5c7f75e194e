"""Which benchmarks are run, and where do their rows go? `python -m tests.bench [names]` runs all, or those named.

Every module of this folder with a function `rows() -> list[dict]` is one. Its rows go to `build/bench.json` when it is
through, each with the commit that it measured (this one, unless it says another) and the machine's load before, in the
place of those of the same names; others stay.
"""

import importlib
import json
import os
import pkgutil
import platform
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

import tests.bench

ROOT = Path(__file__).resolve().parents[2]
REPORT = ROOT / "build" / "bench.json"


def main(names: list[str]) -> int:
    """Runs the benchmarks; the exit code tells whether every goal was met."""
    known = [module.name for module in pkgutil.iter_modules(tests.bench.__path__)]
    if unknown := set(names) - set(known):
        print(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    rows: list[dict] = []
    for name in names or known:
        module = importlib.import_module(f"tests.bench.{name}")
        if hasattr(module, "rows"):
            print(f"--- {name}", flush=True)
            at = {"commit": commit(), "load_1min": round(os.getloadavg()[0], 1)}
            measured = [at | row for row in module.rows()]
            keep(measured)
            rows += measured
    show(rows)
    return 0 if all(row["met"] is not False for row in rows) else 1


def keep(rows: list[dict]) -> None:
    """Write rows down beside those that are there already."""
    before = json.loads(REPORT.read_text())["rows"] if REPORT.exists() else []
    names = {row["name"] for row in rows}
    others = [row for row in before if row["name"] not in names]
    report = {"machine": machine(), "rows": others + rows}
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=2) + "\n")


def machine() -> dict:
    """What the numbers depend on."""
    cpus = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": cpus[0] if cpus else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(memory_gb, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def commit() -> str:
    """The commit measured, marked where files differ from it."""
    describe = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"]
    return subprocess.run(describe, capture_output=True, text=True, check=True).stdout.strip()


def show(rows: list[dict]) -> None:
    """The rows as a table."""
    table = Table("name", "value", "unit", "peer", "ratio", "goal", "met", "runs", "spread")
    for row in rows:
        cells = [row[column.header] for column in table.columns]
        table.add_row(
            *("" if cell is None else f"{cell:,}" if isinstance(cell, float) else str(cell) for cell in cells)
        )
    Console(width=140).print(table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
