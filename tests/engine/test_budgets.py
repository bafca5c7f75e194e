"""Does every copy that runs or is ordered count, once, in its job and in its pool?"""

import numpy as np
import pytest

from controlplane.deciding.budgets import Limits, over_budget
from controlplane.engine.budgets import count_copies
from controlplane.model.columns import Attempts, Stages, Tasks
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Reason

pytestmark = pytest.mark.unit


def test_copies_count_while_they_run_and_while_their_orders_live():
    """At 10 s: one copy of ours that runs since 7 s on two cores, two that are ordered, one whose order has expired."""
    tasks, decided = np.zeros(4, dtype=Tasks().reported.dtype), np.zeros(4, dtype=Tasks().decided.dtype)
    attempts, stages = np.zeros(1, dtype=Attempts().reported.dtype), np.zeros(1, dtype=Stages().reported.dtype)
    tasks["alive"], tasks["newest"] = True, -1
    tasks["job"], tasks["pool"] = [0, 0, 1, 1], [0, 0, 0, 1]
    tasks["n_copies"], decided["ordered_copies"] = [1, 0, 0, 0], [0, 2, 1, 1]
    decided["ordered_until_s"], tasks["done"] = [0.0, 11.0, 9.0, 11.0], [False, False, False, True]
    tasks["newest"][0], stages["cores"] = 0, 2
    attempts["speculative"], attempts["order"], attempts["start_s"], attempts["older"] = True, 5, 7.0, -1
    by_job, by_pool, ordered, core_s = *(np.zeros(2, dtype=np.int64) for _ in range(3)), np.zeros(2)
    count_copies(10.0, tasks, decided, attempts, stages, by_job, by_pool, ordered, core_s)
    counts = [each.tolist() for each in (by_job, by_pool, ordered, core_s)]
    assert counts == [[3, 0], [3, 0], [2, 0], [6.0, 0.0]]


@pytest.mark.parametrize(("losing_core_s", "reason"), [(25.0, Reason.NONE), (25.1, Reason.NO_BUDGET_WASTE)])
def test_a_quarter_of_the_time_may_go_to_losing_copies_unless_set(losing_core_s, reason):
    """Of 100 core-seconds; that is more than half a task for each of the pool's slots, which is allowed in any case."""
    core_s = {"losing_core_s": losing_core_s, "total_core_s": 100.0, "task_core_s": 1.0}
    assert over_budget(Limits.of(EngineSettings()), **core_s, copies=(0, 0, 0), slots=(8, 800)) == reason
