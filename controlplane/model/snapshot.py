"""What does the whole state look like from outside? The JSON of `state:dump`, of REST answers and of the page.

Made by `Scheduler.snapshot(now_s)`; plain structs, no arrays. Ages and durations in seconds on the engine's clock.
"""

from msgspec import Struct

from controlplane.model.facts import Capabilities, Mode


class HostState(Struct, frozen=True, kw_only=True):
    """A machine, over all applications."""

    host: str
    slowness: float
    """Seconds of work here per second of the same work on a typical host; 1 is typical."""
    confidence: float
    """0 (nothing known) to 1."""
    sick: bool
    """Whether it is slower than others by more than chance explains: it gets no copies."""
    slots: int
    """Slots of all applications together."""
    running: int


class ExecutorState(Struct, frozen=True, kw_only=True):
    """Slots of one application on one host."""

    executor: str
    host: str
    slots: int
    running: int
    age_s: float


class AttemptState(Struct, frozen=True, kw_only=True):
    """A live attempt with its estimates."""

    source: str
    attempt: int
    job: str
    stage: int
    stage_attempt: int
    index: int
    attempt_number: int
    executor: str
    host: str
    speculative: bool
    order: int
    """The order that asked for it; 0 if the host launched it by itself."""
    elapsed_s: float
    progress: float
    """0 to 1; -1 where unknown."""
    bytes_read: int
    records_read: int
    bytes_written: int
    records_written: int
    rows_out: int = -1
    """Rows that have come out of it, by its host's own operators; -1 where that is not known."""
    cpu_s: float = -1.0
    """CPU time of its own thread, in seconds; -1 where unknown."""
    t_rem_s: float | None
    t_new_s: float | None
    t_fresh_s: float | None = None
    """The same of a copy that keeps nothing of this attempt's own slowness; null where unknown."""
    own_log: float | None = None
    """Log of its cost over that of its siblings, its host's part aside; null where unknown."""
    rate: float
    """Work per second from launch to estimated end."""
    sibling_rate: float
    """The same of a fresh attempt."""
    relative_size: float
    """Its work over that of its stage's other tasks; 1 if nothing shows it."""
    too_new: bool
    """Whether it is too early to judge it."""
    dying: bool
    """Whether its end has been ordered."""


class TaskState(Struct, frozen=True, kw_only=True):
    """A task with live attempts, and why it has no further copy."""

    source: str
    job: str
    stage: int
    stage_attempt: int
    index: int
    running_attempts: int
    attempts_started: int = 0
    """Attempts ever, as the host counts them; 0 where unknown."""
    input_bytes: int
    """Bytes of input; -1 where unknown."""
    preferred_hosts: list[str]
    """Hosts that hold its input; empty for no preference."""
    done: bool
    """Whether one of its attempts has finished it, so that the running ones are useless."""
    likeness: float = 0.0
    """Log odds, by its attempts' paces, that they share their slowness; 0 without evidence."""
    ordered_copies: int
    """Copies that have been ordered and have not started."""
    ordered_hosts: list[str]
    """Hosts that those orders name."""
    retry_s: float
    """Seconds for which it is left alone after a refused or expired order; 0 for none."""
    reason: str
    """Label of the current reason code."""
    sentence: str
    inputs: dict[str, float | None]


class StageState(Struct, frozen=True, kw_only=True):
    """A task set."""

    source: str
    job: str
    stage: int
    stage_attempt: int
    name: str
    n_tasks: int
    """Tasks of the stage."""
    n_done: int
    """Tasks of it that are finished."""
    n_waiting: int
    """Tasks of it that neither run nor are finished."""
    n_running: int
    n_copies: int
    verdict: str
    """`safe`, `unsafe` or `unknown`: may its tasks run twice?"""
    verdict_reason: str
    """The basis of the verdict."""
    refusal: str
    """Label of the reason why none of its tasks is copied; `none` if they may be."""
    closing: bool
    """Whether it is over except for attempts that still run."""
    cores: int
    """CPU cores that each of its attempts holds."""
    mean_s: float | None
    """Mean duration of its tasks, else of the stage's tasks in earlier jobs; null if neither is known."""
    age_s: float


