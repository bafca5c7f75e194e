"""How does a request for a copy, or for an attempt's end, become an order? After admission, and on record."""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.engine.admission import Admission, Candidate, Placement
from controlplane.engine.cycle import Cycle
from controlplane.engine.ledger import ShadowCopy
from controlplane.hosts import kind_of
from controlplane.model.cluster import SourceState
from controlplane.model.decisions import DecisionRecord
from controlplane.model.facts import Mode
from controlplane.model.orders import KillAttempt, LaunchCopy
from controlplane.model.reasons import Action, Reason, sentence


def order_copy(
    cycle: Cycle,
    source: SourceState,
    candidate: Candidate,
    admission: Admission,
    *,
    inputs: dict[str, float],
    alternatives: list[tuple[str, float]],
    to_host: str = "",
) -> Reason:
    """Order one copy; returns its reason, or the one against it.

    Outside control mode nothing is ordered. The decision is recorded once while it stands, and counts
    meanwhile against other shadow copies.
    """
    cluster, tasks, task = cycle.cluster, cycle.cluster.tasks, candidate.task
    fact = cluster.stage_infos[int(tasks.stage[task])].fact
    key = cluster.task_key(task)
    is_shadow = cycle.steering.mode_of_job(cluster, source, int(tasks.job[task])) is not Mode.CONTROL
    is_wish = candidate.reason is Reason.OPERATOR
    refusal, placement = admission.admit(
        source, candidate, cycle.steering.max_copies(source), to_host, is_shadow=is_shadow
    )
    if refusal:
        if is_wish:
            cycle.record(source, action=Action.REFUSE_COPY, reason=refusal, job=fact.job, task=key)
        return refusal
    if is_shadow and not is_wish and tasks.reason[task] == candidate.reason:
        admission.spend(source, task, Placement(), is_shadow=is_shadow)
        return candidate.reason
    straggler = admission.straggler(task)
    record = cycle.record(
        source,
        action=Action.LAUNCH_COPY,
        reason=candidate.reason,
        job=fact.job,
        task=key,
        attempt=int(cluster.attempts.id[straggler]),
        host=cluster.host_names[int(cluster.attempts.host[straggler])],
        to_host=placement.host,
        order=0 if is_shadow else next(cycle.ids),
        inputs=inputs,
        alternatives=alternatives + placement.ranking,
    )
    admission.spend(source, task, placement, is_shadow=is_shadow)
    if not record.order:
        t_new_s = float(cluster.attempts.t_new_s[straggler])
        cycle.ledger.would_copy(source.name, key, ShadowCopy(decision=record.id, at_s=cycle.now_s, t_new_s=t_new_s))
        return candidate.reason
    _send_launch(cycle, source, record, candidate, placement)
    return candidate.reason


def _send_launch(
    cycle: Cycle, source: SourceState, record: DecisionRecord, candidate: Candidate, placement: Placement
) -> None:
    """Sends a record's order. It may wait longer if an executor has yet to start."""
    tasks, task = cycle.cluster.tasks, candidate.task
    if tasks.ordered_until_s[task] <= cycle.now_s:
        tasks.ordered_copies[task], tasks.ordered_from[task] = 0, record.order
    tasks.ordered_copies[task] += 1
    ttl_ms = max(cycle.settings.order_ttl_ms, kind_of(source.name).executor_starts_ms * placement.is_to_come)
    tasks.ordered_until_s[task] = max(tasks.ordered_until_s[task], cycle.now_s + ttl_ms / 1000)
    order = LaunchCopy(
        order=record.order,
        ttl_ms=ttl_ms,
        job=record.job,
        stage=record.stage,
        stage_attempt=record.stage_attempt,
        index=record.index,
        host=placement.host,
        avoid_hosts=placement.avoid,
        before_waiting=candidate.before_waiting,
    )
    cycle.send(source, order, record, replaces=record.attempt if candidate.relaunches else -1)


def order_kill(
    cycle: Cycle,
    source: SourceState,
    row: int,
    reason: Reason,
    why: str = "",
    inputs: Mapping[str, float] = MappingProxyType({}),
) -> bool:
    """Order the end of the attempt in `row`, or record why it must live; returns whether it is ordered.

    Only the kill switch orders anything outside control mode: it takes back what was launched in it. It asks again in
    every cycle, as speculators do, so attempts that must live are not recorded.
    """
    cluster, attempts = cycle.cluster, cycle.cluster.attempts
    task = int(attempts.task[row])
    key = cluster.task_key(task)
    dying = cycle.ledger.dying(source.name, key, cycle.now_s)
    if int(attempts.id[row]) in dying:
        return False
    mode = cycle.steering.mode_of_job(cluster, source, int(cluster.tasks.job[task]))
    if mode is not Mode.CONTROL and reason is not Reason.KILL_SWITCH:
        refusal = Reason.MODE
    else:
        refusal = Admission.kill_refusal(cluster, source, row, len(dying))
    if refusal and reason in (Reason.KILL_SWITCH, Reason.BEATEN, Reason.NOT_KEPT):
        return False
    record = cycle.record(
        source,
        action=Action.KILL_ATTEMPT,
        reason=refusal or reason,
        job=cluster.stage_infos[int(attempts.stage[row])].fact.job,
        task=key,
        attempt=int(attempts.id[row]),
        host=cluster.host_names[int(attempts.host[row])],
        order=0 if refusal else next(cycle.ids),
        inputs=dict(inputs),
    )
    if record.order:
        order = KillAttempt(
            order=record.order,
            ttl_ms=cycle.settings.order_ttl_ms,
            attempt=record.attempt,
            stage=key[0],
            stage_attempt=key[1],
            index=key[2],
            reason=why or sentence(reason, inputs),
        )
        cycle.send(source, order, record)
    return record.order > 0
