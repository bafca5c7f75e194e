"""How do facts become orders while the clock runs? One task owns the engine; all others only leave it messages.

A cycle runs when messages have arrived or when the engine's next timer is due. Cycles start at least `cycle_gap_ms`
apart, so that facts gather, and leave the rest of the time to others: they take no more than `cycle_share` of it,
unless a report would then wait for longer than `longest_wait_ms`, or every source waits for its reply already.

A sync is answered by the first cycle that saw its facts, so an order leaves in the same round trip as the fact that
caused it. Orders that no fact of their source has caused wait in its outbox for its next sync: they ring its doorbell,
and sources with running work are told to come again every `fast_interval_ms` anyway.
"""

import asyncio
import contextlib
import time
from asyncio import Future
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import structlog
from msgspec import Struct, structs
from prometheus_client import generate_latest

from controlplane.engine.moment import Moment
from controlplane.engine.scheduler import Scheduler
from controlplane.engine.snapshot import describe
from controlplane.model.decisions import Decision, DecisionOutcome, ModeSet, PolicySet, Report, Stimulus
from controlplane.model.facts import AttemptEnded, AttemptStarted, Mode
from controlplane.model.parameters import EngineSettings
from controlplane.model.snapshot import Snapshot
from controlplane.runtime import ages
from controlplane.runtime.choices import Choices
from controlplane.runtime.complaints import Complaints
from controlplane.runtime.doorbell import Doorbell
from controlplane.runtime.fair_queue import FairQueue, Message, cost_of
from controlplane.runtime.feed import Feed
from controlplane.runtime.history import History
from controlplane.runtime.metrics import GaugeCollector, Metrics, pool_gauges
from controlplane.runtime.parameters import RuntimeSettings
from controlplane.runtime.published import Published
from controlplane.runtime.replies import Replies
from controlplane.runtime.sources import LOCAL, Caller, KnownSource, Sources, TooLarge, TooMuch, Treatment, key_of
from controlplane.store.store import Store
from controlplane.wire.envelope import PROTOCOL, DoorbellReply, DoorbellRequest, SyncReply, SyncRequest

_log = structlog.get_logger()


HOSTS_NOTED = 2000
"""Hosts whose state is remembered each second."""
GAUGES_AGE_S = 1.0
"""A scrape gets pools and hosts at most this old, or a little older if there are many."""


class Stats(Struct, frozen=True, kw_only=True):
    """Numbers of the runtime for the page's header."""

    sources: int
    waiting_reports: int
    cycles: int
    engine_failures: int
    dropped_events: int
    store_failure: str
    """Why nothing is recorded; empty while the store works."""
    store_unread: str
    """Why operators' earlier choices are not known; empty once they are."""
    rows_dropped: int


class CycleFailed(RuntimeError):
    """The engine raised: a defect of ours. Its reports are asked for again."""