class QueuedState(Struct, frozen=True, kw_only=True):
    """Further fields of a job that is an application of a leaf queue."""

    user: str
    kind: str
    """`SPARK`, `MAPREDUCE` ..., as it was submitted."""
    tags: list[str]
    """Tags with which it was submitted."""
    running: int
    """Containers, without its master's."""
    pending: int
    """Containers that it asks for."""
    reserved: int
    """Nodes on which room is being kept for it."""
    driver: str
    """The source by whose jobs it counts; empty if it counts by its containers."""
    wanted: float
    """Containers that the remaining work would fill, before any copy."""
    container_slots: float
    """Slots of its driver in each container; 1 if that is not known."""
    reason: str
    """Label of the code that says how it counts."""
    sentence: str


class ListedState(Struct, frozen=True, kw_only=True):
    """The leaf queues' verdict on a driver's application."""

    queue: str
    """The source of the queue that lists it; empty if none does."""
    reason: str
    """Label of the code that says whether its jobs count in that queue."""
    sentence: str


class PocdChoice(Struct, frozen=True, kw_only=True):
    """How likely a job keeps its deadline if each of its stragglers gets so many further attempts."""

    further: int
    """Further attempts of each straggler, a task that is expected to end after the deadline; 0 for none."""
    pocd: float
    """Probability that the job ends before its deadline."""
    core_s: float
    """Core-seconds that these attempts are expected to take."""


class CopiedTask(Struct, frozen=True, kw_only=True):
    """A task that has been given copies."""

    stage: int
    stage_attempt: int
    index: int
    copies: int
    """Copies that run."""
    ordered_copies: int
    """Copies that have been ordered and have not started."""


class PocdState(Struct, frozen=True, kw_only=True):
    """Whether a job will keep its deadline, as foretold once a second."""

    reason: str
    """`none` where its probability is known, `hopeless` if it is 0 whatever the job gets, else why it is unknown."""
    sentence: str
    """The reason in words; empty where its probability is known."""
    hopeless: bool
    """Whether the deadline cannot be met."""
    age_s: float | None
    """Seconds since this was foretold; null if it never was."""
    choices: list[PocdChoice]
    """What further attempts are worth, from none on; those that run or have been ordered count in all of them. Empty
    where unknown."""
    with_copies: float | None
    """Its probability if each running task, straggler or not, has as many further attempts as it may: what a policy can
    promise that copies tasks as they become stragglers. Null where unknown."""
    copied: list[CopiedTask]
    """What was chosen so far."""
    first_pocd: float | None
    """The first probability that was known; null if none was yet. With the next it is what the job was promised."""
    newest_pocd: float | None
    """The newest one before the deadline; null if none was known yet."""


class NamedSpeculator(Struct, frozen=True, kw_only=True):
    """The speculator that a job's user names for it, and whether it decides about the job."""

    name: str
    """As in `spark.grasshopper.speculator`."""
    reason: str
    """`none` if it decides about the job, else why its pool's does."""
    sentence: str
    """The reason in words; empty if it decides."""


class JobState(Struct, frozen=True, kw_only=True):
    """A live job: a claimant of its pool."""

    source: str
    job: str
    name: str
    host_ids: list[int]
    """The Spark jobs that it is made of; among ended ones the last hundred to start."""
    mode: Mode
    weight: float
    copies_enabled: bool
    """Whether its user allows copies."""
    policy: str = ""
    named_speculator: NamedSpeculator | None = None
    deadline_s: float | None = None
    later_s: float = 0.0
    """Time that the stages after its input will take, in seconds; the deadline of its input is as much earlier."""
    error_bound: float = 0.0
    kill_late: bool = False
    age_s: float
    stages: list[StageState]
    """Its stages, including those that are over and still have attempts."""
    edges: list[tuple[int, int]]
    """(parent stage, child stage) pairs."""
    remaining_tasks: int
    n_running: int
    n_copies: int
    copies_launched: int
    copies_won: int
    copies_lost: int
    losing_core_s: float
    virtual_size: float
    """Slots that the job wants once its copies are counted."""
    transfer_ratio: float
    """Transfer left to do downstream over the work left upstream; 1 where unknown."""
    downstream_tasks: float
    """Tasks of the stages that its open stages feed and that have not been submitted yet."""
    later_tasks: float
    """The same of all stages that depend on its open ones."""
    tail_index: float
    """Tail index of task durations: stragglers are the worse the lower it is; a guess until durations are known."""
    target: int
    cap: int
    """-1 for none."""
    fixed_target: int
    """Target that an operator has fixed; -1 for none."""
    fixed_cap: int
    """Cap that an operator has fixed; -1 for none."""
    speculation_claimed: bool
    pocd: PocdState | None = None
    queued: QueuedState | None = None


