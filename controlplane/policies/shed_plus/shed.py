"""How many further attempts do all running tasks of a job get? Shed, the forerunner of Shed+: one number for a job."""

import math

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Floats, Ints, Record, Records
from controlplane.model.reasons import Reason
from controlplane.policies.row import COPYING, Kind, Row
from controlplane.policies.seen import Seen
from controlplane.policies.shed_plus.forecast import forecast, log_of, unknown_reason
from controlplane.policies.shed_plus.speculating import KEEP_FURTHEST, SPARE, kept, spare_in_pool


@kernel
def shed(seen: Seen, settings: Record, answer: Records) -> None:
    """The same number of further attempts for each running task of a job with a deadline that may miss it.

    A job is looked at while no task of it has a further attempt, and again when another job of the pool has come since
    its newest attempt started: then one attempt of each task is kept, and the others end.
    Source: Shed+, sections I and VI, which describe it; its own pseudocode is not there.
    """
    found, tasks, n_jobs = forecast(seen), seen.tasks, len(seen.jobs)
    youngest_s, is_copied = np.full(n_jobs, math.inf), np.zeros(n_jobs, dtype=np.bool_)
    newest_job_s = np.full(len(seen.pools), math.inf)
    for row in range(len(tasks)):
        task = tasks[row]
        job, age_s = task["job"], seen.jobs[task["job"]]["age_s"]
        is_copied[job] |= task["running_attempts"] > 1
        if task["youngest_s"] < youngest_s[job]:  # noqa: PLR1730  # of nan, compiled and plain min differ
            youngest_s[job] = task["youngest_s"]
        if age_s < newest_job_s[task["pool"]]:  # noqa: PLR1730
            newest_job_s[task["pool"]] = age_s
    asks = np.zeros(len(tasks), dtype=np.bool_)
    for row in range(len(tasks)):
        task, one = tasks[row], answer[row]
        if not found[row]["is_known"]:
            one["reason"] = unknown_reason(seen.stages[task["stage"]]["deadline_s"])
        elif is_copied[task["job"]]:
            one["reason"] = Reason.LOOKED_AT_LATER
            if task["running_attempts"] > 1 and newest_job_s[task["pool"]] < youngest_s[task["job"]]:
                one["keep"] = kept(settings, seen.pools[task["pool"]])
        elif found[row]["miss"] <= 0.0:
            one["reason"] = Reason.IN_TIME
        else:
            one["reason"], asks[row] = Reason.NO_SPARE_SLOT, task["eligible"]
    for pool in range(len(seen.pools)):
        rows = np.flatnonzero(asks & (tasks["pool"] == pool))
        if len(rows) > 0:
            share_by_job(seen, settings, found, rows, spare_in_pool(seen, settings, pool, 0), answer)


@kernel
def share_by_job(seen: Seen, settings: Record, found: Records, rows: Ints, spare: int, answer: Records) -> None:
    """Give all asking tasks of the job least likely to be in time one more attempt, while spare slots last for all.

    A job that cannot be in time gets none.
    """
    n_jobs = len(seen.jobs)
    further, n_tasks = np.zeros(n_jobs, dtype=np.int64), np.zeros(n_jobs, dtype=np.int64)
    most, log_pocd = np.full(n_jobs, int(settings["most_copies"])), np.zeros(n_jobs)
    rows = rows[np.argsort(seen.tasks["job"][rows], kind="mergesort")]
    for row in rows:
        job = seen.tasks[row]["job"]
        n_tasks[job] += 1
        most[job] = min(most[job], seen.tasks[row]["copies_left"])
        log_pocd[job] += log_of(1.0 - found[row]["miss"])
    first = np.cumsum(n_tasks) - n_tasks
    while True:
        job = next_job(log_pocd, n_tasks, further, most, spare)
        if job < 0:
            break
        further[job] += 1
        spare -= n_tasks[job]
        log_pocd[job] = 0.0
        for row in rows[first[job] : first[job] + n_tasks[job]]:
            log_pocd[job] += log_of(1.0 - found[row]["miss"] * found[row]["copy_miss"] ** float(further[job]))
    for row in rows:
        job = seen.tasks[row]["job"]
        one, mine, n = answer[row], found[row], further[job]
        one["gain"], one["price"] = mine["miss"] * (1.0 - mine["copy_miss"] ** float(n)), n
        if log_pocd[job] == -math.inf:
            one["reason"] = Reason.HOPELESS
        elif mine["copy_miss"] >= 1.0:
            one["reason"] = Reason.COPY_TOO_LATE
        elif n > 0:
            one["copies"], one["score"], one["reason"] = n, one["gain"], Reason.RAISES_POCD


@rule
def next_job(log_pocd: Floats, n_tasks: Ints, further: Ints, most: Ints, spare: int) -> int:
    """The job least likely to be in time, of those whose tasks may all have one more; -1 if there is none.

    >>> next_job(np.array([-2.0, -1.0, -math.inf]), np.array([3, 2, 1]), np.zeros(3), np.full(3, 5), spare=2)
    1
    """
    best = -1
    for job in range(len(log_pocd)):
        may = 0 < n_tasks[job] <= spare and further[job] < most[job] and -math.inf < log_pocd[job] < 0.0
        if may and (best < 0 or log_pocd[job] < log_pocd[best]):
            best = job
    return best


ROW = Row(
    name="shed",
    kind=Kind.SPECULATOR,
    kernel=shed,
    about="The same number of copies for each task that may miss a deadline, as many as spare slots allow.",
    source="Shed+, sections I and VI",
    needs=COPYING,
    settings=(*SPARE, KEEP_FURTHEST),
    by_finished=True,
    shares_spare=True,
)
