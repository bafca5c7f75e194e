"""What happens in one scheduling cycle? Facts in, orders out; no clock, no chance, no I/O.

`handle` runs the numbered steps of a cycle: apply the facts, learn from them, hear the operators, allocate slots per
pool, pick copies per job and order waiting tasks per stage, foretell whether deadlines are kept, answer. The live
driver calls it; the cluster simulator calls the same rules and policies (`deciding/`).
"""

from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from itertools import compress, count, repeat
from typing import Any

import numpy as np

from controlplane.engine import seeing
from controlplane.engine.allocation import allocate
from controlplane.engine.applications import drivers_of, queue_of, review_memberships
from controlplane.engine.avoidance import avoid_sick_hosts
from controlplane.engine.copies import order_kill
from controlplane.engine.cycle import Cycle
from controlplane.engine.draining import drain_executors
from controlplane.engine.late_jobs import stop_late_jobs
from controlplane.engine.learning import Learning
from controlplane.engine.ledger import Ledger, OpenOrder
from controlplane.engine.moment import Moment, moment
from controlplane.engine.promises import settle, write_outlooks
from controlplane.engine.remits import remits, remits_of
from controlplane.engine.snapshot import describe, take_hosts
from controlplane.engine.speculation import note_inputs, speculate
from controlplane.engine.steering import Steering
from controlplane.engine.still import still
from controlplane.engine.waiting import order_waiting, orders_waiting
from controlplane.engine.wishes import fulfil, kill_copies_where_off
from controlplane.hosts import KINDS, kind_of
from controlplane.hosts.answers import NO_SLOT
from controlplane.model.apply import apply, forget
from controlplane.model.changes import Changes
from controlplane.model.cluster import Claimed, Cluster, SourceState, TaskKey
from controlplane.model.decisions import Decision, DecisionOutcome, Report, Stimulus, StockCopy
from controlplane.model.facts import Fact, Mode, OrderResult
from controlplane.model.orders import Claim
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Reason
from controlplane.model.snapshot import HostState, Snapshot

IDS_PER_EPOCH = 2**20
"""Most decisions of one run for which ids are reserved before those of a run begun one epoch later."""
LAST_EPOCH = 2**53 // IDS_PER_EPOCH - 1
"""The last epoch of which every id fits the wire."""
RETRY_S = 1.0
"""After a refused or expired order a task is left alone for this long."""
POLICY_SETTINGS = (
    "allocator", "allocator_settings", "speculator", "speculator_settings", "job_speculators", "copy_budget",
    "copy_budget_settings",
)  # fmt: skip
"""Settings that say which policies decide, and how."""


@lru_cache(maxsize=100_000)
def _claim(job: str, lease_ms: int) -> Claim:
    """The claim of a job, made once: it is repeated in every answer."""
    return Claim(job=job, lease_ms=lease_ms)


