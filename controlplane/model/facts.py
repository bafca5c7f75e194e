"""What may a host report? One frozen struct per kind of fact, integers only.

Times are ages: `age_ms` says how long before the message was sent the thing happened, read from the host's
monotonic clock, so a wall clock that jumps on either side changes nothing. Durations are milliseconds, sizes are
bytes, parts are per million. `-1` means "not known here" wherever a size or a count may be unknown.

Ids are the host's own. A *job* is what users call one (the SQL root execution, else the job group, else the Spark
job) and is named by a string; a *stage* is named by (stage, stage_attempt); an *attempt* by an integer that the
source never uses twice.
"""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

MOST_TASKS_OF_STAGE = 1_000_000
MOST_STAGES_OF_JOB = 100_000
"""Also edges and Spark jobs; large plans have some ten thousand."""
MOST_APPLICATIONS = 10_000
"""Applications of one leaf queue; YARN's default maximum for a whole cluster."""
MOST_NAMES = 1000
"""Hosts of a task or of a request, committers of a stage, tags of an application."""

Age = Annotated[int, Meta(ge=0, le=10**12)]
Count = Annotated[int, Meta(ge=0, le=10**9)]
Id = Annotated[int, Meta(ge=0, le=2**53)]
KnownOrMinusOne = Annotated[int, Meta(ge=-1, le=2**53)]
"""Exact in JSON, so that a dump reads back."""
Slots = Annotated[int, Meta(ge=0, le=10**6)]
Key = Annotated[str, Meta(min_length=1, max_length=256)]
Text = Annotated[str, Meta(max_length=1024)]
_OF_JOB = Meta(max_length=MOST_STAGES_OF_JOB)
_OF_STAGE = Meta(max_length=MOST_TASKS_OF_STAGE)
_NAMES = Meta(max_length=MOST_NAMES)


class Mode(StrEnum):
    """How much Grasshopper may do; the lower of the user's and the server's counts."""

    OFF = "off"
    SHADOW = "shadow"
    CONTROL = "control"

    @property
    def rank(self) -> int:
        """0 for off, 1 for shadow, 2 for control."""
        return _RANKS[self]


_RANKS = {mode: rank for rank, mode in enumerate((Mode.OFF, Mode.SHADOW, Mode.CONTROL))}


def lowest(*modes: Mode) -> Mode:
    """The mode that allows least.

    >>> lowest(Mode.CONTROL, Mode.SHADOW).value
    'shadow'
    """
    return min(modes, key=lambda mode: mode.rank)


class Outcome(StrEnum):
    """How an attempt ended. Killed and lost attempts are never failures of the task."""

    SUCCESS = "success"
    KILLED = "killed"
    FAILED = "failed"
    LOST = "lost"


class OrderResult(StrEnum):
    """A host's result for an order."""

    APPLIED = "applied"
    REFUSED = "refused"
    EXPIRED = "expired"


class Fact(Struct, frozen=True, tag_field="type", omit_defaults=True):
    """Base of all facts; the tag is the field `type`."""


class Capabilities(Struct, frozen=True, omit_defaults=True):
    """What a source's host can do; a copy that it cannot launch is refused with `host_cannot`."""

    max_copies: Count = 0
    """Extra attempts that one task may have running at once; 0 for a host that can only be watched."""
    named_host: bool = False
    """Whether a copy can be ordered to a host by name."""
    kill_copy: bool = False
    """Whether it can end a single attempt."""
    order_pending: bool = False
    """Whether it heeds slot targets."""
    hold_slots: bool = False
    """Whether it can keep slots free within a target."""
    avoid_hosts: bool = False
    """Whether it can keep originals off named hosts."""
    cap_executors: bool = False
    """Whether it can release executors: not if they are allocated statically."""
    stop_job: bool = False
    """Whether it can end a whole job, if its user lets it (`JobSubmitted.kill_late`)."""
    byte_offset: bool = False
    """Whether a copy can begin in the middle of its input."""


class DriverAttached(Fact, frozen=True, tag="driver_attached"):
    """First fact of every source and of every full report."""

    application: Key
    name: Text = ""
    user: Text = ""
    host_version: Text = ""
    shim_version: Text = ""
    mode: Mode = Mode.CONTROL
    """The most this application's user allows; the server's own mode may be lower."""
    capabilities: Capabilities = Capabilities()
    stock_speculation: bool = False
    """Whether the host's own speculation takes over when our lease ends."""
    executor_slots: Slots = 0
    """Slots of each executor that it asks for; 0 where unknown."""
    executor_limit: Count = 0
    """Executors that it may have, if they come and go with its work; 0 if they are allocated statically."""
    ui_url: Text = ""


class DriverDetached(Fact, frozen=True, tag="driver_detached"):
    """The application has ended in good order."""

    reason: Text = ""


