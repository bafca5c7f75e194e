"""Is this commit slower than another one? `python -m tests.bench.beside COMMIT NAMES...` runs both, in turns.

Each run of a named benchmark is a process of its own. Rows that both commits have go to
`build/beside.json` with the geometric mean of their paired ratios and its 95 % interval; a rate counts as its inverse.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.__main__ import ROOT, commit, machine, show
from tests.bench.statistics import ratio_interval

REPORT = ROOT / "build" / "beside.json"
LONGER = 1.05
"""The lower end of an interval may not lie above this ratio."""
ASK = "import importlib, json, sys; print(json.dumps(importlib.import_module('tests.bench.' + sys.argv[1]).rows()))"


def main() -> int:
    """Measures, shows the rows and keeps them; the exit code tells whether nothing takes longer."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.beside")
    parser.add_argument("commit", help="the other one")
    parser.add_argument("names", nargs="+", help="benchmarks, as for `python -m tests.bench`")
    parser.add_argument("--rounds", type=int, default=6)
    options = parser.parse_args()
    with checkout(options.commit) as other:
        found = [row for name in options.names for row in compared(name, other, options.commit, options.rounds)]
    report = {"machine": machine(), "commit": commit(), "beside": options.commit, "rows": found}
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=2) + "\n")
    show(found)
    return 0 if all(row["met"] for row in found) else 1


@contextmanager
def checkout(at: str) -> Iterator[Path]:
    """A worktree of that commit, for as long as it is compared."""
    with tempfile.TemporaryDirectory() as folder:
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", f"{folder}/other", at], check=True)
        try:
            yield Path(folder) / "other"
        finally:
            subprocess.run([*git, "remove", "--force", f"{folder}/other"], check=True)


def compared(name: str, other: Path, at: str, rounds: int) -> list[dict]:
    """The rows of one benchmark that both commits have; the order changes from round to round.

    A round before these compiles what has to be, and does not count.
    """
    values: dict[Path, dict[str, list[float]]] = {ROOT: {}, other: {}}
    unit = {}
    for turn in range(-1, rounds):
        print(f"--- {name}: {'warm-up' if turn < 0 else f'round {turn + 1} of {rounds}'}", flush=True)
        for root in (ROOT, other)[:: 1 if turn % 2 else -1]:
            for row in measured(name, root):
                unit[row["name"]] = row["unit"]
                if turn >= 0:
                    values[root].setdefault(row["name"], []).append(row["value"])
    both = [row for row in values[ROOT] if row in values[other]]
    return [compared_row(row, unit[row], values[ROOT][row], at, values[other][row]) for row in both]


def measured(name: str, root: Path) -> list[dict]:
    """A benchmark's rows in a checkout."""
    env = os.environ | {"PYTHONPATH": str(root)}
    ran = subprocess.run([sys.executable, "-c", ASK, name], cwd=root, env=env, stdout=subprocess.PIPE, check=True)
    return json.loads(ran.stdout.splitlines()[-1])


def compared_row(name: str, unit: str, ours: list[float], at: str, theirs: list[float]) -> dict:
    """A row whose ratio is of times.

    >>> row = compared_row("sim", "events/s", [2e6, 2e6], "abc", [1e6, 1e6])
    >>> row["ratio"], row["met"], row["peer"]
    (0.5, True, 'abc 1e+06')
    """
    pair = (theirs, ours) if unit.endswith("/s") else (ours, theirs)
    ratio, interval = ratio_interval(*pair)
    return {
        "name": name,
        "value": round(sum(ours) / len(ours), 2),
        "unit": unit,
        "peer": f"{at[:9]} {sum(theirs) / len(theirs):.5g}",
        "ratio": round(ratio, 3),
        "goal": LONGER,
        "met": min([ratio, *interval]) <= LONGER,
        "runs": len(ours),
        "spread": [round(bound, 3) for bound in interval],
    }


if __name__ == "__main__":
    sys.exit(main())
