"""Which running tasks get one more attempt? One compiled pass over everything that runs in the pools that are due."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from controlplane.compiled import kernel
from controlplane.deciding.asking import call_speculator
from controlplane.engine import seeing
from controlplane.engine.admission import Admission, Candidate
from controlplane.engine.budgets import Budgets
from controlplane.engine.candidates import Candidates
from controlplane.engine.copies import order_copy, order_kill
from controlplane.engine.cycle import Cycle
from controlplane.engine.growth import to_come
from controlplane.engine.remits import Part, Remit
from controlplane.engine.rooms import is_fixed, job_rooms, note_room, room_to_come
from controlplane.engine.waiting import see_waiting
from controlplane.estimators.lateness import fresh_startup_s
from controlplane.estimators.work_done import OBSERVED_S
from controlplane.model.cluster import SourceState
from controlplane.model.columns import Flags, Floats, Ints, Records
from controlplane.model.facts import Mode
from controlplane.model.reasons import LAWS, TEXTS, WHY_NOT, Action, Reason, priced
from controlplane.model.writers import Decided
from controlplane.policies.answer import FURTHEST
from controlplane.policies.seen import Load

ORDERS_PER_CYCLE = 50
"""New copies in one cycle, and as many ends of beaten attempts."""
TRIES_PER_CYCLE = 4 * ORDERS_PER_CYCLE
"""Candidates tried in one cycle, standing shadow copies and refused ones included: it bounds how long that takes."""
RECORDS_PER_CYCLE = 200
"""Changed refusals recorded in one cycle; the codes in the columns are always complete."""
_SEEN = ("elapsed_s", "t_rem_s", "t_new_s", "running_attempts", "relative_size")
"""The inputs of a recorded refusal."""
_JUDGED = (Reason.NONE, Reason.ALREADY_COPIED, Reason.ORDER_PENDING, Reason.LEFT_ALONE)
"""Standings of tasks whose copies are ours to handle and whose attempts are all old enough to be judged."""

_RECORDED = np.zeros(max(Reason) + 1, dtype=bool)
"""By reason code: whether a change to it is recorded. Reasons for a copy are recorded with the order."""
for _reason, _text in TEXTS.items():
    _RECORDED[_reason] = _text.severity > 0 and _reason in WHY_NOT
_RECORDED[[Reason.ORDER_PENDING, *LAWS]] = False


def speculate(
    cycle: Cycle, due: list[SourceState], remits: list[Remit], sums: seeing.JobSums, budgets: Budgets
) -> None:
    """Ask the speculators of these pools, order what fits into the jobs' targets, and note every reason."""
    cycle.view.fill(cycle.cluster, cycle.now_s, cycle.settings.judge_within_ms / 1000)
    if cycle.view.n:
        _share_copies(cycle, sums, budgets)
        _ask(cycle, due, remits)
        _end_beaten(cycle)
        _pick(cycle, due, sums, budgets)
        _note_reasons(cycle)