class ExecutorAdded(Fact, frozen=True, tag="executor_added"):
    """Slots have arrived: an executor that can run `slots` attempts at once."""

    executor: Key
    host: Key
    slots: Slots
    age_ms: Age = 0


class ExecutorLost(Fact, frozen=True, tag="executor_lost"):
    """An executor and everything that ran on it are gone."""

    executor: Key
    reason: Text = ""
    age_ms: Age = 0


class JobSubmitted(Fact, frozen=True, tag="job_submitted"):
    """A job has arrived, or goes on with further stages (AQE, a reused job group), even one that was thought ended.

    It describes the whole job and replaces its earlier descriptions.
    """

    job: Key
    name: Text = ""
    host_ids: Annotated[list[Id], _OF_JOB] = []
    """The Spark job ids behind this job so far; among ended ones the last hundred to start."""
    stages: Annotated[list[Id], _OF_JOB] = []
    stage_tasks: Annotated[list[Count], _OF_JOB] = []
    """Number of tasks of each of `stages`; empty if not known yet."""
    edges: Annotated[list[tuple[Id, Id]], _OF_JOB] = []
    """(parent stage, child stage) pairs of the DAG."""
    weight: Annotated[int, Meta(ge=1, le=1000)] = 1
    deadline_ms: Annotated[int, Meta(ge=-1, le=10**12)] = -1
    """When its user wants it done, after it was submitted; -1 for no such time."""
    error_bound: Annotated[int, Meta(ge=0, le=10**6)] = 0
    """Share of its input tasks, per million, that its user can do without; 0 if all must be done."""
    kill_late: bool = False
    """Whether its user lets it be ended once it cannot meet its deadline."""
    speculator: Annotated[str, Meta(max_length=64)] = ""
    """The speculator that its user names for it; empty for its pool's."""
    copies_enabled: bool = True
    """False if the user opted this job out."""
    mode: Mode = Mode.CONTROL
    age_ms: Age = 0


class JobEnded(Fact, frozen=True, tag="job_ended"):
    """A job is over."""

    job: Key
    outcome: Outcome = Outcome.SUCCESS
    age_ms: Age = 0


class StageSubmitted(Fact, frozen=True, tag="stage_submitted"):
    """A task set is ready to run. The last group of fields is what the write-safety gate decides on."""

    job: Key
    stage: Id
    stage_attempt: Id
    n_tasks: Annotated[int, Meta(ge=0, le=MOST_TASKS_OF_STAGE)]
    name: Text = ""
    partitions: Annotated[list[Id], _OF_STAGE] = []
    """Task index to partition, if only some partitions run (a retried stage); empty for the identity."""
    input_bytes: Annotated[list[KnownOrMinusOne], _OF_STAGE] = []
    """Bytes that each task will read, by task index; empty if the host cannot know."""
    relative_bytes: Annotated[list[KnownOrMinusOne], _OF_STAGE] = []
    """Length of each task's input where reading skips parts of it, as columnar files allow: to compare tasks with one
    another, not with the bytes that they have read."""
    preferred_hosts: Annotated[list[Annotated[list[Key], _NAMES]], _OF_STAGE] = []
    """Hosts that hold each task's input, by task index; empty for no preference."""
    done: Annotated[list[tuple[Id, Id]], _OF_STAGE] = []
    """Runs of tasks, first and last index, that are finished and whose ends a full report leaves out; they ascend."""
    kind: Text = ""
    """`shuffle_map` or `result`."""
    action: Text = ""
    """The user's call, for example `collect` or `save`."""
    operators: Text = ""
    """Names of the stage's operators in the host's plan: stages of one `name` and other operators are other work."""
    writer: Text = ""
    """Class whose function the result tasks run: distinguishes a file commit from a `foreach`."""
    committers: Annotated[list[Text], _NAMES] = []
    """Classes that commit a file write, the host's own first; empty if not known."""
    commit_coordinated: bool = False
    """Whether the host arbitrates which attempt may commit its output."""
    barrier: bool = False
    pipelined: bool = False
    streaming: bool = False
    copies_enabled: bool = True
    age_ms: Age = 0


class StageEnded(Fact, frozen=True, tag="stage_ended"):
    """A task set is over, done or given up."""

    stage: Id
    stage_attempt: Id
    outcome: Outcome = Outcome.SUCCESS
    shuffle_write_bytes: KnownOrMinusOne = -1
    """Bytes the stage wrote for its children, for the transfer ratio."""
    age_ms: Age = 0


class ResourceRequested(Fact, frozen=True, tag="resource_requested"):
    """A host wants containers or slots: count, capability, priority and where."""

    request: Id
    count: Count
    job: Text = ""
    stage: KnownOrMinusOne = -1
    stage_attempt: KnownOrMinusOne = -1
    cores: Count = 1
    memory_bytes: KnownOrMinusOne = -1
    priority: KnownOrMinusOne = 0
    nodes: Annotated[list[Key], _NAMES] = []
    """Nodes or racks asked for; empty for any."""
    age_ms: Age = 0


