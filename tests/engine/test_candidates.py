"""Are the best copies tried first, and is another one given up only for what is too much for it, too?"""

from types import SimpleNamespace

import numpy as np
import pytest

from controlplane.engine.candidates import Candidates
from controlplane.model.columns import Tasks
from controlplane.model.reasons import Reason
from controlplane.policies.answer import SPECULATION

pytestmark = pytest.mark.unit

JOBS, POOLS, SCORES = [0, 0, 1, 2], [0, 0, 0, 1], [5.0, 9.0, 4.0, 3.0]


def chosen(is_shadow):
    """Copies of tasks of three jobs, the first two in one pool, and the reasons that the tasks have at first."""
    tasks = Tasks()
    for job, pool in zip(JOBS, POOLS, strict=True):
        tasks.add(job=job, pool=pool)
    answer = np.zeros(len(JOBS), dtype=SPECULATION)
    answer["score"], answer["reason"] = SCORES, Reason.SAVES_SLOT_TIME
    view = SimpleNamespace(rows=np.arange(len(JOBS)), answer=answer)
    return Candidates(np.arange(len(JOBS)), view, tasks, np.array(is_shadow)), answer["reason"]


@pytest.mark.parametrize(
    ("why", "is_shadow", "tried"),
    [
        (Reason.NO_OTHER_HOST, [False] * 3, [1, 0, 2, 3]),
        (Reason.NO_BUDGET_JOB, [False] * 3, [1, 2, 3]),
        (Reason.NO_BUDGET_POOL, [False] * 3, [1, 3]),
        (Reason.NO_BUDGET_POOL, [True, False, False], [1, 2, 3]),
        (Reason.NO_BUDGET_CLUSTER, [True, True, False], [1, 3]),
        (Reason.NO_BUDGET_WASTE, [True, False, False], [1, 3]),
    ],
)
def test_a_refusal_is_for_all_that_its_budget_counts(why, is_shadow, tried):
    """The best one is refused. Shadow copies count against one another alone, but for what losing ones have cost."""
    candidates, reasons = chosen(is_shadow)
    seen = []
    for place in candidates.best_first(10):
        if not seen:
            candidates.refuse(place, why)
        seen.append(place)
    assert seen == tried
    assert np.flatnonzero(reasons == why).tolist() == sorted({*range(4)} - {*tried[1:]})


def test_what_is_not_reached_says_so_unless_a_copy_of_it_is_ordered():
    """Two of four are tried."""
    candidates, reasons = chosen([False] * 3)
    for place in candidates.best_first(2):
        candidates.order(place)
    assert reasons.tolist() == [Reason.SAVES_SLOT_TIME, Reason.SAVES_SLOT_TIME, Reason.NOT_TRIED, Reason.NOT_TRIED]
