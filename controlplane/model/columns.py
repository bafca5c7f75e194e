"""Which columns does running work have? One table per kind of thing; `_s` are seconds on the engine's clock."""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from controlplane.model.reasons import Reason
from controlplane.model.table import Column, Table
from controlplane.model.writers import Writer

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Record = Any
"""One row of an array of records."""
Records = NDArray[Any]
"""An array of records of a type that a policy sees or answers."""

NAN = float("nan")
CHOICES = 6
"""Numbers of further attempts that a job's PoCD is foretold for: none, and up to five, the most that Shed+ gives."""


def ints(empty: int = 0, *, by: Writer = Writer.HOST) -> Ints:
    """A column of whole numbers: counts, and rows of other tables, of which -1 is none."""
    return cast("Ints", Column(np.int64, empty, by))


def floats(empty: float = NAN, *, by: Writer = Writer.HOST) -> Floats:
    """A column of measured numbers: unknown in an empty cell, or a sum that begins at 0."""
    return cast("Floats", Column(np.float64, empty, by))


def choices(*, by: Writer) -> Floats:
    """A column of one measured number for each of `CHOICES`, shape (n, CHOICES), unknown in an empty cell."""
    return cast("Floats", Column(np.dtype((np.float64, (CHOICES,))), NAN, by))


def flags(empty: bool = False, *, by: Writer = Writer.HOST) -> Flags:
    """A column of truth values."""
    return cast("Flags", Column(np.bool_, empty, by))


class Pools(Table):
    """Pools of slots, one row per source."""

    slots = ints()
    losing_core_s = floats(0.0)
    total_core_s = floats(0.0)
    n_ended = ints()
    """Attempts summed in `total_core_s`."""
    reviewed_s = floats(-np.inf, by=Writer.ENGINE)
    startup_mean_s = floats(by=Writer.ESTIMATOR)
    """Learned time from launch to first progress, and its mean deviation; nan before the first sample."""
    startup_deviation_s = floats(by=Writer.ESTIMATOR)
    cold_startup_mean_s = floats(by=Writer.ESTIMATOR)
    """The same for the first attempts of a stage on their executors."""
    cold_startup_deviation_s = floats(by=Writer.ESTIMATOR)
    foretold_error = floats(0.5, by=Writer.ESTIMATOR)
    """Mean absolute log error of the first estimates of t_rem."""
    n_foretold = ints(by=Writer.ESTIMATOR)
    cold_foretold_error = floats(0.5, by=Writer.ESTIMATOR)
    """The same for the first attempts of a stage on their executors."""
    n_cold_foretold = ints(by=Writer.ESTIMATOR)
    due = flags(by=Writer.CYCLE)
    """Whether it is reviewed in this cycle; if so, these are current, too."""
    off = flags(by=Writer.CYCLE)
    max_copies = ints(by=Writer.CYCLE)
    """Extra attempts that one task may have."""
    counted_copies = ints(by=Writer.CYCLE)
    """Copies that run or were ordered."""
    idle = ints(by=Writer.CYCLE)
    """Slots that no attempt holds, no original waits for, and no ordered copy will take."""
    tail_index = floats(1.0, by=Writer.ESTIMATOR)
    tail_reviewed_s = floats(-np.inf, by=Writer.ESTIMATOR)
    offered_load = floats(0.0, by=Writer.ESTIMATOR)
    """Share of the slots that originals alone would keep busy, smoothed; and their share since it was last seen."""
    busy_share = floats(0.0, by=Writer.ESTIMATOR)
    load_seen_s = floats(-np.inf, by=Writer.ESTIMATOR)
    kept_slowness = floats(0.0, by=Writer.ESTIMATOR)
    """Share of a straggler's own slowness that a copy of it shows again, 0 to 1."""
    waiting_jobs = ints(by=Writer.CYCLE)
    """Jobs with originals that have no attempt yet."""
    tell_s = floats(0.0, by=Writer.CYCLE)
    """Time from an attempt's launch to the cycle that can go by its own pace."""
    executor_slots = ints(by=Writer.CYCLE)
    """Slots of each executor that its driver asks for; 0 where unknown."""
    queue = ints(by=Writer.CYCLE)
    """Row of the leaf queue whose containers are its executors, else its own."""
    to_come = ints(by=Writer.CYCLE)
    """Slots of executors that would start for copies, where a speculator shares them out; else 0."""
    queue_executors = ints(by=Writer.CYCLE)
    """Executors that may start in all pools of its queue together."""