class Scheduler:
    """The engine: owns the cluster's state, learned state, and open orders."""

    def __init__(self, settings: EngineSettings, *, order_epoch: int = 0) -> None:
        """`order_epoch` keeps ids of orders and decisions of different runs apart.

        With the second of the start as epoch they grow from run to run, and fit the 53 bits of the wire.
        """
        self.cluster = Cluster(KINDS)
        self.ledger = Ledger()
        self.steering = Steering(settings)
        self.learning = Learning(settings)
        self.cycle = 0
        self._decision = Decision(cycle=0)
        """The newest one, as far as it has come."""
        self.refused: list[Fact] = []
        """Facts of the newest cycle that changed nothing, being bad or about unknown things."""
        self._view = seeing.TaskView()
        self._ids = count(order_epoch * IDS_PER_EPOCH + 1)

    @property
    def settings(self) -> EngineSettings:
        """The settings in force."""
        return self.steering.settings

    def configure(self, settings: EngineSettings) -> None:
        """Take new settings whole, or raise BadSetting and keep the old ones."""
        before = self.settings
        self.steering.configure(settings)
        self.learning.configure(settings)
        self.steering.note_named(self.cluster, self.cluster.job_infos)
        if any(getattr(before, name) != getattr(settings, name) for name in POLICY_SETTINGS):
            for source in self.cluster.sources.values():
                source.laws_broken.clear()

    def handle(self, batch: Sequence[Stimulus], now_s: float) -> tuple[Decision, float]:
        """Run one cycle; returns what it decided and when the next one is due at the latest.

        `now_s` is monotonic. The same calls in the same order give the same answers, bit for bit.
        """
        self.cycle += 1
        decision, changes = Decision(cycle=self.cycle), Changes()
        self._decision = decision

        # 1 apply: the only mutation of state by facts
        heard = [stimulus for stimulus in batch if isinstance(stimulus, Report)]
        for report in heard:
            apply(self.cluster, report, changes)
        decision.want_full |= changes.want_full
        decision.bad_facts += [(bad.source, str(bad)) for bad in changes.bad]
        self.refused = changes.refused

        # 2 learn, and settle orders
        self._judge_safety(changes.stages_submitted)
        # The host drops the grant with the job; so does the engine, since the same key may come again.
        self.cluster.jobs.granted_target[list(changes.jobs_ended)] = -1
        self.learning.learn(self.cluster, changes, now_s)
        seeing.follow_jobs(self.cluster, changes.jobs)
        if self.steering.nameable:
            self.steering.note_named(self.cluster, changes.jobs)
        decision.promises += settle(self.cluster, changes)
        for name in sorted(changes.detached):
            forget(self.cluster, name, changes)
        self.learning.samples.forget(changes.forgotten)
        replaced = self._replaced(changes)
        self._settle(changes, decision, now_s)
        cycle = Cycle(
            cluster=self.cluster,
            ledger=self.ledger,
            steering=self.steering,
            ids=self._ids,
            view=self._view,
            health=self.learning.host_health(self.cluster, now_s),
            samples=self.learning.samples.seen,
            now_s=now_s,
            decision=decision,
        )

        # 3 hear the queues about their drivers, end what was relaunched, and hear the operators
        due = self._pools_due(changes, now_s)
        review_memberships(cycle, due)
        due = self._with_queues(due, now_s)
        for source, row in replaced:
            order_kill(cycle, source, row, Reason.REPLACED)
        for stimulus in batch:
            fulfil(cycle, stimulus)
        kill_copies_where_off(cycle)
        stop_late_jobs(cycle, due)

        # 4 allocate per pool, speculate per job, order waiting tasks; 5 admit, which is part of each
        self._forget_leases(heard)
        self.learning.review_tails(self.cluster, due, now_s)
        self._ask_policies(cycle, due, changes.pools)

        # 6 answer
        purged = self.cluster.purge(now_s)
        self.ledger.forget_stages(purged.stages)
        self.learning.hosts.forget(purged.hosts)
        for name in {report.source: None for report in heard}:
            if name in self.cluster.sources:
                self._answer(self.cluster.sources[name], decision)
        return decision, self._next_review_s()

    def forget(self, source: str, now_s: float) -> list[DecisionOutcome]:
        """A source has been silent for too long: drop it and what it ran; returns how its open orders end."""
        changes = Changes()
        forget(self.cluster, source, changes)
        self.learning.samples.forget(changes.forgotten)
        races = [outcome for ended in changes.ended_with_source for outcome in self.ledger.ended(ended)]
        return races + self.ledger.forget(source, now_s)

    def reset(self, now_s: float) -> list[DecisionOutcome]:
        """Drop everything about running work, after a failed cycle: full reports restore the true state.

        Returns the outcomes that the failed cycle had received, and an end for every open order of earlier cycles. Its
        own orders are dropped.
        """
        unsent = {order.order for orders in self._decision.orders.values() for order in orders}
        ended = self._decision.outcomes + self.ledger.abandon(now_s, "a decision cycle failed", unsent)
        self.learning.samples.forget(self.cluster.sources)
        self.cluster, self.ledger = Cluster(KINDS), Ledger()
        self.learning.forget_rows()
        return ended

    def snapshot(self, now_s: float) -> Snapshot:
        """Everything that is live, as plain structs."""
        return describe(self._moment(self.cluster, now_s, True))

    def still(self, now_s: float, *, with_tasks: bool = True) -> Moment:
        """The contents of a snapshot, frozen as they are now; its `describe` may take its time."""
        return self._moment(still(self.cluster), now_s, with_tasks)

    def _moment(self, cluster: Cluster, now_s: float, with_tasks: bool) -> Moment:
        return moment(
            cluster,
            self.learning,
            self.ledger,
            copy(self.steering),
            cycle=self.cycle,
            now_s=now_s,
            with_tasks=with_tasks,
        )

    def hosts(self, now_s: float, part: slice = slice(None)) -> list[HostState]:
        """The hosts that have slots, with their state; in the order of `take_hosts`, a part of them."""
        confidence = self.learning.hosts.confidence(now_s, self.cluster.hosts.size)
        return take_hosts(self.cluster, self.learning.host_health(self.cluster, now_s), confidence, part)

    def mode_of(self, name: str) -> Mode:
        """Effective mode of a source; for an unknown one, the mode everywhere."""
        source = self.cluster.sources.get(name)
        return self.steering.mode(source) if source else self.settings.mode

    def modes(self) -> dict[str, Mode]:
        """Effective modes, by source."""
        return {name: self.steering.mode(source) for name, source in self.cluster.sources.items()}

    def n_attempts(self, name: str) -> tuple[int, int]:
        """How many attempts run in a source, and how many everywhere."""
        source = self.cluster.sources.get(name)
        return len(source.attempts) if source else 0, len(self.cluster.attempts)

    def n_running(self, name: str, attempts: set[int]) -> int:
        """How many of these attempts run in a source."""
        source = self.cluster.sources.get(name)
        return len(source.attempts.keys() & attempts) if source else 0

    def claims_of(self, name: str) -> list[Claim]:
        """The jobs of a source that we speculate for now; the same list again while they are the same."""
        source = self.cluster.sources.get(name)
        if source is None:
            return []
        rows, lease_ms, said = source.jobs.rows, self.settings.lease_ms, source.claimed
        flags = self.steering.claimed(self.cluster, source)[rows]
        if not (said and said.rows is rows and said.lease_ms == lease_ms and np.array_equal(said.flags, flags)):
            claims = list(map(_claim, compress(source.jobs, flags.tolist()), repeat(lease_ms)))
            said = source.claimed = Claimed(rows, flags, lease_ms, claims)
        return said.claims

    def learned(self) -> dict[str, Any]:
        """JSON-able state of all estimators, for the store."""
        return self.learning.dump()

    def restore(self, learned: dict[str, Any]) -> list[str]:
        """Recall the output of `learned` in an earlier run; returns the names of unusable parts."""
        return self.learning.load(learned)

    def _forget_leases(self, heard: list[Report]) -> None:
        """Have every lease renewed of a driver that has restarted or whose mode has changed: it holds none of them.

        The first lease in a new mode is a decision, and is recorded as one.
        """
        jobs = self.cluster.jobs
        for report in heard:
            source = self.cluster.sources.get(report.source)
            if source is None:
                continue
            mode = self.steering.mode(source)
            if not report.full and mode is source.lease_mode:
                continue
            rows = source.jobs.rows
            infos = [self.cluster.stage_infos[row] for row in source.stages.values()]
            source.avoided_s = source.most_executors_s = jobs.granted_s[rows] = -np.inf
            for info in infos:
                info.named_s = -np.inf
            if mode is not source.lease_mode:
                source.lease_mode, source.avoided = mode, {}
                jobs.granted_target[rows] = -1
                for info in infos:
                    info.named = []

    def _judge_safety(self, submitted: list[int]) -> None:
        """Whether the stages in these rows may run twice, by their host's rules; some may already be gone."""
        for row in submitted:
            if row in self.cluster.stage_infos:
                info = self.cluster.stage_infos[row]
                self.cluster.stages.verdict[row] = kind_of(info.source).verdict(info.fact).reason

    def _ask_policies(self, cycle: Cycle, due: list[SourceState], changed: set[int]) -> None:
        """Allocate where facts have changed a pool, by its row; speculate where something runs; order what waits.

        Then foretell whether deadlines will be kept.
        """
        sums = seeing.job_sums(self.cluster)
        for source in due:
            if source.row in changed:
                allocate(cycle, source, sums)
                avoid_sick_hosts(cycle, source)
                drain_executors(cycle, source)
        seeing.follow_pools(self.cluster, due, sums, cycle.now_s)
        asked = [source for source in due if source.attempts or orders_waiting(cycle, source)]
        if asked:
            deciding = remits(self.steering, self.cluster, asked)
            budgets = note_inputs(cycle, asked, deciding, sums)
            self.learning.estimate(self.cluster, cycle.health, cycle.now_s)
            speculate(cycle, asked, deciding, sums, budgets)
            self.learning.learn_of_races(self.cluster, self._view.raced)
            order_waiting(cycle, asked, deciding)
        else:
            self.learning.watch_hosts(self.cluster, cycle.now_s)
        write_outlooks(cycle, due, sums, is_viewed=bool(asked))

    def _settle(self, changes: Changes, decision: Decision, now_s: float) -> None:
        """Match orders with their outcomes."""
        for name, started in changes.launched:
            for applied in self.ledger.launched(name, started, now_s):
                decision.outcomes.append(applied)
                self._ordered_one_less(name, (started.stage, started.stage_attempt, started.index), started.order)
        for name, fact in changes.outcomes:
            entry, outcome = self.ledger.settled(name, fact, now_s)
            if outcome is not None:
                decision.outcomes.append(outcome)
            if entry is not None and entry.launches and fact.result is not OrderResult.APPLIED:
                self._not_started(entry, now_s + RETRY_S * (fact.reason != NO_SLOT))
        for ended in changes.ended_with_source + changes.ended:
            decision.outcomes += self.ledger.ended(ended)
            if ended.fact.speculative and not ended.fact.order and not ended.fact.told:
                core_s = ended.cores * ended.fact.duration_ms / 1000
                its_own = StockCopy(source=ended.source, ended_s=ended.ended_s, won=ended.won, core_s=core_s)
                decision.stock_copies.append(its_own)
        for name in sorted(changes.forgotten):
            decision.outcomes += self.ledger.forget(name, now_s)
        for entry, outcome in self.ledger.expire(now_s, self._is_over):
            decision.outcomes.append(outcome)
            if entry.launches:
                self._not_started(entry, now_s + RETRY_S)

    def _replaced(self, changes: Changes) -> list[tuple[SourceState, int]]:
        """Sources and rows of live attempts in whose place copies have just started."""
        found = []
        for name, started in changes.launched:
            attempt = self.ledger.replaced(name, started)
            source = self.cluster.sources.get(name)
            if source is not None and attempt in source.attempts:
                found.append((source, source.attempts[attempt]))
        return found

    def _is_over(self, entry: OpenOrder) -> bool:
        """Whether the job, stage, task or attempt that an order is about has ended."""
        cluster, source = self.cluster, self.cluster.sources[entry.source]
        job = source.jobs.get(entry.job, -1)
        if entry.job and (job < 0 or cluster.jobs.ended[job]):
            return True
        if entry.stage:
            stage = source.stages.get(entry.stage, -1)
            if stage < 0 or cluster.stages.closing[stage]:
                return True
            return entry.launches and cluster.stage_infos[stage].is_done(entry.task[2])
        return entry.kills >= 0 and entry.kills not in source.attempts

    def _not_started(self, entry: OpenOrder, retry_s: float) -> None:
        """A copy will not start by this order; its task may have another from `retry_s` on."""
        task = self._ordered_one_less(entry.source, entry.task, entry.order.order)
        if task is not None:
            self.cluster.tasks.not_before_s[task] = retry_s

    def _ordered_one_less(self, name: str, key: TaskKey, order: int) -> int | None:
        """Count one copy less on its way to a source's task, if it counts; returns the task's row, None if unknown."""
        source, tasks = self.cluster.sources.get(name), self.cluster.tasks
        row = source.stages.get(key[:2]) if source else None
        task = self.cluster.stage_infos[row].task_rows.get(key[2]) if row is not None else None
        if task is not None and order >= tasks.ordered_from[task]:
            tasks.ordered_copies[task] = max(0, tasks.ordered_copies[task] - 1)
        return task

    def _pools_due(self, changes: Changes, now_s: float) -> list[SourceState]:
        """Pools with news, and those whose running attempts have not been reviewed for a review interval."""
        review_s = self.settings.review_interval_ms / 1000 - 1e-9
        pools = self.cluster.pools
        return [
            source
            for source in self.cluster.sources.values()
            if source.row in changes.pools or (source.attempts and now_s - pools.reviewed_s[source.row] >= review_s)
        ]

    def _with_queues(self, due: list[SourceState], now_s: float) -> list[SourceState]:
        """These pools, and others of their queues that run something, if a speculator shares their spare slots out."""
        sharing = [
            source
            for source in (due if self.cluster.queues else ())
            if any(remit.policy.shares_spare for remit in remits_of(self.steering, self.cluster, source))
        ]
        queues = {queue.name: queue for source in sharing if (queue := queue_of(self.cluster, source, now_s))}
        beside = {
            driver.name
            for queue in queues.values()
            for _, driver in drivers_of(self.cluster, queue, now_s)
            if driver.attempts
        }
        beside |= {source.name for source in due}
        return [source for name, source in self.cluster.sources.items() if name in beside] if queues else due

    def _next_review_s(self) -> float:
        """When the first pool with running attempts is due again; infinite if nothing runs."""
        reviewed_s = self.cluster.pools.reviewed_s
        running = [source.row for source in self.cluster.sources.values() if source.attempts]
        return float(reviewed_s[running].min()) + self.settings.review_interval_ms / 1000 if running else np.inf

    def _answer(self, source: SourceState, decision: Decision) -> None:
        """Mode, claims and next interval for a source heard in this cycle."""
        settings, busy = self.settings, bool(source.attempts)
        decision.modes[source.name] = self.mode_of(source.name)
        decision.intervals_ms[source.name] = settings.review_interval_ms if busy else settings.idle_interval_ms
        decision.claims[source.name] = self.claims_of(source.name)
