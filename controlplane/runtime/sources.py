"""Has this message been seen before, is one missing, and what must its sender still be told?

Each source numbers its messages. The same number twice gets the same reply; a missing number, or a source that this
control plane has not met, means that facts are missing, so a full report is asked for. Full reports are asked for at
a bounded rate, so that a restart with a thousand drivers makes no storm: a source told to wait gets no claims, so its
host stays stock.
"""

from asyncio import Event, Future
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from math import ceil

from msgspec.structs import replace

from controlplane.hosts import KINDS
from controlplane.model.costs import cost_of_lists
from controlplane.model.errors import GrasshopperError
from controlplane.model.facts import AnyFact, DriverAttached, Mode
from controlplane.model.orders import AnyOrder, KillAttempt
from controlplane.runtime.parameters import RuntimeSettings
from controlplane.wire.envelope import Source, SyncReply, SyncRequest

APPLICATION_SOURCES = 20
"""Sources that one application's token may attach: its drivers and earlier ones."""
MOST_WAITING = 2
"""Reports of one source that wait for a cycle: a shim sends one at a time, and one more if it gave up on that."""
ABSENT_S = 5.0
"""If the control plane has not looked for this long, it was suspended."""


@dataclass(eq=False)
class StaleReport(GrasshopperError):
    """A message from the past: an older epoch of the source, or an older sequence number."""

    field: str
    got: int
    newest: int
    source: str

    def __str__(self) -> str:
        return f"{self.source} sent {self.field} = {self.got} after {self.newest}"


@dataclass(eq=False)
class Busy(GrasshopperError):
    """More is waiting than is allowed; come again after `retry_s`."""

    what: str
    limit: int
    retry_s: int = 1

    def __str__(self) -> str:
        return f"{self.what} is at its limit of {self.limit}"


@dataclass(eq=False)
class TooMuch(GrasshopperError):
    """A source has sent more than its share; it may come again after `retry_s`."""

    source: str
    what: str
    limit: int
    retry_s: int = 1

    def __str__(self) -> str:
        return f"{self.source} is beyond its limit of {self.limit} {self.what}"


@dataclass(eq=False)
class TooLarge(GrasshopperError):
    """A message holds more than one may, or than its source may have: sending it again does not help."""

    source: str
    what: str
    limit: int

    def __str__(self) -> str:
        return f"{self.source} is beyond its limit of {self.limit} {self.what}"


@dataclass(eq=False)
class NotYours(GrasshopperError):
    """A source was first heard with another token, or is not of the application that the token is for."""

    source: str

    def __str__(self) -> str:
        return f"this token may not speak for {self.source}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a message, by its connection and its token; without an application it has the shims' token."""

    address: str = "local"
    application: str = ""

    @property
    def owner(self) -> str:
        """The key for counting sources together: an application or an address."""
        return f"application {self.application}" if self.application else f"address {self.address}"

    def may_attach(self, source: Source, facts: list[AnyFact]) -> bool:
        """Whether its token is for that source: every token except an application's is for any."""
        if not self.application:
            return True
        attached = [fact for fact in facts if type(fact) is DriverAttached]
        is_its = self.application == source.id or all(fact.name == self.application for fact in attached)
        return is_its and not KINDS[source.kind].is_queue


LOCAL = Caller()
"""The caller within this process."""


class Treatment(Enum):
    """What to do with a message."""

    APPLY = auto()
    """Its facts go to the engine."""
    REPEAT = auto()
    """It was applied already; the same reply goes out again."""
    ASK_FULL = auto()
    """Facts are missing: it is not applied, and everything is asked for."""
    WAIT = auto()
    """As ASK_FULL, but others go first."""


@dataclass(eq=False)
class Unheard(GrasshopperError):
    """A source that has not reported asks for its orders."""

    source: str

    def __str__(self) -> str:
        return f"{self.source} has not reported yet, or was silent for too long"


@dataclass(slots=True)
class Outbox:
    """Orders for one source, kept until its next message shows that they arrived, or until they expire."""

    _put: Event = field(default_factory=Event)
    _waiting: list[tuple[float, AnyOrder]] = field(default_factory=list)
    _sent: list[tuple[float, AnyOrder]] = field(default_factory=list)

    def put(self, orders: list[AnyOrder], now_s: float) -> None:
        """Adds new orders; their time to live starts here."""
        self._waiting += [(now_s + order.ttl_ms / 1000, order) for order in orders]
        self._put.set()

    def __len__(self) -> int:
        return len(self._waiting)

    async def filled(self) -> None:
        """Returns once orders wait that no reply has carried."""
        while not self._waiting:
            self._put.clear()
            await self._put.wait()

    def heard(self, *, in_order: bool) -> None:
        """The source wrote again: it has the last reply, or else the reply's orders are sent once more."""
        if not in_order:
            self._waiting = self._sent + self._waiting
        self._sent = []

    def withhold(self, mode: Mode) -> None:
        """Drops orders that the mode no longer allows: below control only kills go out."""
        if mode is not Mode.CONTROL:
            self._waiting, self._sent = ends(self._waiting), ends(self._sent)

    def clear(self) -> None:
        """Drops all orders: those that wait, and those that would be sent again."""
        self._waiting, self._sent = [], []

    def take(self, now_s: float) -> list[AnyOrder]:
        """Orders to send now, each with the time it has left."""
        if not self._waiting:
            return []
        self._sent, self._waiting = alive(self._waiting, now_s), []
        return orders_left(self._sent, now_s)

    def again(self, now_s: float) -> list[AnyOrder]:
        """The orders of the last reply that are still worth sending."""
        return orders_left(alive(self._sent, now_s), now_s)


