"""How many slots shall each job of a pool hold? Runs the pool's allocator and grants what it says."""

from math import isfinite

from controlplane.engine import views
from controlplane.engine.admission import Admission
from controlplane.engine.applications import claimants_of
from controlplane.engine.cycle import Cycle
from controlplane.model.cluster import SourceState
from controlplane.model.columns import Record
from controlplane.model.decisions import DecisionRecord
from controlplane.model.facts import Mode
from controlplane.model.orders import ContainerGrant
from controlplane.model.reasons import Action, Reason

SEEN = ("remaining_tasks", "running", "tail_index", "transfer_ratio")
"""What of a claimant is recorded with its grant, where it is known."""


def allocate(cycle: Cycle, source: SourceState, sums: views.JobSums) -> None:
    """Targets for the jobs of one pool; a changed one is recorded, and granted where we may.

    A grant is a lease: it is said again when half of its time is over.
    """
    cluster, jobs = cycle.cluster, cycle.cluster.jobs
    cycle.learning.review_tail(cluster, source, cycle.now_s)
    rows, claimants = claimants_of(cluster, source, sums, cycle.steering.max_copies(source), cycle.now_s)
    if not len(rows):
        return
    policy, settings = cycle.steering.allocator(source.name)
    slots = int(cluster.pools.slots[source.row])
    allocation = policy.allocate(slots, claimants, settings)
    Admission.check_allocation(slots, allocation["target"])
    jobs.target[rows], jobs.cap[rows] = allocation["target"], allocation["cap"]
    jobs.virtual_size[rows] = allocation["virtual_size"]
    changed = (jobs.target[rows] != jobs.granted_target[rows]) | (jobs.cap[rows] != jobs.granted_cap[rows])
    stale = cycle.now_s - jobs.granted_s[rows] >= cycle.settings.grant_ttl_ms / 2000
    for place in (changed | stale).nonzero()[0].tolist():
        _grant(cycle, source, claimants[place], int(rows[place]), bool(changed[place]))


def _grant(cycle: Cycle, source: SourceState, claimant: Record, row: int, is_new: bool) -> None:
    jobs, info = cycle.cluster.jobs, cycle.cluster.job_infos[row]
    target, cap = int(jobs.target[row]), int(jobs.cap[row])
    jobs.granted_target[row], jobs.granted_cap[row], jobs.granted_s[row] = target, cap, cycle.now_s
    controls = cycle.steering.mode_of_job(cycle.cluster, source, row) is Mode.CONTROL
    order = next(cycle.ids) if controls and source.attached.capabilities.order_pending else 0
    record: DecisionRecord | None = None
    if is_new:
        inputs = {
            "target": float(target),
            "cap": float(cap),
            "slots": float(cycle.cluster.pools.slots[source.row]),
            "virtual_size": float(jobs.virtual_size[row]),
        }
        inputs |= {name: float(claimant[name]) for name in SEEN if isfinite(claimant[name])}
        record = cycle.record(
            source, action=Action.GRANT, reason=Reason.ALLOCATOR, job=info.key, order=order, inputs=inputs
        )
    if order:
        grant = ContainerGrant(
            order=order,
            ttl_ms=cycle.settings.grant_ttl_ms,
            job=info.key,
            target=target,
            cap=None if cap < 0 else cap,
        )
        cycle.send(source, grant, record)