class Runtime:
    """The live driver. `clock` counts monotonic seconds, `plane_epoch` names this start of the control plane."""

    def __init__(
        self,
        scheduler: Scheduler,
        settings: RuntimeSettings,
        store: Store,
        *,
        plane_epoch: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.scheduler = scheduler
        self.settings = settings
        self.store = store
        self.clock = clock
        self.sources = Sources(settings)
        self.choices = Choices(store)
        self.doorbell = Doorbell()
        self.feed = Feed(settings)
        self.history = History(settings)
        self.complaints = Complaints(clock)
        self.metrics = Metrics()
        self.metrics.registry.register(GaugeCollector(self._gauges))
        self.replies = Replies(scheduler, settings, self.sources, self.metrics, plane_epoch=plane_epoch)
        self.cycle = 0
        self.failures = 0
        self.failing = False
        self._queue = FairQueue(settings, self.sources)
        self._wake = asyncio.Event()
        self._all_wait = asyncio.Event()
        self._due_s = clock()
        self._gap_end_s = 0.0
        self._share_end_s = 0.0
        self._chores_s = 0.0
        self._hosts_noted = 0
        self._busy_s = 0.0
        """Processor time of the loop's thread, as of the last chores."""
        self._learned_s = clock() + settings.learned_every_s
        self._describer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="grasshopper-describe")
        published = partial(Published, clock=clock, thread=self._describer)
        without_tasks = partial(self._still, with_tasks=False)
        self._snapshot: Published[Snapshot] = published(self._still, describe)
        self._overview: Published[Snapshot] = published(without_tasks, describe)
        self._pool_gauges: Published[bytes] = published(without_tasks, _pool_gauges)
        self._pump: asyncio.Task[None] | None = None

    # -- what others call ---------------------------------------------------------------------------------------

    @property
    def mode(self) -> Mode:
        """The mode everywhere; sources and pools may be lower."""
        return self.scheduler.settings.mode

    @property
    def stats(self) -> Stats:
        """Counts for the page's header."""
        return Stats(
            sources=len(self.sources),
            waiting_reports=len(self._queue),
            cycles=self.cycle,
            engine_failures=self.failures,
            dropped_events=sum(source.dropped_events for source in self.sources),
            store_failure=self.store.failure,
            store_unread=self.store.unread or self.choices.doubt,
            rows_dropped=self.store.dropped,
        )

    def checks(self) -> dict[str, str]:
        """What is wrong, by the name of the check; an empty sentence means that it passed."""
        pumping = self._pump is not None and not self._pump.done()
        engine = "the last cycle failed" if self.failing else "" if pumping else "no cycle is running"
        doubt = self.store.unread or self.choices.doubt
        unread = f"shadow is the most until it is known what operators chose: {doubt}"
        return {"engine": engine, "store": unread if doubt else self.store.failure}

    async def sync(self, request: SyncRequest, caller: Caller = LOCAL) -> SyncReply:
        """One exchange; raises `StaleReport`, `Busy`, `TooMuch`, `TooLarge`, `NotYours` or `CycleFailed`."""
        self._queue.check_room()
        now_s = self.clock()
        if not self.sources.is_repeat(request, caller):
            self._check_attempts(request)
        source, treatment = self.sources.receive(request, now_s, caller)
        if request.dropped_events > source.dropped_events:
            self.metrics.dropped_events.inc(request.dropped_events - source.dropped_events)
            source.dropped_events = request.dropped_events
        if treatment is Treatment.APPLY:
            cost = cost_of(request)
            self.sources.charge(source, cost, now_s)
            source.answer = self._enqueue(self._believed(source, request, now_s), source, cost)
            reply = await asyncio.shield(source.answer)
            self.metrics.sync_seconds.observe(self.clock() - now_s)
            return reply
        if treatment is Treatment.REPEAT:
            assert source.answer is not None
            self.metrics.repeats.inc()
            reply = await asyncio.shield(source.answer)
            return self.replies.again(source, reply, self.clock())
        return self.replies.ask_full(source, treatment, self.cycle, now_s)

    async def wait_for_orders(self, request: DoorbellRequest, caller: Caller = LOCAL) -> DoorbellReply:
        """Returns when orders wait for a source, or its time is over; raises `Unheard`, `NotYours` or `StaleReport`."""
        source = self.sources.caller(request.source, caller)
        waiting = await self.doorbell.wait(source, request.wait_ms / 1000)
        return DoorbellReply(protocol=PROTOCOL, orders_waiting=waiting)

    async def post(self, wish: Stimulus) -> Decision:
        """Gives the engine an operator's request and returns its cycle's decisions."""
        decision = await asyncio.shield(self._enqueue(wish))
        for published in (self._snapshot, self._overview, self._pool_gauges):
            published.outdate()
        return decision

    async def set_mode(self, mode: Mode, *, source: str = "", reason: str, role: str) -> None:
        """Sets the mode everywhere, or for one source: at once, audited, and until it is set again.

        It is in force even if it cannot be logged; that failure is raised afterwards.
        """
        try:
            self.choices.make("mode", source, mode.value, reason=reason, role=role)
        finally:
            if not source:
                self.configure(replace(self.scheduler.settings, mode=mode))
            self.choices.hold(self.scheduler.steering)
            await self.post(ModeSet(mode=self.choices.allowed(mode), source=source, reason=reason))

    async def set_policy(self, policy: str, *, source: str, reason: str, role: str) -> Decision:
        """Gives a source its own policy, or removes it if empty; at once and audited, as a mode."""
        try:
            self.choices.make("policy", source, policy, reason=reason, role=role)
        finally:
            self.choices.hold(self.scheduler.steering)
            decision = await self.post(PolicySet(source=source, policy=policy))
        return decision

    def configure(self, settings: EngineSettings) -> None:
        """Changes the engine's settings from the next cycle on; raises `BadSetting`."""
        self.scheduler.configure(replace(settings, mode=self.choices.allowed(settings.mode)))
        self._due_s = self.clock()
        self._wake.set()

    async def snapshot(self, max_age_s: float | None = None) -> Snapshot:
        """The published state, at most `max_age_s` old, described on its own thread: many attempts take seconds.

        It is copied before on the loop, which takes 1 to 2 ms for 1,000 open jobs. Unless told, its age is the setting
        `snapshot_age_s`, and more if making one takes long: readers never get more than a tenth of the time.
        """
        if max_age_s is None:
            return await self._snapshot.at_most(self.settings.snapshot_age_s)
        return await self._snapshot.at_most(max_age_s, strictly=True)

    async def overview(self) -> Snapshot:
        """The published state without tasks and attempts, which takes a hundredth of the time to describe."""
        return await self._overview.at_most(self.settings.snapshot_age_s)

    async def exposition(self) -> bytes:
        """All metrics in Prometheus text format: counters of now, pools and hosts as they were a second ago at most."""
        return generate_latest(self.metrics.registry) + await self._pool_gauges.at_most(GAUGES_AGE_S)

    def _still(self, now_s: float, *, with_tasks: bool = True) -> Moment:
        return self.scheduler.still(now_s, with_tasks=with_tasks)

    # -- life -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts the one task that owns the engine; needs a running event loop."""
        self._busy_s = time.thread_time()
        self._pump = asyncio.create_task(self._run(), name="grasshopper-cycles")

    async def stop(self) -> None:
        """Ends the task, and stores learned state."""
        if self._pump is not None:
            self._pump.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._pump
        self._queue.cancel()
        self._describer.shutdown(wait=False)
        self.store.save_learned(self.scheduler.learned())

    async def _run(self) -> None:
        """Cycles for ever; other requests get their turn between a cycle and the chores."""
        while True:
            await self._work()
            await self._gather()
            self._cycle()
            await asyncio.sleep(0)
            try:
                self._do_chores(self.clock())
            except Exception:
                self.complaints.fault("chores_failed")

    async def _work(self) -> None:
        """Returns when there is a message, or a timer is due."""
        if self._queue:
            return
        self._wake.clear()
        wait_s = min(max(self._due_s - self.clock(), 0.0), 1.0)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._wake.wait()

    async def _gather(self) -> None:
        """Lets messages come in until the next cycle may start."""
        pause_s = self._gap_end_s - self.clock()
        if pause_s > 0:
            await asyncio.sleep(pause_s)
        pause_s = self._share_end_s - self.clock()
        if pause_s > 0 and not self._queue.everybody_waits:
            self._all_wait.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._all_wait.wait()

    def _check_attempts(self, request: SyncRequest) -> None:
        """Raises `TooLarge` for more attempts than a source may have, `TooMuch` for more than its share of all.

        The share grows when others have fewer. What a source has itself changes only with its next message.
        """
        key, settings = key_of(request.source), self.settings
        before, everywhere = self.scheduler.n_attempts(key)
        ends = self.scheduler.n_running(key, {fact.attempt for fact in request.facts if type(fact) is AttemptEnded})
        kept, others = 0 if request.full else max(0, before - ends), everywhere - before
        after = kept + len(request.facts)
        if after <= settings.source_attempts and others + after <= settings.max_attempts:
            return
        starts = sum(type(fact) is AttemptStarted for fact in request.facts)
        if starts and kept + starts > settings.source_attempts:
            raise TooLarge(key, "attempts", settings.source_attempts)
        share = settings.max_attempts // max(len(self.sources), 1)
        if starts and kept + starts > share and others + kept + starts > settings.max_attempts:
            raise TooMuch(key, "attempts", share)

    def _enqueue(self, stimulus: Stimulus, source: KnownSource | None = None, cost: float = 0.0) -> Future[Any]:
        done = asyncio.get_running_loop().create_future()
        self._queue.add(Message(stimulus, done, source, cost))
        self._wake.set()
        if self._queue.everybody_waits:
            self._all_wait.set()
        return done

    # -- one cycle ------------------------------------------------------------------------------------------------

    def _cycle(self) -> None:
        start_s = self.clock()
        batch = self._queue.take(start_s)
        if not batch and start_s < self._due_s:
            if self._queue:
                # A large message whose turn has not come: the loop is everybody's until then.
                self._gap_end_s = start_s + max(self.settings.cycle_gap_ms, 1) / 1000
            return
        try:
            decision, self._due_s = self.scheduler.handle([message.stimulus for message in batch], start_s)
            took_s = self.clock() - start_s
            self._deliver(decision, batch, start_s)
            self.failing = False
        except Exception:
            self._fail(batch)
            took_s = self.clock() - start_s
        self._queue.rest(start_s, took_s)
        self.metrics.cycle_seconds.observe(took_s)
        self._gap_end_s = start_s + self.settings.cycle_gap_ms / 1000
        rest_s = took_s / self.settings.cycle_share - took_s
        self._share_end_s = start_s + took_s + min(rest_s, self.settings.longest_wait_ms / 1000)

    def _deliver(self, decision: Decision, batch: list[Message], now_s: float) -> None:
        self.cycle = decision.cycle
        for key, orders in decision.orders.items():
            if (source := self.sources.get(key)) is not None:
                source.outbox.put(orders, now_s)
        for key in decision.want_full:
            if (source := self.sources.get(key)) is not None:
                source.complete = False
        refused = set(map(id, self.scheduler.refused))
        for message in batch:
            if isinstance(message.stimulus, Report):
                self._note(message.stimulus, refused)
            if message.done.done():
                continue
            if (source := message.source) is None:
                message.done.set_result(decision)
            else:
                is_awaited = source.answer is message.done
                message.done.set_result(self.replies.decided(source, decision, now_s, is_awaited=is_awaited))
        self.metrics.count(decision)
        self.feed.publish(self.store.record(decision.records, decision.outcomes, now_s))
        self.store.record_stock_copies(decision.stock_copies, now_s)
        self.store.record_promises(decision.promises, now_s)
        for key, law, raised in decision.laws_broken:
            policy = next(each.policy for each in decision.records if (each.source, each.reason) == (key, law))
            self.complaints.warn("law_broken", source=key, policy=policy, law=law.label, raised=raised)
        for key, problem in decision.bad_facts:
            self.complaints.warn("bad_fact", source=key, problem=problem)

    def _note(self, report: Report, refused: set[int]) -> None:
        """Counts a report, and remembers it without the facts that the engine refused, which are given by `id`."""
        metrics = self.metrics
        metrics.reports.inc()
        if report.progress.attempt:
            metrics.progress_updates.inc(len(report.progress.attempt))
        if report.facts:
            metrics.facts.inc(len(report.facts))
            if refused:
                report = structs.replace(report, facts=[fact for fact in report.facts if id(fact) not in refused])
            self.history.add(report)

    def _note_ended(self, outcomes: list[DecisionOutcome], now_s: float) -> None:
        """Notes orders that end outside any cycle."""
        self.metrics.count_outcomes(outcomes)
        self.store.record([], outcomes, now_s)

    def _believed(self, source: KnownSource, request: SyncRequest, now_s: float) -> Report:
        """The report with its facts, none of which may be older than the source."""
        if source.born_s is None:
            oldest_s = min(ages.oldest_ms(request.facts) / 1000, self.settings.first_report_age_s)
            source.born_s = now_s - oldest_s - ages.ON_ITS_WAY_S
        life_ms = int((now_s - source.born_s) * 1000)
        facts, progress, n_bounded = ages.believable(request.facts, request.progress, life_ms)
        if n_bounded:
            if not source.ages_bounded:
                _log.warning("ages_not_believed", source=source.key, life_s=life_ms / 1000)
            source.ages_bounded += n_bounded
            self.metrics.ages_bounded.inc(n_bounded)
        return Report(
            source=source.key,
            epoch=source.epoch,
            received_s=now_s,
            facts=facts,
            progress=progress,
            full=request.full,
        )

    def _fail(self, batch: list[Message]) -> None:
        """The engine is at fault: waiting callers get an error, and full reports restore its state.

        No state of a half-finished cycle is trusted: running work is forgotten, waiting orders are dropped,
        and every source is asked for a full report.
        """
        self.failures += 1
        self.failing = True
        now_s = self.clock()
        self._note_ended(self.scheduler.reset(now_s), now_s)
        for source in self.sources:
            source.complete = False
            source.outbox.clear()
        self.metrics.engine_errors.inc()
        self._due_s = now_s + 1.0
        self.complaints.fault("cycle_failed", stimuli=len(batch), failures=self.failures)
        for message in batch:
            if message.source is not None:
                message.source.complete = False
                message.source.answer = None
            if not message.done.done():
                message.done.set_exception(CycleFailed("the decision cycle failed; stock behaviour applies"))
                message.done.exception()

    # -- once a second --------------------------------------------------------------------------------------------

    def _do_chores(self, now_s: float) -> None:
        if now_s < self._chores_s:
            return
        self._chores_s = now_s + 1.0
        busy_s, self._busy_s = time.thread_time() - self._busy_s, time.thread_time()
        for source in self.sources.forget_silent(now_s, busy_s):
            self._forget(source, now_s)
        self._note_hosts(now_s)
        self.history.prune(now_s)
        if now_s >= self._learned_s:
            self._learned_s = now_s + self.settings.learned_every_s
            self.store.save_learned(self.scheduler.learned())

    def _forget(self, source: KnownSource, now_s: float) -> None:
        """Forgets what a silent source ran; if that fails, it is logged, as other sources must not stay for it."""
        _log.info("source_forgotten", source=source.key)
        try:
            self._note_ended(self.scheduler.forget(source.key, now_s), now_s)
            self.history.forget(source.key, source.heard_s)
        except Exception:
            self.complaints.fault("chores_failed", source=source.key)

    def _note_hosts(self, now_s: float) -> None:
        """Remembers the state of hosts; if there are very many, the next ones each second, at microseconds each."""
        first = self._hosts_noted
        hosts = self.scheduler.hosts(now_s, slice(first, first + HOSTS_NOTED))
        self._hosts_noted = first + HOSTS_NOTED if len(hosts) == HOSTS_NOTED else 0
        self.history.note_hosts(hosts, now_s)

    def _gauges(self) -> dict[str, tuple[float, str]]:
        stats = self.stats
        return {
            "sources": (stats.sources, "Sources attached."),
            "orders_open": (len(self.scheduler.ledger.open), "Orders given that have not ended yet."),
            "doorbell_waits": (len(self.doorbell), "Sources that wait to be told of orders."),
            "event_clients": (len(self.feed), "Clients that follow decisions as they are recorded."),
            "event_clients_cut": (self.feed.n_cut, "Clients of those that were too slow and were cut off."),
            "waiting_reports": (stats.waiting_reports, "Reports waiting for a cycle."),
            "store_recording": (float(not stats.store_failure), "1 while decisions are recorded."),
            "store_rows_dropped": (stats.rows_dropped, "Rows that could not be recorded."),
        }


def _pool_gauges(moment: Moment) -> bytes:
    return pool_gauges(describe(moment))
