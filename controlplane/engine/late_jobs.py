"""Which jobs end because they are late? Those whose deadline has passed, if their user has set that.

Source: Shed+, section IV.C, where late jobs always end; here they run on unless `spark.grasshopper.late.job` is `kill`.
"""

from collections.abc import Iterable

import numpy as np

from controlplane.engine.cycle import Cycle
from controlplane.model.cluster import SourceState
from controlplane.model.facts import Mode
from controlplane.model.orders import StopJob
from controlplane.model.reasons import Action, Reason, sentence

ASK_AGAIN_S = 30.0
"""A job that is still there after its end was ordered is ordered to end again: the order may have been lost."""


def stop_late_jobs(cycle: Cycle, due: Iterable[SourceState]) -> None:
    """Order the end of late jobs in control mode, where the host can and the user lets it."""
    jobs, now_s = cycle.cluster.jobs, cycle.now_s
    for source in due:
        rows = source.jobs.rows
        is_late = jobs.kill_late[rows] & (jobs.deadline_s[rows] <= now_s) & ~jobs.ended[rows]
        if not (source.attached.capabilities.stop_job and is_late.any()):
            continue
        for row in np.flatnonzero(is_late & (jobs.stop_again_s[rows] <= now_s)).tolist():
            _stop(cycle, source, int(rows[row]))


def _stop(cycle: Cycle, source: SourceState, row: int) -> None:
    jobs = cycle.cluster.jobs
    if cycle.steering.mode_of_job(cycle.cluster, source, row) is not Mode.CONTROL:
        return
    jobs.stop_again_s[row] = cycle.now_s + ASK_AGAIN_S
    inputs = {"late_s": float(cycle.now_s - jobs.deadline_s[row])}
    job = cycle.cluster.job_infos[row].key
    record = cycle.record(
        source, action=Action.STOP_JOB, reason=Reason.LATE, job=job, order=next(cycle.ids), inputs=inputs
    )
    order = StopJob(
        order=record.order, ttl_ms=cycle.settings.order_ttl_ms, job=job, reason=sentence(Reason.LATE, inputs)
    )
    cycle.send(source, order, record)
