"""How long does the command line take before it does anything? Seconds on the clock, from the shell's side."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np

RUNS = 21
GOALS_S = {"--version": 0.12, "--help": None}
PROGRAM = str(Path(sys.executable).with_name("grasshopper"))


def rows() -> list[dict]:
    """Rows `cli-start`: the median of many starts, beside an interpreter that does nothing. Help draws tables, too."""
    return [_row(option, goal) for option, goal in GOALS_S.items()]


def _row(option: str, goal: float | None) -> dict:
    seconds = np.array([[_seconds(PROGRAM, option), _seconds(sys.executable, "-c", "")] for _ in range(RUNS)])
    own_s, bare_s = seconds.T
    took_s = float(np.median(own_s))
    return {
        "name": f"cli-start {option}",
        "value": round(took_s, 3),
        "unit": "s",
        "peer": f"bare python {np.median(bare_s):.3f}",
        "ratio": None,
        "goal": goal,
        "met": None if goal is None else took_s <= goal,
        "runs": RUNS,
        "spread": [round(float(own_s.min()), 3), round(float(own_s.max()), 3)],
    }


def _seconds(*command: str) -> float:
    begun_s = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun_s