def note_inputs(cycle: Cycle, due: list[SourceState], remits: list[Remit], sums: seeing.JobSums) -> Budgets:
    """Write the kernels' inputs for each pool into its columns; returns the account of copies."""
    pools, budgets = cycle.cluster.pools, Budgets.of(cycle.settings, cycle.cluster, cycle.now_s)
    pools.due[:] = False
    for source in due:
        row = source.row
        pools.due[row], pools.reviewed_s[row] = True, cycle.now_s
        pools.off[row] = cycle.steering.mode(source) is Mode.OFF
        pools.max_copies[row] = cycle.steering.max_copies(source)
        pools.executor_slots[row] = source.attached.executor_slots
        startup_s = fresh_startup_s(pools.estimated[row])
        pools.tell_s[row] = startup_s + OBSERVED_S + cycle.settings.review_interval_ms / 1000
    rows = np.array([source.row for source in due], dtype=np.int64)
    pools.queue[rows], pools.to_come[rows], pools.queue_executors[rows] = rows, 0, 0
    _note_speculators(cycle, due, remits, budgets)
    jobs, n_jobs = cycle.cluster.jobs.rows(), cycle.cluster.jobs.size
    cycle.cluster.jobs.unjudged[jobs] &= ~pools.due[cycle.cluster.jobs.pool[jobs]]
    is_off = pools.off[cycle.cluster.jobs.pool[jobs]] | (cycle.cluster.jobs.mode_rank[jobs] == Mode.OFF.rank)
    cycle.cluster.jobs.off_noted[jobs] &= is_off
    decided, scratch = cycle.cluster.jobs.decided[:n_jobs], cycle.cluster.jobs.scratch
    note_room(decided, scratch, sums.running, sums.waiting, budgets.ordered_by_job)
    cycle.cluster.jobs.open_tasks[:n_jobs] = sums.open_tasks
    wanted = (sums.running + sums.waiting + budgets.ordered_by_job)[jobs]
    taken = np.bincount(cycle.cluster.jobs.pool[jobs], weights=wanted, minlength=pools.size).astype(np.int64)
    cycle.cluster.jobs.waiting[:n_jobs] = sums.waiting
    is_waiting = sums.waiting[jobs] > 0
    of_pool = np.bincount(cycle.cluster.jobs.pool[jobs[is_waiting]], minlength=pools.size)
    pools.waiting_jobs[: pools.size] = of_pool
    pools.idle[: pools.size] = np.maximum(pools.slots[: pools.size] - taken, 0)
    pools.counted_copies[: pools.size] = budgets.by_pool
    return budgets


def _note_speculators(cycle: Cycle, due: list[SourceState], remits: list[Remit], budgets: Budgets) -> None:
    """Write the inputs of each speculator into its jobs and their stages."""
    pools, jobs, stages = cycle.cluster.pools, cycle.cluster.jobs, cycle.cluster.stages
    questions, prepared = [], []
    for remit in remits:
        policy, rows = remit.policy, remit.jobs
        jobs.at_start[rows], jobs.before_waiting[rows] = policy.at_start, policy.before_waiting
        for part in remit.parts:
            jobs.shares_spare[part.jobs] = policy.shares_spare & ~is_fixed(cycle, part.source, part.jobs)
        if policy.shares_spare:
            for come in to_come(cycle.cluster, cycle.steering, remit.sources, budgets.ordered_by_job, cycle.now_s):
                pools.to_come[come.pool], pools.queue[come.pool] = come.slots, come.queue
                pools.queue_executors[come.pool] = come.executors
        explorers = policy.explores(jobs.draw[rows], policy.complete(remit.settings)) if policy.explores else -1
        jobs.explores[rows] = explorers
        is_shadow = cycle.steering.shadow_jobs(cycle.cluster, remit.sources)
        jobs.is_steered[rows] = jobs.copies_enabled[rows] & ~is_shadow[rows]
        if policy.prepare:
            prepared += [part.stages(cycle.cluster) for part in remit.parts]
            questions += [(policy.name, [part.source], partial(_prepared, cycle, remit, part)) for part in remit.parts]
    answers = cycle.ask_each(due, Action.REFUSE_COPY, "prepare", questions)
    for rows, answer in zip(prepared, answers, strict=True):
        stages.prepared[rows] = np.nan if answer is None else answer


def _prepared(cycle: Cycle, remit: Remit, part: Part) -> Floats:
    """The `prepared` values of the stages of some jobs, (n_stages,)."""
    pools, row, rows = cycle.cluster.pools, part.source.row, part.stages(cycle.cluster)
    load = Load(
        slots=int(pools.slots[row]),
        offered_load=float(pools.offered_load[row]),
        tail_index=float(pools.tail_index[row]),
    )
    answer = remit.policy.prepared(load, cycle.cluster.stages.n_tasks[rows], remit.settings)
    return np.broadcast_to(answer, rows.shape).astype(float)


