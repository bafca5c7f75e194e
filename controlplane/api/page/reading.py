"""What does the page read from the running control plane? A thin view of the runtime, its history and its store."""

from collections.abc import Iterator

from prometheus_client.metrics import MetricWrapperBase

from controlplane.api.page.decisions import Change, ShownDecision
from controlplane.api.page.overview import Effect
from controlplane.model.facts import Mode
from controlplane.model.reasons import Action, sentence
from controlplane.model.snapshot import NamedSpeculator, Snapshot
from controlplane.runtime.history import JobRecord, KnownHost
from controlplane.runtime.live import Runtime
from controlplane.store.recent import DecisionFilter, RecordedDecision
from controlplane.store.rows import EndedPromise


class Reader:
    """Reads, never changes."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @property
    def mode(self) -> Mode:
        """The mode everywhere."""
        return self._runtime.mode

    @property
    def now_s(self) -> float:
        """The engine's clock."""
        return self._runtime.clock()

    @property
    def dropped_events(self) -> int:
        """Facts that shims had to drop."""
        return self._runtime.stats.dropped_events

    @property
    def store_failure(self) -> str:
        """Why nothing is recorded; empty while the store works."""
        return self._runtime.stats.store_failure

    @property
    def store_unread(self) -> str:
        """Why operators' earlier choices are not known."""
        return self._runtime.stats.store_unread

    @property
    def cluster_copy_share(self) -> float:
        """Copies that may run at once everywhere, as a share of all slots."""
        return self._runtime.scheduler.settings.cluster_copy_share

    async def snapshot(self) -> Snapshot:
        """The published state."""
        return await self._runtime.snapshot()

    async def overview(self) -> Snapshot:
        """The published state without tasks and attempts."""
        return await self._runtime.overview()

    def job(self, source: str, job: str, epoch: int | None = None) -> JobRecord | None:
        """The record of one job, in one run of its source or in the newest known one."""
        return self._runtime.history.job(source, job, epoch)

    def jobs(self) -> Iterator[JobRecord]:
        """Remembered jobs, newest first."""
        return self._runtime.history.jobs()

    async def hosts(self) -> list[KnownHost]:
        """The hosts that have slots or, if none has any, all remembered ones."""
        snapshot, remembered = await self.overview(), self._runtime.history.hosts.values()
        return [KnownHost(state=host, seen_s=snapshot.now_s) for host in snapshot.hosts] or list(remembered)

    def effect(self) -> Effect:
        """What copying has brought since the start, from the counters that Prometheus sees."""
        metrics = self._runtime.metrics
        return Effect(
            launched=int(_total(metrics.launched)),
            won=int(_total(metrics.won)),
            lost=int(_total(metrics.lost)),
            losing_core_s=_total(metrics.wasted),
            saved_s=_total(metrics.saved),
            not_ordered=int(_total(metrics.decisions, action=Action.LAUNCH_COPY.label, mode=Mode.SHADOW.value)),
        )

    def changes(self, limit: int) -> list[Change]:
        """Operators' requests, newest first."""
        return [Change(entry) for entry in self._runtime.store.audit_log(limit)]

    async def decision(self, decision: int) -> ShownDecision | None:
        """One decision."""
        recorded = await self._runtime.store.decision(decision)
        return self._shown(recorded) if recorded else None

    async def promise(self, source: str, job: str, epoch: int | None) -> EndedPromise | None:
        """The promise to a job with a deadline, and whether it was kept, if the job has ended in that run."""
        found = await self._runtime.store.promises(limit=1, source=source, job=job) or []
        return next((each for each in found if epoch in (None, each.epoch)), None)

    def named_speculator(self, name: str) -> NamedSpeculator:
        """A speculator that the user of an ended job has named, and whether such jobs have it by today's settings."""
        refusal = self._runtime.scheduler.steering.refusal(name)
        return NamedSpeculator(name=name, reason=refusal.label, sentence=sentence(refusal, {}) if refusal else "")

    async def newest_epoch(self, which: DecisionFilter) -> int | None:
        """The epoch of the newest matching decision; None if none matches."""
        return await self._runtime.store.newest_epoch(which)

    async def decisions(
        self, which: DecisionFilter, *, before: int | None = None, limit: int
    ) -> tuple[list[ShownDecision], int | None]:
        """Matching decisions, newest first, and the cursor of the next page."""
        page = await self._runtime.store.decisions(which, before=before, limit=limit)
        return [self._shown(recorded) for recorded in page.decisions], page.cursor

    def _shown(self, recorded: RecordedDecision) -> ShownDecision:
        """A decision with the host of the copy that it has launched."""
        record = recorded.record
        job = self.job(record.source, record.job, record.epoch or None) if record.order else None
        copies = [job.attempts.get(outcome.attempt) for outcome in recorded.outcomes] if job else []
        host = next((copy.host for copy in copies if copy and copy.order == record.order), "")
        return ShownDecision(recorded, copy_host=host)


def _total(counter: MetricWrapperBase, **labels: str) -> float:
    """Sum of a counter's samples that carry these labels."""
    return sum(
        sample.value
        for family in counter.collect()
        for sample in family.samples
        if sample.name.endswith("_total") and labels.items() <= sample.labels.items()
    )
