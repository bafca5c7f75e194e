"""How many slots should each job of a pool hold? Runs the pool's allocator and grants its answer."""

from collections.abc import Mapping
from math import isfinite

import numpy as np

from controlplane.deciding.asking import call_allocator
from controlplane.engine import seeing
from controlplane.engine.applications import claimants_of
from controlplane.engine.cycle import Cycle
from controlplane.model.cluster import SourceState
from controlplane.model.columns import Flags, Floats, Ints, Record, Records
from controlplane.model.decisions import DecisionRecord
from controlplane.model.facts import Capabilities, Mode
from controlplane.model.orders import ContainerGrant
from controlplane.model.reasons import Action, Reason
from controlplane.policies.answer import ALLOCATION
from controlplane.policies.policy import Policy
from controlplane.policies.seen import Seen

GOLDEN_RATIO = (1 + 5**0.5) / 2
"""Its multiples spread evenly, modulo 1."""
SEEN = ("remaining_tasks", "running", "tail_index", "transfer_ratio")
"""Fields of a claimant that are recorded with its grant, if known."""


def allocate(cycle: Cycle, source: SourceState, sums: seeing.JobSums) -> None:
    """Targets for the jobs of one pool; a changed one is recorded, and granted if we may.

    A grant is a lease: it is renewed once in each half of its time, each job's at a different moment, so that no
    cycle has to renew all of them.
    """
    cluster, jobs = cycle.cluster, cycle.cluster.jobs
    rows, claimants = claimants_of(cluster, source, sums, cycle.steering.max_copies(source), cycle.now_s)
    if not len(rows):
        return
    policy, settings = cycle.steering.allocator(source.name)
    slots = int(cluster.pools.slots[source.row])
    capabilities = source.attached.capabilities
    answer = cycle.ask(
        [source], Action.GRANT, "allocator", lambda: shares(policy, settings, slots, claimants, capabilities)
    )
    if answer is None:
        return
    allocation, is_lawful = answer
    cycle.judge(source, Action.GRANT, Reason.TARGETS_BEYOND_SLOTS, kept=is_lawful)
    if not is_lawful:
        return
    jobs.target[rows], jobs.virtual_size[rows] = allocation["target"], allocation["virtual_size"]
    jobs.cap[rows], jobs.originals[rows] = allocation["cap"], allocation["originals"]
    changed = (jobs.target[rows] != jobs.granted_target[rows]) | (jobs.cap[rows] != jobs.granted_cap[rows])
    changed |= jobs.originals[rows] != jobs.granted_originals[rows]
    half_s, moment = cycle.settings.grant_ttl_ms / 2000, rows * GOLDEN_RATIO % 1.0
    stale = np.floor(cycle.now_s / half_s + moment) > np.floor(jobs.granted_s[rows] / half_s + moment)
    said = changed | stale
    _grant(cycle, source, claimants[said], rows[said], allocation["precedence"][said], changed[said])


def shares(
    policy: Policy, settings: Mapping[str, float], slots: int, claimants: Records, capabilities: Capabilities
) -> tuple[Records, bool]:
    """The allocator's answer, without caps if the host cannot keep slots free, and whether it is lawful."""
    allocation = np.zeros(len(claimants), dtype=ALLOCATION)
    seen = Seen(slots=max(slots, 0), claimants=claimants, weights=policy.brought)
    is_lawful = call_allocator(policy.code, seen, policy.setting_values(settings), allocation)
    if not capabilities.hold_slots:
        allocation["cap"] = allocation["originals"] = -1
    return allocation, is_lawful


def _grant(
    cycle: Cycle, source: SourceState, claimants: Records, rows: Ints, precedence: Floats, is_new: Flags
) -> None:
    jobs, infos, ttl_ms = cycle.cluster.jobs, cycle.cluster.job_infos, cycle.settings.grant_ttl_ms
    limits = jobs.target[rows], jobs.cap[rows], jobs.originals[rows]
    jobs.granted_target[rows], jobs.granted_cap[rows], jobs.granted_originals[rows] = limits
    jobs.granted_s[rows] = cycle.now_s
    listens = source.attached.capabilities.order_pending and cycle.steering.mode(source) is Mode.CONTROL
    ordered = listens & (jobs.mode_rank[rows] == Mode.CONTROL.rank)
    columns = (column.tolist() for column in (rows, is_new, ordered, precedence, *limits))
    for place, (row, records, orders, first, slots, most, most_originals) in enumerate(zip(*columns, strict=True)):
        order, key = next(cycle.ids) if orders else 0, infos[row].key
        record = _record(cycle, source, claimants[place], row, first, order) if records else None
        if order:
            cap, originals = _limit(most), _limit(most_originals)
            grant = ContainerGrant(
                order=order, ttl_ms=ttl_ms, job=key, target=slots, cap=cap, originals=originals, precedence=first
            )
            cycle.send(source, grant, record)


def _limit(slots: int) -> int | None:
    """A column's -1 means no limit."""
    return None if slots < 0 else slots


def _record(
    cycle: Cycle, source: SourceState, claimant: Record, row: int, precedence: float, order: int
) -> DecisionRecord:
    jobs = cycle.cluster.jobs
    inputs = {
        "target": float(jobs.target[row]),
        "cap": float(jobs.cap[row]),
        "originals": float(jobs.originals[row]),
        "slots": float(cycle.cluster.pools.slots[source.row]),
        "virtual_size": float(jobs.virtual_size[row]),
        "precedence": precedence,
    }
    inputs |= {name: float(claimant[name]) for name in SEEN if isfinite(claimant[name])}
    key = cycle.cluster.job_infos[row].key
    return cycle.record(source, action=Action.GRANT, reason=Reason.ALLOCATOR, job=key, order=order, inputs=inputs)
