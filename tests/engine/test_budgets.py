"""Does every copy that runs or is ordered count, once, in its job and in its pool?"""

import numpy as np
import pytest

from controlplane.engine.budgets import count_copies
from controlplane.model.columns import Attempts, Stages, Tasks

pytestmark = pytest.mark.unit


def test_copies_count_while_they_run_and_while_their_orders_live():
    """At 10 s: one copy of ours that runs since 7 s on two cores, two that are ordered, one whose order has expired."""
    tasks, attempts = np.zeros(4, dtype=Tasks().records.dtype), np.zeros(1, dtype=Attempts().records.dtype)
    stages = np.zeros(1, dtype=Stages().records.dtype)
    tasks["alive"], tasks["newest"] = True, -1
    tasks["job"], tasks["pool"] = [0, 0, 1, 1], [0, 0, 0, 1]
    tasks["n_copies"], tasks["ordered_copies"] = [1, 0, 0, 0], [0, 2, 1, 1]
    tasks["ordered_until_s"], tasks["done"] = [0.0, 11.0, 9.0, 11.0], [False, False, False, True]
    tasks["newest"][0], stages["cores"] = 0, 2
    attempts["speculative"], attempts["order"], attempts["start_s"], attempts["older"] = True, 5, 7.0, -1
    by_job, by_pool, ordered, core_s = *(np.zeros(2, dtype=np.int64) for _ in range(3)), np.zeros(2)
    count_copies(10.0, tasks, attempts, stages, by_job, by_pool, ordered, core_s)
    counts = [each.tolist() for each in (by_job, by_pool, ordered, core_s)]
    assert counts == [[3, 0], [3, 0], [2, 0], [6.0, 0.0]]
