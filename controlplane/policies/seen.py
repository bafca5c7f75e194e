"""What does a policy see? The same records in every world: live, `grasshopper decide`, and the simulator.

One record per claimant (a job in a driver's pool), running task and finished attempt; a task points to the
records of its pool, job and stage. A policy is a kernel: it reads what is seen and its settings, a record with the
registry's names, and fills in the answers given to it (`answer.py`); it reads no clock and draws no number. Python
indexes records by field as compiled code does: `seen.claimants["weight"][row]`.
"""

from typing import NamedTuple

import numpy as np

from controlplane.model.columns import Floats, Records
from controlplane.model.finished import FINISHED

CLAIMANT = np.dtype(
    [
        ("arrival_s", np.float64),  # when it came, by the clock of its world
        ("weight", np.float64),  # its claim to slots in a fair division, relative to the others' weights
        ("remaining_tasks", np.float64),  # not yet done, of stages that run now (Hopper's T)
        ("downstream_tasks", np.float64),  # of the stages that these feed, 0 where there are none
        ("remaining_work_s", np.float64),  # slot-seconds of originals still to do, later stages' too, by the estimators
        ("running", np.int64),  # attempts, including copies
        ("usable", np.int64),  # the most slots it could fill at once: running, waiting, and copies it may have
        ("foreseen", np.int64),  # the same with copies that its waiting tasks may have once they run
        ("tail_index", np.float64),  # of its tasks' durations; inf for containers, which are not copied
        ("transfer_ratio", np.float64),  # what its open stages leave to fetch over the work left in them
        ("fixed_target", np.int64),  # target set over REST; -1 for none
        ("fixed_cap", np.int64),  # cap set over REST; -1 for none
        ("pool", np.int64),  # its pool, numbered from 0
        ("pool_slots", np.int64),  # slots of its pool
        ("copies", np.int64),  # copies that run
        ("deadline_s", np.float64),  # seconds left to its deadline, negative once it has passed; inf for none
        ("error_bound", np.float64),  # share of its input tasks that may stay undone; 0 for an exact job
    ],
    align=True,
)

"""A job that wants slots, or an application of a leaf queue."""

POOL = np.dtype(
    [
        ("slots", np.int64),  # that its executors have, busy or not
        ("copies", np.int64),  # running, and in the engine those on their way
        ("idle", np.int64),  # slots that no attempt holds, no original waits for, and no ordered copy will take
        ("executor_slots", np.int64),  # of one executor; 0 where unknown
        ("foretold_error", np.float64),  # mean absolute log error of estimates of attempts' time to go
        ("waiting_jobs", np.int64),  # jobs with originals that wait
        ("tail_index", np.float64),  # as a claimant's
        ("kept_slowness", np.float64),  # share of a straggler's own slowness that a copy shows again, 0 to 1
        ("startup_s", np.float64),  # from an attempt's launch to its first progress
        ("tell_s", np.float64),  # from an attempt's launch to the cycle that can go by its own pace
        ("queue", np.int64),  # equal for pools whose executors are containers of one leaf queue
        ("to_come", np.int64),  # slots of executors that would start for copies, for a row with `shares_spare`; else 0
        ("queue_executors", np.int64),  # executors that may start in all pools of its queue together
        ("resumes", np.bool_),  # a copy begins where the attempt that has done most will stand once the copy works
    ],
    align=True,
)
"""The slots of one driver."""

JOB = np.dtype(
    [
        ("tasks", np.int64),  # of stages that run now, done or not
        ("room", np.int64),  # of its target: slots that no attempt holds and no original of it waits for
        ("waiting", np.int64),  # originals that have no attempt yet
        ("age_s", np.float64),  # since it came
        ("deadline_s", np.float64),  # as a claimant's
        ("error_bound", np.float64),  # as a claimant's
        ("explores", np.int64),  # the policy that it tries wholly, by its row's `explores`; meaningless without one
    ],
    align=True,
)
"""The job of a running task."""

STAGE = np.dtype(
    [
        ("tasks", np.int64),  # done or not; 0 where unknown
        ("done", np.int64),  # all that are, also those left out of `FINISHED`
        ("needed", np.int64),  # that have yet to end for its job's error bound; all that are left where it has none
        ("deadline_s", np.float64),  # seconds left until its tasks must have ended; inf for no deadline
        ("prepared", np.float64),  # the number that its policy's row has prepared for it; nan if none
        ("finished_from", np.int64),  # its first row of `FINISHED`; -1 where unknown, and t_new_s replaces them
        ("finished_to", np.int64),  # the row after its last
    ],
    align=True,
)
"""The stage of a running task."""