def _share_copies(cycle: Cycle, sums: seeing.JobSums, budgets: Budgets) -> None:
    """Ask the copy budget, if one is set, for the most copies of each job of every driver."""
    policy, settings = cycle.steering.copy_budget()
    if policy is None:
        return
    cluster = cycle.cluster
    drivers = [source for source in cluster.sources.values() if source.name not in cluster.queues]
    seen = [
        seeing.pool_view(cluster, source, sums, cycle.steering.max_copies(source), cycle.now_s) for source in drivers
    ]
    rows, claimants = (np.concatenate(parts) for parts in zip(*seen, strict=True))
    answer = cycle.ask(
        drivers,
        Action.REFUSE_COPY,
        "copy budget",
        lambda: policy.share_copies(budgets.slots_everywhere, claimants, settings),
    )
    budgets.most_by_job[rows] = 0 if answer is None else answer["copies"]


def _ask(cycle: Cycle, due: list[SourceState], remits: list[Remit]) -> None:
    """The speculators' answers, one call for each remit; the engine's own reasons override theirs."""
    view, is_one = cycle.view, len(remits) == 1
    mine: list[Flags | slice] = [slice(None) if is_one else remit.covers(view.tasks) for remit in remits]
    questions = [
        (remit.policy.name, remit.sources, partial(_call, cycle, remit, which))
        for remit, which in zip(remits, mine, strict=True)
    ]
    lawful = cycle.ask_each(due, Action.REFUSE_COPY, "speculator", questions)
    gainless: dict[str, str] = {}
    for remit, which, is_lawful in zip(remits, mine, lawful, strict=True):
        if not is_lawful:
            view.answer[which] = 0
            view.answer["reason"][which] = Reason.POLICY_FAILED if is_lawful is None else Reason.GAINLESS_COPY
        if is_lawful is False:
            gainless |= dict.fromkeys((source.name for source in remit.sources), remit.policy.name)
    for source in due:
        speculator = gainless.get(source.name, "")
        cycle.judge(source, Action.REFUSE_COPY, Reason.GAINLESS_COPY, kept=not speculator, speculator=speculator)


def _call(cycle: Cycle, remit: Remit, which: Flags | slice) -> bool:
    """Fill in a speculator's answer about some tasks; returns whether it is lawful."""
    view, policy = cycle.view, remit.policy
    seen = view.seen(policy, cycle.cluster, which)._replace(waiting=see_waiting(cycle, remit))
    if policy.explores:
        seen = seen._replace(weights=cycle.samples)
    answer = view.answer[which]
    is_lawful = call_speculator(policy.code, seen, policy.setting_values(remit.settings), answer)
    if not isinstance(which, slice):
        view.answer[which] = answer
    return bool(is_lawful)


def _pick(cycle: Cycle, due: list[SourceState], sums: seeing.JobSums, budgets: Budgets) -> None:
    """Within each job's target, and as executors start, order the best candidates; refused ones get a reason.

    Candidates that are not reached are looked at again in the next cycle.
    """
    tasks, view = cycle.cluster.tasks, cycle.view
    code, score = view.answer["reason"], view.answer["score"]
    jobs, ordered = cycle.cluster.jobs, budgets.ordered_by_job.copy()
    rooms, waiting, full = job_rooms(
        jobs.reported[: jobs.size],
        jobs.decided,
        jobs.scratch,
        cycle.cluster.pools.scratch,
        sums.running,
        sums.waiting,
        sums.copies,
        ordered,
    )
    with_to_come = rooms + room_to_come(cycle, due, waiting, budgets, full)
    is_shadow = cycle.steering.shadow_jobs(cycle.cluster, due)
    candidates = Candidates(view, cycle.cluster, with_to_come, full, is_shadow)
    admission = Admission(cycle.cluster, cycle.steering, budgets, cycle.health, cycle.ledger, cycle.now_s)
    for place in candidates.best_first(ORDERS_PER_CYCLE, TRIES_PER_CYCLE):
        row = int(view.rows[place])
        job, pool, relaunches = int(tasks.job[row]), int(tasks.pool[row]), bool(view.answer["kill"][place])
        candidate = Candidate(
            task=row,
            score=float(score[place]),
            reason=Reason(int(code[place])),
            before_waiting=bool(jobs.before_waiting[job]) or relaunches,
            relaunches=relaunches,
            beyond_target=bool(budgets.ordered_by_job[job] - ordered[job] >= rooms[int(relaunches), job]),
        )
        others = [at for at in candidates.rivals[job].tolist() if at >= 0 and at != place]
        beside = [(f"copy task {tasks.index[view.rows[at]]}", float(score[at])) for at in others]
        n_records = len(cycle.decision.records)
        answer = order_copy(
            cycle,
            cycle.cluster.source_of_pool[pool],
            candidate,
            admission,
            inputs=_inputs(cycle, place, sums),
            alternatives=[("wait", 0.0), *beside],
        )
        if answer is candidate.reason:
            candidates.order(place, is_new=len(cycle.decision.records) > n_records)
        else:
            candidates.refuse(place, answer, beyond_target=candidate.beyond_target)


