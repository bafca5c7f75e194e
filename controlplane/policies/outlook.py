"""How likely does each job end before its deadline, as it is and with further attempts of each of its stragglers?

The theorems are about one wave of tasks that run: while tasks wait nothing is foretold. What later stages take is off
the deadline of those that read input, as if it were certain; once they run themselves nothing is foretold either. A
task whose pace cannot be judged, or whose progress nothing tells, is foretold by its age and by how long ended tasks of
its stage took, here or in earlier jobs; where none has ended, nothing is.
"""

import math
from typing import NamedTuple

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import CHOICES, Flags, Floats, Ints, Record
from controlplane.model.reasons import Reason
from controlplane.policies.seen import Seen
from controlplane.policies.shed_plus.assigning import pocd_with
from controlplane.policies.shed_plus.forecast import forecast, is_learned, log_of, unjudged_miss
from controlplane.policies.shed_plus.pocd import soonest_mean_s

TASKS_WAIT, TASKS_OPTIONAL = int(Reason.TASKS_WAIT), int(Reason.TASKS_OPTIONAL)
PACE_UNKNOWN, LATER_STAGES = int(Reason.PACE_UNKNOWN), int(Reason.LATER_STAGES)
NO_DEADLINE, HOPELESS = int(Reason.NO_DEADLINE), int(Reason.HOPELESS)
MAY_BE_COPIED = (
    int(Reason.NONE),
    int(Reason.TOO_NEW),
    int(Reason.ALREADY_COPIED),
    int(Reason.ORDER_PENDING),
    int(Reason.LEFT_ALONE),
)
"""Standings that pass: a task with another one is never copied."""


class Outlook(NamedTuple):
    """What is foretold of jobs."""

    reason: Ints
    """(n_jobs,): a `Reason`: `NONE` where a PoCD is known, `HOPELESS` where it is 0 whatever the job gets, else why no
    PoCD is known."""
    pocd: Floats
    """(n_jobs, CHOICES): with 0, 1, 2 ... further attempts of each straggler; nan where unknown, and beyond the most
    that a task may have."""
    core_s: Floats
    """(n_jobs, CHOICES): core-seconds that these are expected to take; nan as above."""
    with_copies: Floats
    """(n_jobs,): the PoCD if each task that runs, straggler or not, has as many further attempts as it may; nan where
    unknown. It foretells for a policy that copies tasks as they become stragglers."""


@kernel
def look_ahead(seen: Seen, ordered: Ints, cores: Ints, most: Ints, is_open_ended: Flags) -> Outlook:
    """The outlook of each job, of whose tasks all that run are seen.

    `ordered` and `cores` are of the tasks, (n_tasks,): copies on their way, which count as if they ran, and cores that
    an attempt holds. `most` and `is_open_ended` are of the jobs, (n_jobs,): the most further attempts of a task, and
    whether stages follow of which nobody knows how long they take.
    Source: Shed+, section IV.A, Theorem 2, and Theorem 1 for tasks that cannot be judged; section IV.B.
    """
    found, n_jobs = forecast(seen), len(seen.jobs)
    log_pocd, core_s = np.zeros((n_jobs, CHOICES)), np.zeros((n_jobs, CHOICES))
    reason, is_lost = np.full(n_jobs, PACE_UNKNOWN), np.zeros(n_jobs, dtype=np.bool_)
    log_with_copies = np.zeros(n_jobs)
    reason[seen.tasks["job"]] = 0
    for row in range(len(seen.tasks)):
        task, mine = seen.tasks[row], found[row]
        job, last = task["job"], min(most[task["job"]], CHOICES - 1)
        is_judged = not (task["too_new"] or math.isnan(task["progress"]))
        if not seen.stages[task["stage"]]["deadline_s"] < math.inf:
            reason[job] = LATER_STAGES
        elif not mine["is_known"] or not (is_judged or is_learned(task)):
            reason[job] = max(reason[job], PACE_UNKNOWN)
        else:
            left = further_left(task, ordered[row])
            if not is_judged:
                mine["miss"] = unjudged_miss(task, mine, seen)
            for choice in range(last + 1):
                further = min(choice, left) if mine["is_straggler"] else 0
                log_pocd[job, choice] += log_of(pocd_with(mine, ordered[row] + further))
                core_s[job, choice] += cores[row] * copies_s(task, mine, seen.pools[task["pool"]], further)
            log_with_copies[job] += log_of(pocd_with(mine, ordered[row] + min(last, left)))
            fullest = min(last, left) if mine["is_straggler"] else 0
            is_lost[job] |= is_judged and pocd_with(mine, ordered[row] + fullest) <= 0.0
    pocd, with_copies = np.exp(log_pocd), np.exp(log_with_copies)
    for job in range(n_jobs):
        reason[job] = job_reason(seen.jobs[job], is_open_ended[job], is_lost[job], reason[job])
        n_known = min(most[job], CHOICES - 1) + 1 if reason[job] == 0 else 0
        if reason[job] == HOPELESS:
            pocd[job], core_s[job], with_copies[job], n_known = 0.0, 0.0, 0.0, 1
        elif reason[job] != 0:
            with_copies[job] = math.nan
        pocd[job, n_known:] = math.nan
        core_s[job, n_known:] = math.nan
    return Outlook(reason, pocd, core_s, with_copies)


@rule
def further_left(task: Record, ordered: int) -> int:
    """Further attempts that a task may have beside those on their way."""
    if not may_be_copied(task["standing"]):
        return 0
    return max(task["copies_left"] - ordered, 0)


@rule
def may_be_copied(standing: int) -> bool:
    """Whether a task with this standing may be copied, now or in a moment.

    >>> [may_be_copied(int(standing)) for standing in (Reason.NONE, Reason.TOO_NEW, Reason.UNSAFE_OUTPUT)]
    [True, True, False]
    """
    return standing in MAY_BE_COPIED


@rule
def copies_s(task: Record, mine: Record, pool: Record, further: int) -> float:
    """Slot time that so many copies of a task take together: each until the soonest of its attempts ends.

    That is no later, on average, than the original's end, or the mean of the soonest copy's.  Units: seconds.
    """
    if further == 0:
        return 0.0
    copy_s = pool["startup_s"] + soonest_mean_s(mine["copy_least_s"], pool["tail_index"], further)
    return further * min(task["t_rem_s"], copy_s)


@rule
def job_reason(job: Record, is_open_ended: bool, is_lost: bool, of_tasks: int) -> int:
    """The reason of an outlook, as `Reason`: `NONE` where a PoCD is known. `of_tasks` is what its running tasks say.

    A deadline that has passed, or that one of the tasks must miss, is hopeless, also where no PoCD is known.
    """
    if not job["deadline_s"] < math.inf:
        return NO_DEADLINE
    if job["deadline_s"] <= 0.0 or (is_lost and job["error_bound"] == 0.0):
        return HOPELESS
    if job["waiting"] > 0:
        return TASKS_WAIT
    if job["error_bound"] > 0.0:
        return TASKS_OPTIONAL
    return LATER_STAGES if is_open_ended else of_tasks
