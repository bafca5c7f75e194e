"""What did one cycle decide, and what came of it? Plain records for the store, the REST API and the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from controlplane.model.facts import AnyFact, Mode, Progress
from controlplane.model.orders import AnyOrder, Claim
from controlplane.model.reasons import Action, Reason


class Report(Struct, frozen=True, kw_only=True, tag_field="type", tag="report"):
    """One source's accepted message, as the engine sees it.

    `source` is "kind:id"; `received_s` is the control plane's monotonic clock at arrival, from which every
    `age_ms` is counted back.
    """

    source: str
    epoch: int
    received_s: float
    facts: list[AnyFact]
    progress: Progress = Progress()
    full: bool = False


class ModeSet(Struct, frozen=True, kw_only=True, tag_field="type", tag="mode_set"):
    """An operator's wish, given to the engine like a fact. Empty `source` means everywhere.

    The component that accepted it keeps `reason` in the audit log.
    """

    mode: Mode
    source: str = ""
    reason: str = ""


class PolicySet(Struct, frozen=True, kw_only=True, tag_field="type", tag="policy_set"):
    """One pool gets its own policy, as `allocator+speculator`; an empty one removes it."""

    source: str
    policy: str


class TargetSet(Struct, frozen=True, kw_only=True, tag_field="type", tag="target_set"):
    """A `fixed` target and cap for one job, set by an operator; a target of None removes it."""

    source: str
    job: str
    target: int | None
    cap: int | None = None


class KillWish(Struct, frozen=True, kw_only=True, tag_field="type", tag="kill_wish"):
    """An operator wants one attempt ended; admission still protects a task's last live attempt."""

    source: str
    attempt: int
    reason: str = ""


class CopyWish(Struct, frozen=True, kw_only=True, tag_field="type", tag="copy_wish"):
    """An operator wants one task copied, past the speculator but not past admission."""

    source: str
    stage: int
    stage_attempt: int
    index: int
    copies: int = 1
    host: str = ""
    before_waiting: bool = True


Stimulus = Report | ModeSet | PolicySet | TargetSet | KillWish | CopyWish


class DecisionRecord(Struct, frozen=True, kw_only=True):
    """One decision with its inputs: numbers by the names that the reason's sentence uses.

    Unknown ones are NaN, and null in JSON.
    """

    id: int
    cycle: int
    at_s: float
    """The engine's clock; the store adds the wall clock."""
    mode: Mode
    policy: str
    action: Action
    reason: Reason
    source: str
    epoch: int = 0
    """Names the run of its source, as ids of stages, tasks and attempts begin again in each; 0 where not recorded."""
    job: str = ""
    stage: int = -1
    stage_attempt: int = -1
    index: int = -1
    attempt: int = -1
    host: str = ""
    """Host of the attempt that the decision is about."""
    to_host: str = ""
    """Host that the copy was ordered to; empty if the scheduler may choose."""
    order: int = 0
    inputs: Mapping[str, float | None] = {}
    alternatives: Sequence[tuple[str, float | None]] = []
    """(alternative, its score), best first; higher is better."""


class Result(StrEnum):
    """The outcome of a decision, in the order in which it can get there. An order ends in one of four."""

    PENDING = "pending"
    SHADOW = "shadow"
    APPLIED = "applied"
    REFUSED = "refused"
    EXPIRED = "expired"
    MOOT = "moot"
    """Its subject had ended, or a newer order had taken its place: no error."""
    WON = "won"
    LOST = "lost"


class DecisionOutcome(Struct, frozen=True, kw_only=True):
    """Later news of a decision. A copy that was launched is first `applied`, then `won` or `lost`."""

    decision: int
    """0 for a renewed lease, which no decision records."""
    result: Result
    at_s: float
    order: int = 0
    """The order that ended; 0 for news of a race."""
    kind: str = ""
    """That order's `type` on the wire."""
    reason: str = ""
    attempt: int = -1
    saved_s: float = 0.0
    """Estimate: the time that the beaten attempt still needed when the copy won, by the estimate then, but no
    more than it had run."""
    cost_core_s: float = 0.0
    """Core-seconds of the copy that lost; in shadow mode, those that the copy would have run."""


class StockCopy(Struct, frozen=True, kw_only=True):
    """An ended copy that a host launched by itself, without an order."""

    source: str
    ended_s: float
    """The engine's clock; the store adds the wall clock."""
    won: bool
    core_s: float
    """Core-seconds that it held."""


class Promise(Struct, frozen=True, kw_only=True):
    """How likely a job with a deadline was said to keep it, and whether it has."""

    source: str
    epoch: int
    job: str
    ended_s: float
    """The engine's clock; the store adds the wall clock."""
    first_pocd: float | None
    """The first probability that was known; None if none was before the deadline."""
    newest_pocd: float | None
    """The newest one before the deadline."""
    first_with_copies: float | None
    """The first one, had each task that ran had as many further attempts as it may."""
    kept: bool


@dataclass(slots=True, kw_only=True)
class Decision:
    """The output of one cycle; `orders` and `claims` are by source."""

    cycle: int
    orders: dict[str, list[AnyOrder]] = field(default_factory=dict)
    claims: dict[str, list[Claim]] = field(default_factory=dict)
    records: list[DecisionRecord] = field(default_factory=list)
    outcomes: list[DecisionOutcome] = field(default_factory=list)
    stock_copies: list[StockCopy] = field(default_factory=list)
    promises: list[Promise] = field(default_factory=list)
    """Of jobs with a deadline that have ended."""
    modes: dict[str, Mode] = field(default_factory=dict)
    """The effective mode of every source heard in this cycle."""
    intervals_ms: dict[str, int] = field(default_factory=dict)
    """When each of those sources should report again."""
    want_full: set[str] = field(default_factory=set)
    """Sources with inconsistent facts, so everything is asked for again."""
    laws_broken: list[tuple[str, Reason, str]] = field(default_factory=list)
    """(source, law, what its policy raised) for each law that a policy has begun to break."""
    bad_facts: list[tuple[str, str]] = field(default_factory=list)
    """(source, fault) of facts that were refused one by one; the rest of their message counts."""