def _end_beaten(cycle: Cycle) -> None:
    """Order the end of attempts that another one of their task beats, if all can be judged.

    Not while the end of one of the task's attempts is on its way: it may be the one that is ahead. Until that end is
    told, or may be ordered, the task gets no copy either: whether one is worth it goes by the attempts that are left.
    """
    tasks, view, n_ended = cycle.cluster.tasks, cycle.view, 0
    judged = np.isin(view.tasks["standing"], _JUDGED)
    for place in np.flatnonzero((view.answer["end_last"] | (view.answer["keep"] > 0)) & judged):
        row = int(view.rows[place])
        source = cycle.cluster.source_of_pool[int(tasks.pool[row])]
        is_ending = bool(cycle.ledger.dying(source.name, cycle.cluster.task_key(row), cycle.now_s))
        if not is_ending and n_ended < ORDERS_PER_CYCLE:
            inputs = {name: float(view.tasks[name][place]) for name in ("worst_rem_s", "t_rem_s")}
            keep = int(view.answer["keep"][place])
            reason = Reason.NOT_KEPT if keep else Reason.BEATEN
            beaten = _beaten(cycle, row, keep)
            ended = sum(
                order_kill(cycle, source, attempt, reason, inputs=inputs)
                for attempt in beaten[: ORDERS_PER_CYCLE - n_ended]
            )
            n_ended, is_ending = n_ended + ended, ended > 0
        if (is_ending or n_ended >= ORDERS_PER_CYCLE) and view.answer["copies"][place] > 0:
            view.answer["copies"][place], view.answer["reason"][place] = 0, Reason.LOOKED_AT_LATER


def _beaten(cycle: Cycle, task: int, keep: int) -> list[int]:
    """Rows of the attempts to end: the one that ends last, or all but the one that `keep` names.

    The latter end only if all have come some way: one of which nothing is seen may be the best.
    """
    attempts, live = cycle.cluster.attempts, list(cycle.cluster.attempts_of(task))
    if keep and not (attempts.progress[live] > 0).all():
        return []
    by_end = sorted(live, key=lambda attempt: attempts.t_rem_s[attempt])
    if keep == FURTHEST:
        by_end.sort(key=lambda attempt: -attempts.progress[attempt])
    return by_end[1:] if keep else by_end[-1:]


