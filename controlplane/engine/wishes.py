"""What does an operator's request change? Modes, policies, fixed targets, single copies and kills."""

from controlplane.engine import seeing
from controlplane.engine.admission import Admission, Candidate
from controlplane.engine.allocation import allocate
from controlplane.engine.budgets import Budgets
from controlplane.engine.copies import order_copy, order_kill
from controlplane.engine.cycle import Cycle
from controlplane.model.cluster import SourceState
from controlplane.model.decisions import CopyWish, KillWish, ModeSet, PolicySet, Stimulus, TargetSet
from controlplane.model.facts import Mode
from controlplane.model.reasons import Reason


def fulfil(cycle: Cycle, wish: Stimulus) -> None:
    """Carry out one request; one about something unknown changes nothing. Raises BadSetting for bad names."""
    sources = cycle.cluster.sources
    match wish:
        case ModeSet(mode=mode, source=name):
            cycle.steering.set_mode(mode, name)
        case PolicySet(source=name, policy=policy):
            cycle.steering.set_policy(name, policy)
            if name in sources:
                sources[name].laws_broken.clear()
        case TargetSet(source=name, job=job) if name in sources and job in sources[name].jobs:
            _fix_target(cycle, sources[name], wish)
        case KillWish(source=name, attempt=attempt) if name in sources and attempt in sources[name].attempts:
            order_kill(cycle, sources[name], sources[name].attempts[attempt], Reason.OPERATOR, wish.reason)
        case CopyWish(source=name) if name in sources:
            _copy(cycle, sources[name], wish)


def kill_copies_where_off(cycle: Cycle) -> None:
    """The kill switch: if the mode is off, end every copy of ours whose task has another live attempt.

    In every cycle, so that a copy that starts just after the switch, or whose kill was lost, ends as well.
    """
    attempts = cycle.cluster.attempts
    for source in cycle.cluster.sources.values():
        if cycle.steering.mode(source) is Mode.OFF:
            for row in list(source.attempts.values()):
                if attempts.speculative[row] and attempts.order[row]:
                    order_kill(cycle, source, row, Reason.KILL_SWITCH, "copies switched off")


def _fix_target(cycle: Cycle, source: SourceState, wish: TargetSet) -> None:
    jobs, row = cycle.cluster.jobs, source.jobs[wish.job]
    jobs.fixed_target[row] = -1 if wish.target is None else wish.target
    jobs.fixed_cap[row] = -1 if wish.cap is None else wish.cap
    allocate(cycle, source, seeing.job_sums(cycle.cluster))


def _copy(cycle: Cycle, source: SourceState, wish: CopyWish) -> None:
    row = source.stages.get((wish.stage, wish.stage_attempt))
    task = cycle.cluster.stage_infos[row].task_rows.get(wish.index) if row is not None else None
    if task is None:
        return
    budgets = Budgets.of(cycle.settings, cycle.cluster, cycle.now_s)
    admission = Admission(cycle.cluster, cycle.steering, budgets, cycle.health, cycle.ledger, cycle.now_s)
    for _ in range(wish.copies):
        candidate = Candidate(task=task, score=0.0, reason=Reason.OPERATOR, before_waiting=wish.before_waiting)
        answer = order_copy(cycle, source, candidate, admission, inputs={}, alternatives=[], to_host=wish.host)
        if answer is not Reason.OPERATOR:
            return
