"""How does CPU time grow: a cycle's with what runs, up to a million tasks, and Algorithm 1's with the stragglers?"""

import time
from math import isqrt, log

import numpy as np

from controlplane.policies.shed_plus.assigning import SPARE_SLOTS, STRAGGLER, assign
from tests.bench.cycle import Pool

JOBS = 1_000, 100_000
TASKS_PER_JOB = 10
CYCLES = 10
WARM_UP = 5
GOAL_EXPONENT = 1.1
STRAGGLERS = 30**2, 300**2
MOST_COPIES = 5
RUNS = 5
GOAL_ASSIGN_EXPONENT = 1.5
"""Shed+, section IV.D: jobs squared times the stragglers of each."""


def rows() -> list[dict]:
    """`cycle-growth` and `assign-growth`: the power of the number of tasks, or stragglers, that the time grows with."""
    cycles_ms = [float(np.median(Pool(jobs, TASKS_PER_JOB).cycles_ms(CYCLES, warm_up=WARM_UP))) for jobs in JOBS]
    assign_ms = [float(np.median([_assign_ms(n) for _ in range(RUNS)])) for n in STRAGGLERS]
    return [
        _row("cycle-growth", JOBS, cycles_ms, CYCLES, GOAL_EXPONENT),
        _row("assign-growth", STRAGGLERS, assign_ms, RUNS, GOAL_ASSIGN_EXPONENT),
    ]


def _row(name: str, sizes: tuple[int, int], elapsed_ms: list[float], runs: int, goal: float) -> dict:
    exponent = round(log(elapsed_ms[1] / elapsed_ms[0]) / log(sizes[1] / sizes[0]), 3)
    return {
        "name": name,
        "value": exponent,
        "unit": "exponent",
        "peer": f"{elapsed_ms[0]:.1f} to {elapsed_ms[1]:.0f} ms",
        "ratio": None,
        "goal": goal,
        "met": exponent <= goal,
        "runs": runs,
        "spread": None,
    }


def _assign_ms(n: int) -> float:
    """Processor time in which as many jobs as each has stragglers, n in all, get every attempt that they may have."""
    asked, jobs = np.zeros(n, dtype=STRAGGLER), isqrt(n)
    asked["job"], asked["most"] = np.arange(n) % jobs, MOST_COPIES
    asked["miss"], asked["copy_miss"] = np.random.default_rng(1).uniform(0.1, 0.9, (2, n))
    spare = np.zeros(1, dtype=SPARE_SLOTS)
    spare["idle"] = MOST_COPIES * n
    started_s = time.process_time()
    assign(asked, np.zeros(jobs), spare, 0, 0.0, False)
    return (time.process_time() - started_s) * 1000
