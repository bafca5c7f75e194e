"""What would a driver on a small cluster with a sick host report? A scripted one that obeys orders by its own clock."""

from collections.abc import Callable
from dataclasses import dataclass, field

from controlplane.model.facts import (
    AnyFact,
    AttemptEnded,
    AttemptStarted,
    Capabilities,
    DriverAttached,
    DriverDetached,
    ExecutorAdded,
    JobEnded,
    JobSubmitted,
    OrderOutcome,
    OrderResult,
    Outcome,
    Progress,
    StageEnded,
    StageSubmitted,
)
from controlplane.model.orders import ContainerGrant, KillAttempt, LaunchCopy
from controlplane.wire.envelope import PROTOCOL, Source, SyncReply, SyncRequest

STEP_S = 0.1
HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5")
SICK_HOST = "127.0.0.4"
SLOTS_PER_HOST = 2
BYTES_PER_S = 16_000_000
TASK_BYTES = 32_000_000

Sync = Callable[[SyncRequest], SyncReply]


@dataclass(slots=True)
class Attempt:
    """A running attempt of the script."""

    id: int
    job: str
    stage: int
    index: int
    number: int
    host: str
    start_s: float
    bytes_per_s: float
    order: int = 0
    read: float = 0.0


@dataclass(slots=True)
class Job:
    """A job of one stage; `slow` says which originals are slow by themselves, and by how much."""

    name: str
    stage: int
    n_tasks: int
    begin_s: float
    slow: dict[int, float]
    action: str = "collect"
    writer: str = "org.apache.spark.rdd.RDD"
    title: str = ""
    waiting: list[int] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    begun: bool = False
    copies_won: int = 0
    target: int = SLOTS_PER_HOST * len(HOSTS)
    precedence: float = 0.0


