"""What is a source told in reply to a message? Orders, claims, the mode, and when to report again and how fully."""

from msgspec.structs import replace

from controlplane.engine.scheduler import Scheduler
from controlplane.model.cluster import SILENT_S
from controlplane.model.decisions import Decision
from controlplane.model.facts import Mode
from controlplane.runtime.metrics import Metrics
from controlplane.runtime.parameters import RuntimeSettings
from controlplane.runtime.sources import KnownSource, Sources, Treatment
from controlplane.wire.envelope import PROTOCOL, SyncReply

LONGEST_INTERVAL_MS = int(0.3 * SILENT_S * 1000)
"""Longest interval given to a source: it may miss two reports and still not seem to be gone."""


class Replies:
    """Makes the replies of one start of the control plane, which `plane_epoch` names."""

    def __init__(
        self, scheduler: Scheduler, settings: RuntimeSettings, sources: Sources, metrics: Metrics, *, plane_epoch: int
    ) -> None:
        self._scheduler = scheduler
        self._settings = settings
        self._sources = sources
        self._metrics = metrics
        self._plane_epoch = plane_epoch

    def decided(self, source: KnownSource, decision: Decision, now_s: float, *, is_awaited: bool) -> SyncReply:
        """The reply to facts that a cycle has seen; one that nobody waits for any more carries no orders."""
        want_full = source.key in decision.want_full
        if want_full:
            self._metrics.full_asked.inc()
        mode = decision.modes.get(source.key, self._scheduler.settings.mode)
        source.outbox.withhold(mode)
        return SyncReply(
            protocol=PROTOCOL,
            plane_epoch=self._plane_epoch,
            acknowledged=source.sequence,
            cycle=decision.cycle,
            next_interval_ms=0 if want_full else self._interval_ms(source, decision, now_s),
            mode=mode,
            want_full=want_full,
            orders=source.outbox.take(now_s) if is_awaited else [],
            claims=decision.claims.get(source.key, []),
        )

    def again(self, source: KnownSource, reply: SyncReply, now_s: float) -> SyncReply:
        """The same reply again, in the current mode and without expired orders."""
        mode = self._scheduler.mode_of(source.key)
        source.outbox.withhold(mode)
        claims, orders = self._scheduler.claims_of(source.key), source.outbox.again(now_s)
        return replace(reply, mode=mode, claims=claims, orders=orders)

    def ask_full(self, source: KnownSource, treatment: Treatment, cycle: int, now_s: float) -> SyncReply:
        """The reply to inconsistent facts: nothing is claimed, and a full report is requested in turn."""
        asked = treatment is not Treatment.WAIT
        wait_ms = 0 if asked or source.full_slot_s is None else int((source.full_slot_s - now_s) * 1000) + 1
        if asked:
            self._metrics.full_asked.inc()
        return SyncReply(
            protocol=PROTOCOL,
            plane_epoch=self._plane_epoch,
            acknowledged=source.sequence,
            cycle=cycle,
            next_interval_ms=wait_ms,
            mode=Mode.SHADOW,
            want_full=asked,
        )

    def _interval_ms(self, source: KnownSource, decision: Decision, now_s: float) -> int:
        """Short if work runs, so that orders caused by timers do not wait; longer if there are many sources.

        Never so long that leases and orders run out between two exchanges, or that the source seems gone, unless it has
        sent more facts than it may: then not before those are paid for.
        """
        return max(self._usual_interval_ms(source, decision), int(1000 * self._sources.debt_s(source, now_s)))

    def _usual_interval_ms(self, source: KnownSource, decision: Decision) -> int:
        settings = self._scheduler.settings
        wanted_ms = decision.intervals_ms.get(source.key, settings.idle_interval_ms)
        if wanted_ms != settings.review_interval_ms:
            return min(wanted_ms, settings.lease_ms // 3, settings.grant_ttl_ms // 3, LONGEST_INTERVAL_MS)
        bearable_ms = len(self._sources) * 1000 // self._settings.sources_per_s
        bearable_ms = min(bearable_ms, settings.lease_ms // 2, settings.order_ttl_ms // 2)
        return min(max(min(wanted_ms, self._settings.fast_interval_ms), bearable_ms), LONGEST_INTERVAL_MS)
