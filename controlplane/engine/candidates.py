"""Which of the chosen copies is tried next, and which are refused together with it?"""

from collections.abc import Iterator

import numpy as np

from controlplane.engine.seeing import TaskView
from controlplane.model.columns import Flags, Ints, Tasks
from controlplane.model.reasons import Reason

TRIED = -np.inf
"""Replaces the score of a copy that has been ordered or refused."""
POOL_BUDGETS = frozenset({Reason.NO_BUDGET_POOL, Reason.NO_BUDGET_CLUSTER, Reason.NO_BUDGET_WASTE})


class Candidates:
    """The chosen copies of one cycle, by their places in a view: a task's place once for each of its copies."""

    def __init__(self, places: Ints, view: TaskView, tasks: Tasks, is_shadow: Flags) -> None:
        """`places` (n,) are ascending; `is_shadow` (n_jobs,) says whether a job's copies are only recorded."""
        rows = view.rows[places]
        self._places, self._jobs, self._pools = places, tasks.job[rows], tasks.pool[rows]
        self._shadow = is_shadow[self._jobs]
        self._left = np.append(view.answer["score"][places], TRIED)
        self._reasons, self._ordered = view.answer["reason"], np.zeros(len(view.rows), dtype=np.bool_)

    def best_first(self, most: int) -> Iterator[int]:
        """Places by descending score, up to `most`; the other tasks get the reason `NOT_TRIED`."""
        for _ in range(most):
            at = int(self._left.argmax())
            if self._left[at] == TRIED:
                return
            self._left[at] = TRIED
            yield int(self._places[at])
        self._give_up(self._left[:-1] > TRIED, Reason.NOT_TRIED)

    def order(self, place: int) -> None:
        """A copy of this task is ordered; its reason stays, even if another copy of it is refused."""
        self._ordered[place] = True

    def refuse(self, place: int, why: Reason) -> None:
        """No copy of this task is ordered any more, nor any of its pool or job that the same budget refuses.

        Shadow copies count only against one another, so a budget that refuses one of them may still allow an order.
        """
        task, waits = self._places == place, self._left[:-1] > TRIED
        if why in POOL_BUDGETS:
            of_pool = waits & (self._pools == self._pools[task][0])
            task |= of_pool & self._shadow if self._shadow[task][0] and why is not Reason.NO_BUDGET_WASTE else of_pool
        elif why is Reason.NO_BUDGET_JOB:
            task |= waits & (self._jobs == self._jobs[task][0])
        self._give_up(task, why)

    def _give_up(self, which: Flags, why: Reason) -> None:
        places = self._places[which]
        self._reasons[places[~self._ordered[places]]] = why
        self._left[:-1][which] = TRIED
