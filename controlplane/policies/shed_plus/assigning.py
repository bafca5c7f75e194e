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
STRAGGLER = np.dtype(
    [
        ("job", np.int64),  # row of its job
        ("miss", np.float64),  # as in `FORECAST`
        ("copy_miss", np.float64),
    ],
    align=True,
)
"""A task that is expected to end too late."""


@rule
def utility(log_pocd: float, fairness: float) -> float:
    """What a job's PoCD is worth, by alpha-fairness: 0 for the sum, 1 for the sum of logarithms.

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
def assign(stragglers: Records, others_log: Floats, spare: int, most: int, fairness: float, one_each: bool) -> Ints:
    """Further attempts of each straggler, (n,): at most `most`, and `spare` in all.

    `others_log` (n_jobs,) is the logarithm of the PoCD of each job's other tasks. The next attempt goes where it adds
    the most utility; as printed, to the job least likely to be in time, and there to the straggler least likely to.
    With `one_each` no straggler gets a second one before all that it helps have one.
    Source: Shed+, section IV.C, whose text gives by utility; Algorithm 1, which does not; and section II, one for each.
    """
    further, job_log = np.zeros(len(stragglers), dtype=np.int64), others_log.copy()
    for row in range(len(stragglers)):
        job_log[stragglers[row]["job"]] += log_of(pocd_with(stragglers[row], 0))
    limit, left = min(1, most) if one_each else most, spare
    while left > 0:
        if fairness < 0.0:
            best = neediest(stragglers, further, job_log, limit)
        else:
            best = most_useful(stragglers, further, job_log, limit, fairness)
        if best >= 0:
            job = stragglers[best]["job"]
            job_log[job] += log_gain(stragglers[best], further[best])
            further[best] += 1
            left -= 1
        elif limit < most:
            limit = most
        else:
            break
    return further


@rule
def log_gain(straggler: Record, further: int) -> float:
    """What one more attempt adds to the logarithm of a straggler's PoCD, and so of its job's."""
    return math.log(pocd_with(straggler, further + 1)) - math.log(pocd_with(straggler, further))


@rule
def is_open(stragglers: Records, further: Ints, job_log: Floats, limit: int, row: int) -> bool:
    """Whether a straggler may get one more attempt."""
    return further[row] < limit and job_log[stragglers[row]["job"]] > -math.inf


@rule
def neediest(stragglers: Records, further: Ints, job_log: Floats, limit: int) -> int:
    """The straggler least likely to be in time, of the job least likely to be; -1 if there is none.

    Source: Shed+, Algorithm 1, lines 15 and 16.
    """
    best, job_least, least = -1, 0.0, 0.0
    for row in range(len(stragglers)):
        if is_open(stragglers, further, job_log, limit, row):
            job, pocd = stragglers[row]["job"], pocd_with(stragglers[row], further[row])
            is_of_best = best >= 0 and job == stragglers[best]["job"]
            if best < 0 or (pocd < least if is_of_best else job_log[job] < job_least):
                best, job_least, least = row, job_log[job], pocd
    return best


@rule
def most_useful(stragglers: Records, further: Ints, job_log: Floats, limit: int, fairness: float) -> int:
    """The straggler whose further attempt adds most utility; -1 if none adds any.

    `LEAST_FIRST` serves the job least likely to be in time.
    """
    best, most, least = -1, 0.0, math.inf
    for row in range(len(stragglers)):
        before = job_log[stragglers[row]["job"]]
        if not is_open(stragglers, further, job_log, limit, row):
            continue
        gain = log_gain(stragglers[row], further[row])
        if fairness < LEAST_FIRST:
            gain = utility(before + gain, fairness) - utility(before, fairness)
        elif before < least and gain > 0.0:
            least, most = before, 0.0
        if gain > most and (fairness < LEAST_FIRST or before == least):
            best, most = row, gain
    return best
