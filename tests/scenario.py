"""How does a test speak to the engine? A small cluster whose facts are written down one call at a time."""

from collections.abc import Iterable

from controlplane.engine.scheduler import Scheduler
from controlplane.model import facts as f
from controlplane.model.decisions import Decision, Report, Stimulus
from controlplane.model.orders import AnyOrder, KillAttempt, LaunchCopy
from controlplane.model.parameters import EngineSettings

SPARK = f.Capabilities(
    max_copies=4, named_host=True, kill_copy=True, order_pending=True, hold_slots=True, avoid_hosts=True
)
SOURCE = "spark:app"


class Scenario:
    """One driver on `hosts` hosts with `slots` slots each, at a clock that the test moves.

    By how much its first estimates were wrong so far is `foretold_error`. Where it is 0 a rate is believed at once, and
    executors have finished attempts before; else they are new.
    """

    def __init__(
        self,
        settings: EngineSettings | None = None,
        *,
        hosts: int = 4,
        slots: int = 2,
        capabilities: f.Capabilities = SPARK,
        user_mode: f.Mode = f.Mode.CONTROL,
        source: str = SOURCE,
        user: str = "",
        executor_limit: int = 0,
        foretold_error: float = 0.0,
    ) -> None:
        self.now_s = 0.0
        self.source = source
        self.scheduler = Scheduler(settings or EngineSettings(mode=f.Mode.CONTROL))
        self.host_of: dict[int, int] = {}
        application = source.partition(":")[2]
        self.attached = f.DriverAttached(
            application=application,
            user=user,
            capabilities=capabilities,
            mode=user_mode,
            executor_limit=executor_limit,
        )
        self.executors = [f.ExecutorAdded(executor=f"e{i}", host=f"h{i}", slots=slots) for i in range(hosts)]
        self.decisions: list[Decision] = []
        self.tell([self.attached, *self.executors], full=True)
        pools, executors = self.scheduler.cluster.pools, self.scheduler.cluster.executors
        pools.foretold_error[:] = pools.cold_foretold_error[:] = foretold_error
        executors.n_ended[:] = foretold_error == 0.0

    def sick_hosts(self) -> set[str]:
        """Names of the hosts that get no copies now."""
        return {host.host for host in self.scheduler.hosts(self.now_s) if host.sick}

    def handle(self, *stimuli: Stimulus) -> Decision:
        """One cycle."""
        decision, _ = self.scheduler.handle(stimuli, self.now_s)
        self.decisions.append(decision)
        return decision

    def tell(
        self,
        facts: Iterable[f.AnyFact] = (),
        *,
        progress: dict[int, int] | f.Progress | None = None,
        full: bool = False,
        epoch: int = 1,
        source: str = "",
    ) -> Decision:
        """One report, sent and handled at once; `progress` is bytes read by attempt, or all columns."""
        if isinstance(progress, dict):
            progress = f.Progress(attempt=list(progress), bytes_read=list(progress.values()))
        report = Report(
            source=source or self.source,
            epoch=epoch,
            received_s=self.now_s,
            facts=list(facts),
            progress=progress or f.Progress(),
            full=full,
        )
        return self.handle(report)

    def stage(
        self, n_tasks: int, *, job: str = "job", stage: int = 1, input_bytes: int | list[int] = 0, **fields
    ) -> Decision:
        """A job with one safe stage."""
        sizes = input_bytes if isinstance(input_bytes, list) else [input_bytes] * n_tasks * bool(input_bytes)
        given = {"kind": "shuffle_map", "name": f"stage {stage}", "input_bytes": sizes} | fields
        return self.tell([f.StageSubmitted(job=job, stage=stage, stage_attempt=0, n_tasks=n_tasks, **given)])

    def started(
        self, attempt: int, host: int, *, index: int | None = None, stage: int = 1, **fields
    ) -> f.AttemptStarted:
        """The fact that an attempt started; its index is its id unless told."""
        self.host_of[attempt] = host
        where = {"executor": f"e{host}", "host": f"h{host}"}
        index = attempt if index is None else index
        return f.AttemptStarted(attempt=attempt, stage=stage, stage_attempt=0, index=index, **where, **fields)

    def ended(
        self,
        attempt: int,
        duration_s: float,
        *,
        index: int | None = None,
        stage: int = 1,
        outcome: f.Outcome = f.Outcome.SUCCESS,
        **fields,
    ) -> f.AttemptEnded:
        """The fact that an attempt ended."""
        host = self.host_of[attempt]
        return f.AttemptEnded(
            attempt=attempt,
            stage=stage,
            stage_attempt=0,
            index=attempt if index is None else index,
            executor=f"e{host}",
            host=f"h{host}",
            outcome=outcome,
            duration_ms=round(duration_s * 1000),
            **fields,
        )

    def start_all(self, n_tasks: int, *, stage: int = 1) -> Decision:
        """Attempts 0..n-1 of tasks 0..n-1, round robin over the hosts."""
        n_hosts = len(self.executors)
        return self.tell([self.started(i, i % n_hosts, stage=stage) for i in range(n_tasks)])

    def run_with_straggler(self, slow: int = 3, *, n_tasks: int = 8, seconds: float = 4.0) -> list[LaunchCopy]:
        """Tasks of 1,000 bytes, 300 bytes/s each but the slow one at 30; returns the copies ordered."""
        self.stage(n_tasks, input_bytes=1000)
        self.start_all(n_tasks)
        return self.go_on(slow, n_tasks, seconds)

    def go_on(self, slow: int, n_tasks: int, seconds: float) -> list[LaunchCopy]:
        """Let those tasks run in steps of 0.1 s; healthy ones end when they have read everything."""
        orders: list[AnyOrder] = []
        live = set(self.scheduler.cluster.sources[self.source].attempts)
        begin_s = self.now_s
        for step in range(1, round(seconds * 10) + 1):
            self.now_s = begin_s + step / 10
            read = {i: round((30 if i == slow else 300) * self.now_s) for i in live if i < n_tasks}
            over = [i for i, n in read.items() if n >= 1000]
            facts = [self.ended(i, self.now_s, bytes_read=1000) for i in over]
            live -= set(over)
            orders += self.tell(facts, progress=read).orders.get(self.source, [])
        return [order for order in orders if isinstance(order, LaunchCopy)]

    def records(self) -> list:
        """All decisions so far, in order."""
        return [record for decision in self.decisions for record in decision.records]


def orders(decision: Decision) -> list[LaunchCopy | KillAttempt]:
    """Launches and kills of one cycle."""
    return [order for order in decision.orders.get(SOURCE, []) if isinstance(order, LaunchCopy | KillAttempt)]


def with_copy(scenario: Scenario) -> LaunchCopy:
    """Lets a straggler get its copy, as attempt 100 on the ordered host."""
    copy = scenario.run_with_straggler(slow=3)[0]
    scenario.tell(
        [scenario.started(100, int(copy.host[1:]), index=3, speculative=True, order=copy.order, attempt_number=1)]
    )
    return copy
