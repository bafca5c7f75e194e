"""Does an order keep the laws? Every copy, kill and allocation passes here; a refusal carries its reason.

Law 3: targets never exceed a pool's slots; a task's last live attempt dies only if the task is over; unsafe stages are
never copied; budgets hold; no host is asked to do what it cannot.
"""

from dataclasses import dataclass, field

import numpy as np

from controlplane.deciding.standing import attempts_reason, forbidden_reason
from controlplane.engine.budgets import Budgets
from controlplane.engine.growth import Growth, growth_of, tasks_of
from controlplane.engine.ledger import Ledger
from controlplane.engine.steering import Steering
from controlplane.estimators.host_slowness import HostHealth, rank_hosts
from controlplane.model.cluster import Cluster, SourceState, TaskKey
from controlplane.model.columns import Ints
from controlplane.model.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A task that a speculator, or an operator, wants copied."""

    task: int
    score: float
    reason: Reason
    before_waiting: bool
    relaunches: bool = False
    """Whether the attempt that it is copied from ends once the copy runs."""
    beyond_target: bool = False
    """Whether its job already holds its target, so that an executor must start for the copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a copy goes: a named host, any except those to avoid, or a future one, whose executor has yet to start.

    `ranking` is (host, negative rank), best first.
    """

    host: str = ""
    row: int = -1
    avoid: list[str] = field(default_factory=list)
    is_to_come: bool = False
    ranking: list[tuple[str, float]] = field(default_factory=list)


class Admission:
    """One cycle's gatekeeper: knows the budgets and the slots that copies on their way will use."""

    def __init__(
        self,
        cluster: Cluster,
        steering: Steering,
        budgets: Budgets,
        health: HostHealth,
        ledger: Ledger,
        now_s: float,
    ) -> None:
        self._cluster, self._steering, self._budgets, self._now_s = cluster, steering, budgets, now_s
        self._ledger = ledger
        self._bound_for: dict[str, dict[TaskKey, list[int]]] = {}
        self._health = health
        self._free: dict[int, tuple[Ints, Ints, np.ndarray]] = {}
        """By pool: (free slots, running attempts, whether there are any slots) by host row."""
        self._taken: dict[int, list[int]] = {}
        """By task, the host rows of the copies ordered in this cycle."""
        self._growth: dict[int, Growth] = {}
        """By pool."""

    @staticmethod
    def kill_refusal(cluster: Cluster, source: SourceState, row: int, doomed: int) -> Reason:
        """Why this attempt must live, or `NONE`; `doomed` of its task's live attempts are being killed already."""
        task = int(cluster.attempts.task[row])
        if not source.attached.capabilities.kill_copy:
            return Reason.HOST_CANNOT
        if not cluster.tasks.done[task] and cluster.tasks.n_live[task] - doomed <= 1:
            return Reason.LAST_ATTEMPT
        return Reason.NONE

    def admit(
        self, source: SourceState, candidate: Candidate, max_copies: int, to_host: str, *, is_shadow: bool
    ) -> tuple[Reason, Placement]:
        """`NONE` and a place for one copy, or the reason against it."""
        cluster, tasks, task = self._cluster, self._cluster.tasks, candidate.task
        capabilities, stage = source.attached.capabilities, int(tasks.stage[task])
        if tasks.done[task] or not tasks.n_live[task] or cluster.stages.closing[stage]:
            return Reason.TASK_OVER, Placement()
        verdict, copies_enabled = int(cluster.stages.verdict[stage]), bool(cluster.jobs.copies_enabled[tasks.job[task]])
        reason = forbidden_reason(verdict, copies_enabled, False, max_copies)
        reason = reason or attempts_reason(False, False, int(tasks.n_live[task]) + self._n_ordered(task), max_copies)
        if reason:
            return Reason(reason), Placement()
        if (to_host and not capabilities.named_host) or (candidate.relaunches and not capabilities.kill_copy):
            return Reason.HOST_CANNOT, Placement()
        over = self._budgets.refusal(int(tasks.job[task]), source.row, is_shadow=is_shadow)
        if over:
            return over, Placement()
        return self._place(source, candidate, to_host)

    def spend(self, source: SourceState, task: int, placement: Placement, *, is_shadow: bool) -> None:
        """Count a copy that is ordered, or would be."""
        self._budgets.order(int(self._cluster.tasks.job[task]), source.row, is_shadow=is_shadow)
        if placement.row >= 0:
            self._free[source.row][0][placement.row] -= 1
            self._taken.setdefault(task, []).append(placement.row)

    def straggler(self, task: int) -> int:
        """Row of a task's live attempt that the decision is about: the oldest original, else the oldest."""
        attempts = self._cluster.attempts
        return min(self._cluster.attempts_of(task), key=lambda row: (attempts.speculative[row], attempts.start_s[row]))

    def _bound(self, source: SourceState) -> dict[TaskKey, list[int]]:
        """By task, the host rows of the copies that earlier cycles have ordered and that have not started."""
        if source.name not in self._bound_for:
            bound = self._bound_for[source.name] = {}
            for order in self._ledger.on_their_way(source.name, self._now_s):
                bound.setdefault(order.task, []).append(self._cluster.host_rows[order.host])
        return self._bound_for[source.name]

    def _place(self, source: SourceState, candidate: Candidate, to_host: str) -> tuple[Reason, Placement]:
        cluster, task = self._cluster, candidate.task
        free, running, has_slots = self._pool_hosts(source)
        named = cluster.host_rows.get(to_host, -1)
        is_only_host = np.count_nonzero(has_slots) == 1 and (not to_host or (named >= 0 and has_slots[named]))
        if is_only_host and not candidate.beyond_target and self._has_other_executor(source, task):
            return Reason.NONE, Placement()
        own = np.zeros(cluster.hosts.size, dtype=bool)
        for row in cluster.attempts_of(task):
            own[cluster.attempts.host[row]] = True
        for row in (*self._taken.get(task, ()), *self._bound(source).get(cluster.task_key(task), ())):
            own[row] = True
        if to_host:
            if named < 0 or not has_slots[named] or own[named]:
                return Reason.NO_OTHER_HOST, Placement()
            return Reason.NONE, Placement(host=to_host, row=named)
        # Where no host of the pool is healthy, one is as good as another.
        sick = self._health.sick & (has_slots & ~self._health.sick).any()
        local = self._local(task)
        best = rank_hosts(
            slots_free=free, running=running, slowness=self._health.slowness, sick=sick, local=local, forbidden=own
        ).tolist()
        names = cluster.host_names
        ranking = [(f"host {names[row]}", -float(rank)) for rank, row in enumerate(best)]
        avoid = [names[row] for row in np.flatnonzero(has_slots & (own | sick)).tolist()]
        if not best or candidate.beyond_target:
            refusal = self._growth_refusal(source, candidate)
            may_wait = not candidate.beyond_target and (has_slots & ~own & ~sick).any()
            placement = Placement(avoid=avoid, ranking=ranking, is_to_come=not refusal)
            return Reason.NONE if may_wait else refusal, placement
        if source.attached.capabilities.named_host:
            return Reason.NONE, Placement(host=names[best[0]], row=best[0], ranking=ranking)
        return Reason.NONE, Placement(avoid=avoid, ranking=ranking)

    def _has_other_executor(self, source: SourceState, task: int) -> bool:
        """Whether an executor has neither an attempt nor an ordered copy of the task: a single host gives it that."""
        taken = np.unique(self._cluster.attempts.executor[self._cluster.attempts_of(task)])
        return len(source.executors) > len(taken) + self._n_ordered(task)

    def _n_ordered(self, task: int) -> int:
        """Copies of a task that are on their way."""
        tasks = self._cluster.tasks
        return int(tasks.ordered_copies[task]) if tasks.ordered_until_s[task] > self._now_s else 0

    def _growth_refusal(self, source: SourceState, candidate: Candidate) -> Reason:
        """Why no executor starts for one more copy; `NONE` if one does."""
        otherwise = Reason.NO_SLOT_IN_TARGET if candidate.beyond_target else Reason.NO_OTHER_HOST
        if not source.attached.executor_limit:
            return otherwise
        if source.row not in self._growth:
            self._growth[source.row] = growth_of(self._cluster, self._steering, source, self._now_s)
        tasks = tasks_of(self._cluster, source, self._budgets.ordered_by_job)
        return self._growth[source.row].refusal(tasks, otherwise)

    def _local(self, task: int) -> np.ndarray:
        cluster = self._cluster
        fact = cluster.stage_infos[int(cluster.tasks.stage[task])].fact
        local = np.zeros(cluster.hosts.size, dtype=bool)
        if fact.preferred_hosts:
            for name in fact.preferred_hosts[int(cluster.tasks.index[task])]:
                if name in cluster.host_rows:
                    local[cluster.host_rows[name]] = True
        return local

    def _pool_hosts(self, source: SourceState) -> tuple[Ints, Ints, np.ndarray]:
        executors, n_hosts = self._cluster.executors, self._cluster.hosts.size
        if source.row not in self._free:
            rows = source.executors.rows
            host = executors.host[rows]
            slots = np.bincount(host, weights=executors.slots[rows], minlength=n_hosts).astype(np.int64)
            running = np.bincount(host, weights=executors.running[rows], minlength=n_hosts).astype(np.int64)
            bound = np.array([row for rows in self._bound(source).values() for row in rows], dtype=np.int64)
            free = slots - running - np.bincount(bound, minlength=n_hosts)
            self._free[source.row] = (free, running, slots > 0)
        return self._free[source.row]
