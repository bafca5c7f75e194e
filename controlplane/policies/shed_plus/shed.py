"""How many further attempts do all running tasks of a job get? Shed, the forerunner of Shed+: one number for a job."""

import math

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Flags, Floats, Ints, Record, Records
from controlplane.model.reasons import Reason
from controlplane.policies.row import COPYING, Kind, Row
from controlplane.policies.seen import Seen
from controlplane.policies.shed_plus.forecast import forecast, log_of
from controlplane.policies.shed_plus.speculating import KEEP_FURTHEST, SPARE, kept, spare_in_pool


@kernel
def shed(seen: Seen, settings: Record, answer: Records) -> None:
    """The same number of further attempts for each running task of a job with a deadline.

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
        youngest_s[job] = min(youngest_s[job], task["youngest_s"])
        newest_job_s[task["pool"]] = min(newest_job_s[task["pool"]], age_s)
    asks = np.zeros(len(tasks), dtype=np.bool_)
    for row in range(len(tasks)):
        task, one = tasks[row], answer[row]
        if not found[row]["is_known"]:
            has_deadline = seen.stages[task["stage"]]["deadline_s"] < math.inf
            one["reason"] = Reason.UNKNOWN_DEMAND if has_deadline else Reason.NO_DEADLINE
        elif is_copied[task["job"]]:
            one["reason"] = Reason.ALREADY_COPIED
            if task["running_attempts"] > 1 and newest_job_s[task["pool"]] < youngest_s[task["job"]]:
                one["keep"] = kept(settings)
        else:
            one["reason"], asks[row] = Reason.NO_SPARE_SLOT, task["eligible"]
    for pool in range(len(seen.pools)):
        rows = np.flatnonzero(asks & (tasks["pool"] == pool))
        if len(rows) > 0:
            share_by_job(seen, found, rows, spare_in_pool(seen, settings, pool), int(settings["most_copies"]), answer)


@kernel
def share_by_job(seen: Seen, found: Records, rows: Ints, spare: int, most: int, answer: Records) -> None:
    """Give all asking tasks of the job least likely to be in time one more attempt, as long as slots are spare.

    A job whose tasks no longer fit, or that cannot be in time, gets no more.
    """
    further, is_open = np.zeros(len(seen.jobs), dtype=np.int64), np.zeros(len(seen.jobs), dtype=np.bool_)
    n_tasks = np.zeros(len(seen.jobs), dtype=np.int64)
    for row in rows:
        n_tasks[seen.tasks[row]["job"]] += 1
        is_open[seen.tasks[row]["job"]] = most > 0
    while is_open.any():
        log_pocd = jobs_log(seen, found, further)
        job = least_open(log_pocd, is_open)
        if n_tasks[job] > spare or log_pocd[job] == -math.inf:
            is_open[job] = False
            continue
        further[job] += 1
        spare -= n_tasks[job]
        is_open[job] = further[job] < most
    for row in rows:
        one, mine, n = answer[row], found[row], further[seen.tasks[row]["job"]]
        one["gain"], one["price"] = mine["miss"] * (1.0 - mine["copy_miss"] ** float(n)), n
        if one["gain"] > 0.0:
            one["copies"], one["score"], one["reason"] = n, one["gain"], Reason.RAISES_POCD


@kernel
def jobs_log(seen: Seen, found: Records, further: Ints) -> Floats:
    """Logarithm of each job's PoCD, (n_jobs,), where each of its tasks has this many further attempts."""
    logs = np.zeros(len(further))
    for row in range(len(found)):
        if found[row]["is_known"]:
            job = seen.tasks[row]["job"]
            logs[job] += log_of(1.0 - found[row]["miss"] * found[row]["copy_miss"] ** float(further[job]))
    return logs


@rule
def least_open(log_pocd: Floats, is_open: Flags) -> int:
    """The open job least likely to be in time, the first of equal ones; there must be one.

    >>> least_open(np.array([-2.0, -1.0, -1.0]), np.array([False, True, True]))
    1
    """
    best = -1
    for job in range(len(log_pocd)):
        if is_open[job] and (best < 0 or log_pocd[job] < log_pocd[best]):
            best = job
    return best


ROW = Row(
    name="shed",
    kind=Kind.SPECULATOR,
    kernel=shed,
    about="The same number of copies for each task of a job with a deadline, as many as spare slots allow.",
    source="Shed+, sections I and VI",
    needs=COPYING,
    settings=(*SPARE, KEEP_FURTHEST),
    by_finished=True,
)
