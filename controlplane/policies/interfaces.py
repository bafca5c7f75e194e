"""What does a policy see, and what does it answer? Two axes: allocators per pool, speculators per job.

Everything here is columns: one row a claimant (a job in a driver's pool), one row a running task. A policy is
a pure function of a view and its settings; it reads no clock and draws no number.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.int16]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolView:
    """One pool and its claimants, all columns of shape (n_claimants,), rows in order of arrival."""

    slots: int
    arrival_s: Floats
    weight: Floats
    remaining_tasks: Floats
    """Tasks not yet done of stages that run now (Hopper's T)."""
    downstream_tasks: Floats
    """Tasks of the stages that these feed, 0 where there are none."""
    remaining_work_s: Floats
    """Slot-seconds of originals still to do, by the estimators."""
    running: Ints
    """Attempts running now, copies included."""
    usable: Ints
    """The most slots the claimant could fill at once: running, waiting, and copies it may have."""
    tail_index: Floats
    transfer_ratio: Floats
    fixed_target: Ints
    """Target set over REST; -1 for none."""
    fixed_cap: Ints
    """Cap set over REST; -1 for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """An allocator's answer, columns of shape (n_claimants,). Targets never add up to more than the slots."""

    target: Ints
    virtual_size: Floats
    """What the claimant could use well, in slots; for allocators without the notion, its remaining tasks."""
    cap: Ints
    """The most it may hold, which keeps slots free; -1 for no cap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTasks:
    """Tasks with at least one live attempt, of any jobs and pools; columns of shape (n_tasks,).

    `stage` numbers groups 0..n_stages-1 of siblings, in no order. Times are seconds.
    """

    stage: Ints
    running_attempts: Ints
    """Live attempts of the task (GRASS's c)."""
    elapsed_s: Floats
    """Age of the oldest live attempt."""
    t_rem_s: Floats
    """Estimated time to the end of the attempt that ends first; inf where nothing is known."""
    t_new_s: Floats
    """Estimated duration of a fresh attempt of the same work, launch to end; inf where nothing is known."""
    progress_rate: Floats
    """Work done per second of the best attempt, in units that siblings share; 0 before first progress."""
    sibling_rate: Floats
    """Geometric mean of the siblings' rates, same units; nan where nothing is known."""
    eligible: Flags
    """False where the engine has a reason of its own to leave the task alone (too new, unsafe ...)."""
    pool_slots: Ints
    """Slots of the task's pool."""
    pool_copies: Ints
    """Copies running in the task's pool."""
    pool_idle: Ints
    """Slots of the task's pool that no attempt holds and no original waits for."""
    pool: Ints
    """Numbers the pools 0..n_pools-1, in no order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """A speculator's answer, columns of shape (n_tasks,).

    `score` orders tasks of one job, higher first; only tasks with `wanted` are candidates. `reason` says why,
    or why not, as `controlplane.model.reasons.Reason`; it is ignored where a task was not eligible.
    """

    wanted: Flags
    score: Floats
    reason: Codes


class Allocator(Protocol):
    """How many slots may each claimant hold now?"""

    def __call__(self, view: PoolView, settings: Mapping[str, float]) -> Allocation: ...


class Speculator(Protocol):
    """Within a job's target: which running tasks deserve one more attempt?"""

    def __call__(self, view: RunningTasks, settings: Mapping[str, float]) -> Speculation: ...