def _inputs(cycle: Cycle, place: int, sums: seeing.JobSums) -> dict[str, float]:
    """The numbers behind a candidate, by the names that the reasons' sentences use."""
    tasks, seen = cycle.cluster.tasks, cycle.view.tasks[place]
    task = int(cycle.view.rows[place])
    job = int(tasks.job[task])
    source = cycle.cluster.source_of_pool[int(tasks.pool[task])]
    speculator, _ = cycle.steering.speculator_of(cycle.cluster, source, job)
    inputs = {
        "score": float(cycle.view.answer["score"][place]),
        "running_attempts": float(seen["running_attempts"]),
        "elapsed_s": float(seen["elapsed_s"]),
        "t_rem_s": float(seen["t_rem_s"]),
        "t_new_s": float(seen["t_new_s"]),
        "progress": float(cycle.cluster.attempts.progress[cycle.cluster.leading_attempt(task)]),
        "expected_s": float(seen["expected_s"]),
        "demand_s": float(cycle.view.jobs[job]["tasks"] * seen["service_s"]),
        "relative_size": float(seen["relative_size"]),
        "rate": float(seen["progress_rate"]),
        "sibling_rate": float(seen["sibling_rate"]),
        "input_bytes": float(tasks.input_bytes[task]),
        "target": float(cycle.cluster.jobs.target[job]),
        "running": float(sums.running[job]),
        "waiting": float(sums.waiting[job]),
        "tail_index": float(cycle.cluster.pools.tail_index[tasks.pool[task]]),
    }
    answer = cycle.view.answer[place]
    return inputs | priced(answer["reason"], answer["gain"], answer["price"]) | speculator.shown(inputs)


def _note_reasons(cycle: Cycle) -> None:
    """Keep every task's reason; record refusals that changed and matter, the mode's by job and all others by task."""
    cluster, view, tasks = cycle.cluster, cycle.view, cycle.cluster.tasks
    changed = note_reasons(view.rows, view.answer, _RECORDED, tasks.decided)
    by_mode = view.answer["reason"][changed] == Reason.MODE
    _note_off(cycle, np.unique(tasks.job[view.rows[changed[by_mode]]]))
    changed = changed[~by_mode][:RECORDS_PER_CYCLE]
    rows, seen = view.rows[changed], view.tasks[changed]
    answer = view.answer[changed]
    which = (seen["stage"], tasks.index[rows], answer["reason"], answer["gain"], answer["price"])
    demand_s = view.jobs["tasks"][seen["job"]] * seen["service_s"]
    progress = cluster.attempts.progress[[cluster.leading_attempt(row) for row in rows.tolist()]]
    numbers = (*(seen[name] for name in _SEEN), demand_s, progress, cluster.jobs.target[tasks.job[rows]])
    for stage, index, reason, gain, price, *inputs in zip(
        *(column.tolist() for column in (*which, *numbers)), strict=True
    ):
        info = cluster.stage_infos[stage]
        cycle.record(
            cluster.sources[info.source],
            action=Action.REFUSE_COPY,
            reason=Reason(reason),
            job=info.fact.job,
            task=(info.fact.stage, info.fact.stage_attempt, index),
            inputs=dict(zip((*_SEEN, "demand_s", "progress", "target"), map(float, inputs), strict=True))
            | priced(reason, gain, price),
        )


def _note_off(cycle: Cycle, jobs: Ints) -> None:
    """Record for each of these jobs that the mode leaves its tasks alone, once while it stays off."""
    noted = cycle.cluster.jobs.off_noted
    for row in jobs[~noted[jobs]].tolist():
        job = cycle.cluster.job_infos[row]
        source = cycle.cluster.sources[job.source]
        cycle.record(source, action=Action.REFUSE_COPY, reason=Reason.MODE, job=job.key)
    noted[jobs] = True


@kernel
def note_reasons(rows: Ints, answer: Records, recorded: Flags, tasks_decided: NDArray[Decided]) -> Ints:
    """Write reasons into the tasks; returns the places of those that changed to one that is recorded."""
    changed, reason = np.zeros(len(rows), dtype=np.bool_), answer["reason"]
    for place in range(len(rows)):
        task = tasks_decided[rows[place]]
        task["gain"], task["price"] = answer[place]["gain"], answer[place]["price"]
        if task["reason"] != reason[place]:
            changed[place], task["reason"] = recorded[reason[place]], reason[place]
    return np.flatnonzero(changed)