class Hosts(Table):
    """Machines over all sources."""

    left_s = floats()
    """Time since which no executor has been there; nan while one is."""


class Executors(Table):
    """Slots of one source on one host."""

    host = ints(-1)
    slots = ints()
    running = ints()
    n_ended = ints()
    added_s = floats()


class Jobs(Table):
    """Claimants of a pool."""

    pool = ints(-1)
    submitted_s = floats()
    weight = floats(1.0)
    deadline_s = floats(np.inf)
    """When its user wants it done; inf for no such time."""
    error_bound = floats(0.0)
    """Share of its input tasks that its user can do without; 0 if all must be done."""
    draw = floats(0.0)
    """A number from [0, 1) that its source and its key give: what is drawn by chance about it."""
    kill_late = flags()
    """Whether its user lets it be ended once it cannot meet its deadline."""
    input_ended_s = floats(by=Writer.ESTIMATOR)
    """When the last of its stages that read input ended, as far as it has come; nan while none has."""
    later_s = floats(0.0, by=Writer.ESTIMATOR)
    """Time that the stages after its input will take, by earlier jobs of its name; 0 where none is known."""
    copies_enabled = flags(True)
    mode_rank = ints()
    copies_launched = ints()
    copies_won = ints()
    copies_lost = ints()
    losing_core_s = floats(0.0)
    speculator = ints(-1, by=Writer.ENGINE)
    """Number of the speculator that its user names and the operator allows; -1 for its pool's."""
    at_start = flags(by=Writer.CYCLE)
    """Whether its speculator copies attempts that are too new to be judged."""
    before_waiting = flags(by=Writer.CYCLE)
    """Whether a copy that its speculator wants goes before its waiting originals."""
    shares_spare = flags(by=Writer.CYCLE)
    """Whether its speculator's copies go beyond its target while a slot of the pool is idle."""
    explores = ints(-1, by=Writer.CYCLE)
    """The policy that it tries wholly, by its speculator; -1 where that goes by no samples."""
    is_steered = flags(by=Writer.CYCLE)
    """Whether what its speculator decides is ordered: copies of it are allowed, and its mode is control."""
    stop_again_s = floats(-np.inf, by=Writer.ENGINE)
    """When its end may be ordered, if it is late; later than now once it has been."""
    target = ints(by=Writer.ENGINE)
    open_tasks = ints(by=Writer.CYCLE)
    """Tasks of its open stages, done or not."""
    waiting = ints(by=Writer.CYCLE)
    """Originals that have no attempt yet."""
    room = ints(by=Writer.CYCLE)
    """Slots of the target that no attempt holds, no copy is on its way to, and no original of the job waits for."""
    cap = ints(-1, by=Writer.ENGINE)
    originals = ints(-1, by=Writer.ENGINE)
    """Most slots of the target that originals may hold; -1 for no such limit."""
    granted_target = ints(-1, by=Writer.ENGINE)
    granted_cap = ints(-1, by=Writer.ENGINE)
    granted_originals = ints(-1, by=Writer.ENGINE)
    granted_s = floats(-np.inf, by=Writer.ENGINE)
    fixed_target = ints(-1, by=Writer.ENGINE)
    fixed_cap = ints(-1, by=Writer.ENGINE)
    virtual_size = floats(0.0, by=Writer.ENGINE)
    transfer_ratio = floats(1.0, by=Writer.ESTIMATOR)
    downstream_tasks = floats(0.0, by=Writer.CYCLE)
    """Tasks of the stages that its open stages feed and that have not been submitted yet."""
    later_tasks = floats(0.0, by=Writer.CYCLE)
    """The same of all stages that depend on its open ones."""
    containers_running = ints()
    """Containers of an application in a leaf queue, and those it asks for; 0 for jobs that have stages."""
    containers_pending = ints()
    ended = flags()
    unjudged = flags(by=Writer.ENGINE)
    """Whether an attempt has been too new to judge for longer than we may keep the host from helping it."""
    off_noted = flags(by=Writer.ENGINE)
    """Whether it is on record that the mode leaves its tasks alone, and the mode is still off."""
    looked_s = floats(-np.inf, by=Writer.ENGINE)
    """When it was last foretold whether it will keep its deadline; never for jobs without one."""
    outlook_reason = ints(Reason.PACE_UNKNOWN, by=Writer.ENGINE)
    """Reason code: 0 where its PoCD was known then, `HOPELESS`, or why it was not known."""
    pocd = choices(by=Writer.ENGINE)
    """Probability of completion before its deadline with 0, 1, 2 ... further attempts of each straggler."""
    pocd_core_s = choices(by=Writer.ENGINE)
    """Core-seconds that these are expected to take."""
    pocd_with_copies = floats(by=Writer.ENGINE)
    """The same if each running task, straggler or not, has as many further attempts as it may."""
    first_pocd = floats(by=Writer.ENGINE)
    """The first PoCD without further attempts that was known, and the newest one before its deadline."""
    newest_pocd = floats(by=Writer.ENGINE)
    first_with_copies = floats(by=Writer.ENGINE)
    """The first `pocd_with_copies` that was known."""