class QueuedApplication(Struct, frozen=True, omit_defaults=True):
    """One application of a leaf queue. Its master's container counts in none of the numbers."""

    job: Key
    """The application's id."""
    running: Count
    """Containers it holds."""
    pending: Count
    """Further containers that it asks for."""
    name: Text = ""
    user: Text = ""
    kind: Text = ""
    """`SPARK`, `MAPREDUCE` ..., as it was submitted."""
    tags: Annotated[list[Text], _NAMES] = []
    weight: Annotated[int, Meta(ge=1, le=1000)] = 1
    reserved: Count = 0
    """Nodes on which room is being kept for it."""
    memory_bytes: KnownOrMinusOne = -1
    """The largest container it asks for."""
    cores: KnownOrMinusOne = -1
    attempt: Id = 1
    """Its master's attempt."""
    age_ms: Age = 0
    """Time since it was submitted."""


class QueueDemand(Fact, frozen=True, tag="queue_demand"):
    """Everything that a leaf queue holds and asks for; one not named has ended. Replaces the previous one."""

    slots: Slots
    """Containers that the queue holds or has room for."""
    applications: Annotated[list[QueuedApplication], Meta(max_length=MOST_APPLICATIONS)] = []
    cluster_unix_ms: Id = 0
    """The ResourceManager's start, as in its applications' ids; 0 if it has leaf queues that do not report."""


class AttemptStarted(Fact, frozen=True, tag="attempt_started"):
    """One attempt of one task runs on one executor."""

    attempt: Id
    stage: Id
    stage_attempt: Id
    index: Id
    executor: Key
    host: Key
    attempt_number: Count = 0
    speculative: bool = False
    locality: Text = ""
    order: Id = 0
    """The order that asked for it; 0 if the host launched it by itself."""
    byte_offset: Count = 0
    age_ms: Age = 0


class AttemptEnded(Fact, frozen=True, tag="attempt_ended"):
    """An attempt is over. Complete by itself, so a start that was dropped loses nothing."""

    attempt: Id
    stage: Id
    stage_attempt: Id
    index: Id
    executor: Key
    host: Key
    outcome: Outcome
    duration_ms: Age
    """Launch to end, as the host scheduler saw it."""
    attempt_number: Count = 0
    speculative: bool = False
    order: Id = 0
    reason: Text = ""
    run_ms: KnownOrMinusOne = -1
    """Time inside the task's own code, without launch and result transfer."""
    bytes_read: KnownOrMinusOne = -1
    bytes_written: KnownOrMinusOne = -1
    records_read: KnownOrMinusOne = -1
    records_written: KnownOrMinusOne = -1
    shuffle_bytes_written: KnownOrMinusOne = -1
    told: bool = False
    """Whether an earlier report that was applied has told it: it teaches nothing then that outlives its stage."""
    age_ms: Age = 0


class OrderOutcome(Fact, frozen=True, tag="order_outcome"):
    """The outcome of an order. Repeating one is harmless."""

    order: Id
    result: OrderResult
    reason: Text = ""
    attempt: KnownOrMinusOne = -1
    """The attempt that the order launched or killed."""
    age_ms: Age = 0


AnyFact = (
    DriverAttached
    | DriverDetached
    | ExecutorAdded
    | ExecutorLost
    | JobSubmitted
    | JobEnded
    | StageSubmitted
    | StageEnded
    | ResourceRequested
    | QueueDemand
    | AttemptStarted
    | AttemptEnded
    | OrderOutcome
)


class Progress(Struct, frozen=True, omit_defaults=True):
    """Progress of running attempts as parallel columns, all of one length; a column may be left out whole.

    Totals so far, not increments. `progress_ppm` is the host's own claim if it makes one (MapReduce does).
    """

    attempt: list[Id] = []
    age_ms: list[Age] = []
    progress_ppm: list[KnownOrMinusOne] = []
    bytes_read: list[KnownOrMinusOne] = []
    bytes_written: list[KnownOrMinusOne] = []
    records_read: list[KnownOrMinusOne] = []
    records_written: list[KnownOrMinusOne] = []
    rows_out: list[KnownOrMinusOne] = []
    """Rows that have come out: of its Python workers, else of the operator nearest the output that counts."""
    cpu_ms: list[KnownOrMinusOne] = []
    """CPU time of the attempt's own thread."""


PROGRESS_COLUMNS = (
    "age_ms",
    "progress_ppm",
    "bytes_read",
    "bytes_written",
    "records_read",
    "records_written",
    "rows_out",
    "cpu_ms",
)
