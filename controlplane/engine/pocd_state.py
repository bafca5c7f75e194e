"""What does a snapshot tell of a job's deadline? Its PoCD as foretold last, and the copies its tasks were given."""

from math import isfinite

import numpy as np

from controlplane.engine.moment import Moment
from controlplane.model import snapshot as s
from controlplane.model.cluster import SourceState
from controlplane.model.reasons import Reason, sentence


def finite(value: float) -> float | None:
    """A finite number, or None: JSON has no infinity."""
    value = float(value)
    return value if isfinite(value) else None


def copied_tasks(moment: Moment, source: SourceState) -> dict[int, list[s.CopiedTask]]:
    """Tasks with copies of the source's jobs with a deadline, by the job's row."""
    cluster, tasks = moment.cluster, moment.cluster.tasks
    has_deadline = np.zeros(cluster.jobs.size, dtype=bool)
    has_deadline[source.jobs.rows] = cluster.jobs.deadline_s[source.jobs.rows] < np.inf
    found: dict[int, list[s.CopiedTask]] = {}
    if not has_deadline.any():
        return found
    rows = tasks.rows()
    rows = rows[has_deadline[tasks.job[rows]] & ~tasks.done[rows] & (tasks.n_live[rows] > 0)]
    ordered = np.where(tasks.ordered_until_s[rows] > moment.now_s, tasks.ordered_copies[rows], 0)
    for row, on_their_way in zip(rows.tolist(), ordered.tolist(), strict=True):
        if on_their_way or tasks.n_live[row] > 1:
            stage, stage_attempt, index = cluster.task_key(row)
            task = s.CopiedTask(
                stage=stage,
                stage_attempt=stage_attempt,
                index=index,
                copies=int(tasks.n_live[row]) - 1,
                ordered_copies=on_their_way,
            )
            found.setdefault(int(tasks.job[row]), []).append(task)
    return found


def pocd_state(moment: Moment, row: int, copied: list[s.CopiedTask]) -> s.PocdState | None:
    """A job's PoCD as it was foretold last; None without a deadline. `copied` are its tasks with copies."""
    jobs, reason = moment.cluster.jobs, Reason(int(moment.cluster.jobs.outlook_reason[row]))
    if not jobs.deadline_s[row] < np.inf:
        return None
    foretold = zip(jobs.pocd[row].tolist(), jobs.pocd_core_s[row].tolist(), strict=True)
    return s.PocdState(
        reason=reason.label,
        sentence=sentence(reason, {}) if reason else "",
        hopeless=reason is Reason.HOPELESS,
        age_s=finite(moment.now_s - jobs.looked_s[row]),
        choices=[
            s.PocdChoice(further=further, pocd=pocd, core_s=core_s)
            for further, (pocd, core_s) in enumerate(foretold)
            if isfinite(pocd)
        ],
        with_copies=finite(jobs.pocd_with_copies[row]),
        copied=copied,
        first_pocd=finite(jobs.first_pocd[row]),
        newest_pocd=finite(jobs.newest_pocd[row]),
    )
