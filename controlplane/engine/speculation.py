"""Which running tasks get one more attempt? One vectorised pass over everything that runs in the pools that are due."""

from dataclasses import dataclass

import numpy as np

from controlplane.engine import views
from controlplane.engine.admission import Admission, Candidate
from controlplane.engine.budgets import Budgets
from controlplane.engine.copies import order_copy
from controlplane.engine.cycle import Cycle
from controlplane.model.cluster import SourceState
from controlplane.model.columns import Flags, Floats, Ints
from controlplane.model.facts import Mode
from controlplane.model.reasons import TEXTS, Action, Reason
from controlplane.policies import registry
from controlplane.policies.interfaces import RUNNING_TASK, Records

ORDERS_PER_CYCLE = 50
"""Candidates tried in one cycle, which bounds how long it takes."""
RECORDS_PER_CYCLE = 200
"""Changed refusals recorded in one cycle; the codes in the columns are always complete."""

_SEVERITY = np.zeros(max(Reason) + 1, dtype=np.int64)
for _reason, _text in TEXTS.items():
    _SEVERITY[_reason] = _text.severity
_UNRECORDED = (Reason.ORDER_PENDING, Reason.OPERATOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """What is to be done about each running task, shape (n_tasks,); `code` becomes the task's reason."""

    columns: views.TaskColumns
    code: Ints
    wanted: Flags
    score: Floats
    before_waiting: Flags
    """By pool row: whether copies go before the job's waiting originals."""


def speculate(cycle: Cycle, due: list[SourceState], sums: views.JobSums) -> None:
    """Estimate, ask each pool's speculator, order what fits into the jobs' targets, and note every reason."""
    cluster, pools, attempts = cycle.cluster, cycle.cluster.pools, cycle.cluster.attempts
    due = [source for source in due if source.attempts]
    if not due:
        return
    in_pool = _mask(pools.size, due)
    pools.reviewed_s[in_pool.nonzero()] = cycle.now_s
    rows = np.flatnonzero(attempts.alive[: attempts.size] & in_pool[attempts.pool[: attempts.size]])
    tails = np.ones(pools.size)
    for source in due:
        tails[source.row] = cycle.learning.tail_index(source.row)
    estimates = cycle.learning.remaining.estimate(cluster, rows, cycle.now_s, tails[attempts.pool[rows]])
    cycle.learning.watch_hosts(cluster, rows, estimates, cycle.now_s)
    columns = views.task_columns(cluster, rows, estimates, in_pool)
    if len(columns.rows):
        budgets = Budgets.of(cycle.settings, cluster, cycle.now_s)
        verdicts = _ask(cycle, due, columns, sums, budgets)
        _pick(cycle, verdicts, sums, budgets)
        _note_reasons(cycle, verdicts)


def _mask(n_pools: int, sources: list[SourceState]) -> Flags:
    mask = np.zeros(n_pools, dtype=bool)
    mask[[source.row for source in sources]] = True
    return mask


def _ask(
    cycle: Cycle, due: list[SourceState], columns: views.TaskColumns, sums: views.JobSums, budgets: Budgets
) -> Verdicts:
    """The speculators' answers, one call for all pools that share one; the engine's own reasons come first."""
    n_pools = cycle.cluster.pools.size
    code, idle = _standing_reasons(cycle, columns), _idle_slots(cycle, sums, budgets)
    wanted, score = np.zeros(len(code), dtype=bool), np.full(len(code), -np.inf)
    before_waiting = np.zeros(n_pools, dtype=bool)
    shared: dict[tuple[str, tuple[tuple[str, float], ...]], list[SourceState]] = {}
    for source in due:
        policy, settings = cycle.steering.speculator(source.name)
        shared.setdefault((policy.name, tuple(settings.items())), []).append(source)
    for (name, given), sources in shared.items():
        policy, mine = registry.speculator(name), _mask(n_pools, sources)
        before_waiting |= mine & policy.before_waiting
        chosen = np.flatnonzero(mine[cycle.cluster.tasks.pool[columns.rows]])
        answer = policy.speculate(_running_tasks(cycle, columns, chosen, code, budgets, idle), dict(given))
        free = code[chosen] == Reason.NONE
        wanted[chosen], score[chosen] = answer["wanted"] & free, answer["score"]
        code[chosen] = np.where(free, answer["reason"], code[chosen])
    return Verdicts(columns=columns, code=code, wanted=wanted, score=score, before_waiting=before_waiting)


def _standing_reasons(cycle: Cycle, columns: views.TaskColumns) -> Ints:
    """The engine's own reasons for leaving tasks alone, the gravest first; 0 where there is none."""
    cluster, tasks, rows = cycle.cluster, cycle.cluster.tasks, columns.rows
    stage_verdict = cluster.stages.verdict[tasks.stage[rows]]
    limit = np.zeros(cluster.pools.size, dtype=np.int64)
    off = np.zeros(cluster.pools.size, dtype=bool)
    for source in cluster.sources.values():
        limit[source.row] = cycle.steering.max_copies(source)
        off[source.row] = cycle.steering.mode(source) is Mode.OFF
    pool = tasks.pool[rows]
    pending = (tasks.ordered_copies[rows] > 0) & (tasks.ordered_until_s[rows] > cycle.now_s)
    reasons = (
        (stage_verdict != Reason.NONE, stage_verdict),
        (~cluster.jobs.copies_enabled[tasks.job[rows]], Reason.OPTED_OUT),
        (off[pool], Reason.MODE),
        (limit[pool] == 0, Reason.HOST_CANNOT),
        (columns.too_new, Reason.TOO_NEW),
        (tasks.n_live[rows] > limit[pool], Reason.ALREADY_COPIED),
        (pending | (tasks.not_before_s[rows] > cycle.now_s), Reason.ORDER_PENDING),
    )
    return np.select([where for where, _ in reasons], [reason for _, reason in reasons], Reason.NONE)


def _running_tasks(
    cycle: Cycle, columns: views.TaskColumns, chosen: Ints, code: Ints, budgets: Budgets, idle: Ints
) -> Records:
    cluster, tasks = cycle.cluster, cycle.cluster.tasks
    rows = columns.rows[chosen]
    pool = tasks.pool[rows]
    view = np.zeros(len(rows), dtype=RUNNING_TASK)
    view["stage"], view["pool"] = tasks.stage[rows], pool
    view["running_attempts"] = tasks.n_live[rows]
    view["elapsed_s"] = columns.elapsed_s[chosen]
    view["t_rem_s"] = columns.t_rem_s[chosen]
    view["t_new_s"] = columns.t_new_s[chosen]
    view["progress_rate"] = columns.rate[chosen]
    view["sibling_rate"] = columns.sibling_rate[chosen]
    view["eligible"] = code[chosen] == Reason.NONE
    view["pool_slots"] = cluster.pools.slots[pool]
    view["pool_copies"] = budgets.by_pool[pool]
    view["pool_idle"] = idle[pool]
    view["finished_from"] = -1
    return view


def _idle_slots(cycle: Cycle, sums: views.JobSums, budgets: Budgets) -> Ints:
    """By pool row: slots that no attempt holds, no original waits for, and no ordered copy will take."""
    pools, jobs = cycle.cluster.pools, cycle.cluster.jobs.rows()
    wanted = (sums.running + sums.waiting + budgets.ordered_by_job)[jobs]
    taken = np.bincount(cycle.cluster.jobs.pool[jobs], weights=wanted, minlength=pools.size)
    return np.maximum(pools.slots[: pools.size] - taken, 0).astype(np.int64)


def _pick(cycle: Cycle, verdicts: Verdicts, sums: views.JobSums, budgets: Budgets) -> None:
    """Within each job's target, order the best candidates; everything refused says why in `code`.

    Of more than `ORDERS_PER_CYCLE` the rest is looked at again in the next cycle.
    """
    tasks, code, score = cycle.cluster.tasks, verdicts.code, verdicts.score
    places = np.flatnonzero(verdicts.wanted)
    # Best first within each job, jobs side by side; a job's room is for its first ones.
    places = places[np.lexsort((-score[places], tasks.job[verdicts.columns.rows[places]]))]
    rows = verdicts.columns.rows[places]
    job, pool = tasks.job[rows], tasks.pool[rows]
    first = np.searchsorted(job, job)
    fits = np.arange(len(places)) - first < _room(cycle, job, verdicts.before_waiting[pool], sums, budgets)
    code[places[~fits]] = Reason.NO_SLOT_IN_TARGET

    admission = Admission(cycle.cluster, cycle.settings, budgets, cycle.learning.hosts, cycle.ledger, cycle.now_s)
    spent: dict[int, Reason] = {}
    """Budgets found exhausted, by ~pool or by job."""
    tried = 0
    chosen = np.flatnonzero(fits)
    chosen = chosen[np.argsort(-score[places[chosen]], kind="stable")]
    for rank, at in enumerate(chosen.tolist()):
        if tried == ORDERS_PER_CYCLE:
            code[places[chosen[rank:]]] = Reason.ORDER_PENDING
            break
        place, of_job, of_pool = int(places[at]), int(job[at]), int(pool[at])
        over = spent.get(~of_pool) or spent.get(of_job)
        if over:
            code[place] = over
            continue
        tried += 1
        candidate = Candidate(
            task=int(rows[at]),
            score=float(score[place]),
            reason=Reason(int(code[place])),
            before_waiting=bool(verdicts.before_waiting[of_pool]),
        )
        rivals = [p for p in range(first[at], min(first[at] + 4, len(places))) if p != at and job[p] == of_job]
        others = [(f"copy task {tasks.index[rows[p]]}", float(score[places[p]])) for p in rivals]
        answer = order_copy(
            cycle,
            cycle.cluster.source_of_pool[of_pool],
            candidate,
            admission,
            inputs=_inputs(cycle, verdicts, place, sums),
            alternatives=[("wait", 0.0), *others],
        )
        if answer in (Reason.NO_BUDGET_POOL, Reason.NO_BUDGET_CLUSTER, Reason.NO_BUDGET_WASTE):
            spent[~of_pool] = answer
        elif answer is Reason.NO_BUDGET_JOB:
            spent[of_job] = answer
        code[place] = answer


def _room(cycle: Cycle, job: Ints, before_waiting: Flags, sums: views.JobSums, budgets: Budgets) -> Ints:
    """How many more copies the job of each candidate may order, shape of `job`.

    The free part of its target. While originals wait, a speculator that puts copies first may queue one for the next
    slot that comes free, and one that does not has no room.
    """
    ordered = budgets.ordered_by_job[job]
    room = cycle.cluster.jobs.target[job] - sums.running[job] - ordered
    queued = np.where((room == 0) & (ordered == 0), 1, room)
    return np.where(sums.waiting[job] > 0, np.where(before_waiting, queued, 0), room)


def _inputs(cycle: Cycle, verdicts: Verdicts, place: int, sums: views.JobSums) -> dict[str, float]:
    """The numbers behind a candidate, by the names that the reasons' sentences use."""
    tasks, columns = cycle.cluster.tasks, verdicts.columns
    task = int(columns.rows[place])
    job, size = int(tasks.job[task]), float(tasks.input_bytes[task])
    return {
        "saving_s": float(verdicts.score[place]),
        "running_attempts": float(tasks.n_live[task]),
        "elapsed_s": float(columns.elapsed_s[place]),
        "t_rem_s": float(columns.t_rem_s[place]),
        "t_new_s": float(columns.t_new_s[place]),
        "rate": float(columns.rate[place]),
        "sibling_rate": float(columns.sibling_rate[place]),
        "input_bytes": size if size == size else -1.0,
        "target": float(cycle.cluster.jobs.target[job]),
        "running": float(sums.running[job]),
        "waiting": float(sums.waiting[job]),
        "tail_index": cycle.learning.tail_index(int(tasks.pool[task])),
    }


def _note_reasons(cycle: Cycle, verdicts: Verdicts) -> None:
    """Keep every task's reason; record refusals that changed and matter."""
    cluster, tasks = cycle.cluster, cycle.cluster.tasks
    columns, code, rows = verdicts.columns, verdicts.code, verdicts.columns.rows
    changed = (tasks.reason[rows] != code) & (_SEVERITY[code] > 0) & (code >= Reason.ON_SCHEDULE)
    changed &= ~np.isin(code, _UNRECORDED)
    tasks.reason[rows] = code
    for place in np.flatnonzero(changed)[:RECORDS_PER_CYCLE].tolist():
        row = int(rows[place])
        info = cluster.stage_infos[int(tasks.stage[row])]
        cycle.record(
            cluster.sources[info.source],
            action=Action.REFUSE_COPY,
            reason=Reason(int(code[place])),
            job=info.fact.job,
            task=(info.fact.stage, info.fact.stage_attempt, int(tasks.index[row])),
            inputs={
                "elapsed_s": float(columns.elapsed_s[place]),
                "t_rem_s": float(columns.t_rem_s[place]),
                "t_new_s": float(columns.t_new_s[place]),
                "running_attempts": float(tasks.n_live[row]),
                "target": float(cluster.jobs.target[tasks.job[row]]),
            },
        )