def ends(orders: list[tuple[float, AnyOrder]]) -> list[tuple[float, AnyOrder]]:
    """The orders that end an attempt."""
    return [(end_s, order) for end_s, order in orders if isinstance(order, KillAttempt)]


def alive(orders: list[tuple[float, AnyOrder]], now_s: float) -> list[tuple[float, AnyOrder]]:
    """The orders that have not expired."""
    return [(end_s, order) for end_s, order in orders if end_s > now_s]


def orders_left(orders: list[tuple[float, AnyOrder]], now_s: float) -> list[AnyOrder]:
    """The orders, each with its remaining time to live."""
    return [
        order if (left_ms := int((end_s - now_s) * 1000)) >= order.ttl_ms else replace(order, ttl_ms=left_ms)
        for end_s, order in orders
    ]


@dataclass(slots=True)
class KnownSource:
    """One driver as the runtime knows it. `complete` says that its facts add up."""

    key: str
    epoch: int
    sequence: int = -1
    complete: bool = False
    attached: bool = False
    """Whether its driver has introduced itself."""
    heard_s: float = 0.0
    born_s: float | None = None
    """Nothing that it reports is older; None until its first report."""
    ages_bounded: int = 0
    dropped_events: int = 0
    full_slot_s: float | None = None
    outbox: Outbox = field(default_factory=Outbox)
    caller: Caller = LOCAL
    """The first caller that spoke for it."""
    waiting: int = 0
    """Its reports that wait for a cycle."""
    paid_s: float = 0.0
    """When its facts so far will be paid for, at its rate."""
    answer: Future[SyncReply] | None = None
    """The reply to message `sequence`, perhaps still being made; None if its facts were not applied."""

    def repeats(self, request: SyncRequest) -> bool:
        """Whether it sends its newest message once more, and that one was applied."""
        is_newest = (request.source.epoch, request.sequence) == (self.epoch, self.sequence)
        return is_newest and self.answer is not None


def key_of(source: Source) -> str:
    """The name of a source everywhere else."""
    return f"{source.kind}:{source.id}"


