"""How long does an attempt take on the simulated cluster, and what can be seen of it? The laws, and no policy.

- A task's attempts draw factors on its job's service time, each its own (*independent*), but for a share of tasks
  that are slow because of their data: all their attempts take the first one's factor (*shared*).
- The law of factors is Pareto from 1 upwards. With a `tail_share` below 1 only that share of the draws is in a Pareto
  tail, from 1.15 upwards, and all others are spread evenly from 0.85 to 1.15.
- A share of the machines is slow by a factor for whatever runs there.
- An attempt starts to work after `launch_s`. Its rate can be read `detect_s` later, and then foretells its remaining
  time but for a lognormal factor of its own; before, all that is known is what siblings take.
- A killed attempt holds its slot for `kill_s` more.
- A task's input may lie on a few machines only; elsewhere it takes `remote_factor` times as long.
- A job may have a deadline, or an error bound: a share of its first phase's tasks that may stay undone. Later phases
  run whole.
"""

import math
from typing import NamedTuple

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Floats, Ints, Record
from controlplane.simulator.draws import job_key, pareto_factor, uniform

IS_SHARED, FIRST_HOME, FIRST_NOISE = 255, 192, 128
"""Draws of a task that are none of its attempts'; an attempt's noise takes two."""
BODY = 0.15
"""How far factors that are not in the tail are from 1 at most."""
MACHINES, JOBS = 2**62, 2**62 + 1
"""The jobs whose draws are the machines', and those that jobs have for themselves."""


class Workload(NamedTuple):
    """Jobs in order of arrival, shape (n_jobs,) but where it says otherwise."""

    arrival_s: Floats
    service_s: Floats
    """What a task takes with a factor of 1."""
    weight: Floats
    transfer_ratio: Floats
    """Time to move a phase's output to the next one over the time its tasks take, were it moved after them."""
    first_phase: Ints
    """(n_jobs + 1,): where the job's phases begin in the next column."""
    phase_tasks: Ints
    """(n_phases,)."""
    original_s: Floats
    """(n_tasks,): what originals take, job by job; empty to draw it."""
    first_original: Ints
    """(n_jobs + 1,): where the job's tasks begin in it."""
    deadline_s: Floats
    """Time from its arrival within which the job must end; infinite for none."""
    input_deadline_s: Floats
    """The same for the tasks of its first phase."""
    error_bound: Floats
    """Share of these tasks that may stay undone; 0 for an exact job."""


class World(NamedTuple):
    """Numbers of one cluster. All but the seed are the scenario's."""

    seed: int
    machines: int
    tail_index: float
    """Of the factors; infinity for all 1."""
    tail_share: float
    """Share of the factors that are in the tail; 1 for a pure Pareto law."""
    shared_share: float
    slow_machine_share: float
    slow_machine_factor: float
    noise: float
    """Standard deviation of the logarithm of estimated over true remaining time."""
    detect_s: float
    launch_s: float
    kill_s: float
    replicas: int
    """Machines that hold the input of a task of a first phase; 0 for all."""
    remote_factor: float
    resumes: bool
    """Whether copies begin where the attempt of their task that has done most will stand once they work."""
    gives_up: bool
    """Whether a job gives up, at their deadline, the tasks of its first phase that are not done."""


@rule
def factor(share: float, tail_index: float, tail_share: float) -> float:
    """The factor that this share of all draws exceeds.

    >>> [round(factor(share, tail_index=1.5, tail_share=0.1), 3) for share in (0.0125, 0.1, 0.55, 1.0)]
    [4.6, 1.15, 1.0, 0.85]
    >>> factor(0.125, tail_index=3.0, tail_share=1.0)
    2.0
    """
    if share > tail_share:
        return 1.0 - BODY + 2.0 * BODY * (1.0 - share) / (1.0 - tail_share)
    return tail_start(tail_share) * pareto_factor(share / tail_share, tail_index)


@rule
def tail_start(tail_share: float) -> float:
    """The least factor in the tail."""
    return 1.0 if tail_share == 1.0 else 1.0 + BODY


@rule
def mean_factor(tail_index: float, tail_share: float) -> float:
    """The mean of the factors.

    >>> [round(mean_factor(tail_index, 1.0), 9) for tail_index in (1.5, math.inf)]
    [3.0, 1.0]
    >>> round(mean_factor(1.5, tail_share=0.1), 9)
    1.245
    """
    return 1.0 - tail_share + tail_share * tail_start(tail_share) / (1.0 - 1.0 / tail_index)


@rule
def typical_factor(tail_index: float, tail_share: float) -> float:
    """Their geometric mean, which is what the live estimator tells of siblings.

    >>> round(typical_factor(1.5, tail_share=0.1), 3)
    1.08
    """
    low, high = 1.0 - BODY, 1.0 + BODY
    mean_log_of_body = (high * math.log(high) - low * math.log(low)) / (high - low) - 1.0
    mean_log_of_tail = math.log(tail_start(tail_share)) + 1.0 / tail_index
    return math.exp((1.0 - tail_share) * mean_log_of_body + tail_share * mean_log_of_tail)


@rule
def machine_of(slot: int, machines: int) -> int:
    """Slots lie round robin over the machines."""
    return slot % machines


@rule
def machine_factor(world: World, machine: int) -> float:
    """How many times as long everything takes on it."""
    if world.slow_machine_share == 0:
        return 1.0
    is_slow = uniform(job_key(world.seed, MACHINES), machine, 0) <= world.slow_machine_share
    return world.slow_machine_factor if is_slow else 1.0


@rule
def attempt_factor(world: World, key: np.uint64, task: int, attempt: int) -> float:
    """An attempt's factor on its job's service time."""
    if world.shared_share > 0 and uniform(key, task, IS_SHARED) <= world.shared_share:
        attempt = 0
    return factor(uniform(key, task, attempt), world.tail_index, world.tail_share)


@rule
def attempt_work_s(work: Workload, world: World, job: Record, task: int, attempt: int) -> float:
    """What an attempt takes where nothing slows it down, once it works; tasks count over all phases of the job."""
    if attempt == 0 and len(work.original_s) > 0:
        return work.original_s[work.first_original[job["id"]] + task]
    return work.service_s[job["id"]] * attempt_factor(world, job["key"], task, attempt)


@rule
def noise_factor(world: World, key: np.uint64, task: int, attempt: int) -> float:
    """Estimated over true remaining time (Box and Muller's normal draw)."""
    if world.noise == 0:
        return 1.0
    first, second = uniform(key, task, FIRST_NOISE + 2 * attempt), uniform(key, task, FIRST_NOISE + 2 * attempt + 1)
    return math.exp(world.noise * math.sqrt(-2.0 * math.log(first)) * math.cos(2.0 * math.pi * second))


@kernel
def job_draws(seed: int, jobs: int) -> Floats:
    """A draw from [0, 1) for each job, shape (jobs,): what is drawn by chance about it goes by this."""
    return np.array([1.0 - uniform(job_key(seed, JOBS), job, 0) for job in range(jobs)])


@rule
def home_of(world: World, key: np.uint64, task: int, replica: int) -> int:
    """A machine for one replica of a task's input."""
    return min(int(uniform(key, task, FIRST_HOME + replica) * world.machines), world.machines - 1)
