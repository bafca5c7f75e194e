"""How many further attempts does each straggler get, of the slots that are spare? Shed+'s Algorithm 1.

A straggler whose job cannot end in time whatever it gets takes nothing: no attempt would help that job.
"""

import math

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Floats, Ints, Record, Records
from controlplane.policies.shed_plus.forecast import log_of

AS_PRINTED, LEAST_FIRST = -1.0, 10.0
"""The `fairness` by which Algorithm 1 decides as printed, as any below 0 does, and the one that stands for infinity."""
LARGEST = 700.0
"""The largest number whose exponential is finite, nearly."""
LARGEST_COUNT = 10**9
"""More attempts than any task may have."""
STRAGGLER = np.dtype(
    [
        ("job", np.int64),  # row of its job
        ("miss", np.float64),  # as in `FORECAST`
        ("copy_miss", np.float64),
        ("most", np.int64),  # further attempts that it may have
        ("pool", np.int64),  # row of its pool's `SPARE_SLOTS`
    ],
    align=True,
)
"""A task that is expected to end too late."""
SPARE_SLOTS = np.dtype(
    [
        ("idle", np.int64),  # that are there
        ("to_come", np.int64),  # of executors that would start
        ("each", np.int64),  # slots of one of these
    ],
    align=True,
)
"""The slots of one pool that further attempts may have."""


@rule
def utility(log_pocd: float, fairness: float) -> float:
    """Worth of a job's PoCD by alpha-fairness: alpha is 0 for the sum, 1 for the sum of logarithms.

    Source: Shed+, equation (10).

    >>> [round(utility(math.log(0.5), fairness), 3) for fairness in (0.0, 1.0, 2.0)]
    [0.5, -0.693, -2.0]
    """
    if fairness == 1.0:
        return log_pocd
    return math.exp(min((1.0 - fairness) * log_pocd, LARGEST)) / (1.0 - fairness)


@rule
def pocd_with(straggler: Record, further: int) -> float:
    """Probability that a straggler ends in time with this many further attempts.

    Source: Shed+, equation (9).
    """
    return 1.0 - straggler["miss"] * straggler["copy_miss"] ** float(further)


@kernel
def assign(
    stragglers: Records, others_log: Floats, spare: Records, executors: int, fairness: float, one_each: bool
) -> Ints:
    """Further attempts of each straggler, (n,): as many as its pool has `spare` slots for, and of each as it may have.

    `spare` (n_pools,) is used up. At most `executors` may start in all of these pools together, those of a queue.
    `others_log` (n_jobs,) is the logarithm of the PoCD of each job's other tasks. The next attempt goes where it adds
    the most utility; as printed, to the job least likely to be in time, and there to the straggler least likely to.
    With `one_each` no straggler gets a second one before all that it helps have one. Each attempt takes a look at the
    jobs and at one job's stragglers.
    Source: Shed+, section IV.C, whose text gives by utility; Algorithm 1, which does not; and section II, one for each.
    """
    further, job_log = np.zeros(len(stragglers), dtype=np.int64), others_log.copy()
    for row in range(len(stragglers)):
        job_log[stragglers[row]["job"]] += log_of(pocd_with(stragglers[row], 0))
    rows = np.argsort(stragglers["job"], kind="mergesort")
    job_of = stragglers["job"][rows]
    jobs = np.unique(job_of)
    first, end = np.searchsorted(job_of, jobs), np.searchsorted(job_of, jobs, side="right")
    worth, best = np.empty(len(stragglers)), np.empty(len(jobs), dtype=np.int64)
    for limit in (1 if one_each else LARGEST_COUNT, LARGEST_COUNT):
        for place in range(len(jobs)):
            best[place] = best_of(rows, first[place], end[place], stragglers, further, job_log, worth, limit, fairness)
        while True:
            place = next_job(best, stragglers, job_log, worth, fairness, spare, executors)
            if place < 0:
                break
            row = best[place]
            job_log[jobs[place]] += log_gain(stragglers[row], further[row])
            further[row] += 1
            executors -= take_slot(spare[stragglers[row]["pool"]])
            best[place] = best_of(rows, first[place], end[place], stragglers, further, job_log, worth, limit, fairness)
    return further


@rule
def has_slot(spare: Record, executors: int) -> bool:
    """Whether a pool has a slot for one more attempt: an idle one, or one of the `executors` that may still start."""
    return spare["idle"] > 0 or (spare["to_come"] > 0 and executors > 0)


@rule
def take_slot(spare: Record) -> int:
    """Use up one slot of a pool; returns how many executors start for it.

    The other slots of an executor that starts are its pool's without a further one.
    """
    if spare["idle"] > 0:
        spare["idle"] -= 1
        return 0
    came = min(spare["each"], spare["to_come"])
    spare["idle"], spare["to_come"] = came - 1, spare["to_come"] - came
    return 1


@rule
def log_gain(straggler: Record, further: int) -> float:
    """Gain of a straggler's log PoCD, and so of its job's, by one more attempt; 0 for a straggler that is lost."""
    before = pocd_with(straggler, further)
    return math.log(pocd_with(straggler, further + 1)) - math.log(before) if before > 0.0 else 0.0


@rule
def worth_of(straggler: Record, further: int, job_log: Floats, fairness: float) -> float:
    """Worth of one more attempt of a straggler, by which those of a job or of all jobs compete; 0 if it helps nothing.

    As printed, the straggler of a job that is least likely to be in time has the highest.
    """
    before, gain = job_log[straggler["job"]], log_gain(straggler, further)
    if before == -math.inf or gain <= 0.0:
        return 0.0
    if fairness < 0.0:
        return 1.0 / pocd_with(straggler, further)
    return gain if fairness >= LEAST_FIRST else utility(before + gain, fairness) - utility(before, fairness)


@rule
def best_of(
    rows: Ints,
    first: int,
    end: int,
    stragglers: Records,
    further: Ints,
    job_log: Floats,
    worth: Floats,
    limit: int,
    fairness: float,
) -> int:
    """The straggler of one job, in `rows[first:end]`, that its next attempt helps most, the first of equal ones.

    -1 if an attempt helps none that may have one. Their `worth` is written down.
    Source: Shed+, Algorithm 1, line 16.
    """
    best = -1
    for place in range(first, end):
        row = rows[place]
        worth[row] = worth_of(stragglers[row], further[row], job_log, fairness)
        may_have_one = worth[row] > 0.0 and further[row] < min(limit, stragglers[row]["most"])
        if may_have_one and (best < 0 or worth[row] > worth[best]):
            best = row
    return best


@rule
def next_job(
    best: Ints, stragglers: Records, job_log: Floats, worth: Floats, fairness: float, spare: Records, executors: int
) -> int:
    """Place of the job that gets the next attempt, for its `best` straggler (n_jobs,); -1 if none may have one.

    Below a fairness of 0 and from `LEAST_FIRST` on it is the one least likely to be in time. Of equal ones it is that
    of the first straggler.
    Source: Shed+, Algorithm 1, line 15.
    """
    found, least_first = -1, fairness < 0.0 or fairness >= LEAST_FIRST
    most = -math.inf
    for place in range(len(best)):
        row = best[place]
        if row < 0 or not has_slot(spare[stragglers[row]["pool"]], executors):
            continue
        mine = -job_log[stragglers[row]["job"]] if least_first else worth[row]
        if mine > most or (mine == most and row < best[found]):
            found, most = place, mine
    return found
