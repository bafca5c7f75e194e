"""How much sooner is a sweep done by two cores than by one? The same cells here, and as tasks of Spark's `local[2]`."""

import time
from collections.abc import Sequence
from functools import partial

from controlplane.simulator.masterworker.scenario import MasterWorkerScenario
from controlplane.simulator.sweep import Cell, Compute, computing

CELLS = 48
RUNS = 5
GOAL = 1.8
SCENARIO = MasterWorkerScenario(policy="none", offered_load=0.8, jobs=2_000_000)
"""Some three quarters of a second of a core for each cell."""


def rows() -> list[dict]:
    """The row `sweep-scaling`: a sweep's time in one process over that on two cores, both of them warm."""
    cells = [partial(SCENARIO.simulate, seed) for seed in range(1, CELLS + 1)]
    with computing(None) as here, computing("local[2]") as spread:
        for compute in (here, spread):
            _seconds(compute, cells[:4])
        pairs = [(_seconds(here, cells), _seconds(spread, cells)) for _ in range(RUNS)]
    gains = sorted(alone / both for alone, both in pairs)
    return [
        {
            "name": "sweep-scaling",
            "value": round(gains[RUNS // 2], 2),
            "unit": "times",
            "peer": f"one process {sorted(alone for alone, _ in pairs)[RUNS // 2]:.1f} s",
            "ratio": None,
            "goal": GOAL,
            "met": gains[RUNS // 2] >= GOAL,
            "runs": RUNS,
            "spread": [round(gains[0], 2), round(gains[-1], 2)],
        }
    ]


def _seconds(compute: Compute, cells: Sequence[Cell]) -> float:
    begun_s = time.perf_counter()
    assert len(list(compute(cells))) == len(cells)
    return time.perf_counter() - begun_s
