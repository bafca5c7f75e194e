"""Which columns does running work have? One table a kind of thing; `_s` are seconds on the engine's clock."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from controlplane.model.reasons import Reason
from controlplane.model.table import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Record = Any
"""One row of an array of records."""
Records = NDArray[Any]
"""An array of records: a table's, or of a type that a policy sees or answers."""

NAN = float("nan")
_INT = (np.int64, 0)
_ROW = (np.int64, -1)
_FLAG = (np.bool_, 0)
_SUM = (np.float64, 0.0)
_UNKNOWN = (np.float64, NAN)


class Pools(Table):
    """Slots and who may have them, one row a source."""

    slots: Ints
    losing_core_s: Floats
    total_core_s: Floats
    reviewed_s: Floats
    startup_mean_s: Floats
    """Learned time from launch to first progress, and its mean deviation; nan before the first sample."""
    startup_deviation_s: Floats
    cold_startup_mean_s: Floats
    """The same for attempts on executors that have not finished any yet."""
    cold_startup_deviation_s: Floats
    due: Flags
    """Looked at in this cycle; then these are of this cycle, too."""
    off: Flags
    max_copies: Ints
    """Extra attempts that one task may have."""
    n_copies: Ints
    """Copies that run or were ordered."""
    idle: Ints
    """Slots that no attempt holds, no original waits for, and no ordered copy will take."""
    tail_index: Floats
    tail_reviewed_s: Floats
    offered_load: Floats
    """Share of the slots that originals alone would keep busy, smoothed; and their share since it was last seen."""
    busy_share: Floats
    load_seen_s: Floats
    at_start: Flags
    """Whether its speculator copies attempts that are too new to be judged."""
    small_demand_s: Floats
    """Slot-seconds up to which a job pays with copies at the start; only where its speculator asks."""
    kept_slowness: Floats
    """Share of a straggler's own slowness that a copy of it shows again, 0 to 1."""
    executor_slots: Ints
    """Of each executor that its driver asks for; 0 where unknown."""

    COLUMNS: ClassVar = {
        "slots": _INT,
        "losing_core_s": _SUM,
        "total_core_s": _SUM,
        "reviewed_s": (np.float64, -np.inf),
        "startup_mean_s": _UNKNOWN,
        "startup_deviation_s": _UNKNOWN,
        "cold_startup_mean_s": _UNKNOWN,
        "cold_startup_deviation_s": _UNKNOWN,
        "kept_slowness": _SUM,
        "due": _FLAG,
        "off": _FLAG,
        "max_copies": _INT,
        "n_copies": _INT,
        "idle": _INT,
        "tail_index": (np.float64, 1.0),
        "tail_reviewed_s": (np.float64, -np.inf),
        "offered_load": _SUM,
        "busy_share": _SUM,
        "load_seen_s": (np.float64, -np.inf),
        "at_start": _FLAG,
        "small_demand_s": _SUM,
        "executor_slots": _INT,
    }


class Hosts(Table):
    """Machines over all sources."""

    left_s: Floats
    """Since when no executor has been there; nan while one is."""

    COLUMNS: ClassVar = {"left_s": _UNKNOWN}


class Executors(Table):
    """Slots of one source on one host."""

    pool: Ints
    host: Ints
    slots: Ints
    running: Ints
    finished: Ints
    added_s: Floats

    COLUMNS: ClassVar = {
        "pool": _ROW,
        "host": _ROW,
        "slots": _INT,
        "running": _INT,
        "finished": _INT,
        "added_s": _UNKNOWN,
    }


