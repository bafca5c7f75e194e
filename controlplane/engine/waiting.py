"""Which waiting originals of a stage start first? Asks the speculators that order them, and tells their hosts."""

from functools import partial

import numpy as np

from controlplane.engine import seeing
from controlplane.engine.cycle import Cycle
from controlplane.engine.remits import Remit, remits_of
from controlplane.estimators.lateness import fresh_startup_s
from controlplane.model.cluster import Cluster, SourceState, StageInfo
from controlplane.model.columns import Ints, Records
from controlplane.model.facts import Mode
from controlplane.model.orders import RunNext
from controlplane.model.reasons import Action, Reason
from controlplane.policies.seen import NO_WAITING, UNKNOWN_FINISHED, WAITING_TASK, Seen

MOST_NAMED = 1000
"""Tasks named in one order. The next one goes out once half of them have started, or the order changes."""


def orders_waiting(cycle: Cycle, source: SourceState) -> bool:
    """Whether a speculator orders originals of the pool's jobs, and its host and its mode let it."""
    return heeds_order(cycle, source) and any(
        _may_order(cycle, remit) for remit in remits_of(cycle.steering, cycle.cluster, source)
    )


def heeds_order(cycle: Cycle, source: SourceState) -> bool:
    """Whether the pool's mode is not off, and its host starts originals in the order that it is given."""
    return source.attached.capabilities.order_pending and cycle.steering.mode(source) is not Mode.OFF


def _may_order(cycle: Cycle, remit: Remit) -> bool:
    """Whether the speculator orders originals of any of its jobs."""
    if remit.policy.order_waiting is None:
        return False
    return not remit.policy.orders_bounded or bool(seeing.is_bounded(cycle.cluster.jobs, remit.jobs).any())


def order_waiting(cycle: Cycle, due: list[SourceState], remits: list[Remit]) -> None:
    """Order the waiting originals of the open stages of these pools, one call for each remit.

    A changed order is recorded, and sent if we may. It is a lease: it is sent again when half of its time is over.
    """
    asked = [(remit, infos) for remit in remits if (infos := ordered_stages(cycle, remit))]
    views = [[_view(cycle, info) for info in infos] for _, infos in asked]
    questions = [
        (remit.policy.name, remit.sources, partial(_ask, cycle, remit, np.concatenate(view)))
        for (remit, _), view in zip(asked, views, strict=True)
    ]
    answers = cycle.ask_each(due, Action.RUN_NEXT, "waiting", questions)
    for (_, infos), view, answer in zip(asked, views, answers, strict=True):
        if answer is not None:
            _order_all(cycle, infos, view, answer)


def see_waiting(cycle: Cycle, remit: Remit) -> Records:
    """`WAITING_TASK` records of all originals that the speculator orders."""
    return np.concatenate([NO_WAITING, *(_view(cycle, info) for info in ordered_stages(cycle, remit, fewest=1))])


def waiting_indices(n_tasks: int, done: bytes | bytearray, running: Ints) -> Ints:
    """Indices of the tasks of a stage that neither run nor are done, ascending, shape (n_waiting,).

    `done` has a byte of 1 for each that is done, or is empty; `running` are the indices of those that run.

    >>> waiting_indices(5, done=bytes([1, 0, 0, 0, 0]), running=np.array([2, 2])).tolist()
    [1, 3, 4]
    """
    is_waiting = np.frombuffer(done, dtype=np.uint8) == 0 if done else np.ones(n_tasks, dtype=bool)
    is_waiting[running] = False
    return np.flatnonzero(is_waiting)


def ordered_stages(cycle: Cycle, remit: Remit, *, fewest: int = 2) -> list[StageInfo]:
    """Open stages in which at least `fewest` originals wait that the speculator orders.

    Of jobs without a bound only if those are ordered, too. An order needs two.
    """
    found: list[StageInfo] = []
    stages, jobs = cycle.cluster.stages, cycle.cluster.jobs
    for part in remit.parts if remit.policy.order_waiting else ():
        if heeds_order(cycle, part.source):
            rows = part.stages(cycle.cluster)
            job = stages.job[rows]
            is_ordered = ~stages.closing[rows] & (stages.waiting(rows) >= fewest)
            is_ordered &= jobs.mode_rank[job] != Mode.OFF.rank
            if remit.policy.orders_bounded:
                is_ordered &= seeing.is_bounded(jobs, job)
            found += [cycle.cluster.stage_infos[row] for row in rows[is_ordered].tolist()]
    return found


def _view(cycle: Cycle, info: StageInfo) -> Records:
    """`WAITING_TASK` records of one stage, looked at once in a cycle."""
    if info.row not in cycle.waiting:
        cycle.waiting[info.row] = view_waiting(cycle.cluster, info)
    return cycle.waiting[info.row]


