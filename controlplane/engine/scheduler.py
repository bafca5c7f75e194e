"""What happens in one scheduling cycle? Facts in, orders out; no clock, no chance, no I/O.

`handle` runs the numbered steps of a cycle: apply the facts, learn from them, allocate slots per pool, pick copies per
job, admit what the laws allow. The live driver and the simulator call the same `handle`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from controlplane.engine import views
from controlplane.engine.admission import Admission, Candidate
from controlplane.engine.budgets import Budgets
from controlplane.engine.learning import Learning
from controlplane.engine.ledger import Ledger, OpenOrder, ShadowCopy
from controlplane.engine.modes import Modes
from controlplane.engine.snapshot import take_snapshot
from controlplane.engine.write_safety import verdict
from controlplane.model.cluster import Changes, Cluster, SourceState
from controlplane.model.columns import Ints
from controlplane.model.decisions import (
    CopyWish,
    Decision,
    DecisionRecord,
    JobClaim,
    KillWish,
    ModeSet,
    PolicySet,
    Report,
    Stimulus,
    TargetSet,
)
from controlplane.model.facts import Mode, OrderResult
from controlplane.model.orders import ContainerGrant, KillAttempt, LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import TEXTS, Action, Reason
from controlplane.model.snapshot import Snapshot
from controlplane.policies import registry
from controlplane.policies.interfaces import RunningTasks

RETRY_S = 1.0
"""After a refused or expired order a task is left alone for this long."""
ORDERS_PER_CYCLE = 50
"""Candidates tried in one cycle, which bounds how long it takes."""
RECORDS_PER_CYCLE = 200
"""Changed refusals recorded in one cycle; the codes in the columns are always complete."""

_SEVERITY = np.zeros(max(Reason) + 1, dtype=np.int64)
for _reason, _text in TEXTS.items():
    _SEVERITY[_reason] = _text.severity


class Scheduler:
    """The engine: owns the cluster's state, what was learned, and the orders that are open."""

    def __init__(self, settings: EngineSettings, *, order_epoch: int = 0) -> None:
        """`order_epoch` keeps order and decision ids of different runs apart: ids start at order_epoch * 2**32."""
        self.cluster = Cluster()
        self.ledger = Ledger()
        self.modes = Modes(settings.mode)
        self.policy_of: dict[str, str] = {}
        self.cycle = 0
        self._last_id = order_epoch * 2**32
        self.learning = Learning(settings)
        self.configure(settings)

    def configure(self, settings: EngineSettings) -> None:
        """Take new settings whole, or raise BadSetting and keep the old ones."""
        registry.allocator(settings.allocator).complete(settings.allocator_settings)
        registry.speculator(settings.speculator).complete(settings.speculator_settings)
        self.settings = settings
        self.modes.everywhere = settings.mode
        self.learning.configure(settings)

    def handle(self, batch: Sequence[Stimulus], now_s: float) -> tuple[Decision, float]:
        """Run one cycle; returns what it decided and when the next one is due at the latest.

        `now_s` is monotonic. The same calls in the same order give the same answers, bit for bit.
        """
        self.cycle += 1
        decision = Decision(cycle=self.cycle)
        changes = Changes()

        # 1 apply: the only mutation of state by facts
        heard = [stimulus for stimulus in batch if isinstance(stimulus, Report)]
        for report in heard:
            self.cluster.apply(report, changes)
        decision.want_full |= changes.want_full
        decision.bad_facts += [(bad.source, str(bad)) for bad in changes.bad]

        # 2 learn, and settle orders
        for row in changes.stages_submitted:
            if row in self.cluster.stage_infos:
                self.cluster.stages.verdict[row] = verdict(self.cluster.stage_infos[row].fact).reason
        self.learning.learn(self.cluster, changes, now_s)
        self._settle(changes, decision, now_s)

        # 3 operators' wishes
        for stimulus in batch:
            self._wish(stimulus, decision, now_s)

        # 4 allocate and speculate, per pool; 5 admit
        due = self._pools_due(changes, now_s)
        sums = views.job_sums(self.cluster)
        for source in due:
            if source.row in changes.pools:
                self._allocate(source, sums, decision, now_s)
        self._speculate(due, sums, decision, now_s)

        self.cluster.purge(now_s)
        for report in heard:
            source = self.cluster.sources.get(report.source)
            if source is not None:
                self._answer(source, decision)
        return decision, now_s + self.settings.review_interval_ms / 1000 if len(self.cluster.attempts) else np.inf

    def forget(self, source: str) -> None:
        """A source has been silent for too long: drop it and what it ran."""
        self.cluster.forget(source, Changes())
        self.ledger.forget(source)

    def snapshot(self, now_s: float) -> Snapshot:
        """Everything that is live, as plain structs."""
        return take_snapshot(self, now_s)

    def learned(self) -> dict[str, Any]:
        """JSON-able state of all estimators, for the store."""
        return self.learning.dump()

    def restore(self, learned: dict[str, Any]) -> None:
        """Take back what `learned` gave in an earlier run."""
        self.learning.load(learned)

    def policy(self, source: str) -> tuple[registry.Policy, registry.Policy]:
        """The allocator of a pool and the speculator of its jobs."""
        own = self.policy_of.get(source)
        if own:
            return registry.parse_policy(own)
        return registry.allocator(self.settings.allocator), registry.speculator(self.settings.speculator)

    def max_copies(self, source: SourceState) -> int:
        """Extra attempts of one task that both the settings and the host allow."""
        return min(self.settings.max_copies_per_task, source.attached.capabilities.max_copies)

    def claims(self, source: SourceState) -> bool:
        """Whether we speculate for the jobs of a pool that are in control mode, so that the host's own shall rest."""
        return (
            self.modes.of_source(source) is Mode.CONTROL
            and self.policy(source.name)[1].name != "none"
            and self.max_copies(source) > 0
        )

    # 2 ---------------------------------------------------------------------------------------------------------

    def _settle(self, changes: Changes, decision: Decision, now_s: float) -> None:
        for name, fact in changes.launched:
            decision.outcomes += self.ledger.launched(name, fact, now_s)
        for name, fact in changes.outcomes:
            entry, outcome = self.ledger.settled(name, fact, now_s)
            if outcome is not None:
                decision.outcomes.append(outcome)
            if entry is not None and entry.launches and fact.result is not OrderResult.APPLIED:
                self._leave_alone(entry, now_s)
        for ended in changes.ended:
            decision.outcomes += self.ledger.ended(ended)
        decision.outcomes += self.ledger.expire(now_s)

    def _leave_alone(self, entry: OpenOrder, now_s: float) -> None:
        source = self.cluster.sources.get(entry.source)
        row = source.stages.get(entry.task[:2]) if source else None
        task = self.cluster.stage_infos[row].task_rows.get(entry.task[2]) if row is not None else None
        if task is not None:
            tasks = self.cluster.tasks
            tasks.ordered_copies[task] = max(0, tasks.ordered_copies[task] - 1)
            tasks.not_before_s[task] = now_s + RETRY_S

    # 3 ---------------------------------------------------------------------------------------------------------

    def _wish(self, stimulus: Stimulus, decision: Decision, now_s: float) -> None:
        cluster = self.cluster
        match stimulus:
            case ModeSet(mode=mode, source=name):
                self.modes.set(mode, name)
                if mode is Mode.OFF:
                    self._kill_copies(name, decision, now_s)
            case PolicySet(source=name, policy=policy):
                if policy:
                    registry.parse_policy(policy)
                    self.policy_of[name] = policy
                else:
                    self.policy_of.pop(name, None)
            case TargetSet(source=name, job=job, target=target, cap=cap):
                source = cluster.sources.get(name)
                if source and job in source.jobs:
                    row = source.jobs[job]
                    cluster.jobs.fixed_target[row] = -1 if target is None else target
                    cluster.jobs.fixed_cap[row] = -1 if cap is None else cap
                    self._allocate(source, views.job_sums(cluster), decision, now_s)
            case KillWish(source=name, attempt=attempt, reason=reason):
                source = cluster.sources.get(name)
                if source and attempt in source.attempts:
                    self._kill(source, source.attempts[attempt], Reason.OPERATOR, reason, decision, now_s)
            case CopyWish(source=name):
                source = cluster.sources.get(name)
                if source:
                    self._copy_on_wish(source, stimulus, decision, now_s)

    def _kill_copies(self, name: str, decision: Decision, now_s: float) -> None:
        """The kill switch: end every copy whose task has another live attempt."""
        for source in self.cluster.sources.values():
            if name in ("", source.name):
                for row in list(source.attempts.values()):
                    if self.cluster.attempts.speculative[row]:
                        self._kill(source, row, Reason.KILL_SWITCH, "copies switched off", decision, now_s)

    def _kill(self, source: SourceState, row: int, reason: Reason, why: str, decision: Decision, now_s: float) -> None:
        attempts = self.cluster.attempts
        info = self.cluster.stage_infos[int(attempts.stage[row])]
        task = int(attempts.task[row])
        index = int(self.cluster.tasks.index[task])
        doomed = {
            order.attempt
            for order in decision.orders.get(source.name, [])
            if isinstance(order, KillAttempt) and (order.stage, order.index) == (info.fact.stage, index)
        }
        refusal = Admission.kill_refusal(self.cluster, source, row, len(doomed))
        record = self._record(
            decision,
            now_s,
            source,
            action=Action.KILL_ATTEMPT,
            reason=refusal or reason,
            job=info.fact.job,
            task=(info.fact.stage, info.fact.stage_attempt, index),
            attempt=int(attempts.id[row]),
            host=self.cluster.host_names[int(attempts.host[row])],
            order=0 if refusal else self._next_id(),
        )
        if record.order:
            ttl_ms = self.settings.order_ttl_ms
            order = KillAttempt(
                order=record.order,
                ttl_ms=ttl_ms,
                attempt=record.attempt,
                stage=record.stage,
                stage_attempt=record.stage_attempt,
                index=index,
                reason=why or TEXTS[reason].sentence,
            )
            self._send(source, order, record, now_s, launches=False, decision=decision)

    def _copy_on_wish(self, source: SourceState, wish: CopyWish, decision: Decision, now_s: float) -> None:
        row = source.stages.get((wish.stage, wish.stage_attempt))
        task = self.cluster.stage_infos[row].task_rows.get(wish.index) if row is not None else None
        if task is None:
            return
        budgets = Budgets.of(self.settings, self.cluster, now_s)
        admission = Admission(self.cluster, self.settings, budgets, self.learning.hosts, now_s)
        for _ in range(wish.copies):
            candidate = Candidate(task=task, score=0.0, reason=Reason.OPERATOR, before_waiting=wish.before_waiting)
            self._admit(source, candidate, admission, decision, now_s, {}, [], to_host=wish.host)

    # 4 ---------------------------------------------------------------------------------------------------------

    def _pools_due(self, changes: Changes, now_s: float) -> list[SourceState]:
        """Pools with news, and those with running attempts that nobody has looked at for a review interval."""
        review_s = self.settings.review_interval_ms / 1000 - 1e-9
        pools = self.cluster.pools
        return [
            source
            for source in self.cluster.sources.values()
            if source.row in changes.pools or (source.attempts and now_s - pools.reviewed_s[source.row] >= review_s)
        ]

    def _allocate(self, source: SourceState, sums: views.JobSums, decision: Decision, now_s: float) -> None:
        """Targets for the jobs of one pool; a changed one is recorded, and granted where we may."""
        jobs, pools = self.cluster.jobs, self.cluster.pools
        self.learning.transfer_ratios(self.cluster, source)
        tail_index = self.learning.tail_index(source.row)
        rows, view = views.pool_view(self.cluster, source, sums, tail_index, self.max_copies(source))
        if not len(rows):
            return
        policy, _ = self.policy(source.name)
        own = {} if source.name in self.policy_of else self.settings.allocator_settings
        allocation = policy(view, own)
        Admission.check_allocation(view, allocation)
        jobs.target[rows], jobs.cap[rows] = allocation.target, allocation.cap
        jobs.virtual_size[rows] = allocation.virtual_size
        renew_s = self.settings.grant_ttl_ms / 2000
        for row in rows.tolist():
            target, cap = int(jobs.target[row]), int(jobs.cap[row])
            changed = (target, cap) != (int(jobs.granted_target[row]), int(jobs.granted_cap[row]))
            if not changed and now_s - jobs.granted_s[row] < renew_s:
                continue
            jobs.granted_target[row], jobs.granted_cap[row], jobs.granted_s[row] = target, cap, now_s
            info = self.cluster.job_infos[row]
            controls = self.modes.of_job(self.cluster, source, row) is Mode.CONTROL
            grants = controls and source.attached.capabilities.order_pending
            order = self._next_id() if grants else 0
            if changed:
                record = self._record(
                    decision,
                    now_s,
                    source,
                    action=Action.GRANT,
                    reason=Reason.ALLOCATOR,
                    job=info.key,
                    order=order,
                    inputs={
                        "target": float(target),
                        "cap": float(cap),
                        "slots": float(pools.slots[source.row]),
                        "virtual_size": float(jobs.virtual_size[row]),
                        "remaining_tasks": float(sums.remaining_tasks[row]),
                        "running": float(sums.running[row]),
                        "tail_index": tail_index,
                        "transfer_ratio": float(jobs.transfer_ratio[row]),
                    },
                )
            if grants:
                grant = ContainerGrant(
                    order=order,
                    ttl_ms=self.settings.grant_ttl_ms,
                    job=info.key,
                    target=target,
                    cap=None if cap < 0 else cap,
                )
                if changed:
                    self._send(source, grant, record, now_s, launches=False, decision=decision)
                else:
                    decision.orders.setdefault(source.name, []).append(grant)

    def _speculate(self, due: list[SourceState], sums: views.JobSums, decision: Decision, now_s: float) -> None:
        """Look at every running task of the pools that are due; one vectorised pass per speculator."""
        cluster, pools = self.cluster, self.cluster.pools
        due = [source for source in due if source.attempts]
        if not due:
            return
        in_pool = np.zeros(pools.size, dtype=bool)
        in_pool[[source.row for source in due]] = True
        pools.reviewed_s[in_pool.nonzero()] = now_s
        attempts = cluster.attempts
        size = attempts.size
        rows = np.flatnonzero(attempts.alive[:size] & in_pool[attempts.pool[:size]])
        tails = np.ones(pools.size)
        for source in due:
            tails[source.row] = self.learning.tail_index(source.row)
        estimates = self.learning.remaining.estimate(cluster, rows, now_s, tails[attempts.pool[rows]])
        self.learning.watch_hosts(cluster, rows, estimates, now_s)
        columns = views.task_columns(cluster, rows, estimates, in_pool)
        if not len(columns.rows):
            return
        code = self._standing_reasons(columns, now_s)
        wanted = np.zeros(len(code), dtype=bool)
        score = np.full(len(code), -np.inf)
        budgets = Budgets.of(self.settings, cluster, now_s)
        by_speculator: dict[tuple[str, bool], list[SourceState]] = {}
        for source in due:
            own = source.name in self.policy_of
            by_speculator.setdefault((self.policy(source.name)[1].name, own), []).append(source)
        before_waiting = np.zeros(pools.size, dtype=bool)
        for (name, own), sources in by_speculator.items():
            policy = registry.speculator(name)
            mine = np.zeros(pools.size, dtype=bool)
            mine[[source.row for source in sources]] = True
            before_waiting |= mine & policy.before_waiting
            chosen = np.flatnonzero(mine[cluster.tasks.pool[columns.rows]])
            view = self._running_tasks(columns, chosen, code, budgets)
            answer = policy(view, {} if own else self.settings.speculator_settings)
            free = code[chosen] == Reason.NONE
            wanted[chosen] = answer.wanted & free
            score[chosen] = answer.score
            code[chosen] = np.where(free, answer.reason, code[chosen])
        self._pick(columns, code, wanted, score, before_waiting, sums, budgets, decision, now_s)
        self._note_reasons(columns, code, decision, now_s)

    def _standing_reasons(self, columns: views.TaskColumns, now_s: float) -> Ints:
        """The engine's own reasons for leaving tasks alone, the gravest first; 0 where there is none."""
        cluster, tasks = self.cluster, self.cluster.tasks
        rows = columns.rows
        stage_verdict = cluster.stages.verdict[tasks.stage[rows]]
        limit = np.zeros(cluster.pools.size, dtype=np.int64)
        off = np.zeros(cluster.pools.size, dtype=bool)
        for source in cluster.sources.values():
            limit[source.row] = self.max_copies(source)
            off[source.row] = self.modes.of_source(source) is Mode.OFF
        pool = tasks.pool[rows]
        pending = (tasks.ordered_copies[rows] > 0) & (tasks.ordered_until_s[rows] > now_s)
        return np.select(
            [
                stage_verdict != Reason.NONE,
                ~cluster.jobs.copies_enabled[tasks.job[rows]],
                off[pool],
                limit[pool] == 0,
                columns.too_new,
                tasks.n_live[rows] > limit[pool],
                pending | (tasks.not_before_s[rows] > now_s),
            ],
            [
                stage_verdict,
                Reason.OPTED_OUT,
                Reason.MODE,
                Reason.HOST_CANNOT,
                Reason.TOO_NEW,
                Reason.ALREADY_COPIED,
                Reason.ORDER_PENDING,
            ],
            Reason.NONE,
        )

    def _running_tasks(self, columns: views.TaskColumns, chosen: Ints, code: Ints, budgets: Budgets) -> RunningTasks:
        cluster, tasks = self.cluster, self.cluster.tasks
        rows = columns.rows[chosen]
        pool = tasks.pool[rows]
        return RunningTasks(
            stage=tasks.stage[rows],
            running_attempts=tasks.n_live[rows],
            elapsed_s=columns.elapsed_s[chosen],
            t_rem_s=columns.t_rem_s[chosen],
            t_new_s=columns.t_new_s[chosen],
            progress_rate=columns.rate[chosen],
            sibling_rate=columns.sibling_rate[chosen],
            eligible=code[chosen] == Reason.NONE,
            pool_slots=cluster.pools.slots[pool],
            pool_copies=budgets.by_pool[pool],
            pool=pool,
        )

    def _pick(
        self,
        columns: views.TaskColumns,
        code: Ints,
        wanted: np.ndarray,
        score: np.ndarray,
        before_waiting: np.ndarray,
        sums: views.JobSums,
        budgets: Budgets,
        decision: Decision,
        now_s: float,
    ) -> None:
        """Within each job's target, order the best candidates; everything refused says why in `code`.

        Of more than `ORDERS_PER_CYCLE` the rest is looked at again in the next cycle.
        """
        cluster, tasks, jobs = self.cluster, self.cluster.tasks, self.cluster.jobs
        places = np.flatnonzero(wanted)
        if not len(places):
            return
        # Best first within each job, jobs side by side; a job's room is for its first ones.
        places = places[np.lexsort((-score[places], tasks.job[columns.rows[places]]))]
        rows = columns.rows[places]
        job, pool = tasks.job[rows], tasks.pool[rows]
        first = np.searchsorted(job, job)
        ordered = budgets.ordered_by_job[job]
        room = jobs.target[job] - sums.running[job] - ordered
        waits = sums.waiting[job] > 0
        queued = waits & (room == 0) & (ordered == 0)
        room = np.where(waits, np.where(before_waiting[pool], np.where(queued, 1, room), 0), room)
        fits = np.arange(len(places)) - first < room
        code[places[~fits]] = Reason.NO_SLOT_IN_TARGET

        admission = Admission(cluster, self.settings, budgets, self.learning.hosts, now_s)
        spent: dict[int, Reason] = {}
        """Budgets found exhausted, by ~pool or by job."""
        tried = 0
        chosen = np.flatnonzero(fits)
        for at in chosen[np.argsort(-score[places[chosen]], kind="stable")].tolist():
            place, of_job, of_pool = int(places[at]), int(job[at]), int(pool[at])
            over = spent.get(~of_pool) or spent.get(of_job)
            if over or tried == ORDERS_PER_CYCLE:
                code[place] = over or Reason.ORDER_PENDING
                continue
            tried += 1
            candidate = Candidate(
                task=int(rows[at]),
                score=float(score[place]),
                reason=Reason(int(code[place])),
                before_waiting=bool(before_waiting[of_pool]),
            )
            rivals = [p for p in places[first[at] : first[at] + 4].tolist() if p != place]
            others = [
                (f"copy task {tasks.index[columns.rows[p]]}", float(score[p]))
                for p in rivals
                if tasks.job[columns.rows[p]] == of_job
            ]
            inputs = self._inputs(columns, place, score, jobs, of_job, sums)
            source = cluster.source_of_pool[of_pool]
            answer = self._admit(source, candidate, admission, decision, now_s, inputs, [("wait", 0.0), *others])
            if answer in (Reason.NO_BUDGET_POOL, Reason.NO_BUDGET_CLUSTER, Reason.NO_BUDGET_WASTE):
                spent[~of_pool] = answer
            elif answer is Reason.NO_BUDGET_JOB:
                spent[of_job] = answer
            code[place] = answer

    def _inputs(
        self, columns: views.TaskColumns, place: int, score: np.ndarray, jobs: Any, job: int, sums: views.JobSums
    ) -> dict[str, float]:
        tasks = self.cluster.tasks
        task = int(columns.rows[place])
        return {
            "saving_s": float(score[place]),
            "running_attempts": float(tasks.n_live[task]),
            "elapsed_s": float(columns.elapsed_s[place]),
            "t_rem_s": float(columns.t_rem_s[place]),
            "t_new_s": float(columns.t_new_s[place]),
            "rate": float(columns.rate[place]),
            "sibling_rate": float(columns.sibling_rate[place]),
            "input_bytes": float(np.nan_to_num(tasks.input_bytes[task], nan=-1.0)),
            "target": float(jobs.target[job]),
            "running": float(sums.running[job]),
            "waiting": float(sums.waiting[job]),
            "tail_index": self.learning.tail_index(int(tasks.pool[task])),
        }

    # 5 ---------------------------------------------------------------------------------------------------------

    def _admit(
        self,
        source: SourceState,
        candidate: Candidate,
        admission: Admission,
        decision: Decision,
        now_s: float,
        inputs: dict[str, float],
        alternatives: list[tuple[str, float]],
        to_host: str = "",
    ) -> Reason:
        """Order one copy, or say why not. In shadow mode the decision is recorded once and nothing is ordered."""
        cluster, tasks, task = self.cluster, self.cluster.tasks, candidate.task
        info = cluster.stage_infos[int(tasks.stage[task])]
        key = (info.fact.stage, info.fact.stage_attempt, int(tasks.index[task]))
        job = int(tasks.job[task])
        mode = self.modes.of_job(cluster, source, job)
        if mode is not Mode.CONTROL and tasks.reason[task] == candidate.reason:
            return candidate.reason
        refusal, placement = admission.admit(source, candidate, self.max_copies(source), to_host)
        if refusal:
            if candidate.reason is Reason.OPERATOR:
                self._record(
                    decision,
                    now_s,
                    source,
                    action=Action.REFUSE_COPY,
                    reason=refusal,
                    job=info.fact.job,
                    task=key,
                )
            return refusal
        original = admission.straggler(task)
        record = self._record(
            decision,
            now_s,
            source,
            action=Action.LAUNCH_COPY,
            reason=candidate.reason,
            job=info.fact.job,
            task=key,
            attempt=int(cluster.attempts.id[original]),
            host=cluster.host_names[int(cluster.attempts.host[original])],
            to_host=placement.host,
            order=self._next_id() if mode is Mode.CONTROL else 0,
            inputs=inputs,
            alternatives=alternatives + placement.ranking,
            mode=mode,
        )
        if mode is not Mode.CONTROL:
            t_new_s = inputs.get("t_new_s", 0.0)
            self.ledger.would_copy(source.name, key, ShadowCopy(decision=record.id, at_s=now_s, t_new_s=t_new_s))
            return candidate.reason
        admission.spend(source, task, placement)
        tasks.ordered_copies[task] += 1
        tasks.ordered_until_s[task] = now_s + self.settings.order_ttl_ms / 1000
        order = LaunchCopy(
            order=record.order,
            ttl_ms=self.settings.order_ttl_ms,
            job=info.fact.job,
            stage=key[0],
            stage_attempt=key[1],
            index=key[2],
            host=placement.host,
            avoid_hosts=placement.avoid,
            before_waiting=candidate.before_waiting,
        )
        self._send(source, order, record, now_s, launches=True, decision=decision)
        return candidate.reason

    def _note_reasons(self, columns: views.TaskColumns, code: Ints, decision: Decision, now_s: float) -> None:
        """Keep every task's reason; record refusals that changed and matter."""
        tasks = self.cluster.tasks
        rows = columns.rows
        changed = (tasks.reason[rows] != code) & (_SEVERITY[code] > 0) & (code >= Reason.ON_SCHEDULE)
        tasks.reason[rows] = code
        for place in np.flatnonzero(changed)[:RECORDS_PER_CYCLE].tolist():
            row = int(rows[place])
            reason = Reason(int(code[place]))
            if reason in (Reason.ORDER_PENDING, Reason.OPERATOR):
                continue
            info = self.cluster.stage_infos[int(tasks.stage[row])]
            source = self.cluster.sources[info.source]
            self._record(
                decision,
                now_s,
                source,
                action=Action.REFUSE_COPY,
                reason=reason,
                job=info.fact.job,
                task=(info.fact.stage, info.fact.stage_attempt, int(tasks.index[row])),
                inputs={
                    "elapsed_s": float(columns.elapsed_s[place]),
                    "t_rem_s": float(columns.t_rem_s[place]),
                    "t_new_s": float(columns.t_new_s[place]),
                    "running_attempts": float(tasks.n_live[row]),
                    "target": float(self.cluster.jobs.target[tasks.job[row]]),
                },
            )

    def _answer(self, source: SourceState, decision: Decision) -> None:
        """Mode, claims and next interval for a source heard in this cycle."""
        settings = self.settings
        jobs, claims = self.cluster.jobs, self.claims(source)
        decision.modes[source.name] = self.modes.of_source(source)
        busy = bool(source.attempts)
        decision.intervals_ms[source.name] = settings.review_interval_ms if busy else settings.idle_interval_ms
        decision.claims[source.name] = [
            JobClaim(job=key, lease_ms=settings.lease_ms)
            for key, row in source.jobs.items()
            if claims and not jobs.ended[row] and jobs.mode_rank[row] == Mode.CONTROL.rank
        ]

    # records ---------------------------------------------------------------------------------------------------

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _record(
        self,
        decision: Decision,
        now_s: float,
        source: SourceState,
        *,
        task: tuple[int, int, int] = (-1, -1, -1),
        mode: Mode | None = None,
        **fields: Any,
    ) -> DecisionRecord:
        record = DecisionRecord(
            id=self._next_id(),
            cycle=self.cycle,
            at_s=now_s,
            mode=mode or self.modes.of_source(source),
            policy="+".join(row.name for row in self.policy(source.name)),
            source=source.name,
            stage=task[0],
            stage_attempt=task[1],
            index=task[2],
            **fields,
        )
        decision.records.append(record)
        return record

    def _send(
        self,
        source: SourceState,
        order: LaunchCopy | KillAttempt | ContainerGrant,
        record: DecisionRecord,
        now_s: float,
        *,
        launches: bool,
        decision: Decision,
    ) -> None:
        decision.orders.setdefault(source.name, []).append(order)
        entry = OpenOrder(
            decision=record.id,
            source=source.name,
            task=(record.stage, record.stage_attempt, record.index),
            expires_s=now_s + order.ttl_ms / 1000,
            launches=launches,
        )
        self.ledger.ordered(order.order, entry)


def with_policy(settings: EngineSettings, policy: str) -> EngineSettings:
    """The same settings with another "allocator+speculator". Raises BadSetting for unknown names.

    >>> with_policy(EngineSettings(), "fair+late").speculator
    'late'
    """
    allocator, speculator = registry.parse_policy(policy)
    return replace(
        settings,
        allocator=allocator.name,
        speculator=speculator.name,
        allocator_settings={},
        speculator_settings={},
    )
