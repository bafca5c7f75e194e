"""What do all steps of one cycle share? The state they work on, the clock, and the decision they write."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from controlplane.engine.ledger import Ledger, OpenOrder
from controlplane.engine.seeing import TaskView
from controlplane.engine.steering import Steering
from controlplane.estimators.host_slowness import HostHealth
from controlplane.model.cluster import Cluster, SourceState, TaskKey
from controlplane.model.columns import Floats, Records
from controlplane.model.decisions import Decision, DecisionRecord
from controlplane.model.facts import Mode
from controlplane.model.orders import AnyOrder
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason

Asked = TypeVar("Asked")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """One cycle's tools. `ids` numbers orders and decisions alike and never gives a number twice."""

    cluster: Cluster
    ledger: Ledger
    steering: Steering
    ids: Iterator[int]
    view: TaskView
    health: HostHealth
    """Estimates for every host, after this cycle's facts and before it reviews running attempts."""
    samples: Floats
    """Samples by which a speculator switches, as its `seen.weights`; of no use to any other."""
    now_s: float
    decision: Decision
    waiting: dict[int, Records] = field(default_factory=dict)
    """`WAITING_TASK` records by the row of their stage, of those that were looked at."""

    @property
    def settings(self) -> EngineSettings:
        """The engine's settings."""
        return self.steering.settings

    def is_half_over(self, said_s: float) -> bool:
        """Whether a lease that was given then, and holds as long as a grant, has to be renewed."""
        return self.now_s - said_s >= self.settings.grant_ttl_ms / 2000

    def record(
        self,
        source: SourceState,
        *,
        job: str = "",
        task: TaskKey = (-1, -1, -1),
        mode: Mode | None = None,
        speculator: str = "",
        **fields: Any,
    ) -> DecisionRecord:
        """Write one decision down; `mode` and `speculator` are its job's, or its pool's, if none are given.

        `fields` are those of `DecisionRecord`.
        """
        row, steering = source.jobs.get(job), self.steering
        if mode is None:
            mode = steering.mode(source) if row is None else steering.mode_of_job(self.cluster, source, row)
        if row is None or speculator:
            policy = steering.policy_name(source.name, speculator)
        else:
            policy = steering.policy_name_of(self.cluster, source, row)
        record = DecisionRecord(
            id=next(self.ids),
            cycle=self.decision.cycle,
            at_s=self.now_s,
            mode=mode,
            policy=policy,
            source=source.name,
            epoch=source.epoch,
            job=job,
            stage=task[0],
            stage_attempt=task[1],
            index=task[2],
            **fields,
        )
        self.decision.records.append(record)
        return record

    def judge(
        self,
        source: SourceState,
        action: Action,
        law: Reason,
        *,
        kept: bool,
        at: str = "",
        raised: str = "",
        speculator: str = "",
    ) -> None:
        """Note whether a pool's policies keep a law; a breach is recorded when it begins.

        `at` is the question, if the same law holds for several; `raised` is the error of the policy, of a speculator if
        one is given.
        """
        if kept:
            source.laws_broken.discard((at, law))
        elif (at, law) not in source.laws_broken:
            source.laws_broken.add((at, law))
            self.decision.laws_broken.append((source.name, law, raised))
            self.record(source, action=action, reason=law, speculator=speculator)

    def ask(
        self, sources: Iterable[SourceState], action: Action, at: str, question: Callable[[], Asked]
    ) -> Asked | None:
        """The answer of a policy to a question about some pools.

        None if it raises, which costs these pools their orders until it works again, and no other pool anything.
        """
        (answer,) = self.ask_each(sources, action, at, [("", sources, question)])
        return answer

    def ask_each(
        self,
        judged: Iterable[SourceState],
        action: Action,
        at: str,
        questions: Sequence[tuple[str, Iterable[SourceState], Callable[[], Asked]]],
    ) -> list[Asked | None]:
        """The answers of several speculators to a question, each about its own jobs in some pools; None as above.

        A pool is judged by all of them; `judged` are also those that no question is about.
        """
        answers: list[Asked | None] = []
        failed: dict[str, tuple[str, str]] = {}
        for speculator, sources, question in questions:
            try:
                answers.append(question())
            except Exception as error:
                answers.append(None)
                for source in sources:
                    failed.setdefault(source.name, (speculator, f"{type(error).__name__}: {error}"))
        for source in judged:
            speculator, raised = failed.get(source.name, ("", ""))
            self.judge(
                source, action, Reason.POLICY_FAILED, kept=not raised, at=at, raised=raised, speculator=speculator
            )
        return answers

    def send(self, source: SourceState, order: AnyOrder, record: DecisionRecord | None, *, replaces: int = -1) -> None:
        """Give an order to a source, and remember it until it ends; a renewed lease has no record.

        `replaces` is the attempt that ends once what is launched runs; -1 for none.
        """
        self.decision.orders.setdefault(source.name, []).append(order)
        entry = OpenOrder(
            order=order,
            decision=record.id if record else 0,
            source=source.name,
            task=(record.stage, record.stage_attempt, record.index) if record else (-1, -1, -1),
            expires_s=self.now_s + order.ttl_ms / 1000,
            replaces=replaces,
        )
        self.ledger.ordered(entry)