RUNNING_TASK = np.dtype(
    [
        ("stage", np.int64),  # row of its `STAGE`; tasks of a stage are siblings
        ("running_attempts", np.int64),  # live attempts (GRASS's c)
        ("elapsed_s", np.float64),  # age of the oldest live attempt
        ("youngest_s", np.float64),  # age of the newest live attempt
        ("progress", np.float64),  # share of its work that the attempt that ends first has done; nan where unknown
        ("t_rem_s", np.float64),  # to the end of the attempt that ends first; inf where nothing is known
        ("t_new_s", np.float64),  # duration of a fresh attempt, launch to end; inf where nothing is known
        ("t_fresh_s", np.float64),  # the same if it keeps nothing of the best attempt's own slowness
        (
            "slowness",
            np.float64,
        ),  # work time of the best attempt over its siblings', a slow host's part aside; at least 1
        ("progress_rate", np.float64),  # work per second of the best attempt, in units that siblings share
        ("sibling_rate", np.float64),  # the same of a fresh attempt, predicted from siblings; 0 or nan where unknown
        ("relative_size", np.float64),  # work over that of its stage's other tasks; 1 if nothing shows it
        ("eligible", np.bool_),  # False if the task is left alone, whatever a policy wants
        ("too_new", np.bool_),  # none of its attempts can be judged yet
        ("standing", np.int16),  # the reason, as a `Reason`, the first that holds; 0 if it is eligible
        ("copies_left", np.int16),  # further attempts that settings and host allow it
        (
            "worst_rem_s",
            np.float64,
        ),  # to the end of the last attempt; t_rem_s if the progress of one is unknown
        ("pool", np.int64),  # row of its `POOL`
        ("job", np.int64),  # row of its `JOB`
        ("attempts_started", np.int64),  # attempts so far, including ended ones
        ("expected_s", np.float64),  # mean time of a fresh attempt, by finished ones of its stage; nan if none
        ("service_s", np.float64),  # least time that a fresh attempt works after its start-up; nan as `expected_s`
        ("work", np.float64),  # its total work, in the unit of `FINISHED`; nan where unknown
        ("likeness", np.float64),  # log odds by its attempts' paces that they share their slowness; 0 without evidence
    ],
    align=True,
)
"""A task of any job and pool that has a live attempt; the fields that most policies read come first."""

WAITING_TASK = np.dtype(
    [
        ("stage", np.int64),  # row of its `STAGE`
        ("index", np.int64),  # in its stage
        ("job", np.int64),  # row of its `JOB`
        ("pool", np.int64),  # row of its `POOL`
        ("work", np.float64),  # as a running task's
        ("relative_size", np.float64),  # as a running task's
        ("t_new_s", np.float64),  # duration of its first attempt, launch to end; inf where nothing is known
        ("local_hosts", np.int64),  # hosts of its pool that hold its input; 0 for no preference
        ("local_free_slots", np.int64),  # slots of its pool on those hosts that no attempt holds
    ],
    align=True,
)
"""A task that neither runs nor is done, of an open stage; tasks of a stage stand together, by index."""

UNKNOWN_FINISHED = np.zeros(0, dtype=FINISHED)
"""Used if no finished attempts are known, or none are needed."""
NO_CLAIMANTS, NO_TASKS = np.zeros(0, dtype=CLAIMANT), np.zeros(0, dtype=RUNNING_TASK)
NO_POOLS, NO_JOBS, NO_STAGES = np.zeros(0, dtype=POOL), np.zeros(0, dtype=JOB), np.zeros(0, dtype=STAGE)
NO_WAITING = np.zeros(0, dtype=WAITING_TASK)
NO_WEIGHTS = np.zeros(0)
NO_WEIGHTS.flags.writeable = False


class Seen(NamedTuple):
    """What one call of a policy sees.

    An allocator sees the slots and claimants of a pool, a copy budget those of all drivers, a speculator running tasks
    with their pools, jobs and stages, and one that orders waiting tasks those, with the same records. Rows to which
    no task points hold nothing.
    """

    slots: int = 0
    claimants: Records = NO_CLAIMANTS
    """`CLAIMANT`, (n_claimants,), in order of arrival."""
    pools: Records = NO_POOLS
    """`POOL`, (n_pools,)."""
    jobs: Records = NO_JOBS
    """`JOB`, (n_jobs,)."""
    stages: Records = NO_STAGES
    """`STAGE`, (n_stages,)."""
    tasks: Records = NO_TASKS
    """`RUNNING_TASK`, (n_tasks,)."""
    finished: Records = UNKNOWN_FINISHED
    """`FINISHED`, to which stages point."""
    weights: Floats = NO_WEIGHTS
    """Weights of the policy's row, or the samples where it explores, read only; empty if it has neither."""
    waiting: Records = NO_WAITING
    """`WAITING_TASK`, (n_waiting,)."""


class Load(NamedTuple):
    """The load that a policy prepares for: a pool as a whole."""

    slots: int
    offered_load: float
    """Slot time that arrives per slot and second, including stragglers."""
    tail_index: float
    """Tail index of attempts' durations."""
