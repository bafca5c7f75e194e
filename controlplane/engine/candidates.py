"""Which copy is tried next, and which others does a refusal speak for?"""

from collections.abc import Iterator

import numpy as np

from controlplane.deciding.choice import N_RIVALS, drop_done, pass_over, queue_wanted
from controlplane.engine.seeing import TaskView
from controlplane.model.cluster import Cluster
from controlplane.model.columns import Flags, Ints
from controlplane.model.reasons import Reason

POOL_BUDGETS = frozenset({Reason.NO_BUDGET_POOL, Reason.NO_BUDGET_CLUSTER, Reason.NO_BUDGET_WASTE})


class Candidates:
    """The copies that speculators want in one cycle. Each that is refused leaves its room to the next of its job."""

    def __init__(self, view: TaskView, cluster: Cluster, rooms: Ints, refusal: Ints, is_shadow: Flags) -> None:
        """`rooms` (2, n_jobs) and `refusal` (n_jobs,) as for `queue_wanted`, and changed by what is ordered or refused.

        `is_shadow` (n_jobs,) says whether a job's copies are only recorded.
        """
        self.rivals = np.full((len(refusal), N_RIVALS), -1, dtype=np.int64)
        """Places of the best tasks of each job."""
        self._view, self._cluster, self._rooms, self._refusal = view, cluster, rooms, refusal
        self._shadow, self._n_orders = is_shadow, 0
        self._queues = queue_wanted(view.rows, cluster.tasks.reported, rooms, refusal, view.answer, self.rivals)

    def best_first(self, most_orders: int, most: int) -> Iterator[int]:
        """Places by descending score, each to be ordered or refused before the next.

        At most `most`, and no more after `most_orders` new orders. A task with several copies comes once for each.
        Tasks that are not reached get a reason.
        """
        queues, view = self._queues, self._view
        queued = (view.rows, self._cluster.tasks.reported, self._rooms, self._refusal, view.answer)
        n_heads = len(queues.heads)
        for _ in range(most):
            n_heads = drop_done(queues, n_heads, *queued)
            if n_heads == 0 or self._n_orders == most_orders:
                break
            yield int(queues.heads[0])
        pass_over(queues, n_heads, *queued)

    def order(self, place: int, *, is_new: bool) -> None:
        """A copy of this task is ordered; its reason stays, even if another copy of it is refused.

        A shadow copy that stands since an earlier cycle is no new order.
        """
        self._n_orders += is_new
        self._queues.copies[place] -= 1
        self._rooms[:, self._cluster.tasks.job[self._view.rows[place]]] -= 1

    def refuse(self, place: int, why: Reason, *, beyond_target: bool) -> None:
        """No copy of this task is ordered any more, nor any other that would be refused for the same reason.

        A budget is its pool's or its job's. Shadow copies count only against one another, so a budget that refuses one
        of them may still allow an order. A job beyond its target has no executor to come for its other tasks either.
        Any other reason holds for the tasks of the pool that run where this one does.
        """
        row, kill = self._view.rows[place], bool(self._view.answer["kill"][place])
        job, pool, jobs = int(self._cluster.tasks.job[row]), int(self._cluster.tasks.pool[row]), self._cluster.jobs
        if why in POOL_BUDGETS:
            of_pool = jobs.pool[: len(self._refusal)] == pool
            is_apart = self._shadow[job] and why is not Reason.NO_BUDGET_WASTE
            self._close(of_pool & self._shadow if is_apart else of_pool, why)
        elif why is Reason.NO_BUDGET_JOB:
            self._close(job, why)
        elif beyond_target:
            self._close(job, why, n_kinds=1 + kill)
        else:
            self._refuse_alike(place, why)

    def _close(self, jobs: Flags | int, why: Reason, n_kinds: int = 2) -> None:
        """Leave these jobs no room for copies, or for neither kind."""
        self._rooms[:n_kinds, jobs], self._refusal[jobs] = 0, why

    def _refuse_alike(self, place: int, why: Reason) -> None:
        answer, copies, alike = self._view.answer, self._queues.copies, np.array([place])
        if self._cluster.tasks.n_live[self._view.rows[place]] == 1 and copies[place] == answer["copies"][place]:
            queued = self._queues.places
            alike = queued[(self._circumstances(queued) == self._circumstances(alike)).all(axis=0)]
        untouched = alike[copies[alike] == answer["copies"][alike]]
        answer["reason"][untouched], copies[alike] = why, 0

    def _circumstances(self, places: Ints) -> Ints:
        """Pool, number of attempts, host of the newest, and whether it ends once a copy runs; shape (4, n)."""
        tasks, attempts, rows = self._cluster.tasks, self._cluster.attempts, self._view.rows[places]
        host, kill = attempts.host[tasks.newest[rows]], self._view.answer["kill"][places]
        return np.stack([tasks.pool[rows], tasks.n_live[rows], host, kill])