class Sources:
    """All sources by "kind:id"; decides what each message is."""

    def __init__(self, settings: RuntimeSettings) -> None:
        self._settings = settings
        self._by_key: dict[str, KnownSource] = {}
        self._n_of: Counter[str] = Counter()
        self._next_full_s = 0.0
        self._looked_s = self._awake_s = 0.0

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[KnownSource]:
        return iter(self._by_key.values())

    def get(self, key: str) -> KnownSource | None:
        """The source, if it is attached."""
        return self._by_key.get(key)

    def is_repeat(self, request: SyncRequest, caller: Caller = LOCAL) -> bool:
        """Whether `receive` will treat a message as `REPEAT`, unless it raises."""
        source = self.get(key_of(request.source))
        return source is not None and caller.application == source.caller.application and source.repeats(request)

    def receive(self, request: SyncRequest, now_s: float, caller: Caller = LOCAL) -> tuple[KnownSource, Treatment]:
        """Judges and notes a message; raises `StaleReport`, `Busy`, `TooMuch`, `TooLarge` or `NotYours`."""
        key = key_of(request.source)
        source = self._by_key.get(key)
        epoch = request.source.epoch
        if not caller.may_attach(request.source, request.facts):
            raise NotYours(key)
        before = source
        if source is None or self._gives_way(source, request, caller):
            self._check_place(caller)
            source = KnownSource(key, epoch, caller=caller, waiting=before.waiting if before else 0)
        self._check_share(source, caller, request, now_s)
        if source is not before:
            self._by_key[key] = source
            self._n_of[caller.owner] += 1
            if before is not None:
                self._n_of[before.caller.owner] -= 1
        source.attached |= any(type(fact) is DriverAttached for fact in request.facts)
        if epoch > source.epoch:
            source = self._by_key[key] = KnownSource(
                key,
                epoch,
                caller=source.caller,
                attached=source.attached,
                paid_s=source.paid_s,
                waiting=source.waiting,
            )
        elif epoch < source.epoch:
            raise StaleReport("source.epoch", epoch, source.epoch, key)
        elif source.repeats(request):
            source.heard_s = now_s
            return source, Treatment.REPEAT
        elif request.sequence < source.sequence:
            raise StaleReport("sequence", request.sequence, source.sequence, key)
        return source, self._advance(source, request, now_s)

    def caller(self, who: Source, caller: Caller = LOCAL) -> KnownSource:
        """The source that speaks; raises `Unheard`, `NotYours`, or `StaleReport` for an earlier run of one."""
        source = self.get(key_of(who))
        if source is None or who.epoch > source.epoch:
            raise Unheard(key_of(who))
        if caller.application != source.caller.application:
            raise NotYours(source.key)
        if who.epoch < source.epoch:
            raise StaleReport("source.epoch", who.epoch, source.epoch, source.key)
        return source

    def debt_s(self, source: KnownSource, now_s: float) -> float:
        """Seconds for which a source should be silent, after all that it has sent; 0 within its burst."""
        burst_s = self._settings.source_burst / self._settings.source_facts_per_s
        return max(0.0, source.paid_s - now_s - burst_s)

    def charge(self, source: KnownSource, cost: float, now_s: float) -> None:
        """Counts a message's contents, in facts."""
        source.paid_s = max(source.paid_s, now_s) + cost / self._settings.source_facts_per_s

    def _gives_way(self, source: KnownSource, request: SyncRequest, caller: Caller) -> bool:
        """Whether a source that another caller speaks for becomes this one's.

        This holds until the other has attached it, and whenever this one's token is for that very id.
        """
        is_other = caller.application != source.caller.application
        return is_other and (not source.attached or caller.application == request.source.id)

    def _check_place(self, caller: Caller) -> None:
        """Raises `Busy` or `TooMuch` if there is no place for one more source."""
        if len(self._by_key) >= self._settings.max_sources:
            raise Busy("the number of sources", self._settings.max_sources)
        limit = APPLICATION_SOURCES if caller.application else self._settings.sources_per_address
        if self._n_of[caller.owner] >= limit:
            raise TooMuch(caller.owner, "sources", limit)

    def _check_share(self, source: KnownSource, caller: Caller, request: SyncRequest, now_s: float) -> None:
        """Raises `NotYours`, `TooLarge`, or `TooMuch` for a message that comes too soon after others."""
        settings = self._settings
        if caller.application != source.caller.application:
            raise NotYours(source.key)
        for what, n, limit in (
            ("facts in a message", len(request.facts), settings.message_facts),
            ("facts' worth of lists in a message", cost_of_lists(request.facts), settings.message_facts),
            ("attempts in a message", len(request.progress.attempt), settings.source_attempts),
        ):
            if n > limit:
                raise TooLarge(source.key, what, limit)
        if source.waiting >= MOST_WAITING:
            raise TooMuch(source.key, "reports that wait", MOST_WAITING)
        if debt_s := self.debt_s(source, now_s):
            raise TooMuch(source.key, "facts a second", settings.source_facts_per_s, ceil(debt_s))

    def forget_silent(self, now_s: float, busy_s: float = 0.0) -> list[KnownSource]:
        """Drops the sources that have not been heard for too long, and returns them. To be called every second.

        A source with a waiting report was heard.

        While the process was suspended, no source could be heard: it was suspended if it has not looked for long and
        did not compute for those `busy_s` either.
        """
        if now_s - self._looked_s - busy_s > ABSENT_S:
            self._awake_s = now_s
        self._looked_s = now_s
        limit_s = now_s - self._settings.forget_after_s
        heard = ((source, max(source.heard_s, self._awake_s)) for source in self)
        silent = [source for source, heard_s in heard if heard_s < limit_s and not source.waiting]
        for source in silent:
            del self._by_key[source.key]
            self._n_of[source.caller.owner] -= 1
        self._n_of += Counter()
        return silent

    def _advance(self, source: KnownSource, request: SyncRequest, now_s: float) -> Treatment:
        in_order = request.sequence == source.sequence + 1
        source.sequence = request.sequence
        source.answer = None
        source.heard_s = now_s
        source.outbox.heard(in_order=in_order)
        if request.full:
            source.complete, source.full_slot_s = True, None
        elif not in_order:
            source.complete = False
        if source.complete:
            return Treatment.APPLY
        return self._queue_for_full(source, now_s)

    def _queue_for_full(self, source: KnownSource, now_s: float) -> Treatment:
        if source.full_slot_s is None:
            source.full_slot_s = max(now_s, self._next_full_s)
            self._next_full_s = source.full_slot_s + 1 / self._settings.full_reports_per_s
        if now_s < source.full_slot_s:
            return Treatment.WAIT
        return Treatment.ASK_FULL
