"""How many slots shall each job of a pool hold? Runs the pool's allocator and grants what it says."""

from controlplane.engine import views
from controlplane.engine.admission import Admission
from controlplane.engine.cycle import Cycle
from controlplane.model.cluster import SourceState
from controlplane.model.decisions import DecisionRecord
from controlplane.model.facts import Mode
from controlplane.model.orders import ContainerGrant
from controlplane.model.reasons import Action, Reason


def allocate(cycle: Cycle, source: SourceState, sums: views.JobSums) -> None:
    """Targets for the jobs of one pool; a changed one is recorded, and granted where we may.

    A grant is a lease: it is said again when half of its time is over.
    """
    cluster, jobs = cycle.cluster, cycle.cluster.jobs
    cycle.learning.review_tail(cluster, source, cycle.now_s)
    tail_index = float(cluster.pools.tail_index[source.row])
    rows, claimants = views.pool_view(cluster, source, sums, tail_index, cycle.steering.max_copies(source))
    if not len(rows):
        return
    policy, settings = cycle.steering.allocator(source.name)
    slots = int(cluster.pools.slots[source.row])
    allocation = policy.allocate(slots, claimants, settings)
    Admission.check_allocation(slots, allocation["target"])
    jobs.target[rows], jobs.cap[rows] = allocation["target"], allocation["cap"]
    jobs.originals[rows], jobs.virtual_size[rows] = allocation["originals"], allocation["virtual_size"]
    changed = (jobs.target[rows] != jobs.granted_target[rows]) | (jobs.cap[rows] != jobs.granted_cap[rows])
    changed |= jobs.originals[rows] != jobs.granted_originals[rows]
    stale = cycle.now_s - jobs.granted_s[rows] >= cycle.settings.grant_ttl_ms / 2000
    for row, is_new in zip(rows[changed | stale].tolist(), changed[changed | stale].tolist(), strict=True):
        _grant(cycle, source, sums, row, tail_index, is_new)


def _grant(cycle: Cycle, source: SourceState, sums: views.JobSums, row: int, tail_index: float, is_new: bool) -> None:
    jobs, info = cycle.cluster.jobs, cycle.cluster.job_infos[row]
    target, cap, originals = int(jobs.target[row]), int(jobs.cap[row]), int(jobs.originals[row])
    jobs.granted_target[row], jobs.granted_cap[row], jobs.granted_originals[row] = target, cap, originals
    jobs.granted_s[row] = cycle.now_s
    controls = cycle.steering.mode_of_job(cycle.cluster, source, row) is Mode.CONTROL
    order = next(cycle.ids) if controls and source.attached.capabilities.order_pending else 0
    record: DecisionRecord | None = None
    if is_new:
        record = cycle.record(
            source,
            action=Action.GRANT,
            reason=Reason.ALLOCATOR,
            job=info.key,
            order=order,
            inputs={
                "target": float(target),
                "cap": float(cap),
                "originals": float(originals),
                "slots": float(cycle.cluster.pools.slots[source.row]),
                "virtual_size": float(jobs.virtual_size[row]),
                "remaining_tasks": float(sums.remaining_tasks[row]),
                "running": float(sums.running[row]),
                "tail_index": tail_index,
                "transfer_ratio": float(jobs.transfer_ratio[row]),
            },
        )
    if order:
        grant = ContainerGrant(
            order=order,
            ttl_ms=cycle.settings.grant_ttl_ms,
            job=info.key,
            target=target,
            cap=None if cap < 0 else cap,
            originals=None if originals < 0 else originals,
        )
        cycle.send(source, grant, record)