def _ask(cycle: Cycle, remit: Remit, waiting: Records) -> Records:
    """The speculator's `PRECEDENCE` of these tasks."""
    view, stages, finished = cycle.view, cycle.view.stages.copy(), UNKNOWN_FINISHED
    if remit.policy.by_finished:
        finished = seeing.show_finished(cycle.cluster.stage_infos, waiting, stages)
    tasks = view.tasks[remit.covers(view.tasks)]
    seen = Seen(pools=view.pools, jobs=view.jobs, stages=stages, tasks=tasks, finished=finished, waiting=waiting)
    return remit.policy.precedence(seen, remit.settings)


def _order_all(cycle: Cycle, infos: list[StageInfo], views: list[Records], answer: Records) -> None:
    start = 0
    for info, view in zip(infos, views, strict=True):
        mine, start = answer[start : start + len(view)], start + len(view)
        named = np.flatnonzero(mine["named"])
        best_first = named[np.argsort(-mine["score"][named], kind="stable")]
        _order(cycle, info, view["index"][best_first[:MOST_NAMED]].tolist(), view["index"])


def _order(cycle: Cycle, info: StageInfo, wanted: list[int], waiting: Ints) -> None:
    """Order which go first, if that has changed or the lease is half over; an empty order ends the previous one.

    A named task that starts leaves the order, and needs a new one if it waits again.
    """
    cluster, source = cycle.cluster, cycle.cluster.sources[info.source]
    still_waiting = set(waiting.tolist())
    info.named = [index for index in info.named if index in still_waiting]
    changed = info.named != wanted[: len(info.named)] or len(info.named) < min(len(wanted), MOST_NAMED // 2)
    controls = cycle.steering.mode_of_job(cluster, source, int(cluster.stages.job[info.row])) is Mode.CONTROL
    if not changed and not (controls and wanted and cycle.is_half_over(info.named_s)):
        return
    order, record, fact = next(cycle.ids) if controls else 0, None, info.fact
    if changed:
        record = cycle.record(
            source,
            action=Action.RUN_NEXT,
            reason=Reason.ORIGINALS_ORDERED,
            job=fact.job,
            task=(fact.stage, fact.stage_attempt, wanted[0] if wanted else -1),
            order=order,
            inputs={"named": float(len(wanted)), "waiting": float(len(waiting))},
        )
    info.named, info.named_s = wanted, cycle.now_s
    if controls:
        ttl_ms = cycle.settings.grant_ttl_ms
        run_next = RunNext(
            order=order, ttl_ms=ttl_ms, stage=fact.stage, stage_attempt=fact.stage_attempt, indices=wanted
        )
        cycle.send(source, run_next, record)


def view_waiting(cluster: Cluster, info: StageInfo) -> Records:
    """`WAITING_TASK` records of one stage, by index."""
    stages, row, fact = cluster.stages, info.row, info.fact
    running = cluster.tasks.index[cluster.attempts.task[list(info.live)]]
    index = waiting_indices(fact.n_tasks, info.done, running)
    seen = np.zeros(len(index), dtype=WAITING_TASK)
    seen["stage"], seen["index"], seen["job"], seen["pool"] = row, index, stages.job[row], stages.pool[row]
    seen["work"] = np.array(fact.input_bytes)[index] if fact.input_bytes else -1
    seen["work"][seen["work"] <= 0] = np.nan
    seen["relative_size"] = np.nan_to_num(info.relative_sizes(index), nan=1.0)
    usual_s = np.nan_to_num(seeing.mean_s(stages, row), nan=np.inf)
    if stages.n_finished[row] > 0 and info.done:
        done = np.flatnonzero(np.frombuffer(info.done, dtype=np.uint8))
        usual_s /= np.nan_to_num(info.relative_sizes(done), nan=1.0).mean()
    startup_s = fresh_startup_s(cluster.pools.estimated[stages.pool[row]])
    seen["t_new_s"] = startup_s + usual_s * seen["relative_size"]
    if fact.preferred_hosts:
        free = _free_slots(cluster, cluster.sources[info.source])
        local = [[free[host] for host in fact.preferred_hosts[at] if host in free] for at in index.tolist()]
        seen["local_hosts"] = [len(each) for each in local]
        seen["local_free_slots"] = [sum(each) for each in local]
    return seen


def _free_slots(cluster: Cluster, source: SourceState) -> dict[str, int]:
    """Slots that no attempt holds, by the name of each of the pool's hosts."""
    free: dict[str, int] = {}
    for row in source.executors.values():
        host = cluster.host_names[int(cluster.executors.host[row])]
        free[host] = free.get(host, 0) + int(cluster.executors.slots[row] - cluster.executors.running[row])
    return free