class Jobs(Table):
    """Claimants of a pool."""

    pool: Ints
    submitted_s: Floats
    weight: Floats
    copies_enabled: Flags
    mode_rank: Ints
    copies_launched: Ints
    copies_won: Ints
    copies_lost: Ints
    losing_core_s: Floats
    target: Ints
    remaining_tasks: Ints
    """Not yet done, of its open stages."""
    room: Ints
    """Of the target: slots that no attempt holds, no copy is on its way to, and no original of the job waits for."""
    cap: Ints
    originals: Ints
    """Of the target, the most that originals may hold; -1 for no such limit."""
    granted_target: Ints
    granted_cap: Ints
    granted_originals: Ints
    granted_s: Floats
    fixed_target: Ints
    fixed_cap: Ints
    virtual_size: Floats
    transfer_ratio: Floats
    downstream_tasks: Floats
    """Tasks of the stages that its open stages feed and that have not been submitted yet."""
    containers_running: Ints
    """Containers of an application in a leaf queue, and those it asks for; 0 for jobs that have stages."""
    containers_pending: Ints
    ended: Flags
    unjudged: Flags
    """An attempt of it has been too new to judge for longer than we may keep the host from helping it."""
    told_off: Flags
    """It is on record that the mode leaves its tasks alone, and the mode is still off."""

    COLUMNS: ClassVar = {
        "pool": _ROW,
        "submitted_s": _UNKNOWN,
        "weight": (np.float64, 1.0),
        "copies_enabled": (np.bool_, 1),
        "mode_rank": _INT,
        "copies_launched": _INT,
        "copies_won": _INT,
        "copies_lost": _INT,
        "losing_core_s": _SUM,
        "target": _INT,
        "remaining_tasks": _INT,
        "room": _INT,
        "cap": _ROW,
        "originals": _ROW,
        "granted_target": _ROW,
        "granted_cap": _ROW,
        "granted_originals": _ROW,
        "granted_s": (np.float64, -np.inf),
        "fixed_target": _ROW,
        "fixed_cap": _ROW,
        "virtual_size": _SUM,
        "transfer_ratio": (np.float64, 1.0),
        "downstream_tasks": _SUM,
        "containers_running": _INT,
        "containers_pending": _INT,
        "ended": _FLAG,
        "unjudged": _FLAG,
        "told_off": _FLAG,
    }


class Stages(Table):
    """Task sets. Sums are over finished attempts; a *cost* is seconds per unit of work (byte or record)."""

    pool: Ints
    job: Ints
    n_tasks: Ints
    n_done: Ints
    n_active: Ints
    """Tasks not done that have a live attempt."""
    n_running: Ints
    """Live attempts, losers of finished tasks included."""
    n_copies: Ints
    submitted_s: Floats
    verdict: Ints
    """Reason code of the write-safety gate; 0 where tasks may run twice. A stage that was not judged is unknown."""
    closing: Flags
    """The stage is over; it stays until its last attempt has ended."""
    closed_s: Floats
    n_finished: Ints
    duration_sum_s: Floats
    records_sum: Floats
    shuffle_bytes: Floats
    """Written for the stages that it feeds."""
    n_costs: Ints
    log_cost_sum: Floats
    prior_duration_s: Floats
    """Typical duration and cost of the same stage in earlier jobs; nan where never seen."""
    prior_log_cost: Floats
    relaunch_factor: Floats
    """The best age to relaunch its tasks at, over what they are expected to take; only where its speculator asks."""

    COLUMNS: ClassVar = {
        "pool": _ROW,
        "job": _ROW,
        "n_tasks": _INT,
        "n_done": _INT,
        "n_active": _INT,
        "n_running": _INT,
        "n_copies": _INT,
        "submitted_s": _UNKNOWN,
        "verdict": (np.int64, Reason.UNKNOWN_OUTPUT),
        "closing": _FLAG,
        "closed_s": _UNKNOWN,
        "n_finished": _INT,
        "duration_sum_s": _SUM,
        "records_sum": _SUM,
        "shuffle_bytes": _SUM,
        "n_costs": _INT,
        "log_cost_sum": _SUM,
        "prior_duration_s": _UNKNOWN,
        "prior_log_cost": _UNKNOWN,
        "relaunch_factor": (np.float64, np.inf),
    }


