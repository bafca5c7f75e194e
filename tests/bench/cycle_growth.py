"""How does the CPU time of a cycle grow with what runs? From 10,000 tasks to a million, which takes minutes."""

import numpy as np

from tests.bench.cycle import Pool

JOBS = 1_000, 100_000
TASKS_PER_JOB = 10
CYCLES = 10
WARM_UP = 5
GOAL_EXPONENT = 1.1


def rows() -> list[dict]:
    """Benchmark row `cycle-growth`: the power of the number of tasks that the median cycle's time grows with."""
    few_ms, many_ms = (float(np.median(Pool(jobs, TASKS_PER_JOB).cycles_ms(CYCLES, warm_up=WARM_UP))) for jobs in JOBS)
    exponent = round(float(np.log(many_ms / few_ms) / np.log(JOBS[1] / JOBS[0])), 3)
    return [
        {
            "name": "cycle-growth",
            "value": exponent,
            "unit": "exponent",
            "peer": f"{few_ms:.1f} to {many_ms:.0f} ms",
            "ratio": None,
            "goal": GOAL_EXPONENT,
            "met": exponent <= GOAL_EXPONENT,
            "runs": CYCLES,
            "spread": None,
        }
    ]
