"""Which waiting originals of a stage start first? Asks the speculators that order them, and tells their hosts."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from controlplane.engine import seeing
from controlplane.engine.cycle import Cycle
from controlplane.model.cluster import Cluster, SourceState, StageInfo
from controlplane.model.columns import Ints, Records
from controlplane.model.facts import Mode
from controlplane.model.orders import RunNext
from controlplane.model.reasons import Action, Reason
from controlplane.policies.policy import Policy
from controlplane.policies.seen import UNKNOWN_FINISHED, WAITING_TASK, Seen

MOST_NAMED = 1000
"""Tasks named in one order. The next one goes out once half of them have started, or the order changes."""


def orders_waiting(cycle: Cycle, source: SourceState) -> bool:
    """Whether the pool's speculator orders waiting originals, its host heeds orders, and its mode is not off."""
    policy, _ = cycle.steering.speculator(source.name)
    heeds = source.attached.capabilities.order_pending and cycle.steering.mode(source) is not Mode.OFF
    return policy.order_waiting is not None and heeds


def order_waiting(cycle: Cycle, due: list[SourceState]) -> None:
    """Order the waiting originals of the open stages of these pools, one call for all pools that share a speculator.

    A changed order is recorded, and sent if we may. It is a lease: it is sent again when half of its time is over.
    """
    asked = [source for source in due if orders_waiting(cycle, source)]
    for policy, settings, sources in cycle.steering.by_speculator(asked):
        if infos := [info for source in sources for info in ordered_stages(cycle, source)]:
            views = [view_waiting(cycle.cluster, info) for info in infos]
            answer = cycle.ask(
                sources, Action.RUN_NEXT, "waiting", partial(_ask, cycle, policy, settings, np.concatenate(views))
            )
            if answer is not None:
                _order_all(cycle, infos, views, answer)


def waiting_indices(n_tasks: int, done: bytes | bytearray, running: Ints) -> Ints:
    """Indices of the tasks of a stage that neither run nor are done, ascending, shape (n_waiting,).

    `done` has a byte of 1 for each that is done, or is empty; `running` are the indices of those that run.

    >>> waiting_indices(5, done=bytes([1, 0, 0, 0, 0]), running=np.array([2, 2])).tolist()
    [1, 3, 4]
    """
    is_waiting = np.frombuffer(done, dtype=np.uint8) == 0 if done else np.ones(n_tasks, dtype=bool)
    is_waiting[running] = False
    return np.flatnonzero(is_waiting)


def ordered_stages(cycle: Cycle, source: SourceState) -> Iterator[StageInfo]:
    """Open stages in which more than one original waits, so that there is something to order."""
    stages, jobs = cycle.cluster.stages, cycle.cluster.jobs
    for row in source.stages.values():
        if not stages.closing[row] and stages.waiting(row) > 1 and jobs.mode_rank[stages.job[row]] > Mode.OFF.rank:
            yield cycle.cluster.stage_infos[row]


def _ask(cycle: Cycle, policy: Policy, settings: dict[str, float], waiting: Records) -> Records:
    """The speculator's `PRECEDENCE` of these tasks."""
    cluster, finished = cycle.cluster, UNKNOWN_FINISHED
    pools, jobs, stages = seeing.view_groups(cluster, cycle.now_s)
    if policy.by_finished:
        finished = seeing.show_finished(cluster.stage_infos, waiting, stages)
    return policy.precedence(Seen(pools=pools, jobs=jobs, stages=stages, finished=finished, waiting=waiting), settings)


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
    startup_s = np.nan_to_num(cluster.pools.startup_mean_s[stages.pool[row]])
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