class Tasks(Table):
    """Tasks that have or had an attempt in a live stage."""

    pool: Ints
    job: Ints
    stage: Ints
    index: Ints
    input_bytes: Floats
    newest: Ints
    """Row of the live attempt that started last; -1 for none. The others follow by `Attempts.older`."""
    n_live: Ints
    n_copies: Ints
    done: Flags
    done_s: Floats
    reason: Ints
    """Current reason code for having no further copy, or for the latest one."""
    ordered_copies: Ints
    """Copies ordered and not yet seen to start."""
    ordered_until_s: Floats
    not_before_s: Floats
    """After a refused or expired order the task is left alone until then."""

    COLUMNS: ClassVar = {
        "pool": _ROW,
        "job": _ROW,
        "stage": _ROW,
        "index": _INT,
        "input_bytes": _UNKNOWN,
        "newest": _ROW,
        "n_live": _INT,
        "n_copies": _INT,
        "done": _FLAG,
        "done_s": (np.float64, -np.inf),
        "reason": _INT,
        "ordered_copies": _INT,
        "ordered_until_s": (np.float64, -np.inf),
        "not_before_s": (np.float64, -np.inf),
    }


class Attempts(Table):
    """Live attempts."""

    id: Ints
    pool: Ints
    job: Ints
    stage: Ints
    task: Ints
    older: Ints
    """Row of the next live attempt of the task; -1 for none."""
    executor: Ints
    host: Ints
    attempt_number: Ints
    order: Ints
    speculative: Flags
    cold: Flags
    """The first on its executor: its JVM may still be starting."""
    start_s: Floats
    first_s: Floats
    """When progress was first seen, and how much work it was."""
    first_work: Floats
    advanced_s: Floats
    """When work last grew."""
    work: Floats
    """Work done, in the unit of `unit`: 0 nothing known, 1 bytes, 2 records, 3 the host's own share."""
    unit: Ints
    bytes_read: Floats
    bytes_written: Floats
    records_read: Floats
    records_written: Floats
    t_rem_s: Floats
    t_new_s: Floats
    progress: Floats
    rate: Floats
    """Work per second from launch to foreseen end; comparable with `sibling_rate`, which a fresh attempt would have."""
    sibling_rate: Floats
    log_cost: Floats
    """Log of the seconds per unit of work since progress began; nan before."""
    too_new: Flags
    """It could not have made its first progress yet, or its rate has been seen too briefly."""
    estimated_s: Floats
    """When t_rem was first estimated, and the end it foretold: held against what comes out."""
    foretold_end_s: Floats
    log_slowness: Floats
    """Log of its seconds per unit of work over those of siblings on other hosts; nan where unknown."""

    COLUMNS: ClassVar = {
        "id": _ROW,
        "pool": _ROW,
        "job": _ROW,
        "stage": _ROW,
        "task": _ROW,
        "older": _ROW,
        "executor": _ROW,
        "host": _ROW,
        "attempt_number": _INT,
        "order": _INT,
        "speculative": _FLAG,
        "cold": _FLAG,
        "start_s": _UNKNOWN,
        "first_s": _UNKNOWN,
        "first_work": _SUM,
        "advanced_s": _UNKNOWN,
        "work": _SUM,
        "unit": _INT,
        "bytes_read": _SUM,
        "bytes_written": _SUM,
        "records_read": _SUM,
        "records_written": _SUM,
        "t_rem_s": (np.float64, np.inf),
        "t_new_s": (np.float64, np.inf),
        "progress": _UNKNOWN,
        "rate": _SUM,
        "sibling_rate": _SUM,
        "log_cost": _UNKNOWN,
        "too_new": _FLAG,
        "estimated_s": _UNKNOWN,
        "foretold_end_s": _UNKNOWN,
        "log_slowness": _UNKNOWN,
    }