class ScriptedDriver:
    """Runs jobs on eight slots and reports every `STEP_S`; `advance` moves the control plane's clock."""

    def __init__(self, sync: Sync, advance: Callable[[float], None], jobs: list[Job], *, application: str) -> None:
        self._sync = sync
        self._advance = advance
        self._jobs = {job.name: job for job in jobs}
        self._source = Source("spark", application, 1)
        self._application = application
        self._attempts: dict[int, Attempt] = {}
        self._copies: list[tuple[float, LaunchCopy]] = []
        self._facts: list[AnyFact] = []
        self._sequence = 0
        self._last_attempt = -1
        self.now_s = 0.0

    @property
    def key(self) -> str:
        """The source's name in the control plane."""
        return f"{self._source.kind}:{self._source.id}"

    def run(self, until_s: float) -> None:
        """Plays the script up to a time of its own clock."""
        while self.now_s < until_s:
            self._work()
            self._place()
            self._report()
            self._advance(STEP_S)
            self.now_s += STEP_S

    def run_into_race(self, name: str, limit_s: float = 60.0) -> None:
        """Plays on until a copy of the job has won and another one runs beside its original."""
        while not (self._jobs[name].copies_won and self._races(name)):
            assert self.now_s < limit_s, f"{name} has no race"
            self.run(self.now_s + STEP_S)

    def detach(self) -> None:
        """Ends the application in good order."""
        self._facts.append(DriverDetached("done"))
        self._report()

    def _races(self, name: str) -> bool:
        return any(attempt.job == name and attempt.order for attempt in self._attempts.values())

    def _work(self) -> None:
        for attempt in list(self._attempts.values()):
            if attempt.id not in self._attempts:
                continue
            attempt.read = min(attempt.read + attempt.bytes_per_s * STEP_S, TASK_BYTES)
            if attempt.read >= TASK_BYTES:
                self._end(attempt, Outcome.SUCCESS)
                self._jobs[attempt.job].copies_won += attempt.order > 0
                for other in [a for a in self._attempts.values() if (a.job, a.index) == (attempt.job, attempt.index)]:
                    self._end(other, Outcome.KILLED, "another attempt succeeded")
                self._finish(self._jobs[attempt.job], attempt.index)

    def _finish(self, job: Job, index: int) -> None:
        job.done.add(index)
        if len(job.done) == job.n_tasks:
            self._facts += [StageEnded(job.stage, 0), JobEnded(job.name)]

    def _place(self) -> None:
        for job in self._jobs.values():
            if not job.begun and self.now_s >= job.begin_s:
                self._submit(job)
        for ordered in list(self._copies):
            self._try_copy(*ordered)
        while hungry := [job for job in self._jobs.values() if job.waiting and self._held(job) < job.target]:
            job = min(hungry, key=lambda one: (one.precedence, self._held(one) / one.target))
            host = self._free_host()
            if not host:
                return
            index = job.waiting.pop(0)
            self._start(job, index, host, BYTES_PER_S / job.slow.get(index, 1.0))

    def _held(self, job: Job) -> int:
        return sum(attempt.job == job.name for attempt in self._attempts.values())

    def _try_copy(self, expires_s: float, order: LaunchCopy) -> None:
        job = self._jobs[order.job]
        tried = {a.host for a in self._attempts.values() if (a.job, a.index) == (order.job, order.index)}
        host = self._free_host(tuple(tried | set(order.avoid_hosts)))
        result, attempt = OrderResult.APPLIED, -1
        if order.index in job.done:
            result = OrderResult.REFUSED
        elif self.now_s > expires_s:
            result = OrderResult.EXPIRED
        elif host:
            attempt = self._start(job, order.index, host, BYTES_PER_S, order.order).id
        else:
            return
        self._copies.remove((expires_s, order))
        self._facts.append(OrderOutcome(order.order, result, attempt=attempt))

    def _submit(self, job: Job) -> None:
        job.begun, job.waiting = True, list(range(job.n_tasks))
        self._facts += [
            JobSubmitted(job.name, name=job.title, stages=[job.stage]),
            StageSubmitted(
                job.name, job.stage, 0, job.n_tasks, name=f"{job.action} at {job.name}", kind="result",
                action=job.action, writer=job.writer, input_bytes=[TASK_BYTES] * job.n_tasks,
            ),
        ]  # fmt: skip

    def _free_host(self, avoid: tuple[str, ...] = ()) -> str:
        held = [attempt.host for attempt in self._attempts.values()]
        free = [host for host in HOSTS if held.count(host) < SLOTS_PER_HOST and host not in avoid]
        return min(free, key=held.count, default="")

    def _start(self, job: Job, index: int, host: str, bytes_per_s: float, order: int = 0) -> Attempt:
        self._last_attempt += 1
        number = sum((a.job, a.index) == (job.name, index) for a in self._attempts.values())
        pace = bytes_per_s / 4 if host == SICK_HOST else bytes_per_s
        attempt = Attempt(self._last_attempt, job.name, job.stage, index, number, host, self.now_s, pace, order)
        self._attempts[attempt.id] = attempt
        self._facts.append(
            AttemptStarted(
                attempt.id, job.stage, 0, index, f"executor-{host}", host, number, speculative=order > 0, order=order
            )
        )
        return attempt

    def _end(self, attempt: Attempt, outcome: Outcome, reason: str = "") -> None:
        del self._attempts[attempt.id]
        self._facts.append(
            AttemptEnded(
                attempt.id, attempt.stage, 0, attempt.index, f"executor-{attempt.host}", attempt.host, outcome,
                round((self.now_s - attempt.start_s) * 1000), attempt.number, speculative=attempt.order > 0,
                order=attempt.order, reason=reason, bytes_read=int(attempt.read),
            )
        )  # fmt: skip

    def _report(self) -> None:
        self._sequence += 1
        first = self._sequence == 1
        running = list(self._attempts.values())
        request = SyncRequest(
            PROTOCOL,
            self._source,
            self._sequence,
            full=first,
            facts=(self._greeting() if first else []) + self._facts,
            progress=Progress(
                attempt=[attempt.id for attempt in running],
                bytes_read=[int(attempt.read) for attempt in running],
            ),
        )
        self._facts = []
        for order in self._sync(request).orders:
            self._obey(order)

    def _greeting(self) -> list[AnyFact]:
        attached = DriverAttached(
            self._application, name="nightly-report", user="ann", host_version="Spark 4.3.0",
            capabilities=Capabilities(max_copies=4, named_host=True, kill_copy=True, order_pending=True),
        )  # fmt: skip
        return [attached, *(ExecutorAdded(f"executor-{host}", host, SLOTS_PER_HOST) for host in HOSTS)]

    def _obey(self, order: object) -> None:
        match order:
            case LaunchCopy():
                self._copies.append((self.now_s + order.ttl_ms / 1000, order))
            case ContainerGrant():
                self._jobs[order.job].target = max(order.target, 1)
                self._jobs[order.job].precedence = order.precedence
            case KillAttempt() if victim := self._attempts.get(order.attempt):
                self._end(victim, Outcome.KILLED, order.reason)
                self._facts.append(OrderOutcome(order.order, OrderResult.APPLIED, attempt=victim.id))