class Stages(Table):
    """Task sets. Sums are over finished attempts; a *cost* is seconds per unit of work (byte or record)."""

    pool = ints(-1)
    job = ints(-1)
    n_tasks = ints()
    n_done = ints()
    n_active = ints()
    """Tasks not done that have a live attempt."""
    cores = ints(1)
    """Cores that each of its attempts holds, if its host has reported them."""
    n_running = ints()
    """Live attempts, including losers of finished tasks."""
    n_copies = ints()
    submitted_s = floats()
    verdict = ints(Reason.UNKNOWN_OUTPUT, by=Writer.ENGINE)
    """Reason code of the write-safety gate; 0 where tasks may run twice. A stage that was not judged is unknown."""
    closing = flags()
    """The stage is over; it stays until its last attempt has ended."""
    closed_s = floats()
    reads_input = flags(True, by=Writer.CYCLE)
    """Whether no stage of its job feeds it."""
    n_finished = ints(by=Writer.ESTIMATOR)
    net_sum_s = floats(0.0, by=Writer.ESTIMATOR)
    """Time that finished attempts took from their first sign of life on."""
    records_sum = floats(0.0, by=Writer.ESTIMATOR)
    bytes_sum = floats(0.0, by=Writer.ESTIMATOR)
    """Records and bytes read by finished attempts, from inputs or shuffles."""
    n_outs = ints(by=Writer.ESTIMATOR)
    """Finished attempts that were seen to produce rows, and the rows."""
    rows_out_sum = floats(0.0, by=Writer.ESTIMATOR)
    size_sum = floats(0.0, by=Writer.ESTIMATOR)
    """Sum of the relative sizes of finished tasks; unknown ones count as 1."""
    shuffle_bytes = floats(0.0, by=Writer.ESTIMATOR)
    """Bytes written for the stages that it feeds."""
    n_costs = ints(by=Writer.ESTIMATOR)
    log_cost_sum = floats(0.0, by=Writer.ESTIMATOR)
    n_cold = ints(by=Writer.ESTIMATOR)
    """Finished attempts that started on executors where nothing of the stage had finished."""
    cold_sum_s = floats(0.0, by=Writer.ESTIMATOR)
    """Their part of `net_sum_s`."""
    n_tails = ints(by=Writer.ESTIMATOR)
    """Finished attempts with a known *tail*: the time they ran after their last sign of progress."""
    tail_sum_s = floats(0.0, by=Writer.ESTIMATOR)
    prior_duration_s = floats(by=Writer.ESTIMATOR)
    """Typical duration, cost and tail of the same stage in earlier jobs; nan where never seen."""
    prior_log_cost = floats(by=Writer.ESTIMATOR)
    prior_tail_s = floats(by=Writer.ESTIMATOR)
    prior_late_s = floats(np.inf, by=Writer.ESTIMATOR)
    """Age from which a task would have been late in its earlier jobs, or in those of its class if it has no past."""
    prepared = floats(by=Writer.CYCLE)
    """Number that its speculator has prepared for its tasks; meaningless if it prepares none."""

    def left(self, rows: Any) -> Any:
        """Tasks that are not done, for a row or for rows."""
        return self.n_tasks[rows] - self.n_done[rows]

    def waiting(self, rows: Any) -> Any:
        """Tasks that are neither done nor running, for a row or for rows."""
        return self.left(rows) - self.n_active[rows]


