"""Where does chance come from? Draws that are pure functions of (seed, job, task, attempt).

Two policies that simulate one seed meet the same luck, attempt by attempt, whatever else they do differently: their
difference is the policies' and not the dice's.
"""

import numpy as np

from controlplane.compiled import rule

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MULTIPLIERS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
UNIT_SHIFT, UNIT = np.uint64(11), 2.0**-53


@rule
def mixed(state: np.uint64) -> np.uint64:
    """SplitMix64's output function: each bit of the result depends on every bit of the state.

    The first number of SplitMix64 with a seed of 0, as published:

    >>> hex(mixed(GOLDEN))
    '0xe220a8397b1dcdaf'
    """
    state = (state ^ (state >> SHIFTS[0])) * MULTIPLIERS[0]
    state = (state ^ (state >> SHIFTS[1])) * MULTIPLIERS[1]
    return state ^ (state >> SHIFTS[2])


@rule
def job_key(seed: int, job: int) -> np.uint64:
    """What tells the draws of one job of one seed from all others; the same in every release.

    >>> hex(job_key(seed=1, job=2))
    '0xb382a305f4414f5e'
    """
    return mixed(mixed(np.uint64(seed) * GOLDEN) + np.uint64(job) * GOLDEN)


@rule
def uniform(key: np.uint64, task: int, attempt: int) -> float:
    """A number in (0, 1] for one of up to 256 attempts of a task, by the key of its job.

    >>> len({uniform(np.uint64(0), task=task, attempt=attempt) for task in (0, 1) for attempt in (0, 255)})
    4
    """
    bits = mixed(key + np.uint64(256 * task + attempt + 1) * GOLDEN)
    return (np.float64(bits >> UNIT_SHIFT) + 1.0) * UNIT


@rule
def pareto_factor(share: float, tail_index: float) -> float:
    """The Pareto value from 1 upwards that this share of all draws exceeds; 1 if the tail index is infinite.

    >>> pareto_factor(share=0.125, tail_index=3.0)
    2.0
    """
    return share ** (-1.0 / tail_index)
