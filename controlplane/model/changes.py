"""What did a batch of facts change? `apply` notes it, the ledger settles orders by it, the estimators learn from it."""

from dataclasses import dataclass, field

from controlplane.model import facts as f
from controlplane.model.cluster import StageInfo
from controlplane.model.errors import BadFact


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedAttempt:
    """An ended attempt, with what the estimators learn from it; rows are those at its end."""

    source: str
    pool: int
    job: int
    stage: int
    host: int
    fact: f.AttemptEnded
    cores: int
    """Cores that it held."""
    ended_s: float
    won: bool
    """Whether it finished its task; of several attempts only the first does."""
    saved_s: float
    """If it won against others: estimate of the time saved; else nan."""
    unit: int
    input_bytes: float
    relative_size: float
    """Its task's input over the mean of its stage; nan where unknown."""
    rows_out: float
    """Last count seen; -1 if nothing counts them."""
    cold: bool
    """As in `Attempts`."""
    on_new_executor: bool
    startup_s: float
    """From launch to first progress; nan if none was seen."""
    tail_s: float
    """From its last sign of progress to its end; nan if none was seen."""
    gap_s: float
    """The longest time between two signs of progress."""
    estimated_s: float
    foretold_end_s: float
    t_new_s: float
    log_slowness: float
    """How slow it was when last compared with siblings elsewhere; nan where unknown."""


@dataclass(slots=True)
class Changes:
    """The changes made by one batch of facts."""

    pools: set[int] = field(default_factory=set)
    ended: list[EndedAttempt] = field(default_factory=list)
    outcomes: list[tuple[str, f.OrderOutcome]] = field(default_factory=list)
    launched: list[tuple[str, f.AttemptStarted]] = field(default_factory=list)
    """Attempts that started because of an order."""
    stages_submitted: list[int] = field(default_factory=list)
    stages_ended: list[tuple[StageInfo, f.StageEnded]] = field(default_factory=list)
    startups: list[tuple[int, float, bool]] = field(default_factory=list)
    """(pool, seconds from launch to first progress, whether on a cold executor)."""
    jobs: set[int] = field(default_factory=set)
    """Rows of jobs whose stages, or what is known of them, changed."""
    jobs_ended: set[int] = field(default_factory=set)
    """Rows of jobs that are over; the same keys may come again."""
    jobs_done: set[int] = field(default_factory=set)
    """Those among them of which their host has said that they succeeded."""
    job_ends: dict[int, tuple[float, float]] = field(default_factory=dict)
    """When those ended of which their host has said that they did, and when they were due, by row."""
    want_full: set[str] = field(default_factory=set)
    detached: set[str] = field(default_factory=set)
    """Sources that have said good-bye, and are forgotten once it is learned what ended in them."""
    forgotten: set[str] = field(default_factory=set)
    """Sources that are forgotten, or started again."""
    ended_with_source: list[EndedAttempt] = field(default_factory=list)
    """Attempts that ended in those, which settle orders and teach nothing."""
    bad: list[BadFact] = field(default_factory=list)
    refused: list[f.Fact] = field(default_factory=list)
    """Facts that could not be applied: bad ones, and those about unknown things."""