class Tasks(Table):
    """Tasks that have or had an attempt in a live stage."""

    pool = ints(-1)
    job = ints(-1)
    stage = ints(-1)
    index = ints()
    input_bytes = floats()
    relative_size = floats()
    """Its input over the mean of its stage's tasks; nan where their sizes are not known."""
    newest = ints(-1)
    """Row of the live attempt that started last; -1 for none. The others follow by `Attempts.older`."""
    n_live = ints()
    n_started = ints()
    """Attempts ever, as the host counts them."""
    n_copies = ints()
    done = flags()
    done_s = floats(-np.inf)
    reason = ints(by=Writer.ENGINE)
    """Current reason code against a further copy, or for the latest one."""
    gain = floats(0.0, by=Writer.ENGINE)
    """What one more attempt gains and what it costs; the reason, one of `PRICED`, tells the units."""
    price = floats(0.0, by=Writer.ENGINE)
    likeness = floats(0.0, by=Writer.ENGINE)
    """Log odds, by the paces of its oldest and its newest attempt, that its attempts share their slowness."""
    compared = flags(by=Writer.ENGINE)
    """Whether an original and a copy of it have been compared, so that their end teaches no more."""
    ordered_copies = ints(by=Writer.ENGINE)
    """Copies ordered and not yet seen to start, by orders from `ordered_from` on."""
    ordered_until_s = floats(-np.inf, by=Writer.ENGINE)
    """When the last of these orders expires at its host."""
    ordered_from = ints(by=Writer.ENGINE)
    """The first order that counts; earlier ones had expired when it went out, whether or not its host has said so."""
    not_before_s = floats(-np.inf, by=Writer.ENGINE)
    """After a refused or expired order the task is left alone until then."""


class Attempts(Table):
    """Live attempts."""

    id = ints(-1)
    pool = ints(-1)
    job = ints(-1)
    stage = ints(-1)
    task = ints(-1)
    older = ints(-1)
    """Row of the next live attempt of the task; -1 for none."""
    executor = ints(-1)
    host = ints(-1)
    attempt_number = ints()
    order = ints()
    speculative = flags()
    cold = flags()
    """Its executor was not among `StageInfo.warm_executors` when it started: code may have to be loaded, compiled,
    forked."""
    on_new_executor = flags()
    """Whether nothing at all had ended there: the JVM may still be starting."""
    start_s = floats()
    first_s = floats()
    """When progress was first seen, and how much work it was."""
    first_work = floats(0.0)
    advanced_s = floats()
    """When work last grew."""
    moved_s = floats()
    """When any count of it last grew."""
    gap_s = floats(0.0)
    """The longest time between two such moves."""
    busy_s = floats()
    """When its CPU time last grew; nan where that is not known."""
    work = floats(0.0)
    """Work done, in the unit of `unit`: 0 nothing known, 1 bytes, 2 records, 3 the host's own share."""
    unit = ints()
    bytes_read = floats(0.0)
    bytes_written = floats(0.0)
    records_read = floats(0.0)
    records_written = floats(0.0)
    rows_out = floats(-1.0)
    """Rows returned by its Python workers, else produced by the last operator that counts them; -1 if none does."""
    cpu_s = floats(-1.0)
    """CPU time of its own thread; -1 where unknown."""
    first_out_s = floats()
    """When rows were first seen to come out, and how many."""
    first_out = floats(0.0)
    out_s = floats()
    """When their number last grew."""
    t_rem_s = floats(np.inf, by=Writer.ESTIMATOR)
    t_new_s = floats(np.inf, by=Writer.ESTIMATOR)
    t_fresh_s = floats(np.inf, by=Writer.ESTIMATOR)
    """`t_new_s` of a copy that keeps nothing of this attempt's own slowness."""
    own_log = floats(by=Writer.ESTIMATOR)
    """Log of its cost over that of its siblings, its host's part aside; nan where unknown."""
    progress = floats(by=Writer.ESTIMATOR)
    rate = floats(0.0, by=Writer.ESTIMATOR)
    """Work per second from launch to estimated end; comparable with `sibling_rate`, that of a fresh attempt."""
    sibling_rate = floats(0.0, by=Writer.ESTIMATOR)
    relative_size = floats(1.0, by=Writer.ESTIMATOR)
    """Its work over that of its stage's other tasks, by input or by what it has read; 1 if nothing shows it."""
    log_cost = floats(by=Writer.ESTIMATOR)
    """Log of the seconds per unit of work since progress began; nan before."""
    too_new = flags(by=Writer.ESTIMATOR)
    """Whether it has not run long enough to be judged, or its rate has been seen too briefly."""
    estimated_s = floats(by=Writer.ESTIMATOR)
    """When t_rem was first estimated, and the end it predicted: compared with the real one."""
    foretold_end_s = floats(by=Writer.ESTIMATOR)
    log_slowness = floats(by=Writer.ESTIMATOR)
    """Log of its seconds per unit of work over those of siblings on other hosts; nan where unknown."""