class FinishedState(Struct, frozen=True, kw_only=True):
    """Durations of the first attempts to finish each task of a stage: all of them, or a sample."""

    stage: int
    stage_attempt: int
    duration_s: list[float]
    """Ascending."""
    unit_s: list[float]
    """Seconds per byte of input, ascending, for those with known input."""


class WaitingState(Struct, frozen=True, kw_only=True):
    """The tasks of an open stage that neither run nor are done, with its host's report of all its tasks."""

    stage: int
    stage_attempt: int
    indices: list[tuple[int, int]]
    """Runs of waiting tasks, first and last index; they ascend."""
    input_bytes: list[int] = []
    """For each task of the stage, by index, as the host reported; empty if it reported nothing."""
    relative_bytes: list[int] = []
    """As `input_bytes`."""
    preferred_hosts: list[list[str]] = []
    """As `input_bytes`."""
    named: list[int] = []
    """Tasks that the host was ordered to start first, in this order."""
    named_age_s: float | None = None
    """Seconds since that order; null if nothing was ordered."""


class RequestState(Struct, frozen=True, kw_only=True):
    """The part of a resource request that slots have not met."""

    source: str
    request: int
    """Id of the request in its source."""
    job: str
    stage: int
    """Id of the stage that it is for; -1 for none."""
    count: int
    """Slots that it still waits for."""
    cores: int
    memory_bytes: int
    """Bytes of memory of each; -1 where unknown."""
    priority: int
    """The host's own number; -1 where unknown."""
    nodes: list[str]
    """Nodes or racks asked for; empty for any."""
    age_s: float


class PoolState(Struct, frozen=True, kw_only=True):
    """A pool of slots: one per Spark driver or leaf queue. Holds the application's own facts, too."""

    source: str
    epoch: int
    application: str
    name: str
    user: str
    host_version: str
    shim_version: str
    ui_url: str
    capabilities: Capabilities
    stock_speculation: bool = False
    user_mode: Mode
    mode: Mode
    policy: str
    slots: int
    running: int
    n_copies: int
    copy_limit: int
    losing_core_s: float
    likely_loss_core_s: float = 0.0
    """The same, and half of the cost of running copies so far."""
    total_core_s: float
    n_ended: int
    """Attempts summed in `total_core_s`."""
    tail_index: float
    """Tail index of task durations: stragglers are the worse the lower it is; a guess until durations are known."""
    tail_samples: int
    foretold_error: float = 0.5
    """Mean absolute log error of estimates of attempts' time to go; a guess until attempts have ended."""
    kept_slowness: float = 0.0
    """Share of a straggler's own slowness that a copy of it shows again, 0 to 1."""
    offered_load: float = 0.0
    """Share of the slots that originals alone would keep busy."""
    startup_s: float
    last_heard_s: float
    plan_age_s: float | None = None
    executors: list[ExecutorState]
    jobs: list[JobState]
    tasks: list[TaskState]
    """Running tasks; left out of a state without tasks."""
    attempts: list[AttemptState]
    """Running attempts; left out with the tasks."""
    requests: list[RequestState]
    """Its requests that slots have not met."""
    finished: list[FinishedState] = []
    """One entry per open stage in which tasks have finished; left out with the tasks."""
    waiting: list[WaitingState] = []
    """One entry per open stage in which tasks wait; left out with the tasks."""
    executor_slots: int = 0
    """Slots of each executor that it asks for; 0 where unknown."""
    executor_limit: int = 0
    """Executors that it may have, if they come and go with its work; 0 if they are allocated statically."""
    queue_limit: int = -1
    """Executors that its queue leaves it; -1 for as many as it likes."""
    is_queue: bool = False
    """Whether it is a leaf queue; else it is a driver."""
    listed: ListedState | None = None


class Snapshot(Struct, frozen=True, kw_only=True):
    """Everything live, at one moment."""

    schema_version: int = 2
    """Version of this document."""
    cycle: int
    now_s: float
    """The moment, in seconds on the engine's clock, whose zero means nothing."""
    mode: Mode
    """The mode for everybody."""
    pools: list[PoolState]
    """One pool per source."""
    hosts: list[HostState]
    """Machines that have slots."""
    accuracy: dict[str, float]
    """Accuracy of the estimates: median ratio and spread of predicted to actual t_rem, t_new, transfer_ratio."""
    samples: dict[str, list[float]] = {}
    """Samples by which `grass` switches, by the number of bucket and policy: weights, then sums, of a curve."""
