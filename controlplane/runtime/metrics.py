"""What does Prometheus see? Counters that the cycle increments, and gauges made from the state at each scrape."""

from collections import Counter as Tally
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from controlplane import __version__
from controlplane.hosts.answers import host_code
from controlplane.model.decisions import Decision, DecisionOutcome, Result
from controlplane.model.orders import LaunchCopy
from controlplane.model.reasons import Action
from controlplane.model.snapshot import PoolState, Snapshot

_LAUNCH = LaunchCopy.__struct_config__.tag
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)

_POOL_GAUGES: tuple[tuple[str, str, Callable[[PoolState], float]], ...] = (
    ("slots", "Slots of the pool.", lambda pool: pool.slots),
    ("running_attempts", "Attempts running, copies included.", lambda pool: pool.running),
    ("running_copies", "Copies running.", lambda pool: pool.n_copies),
    ("copy_limit", "Copies that may run at once.", lambda pool: pool.copy_limit),
    ("virtual_size", "Slots that the pool's jobs could use well.", lambda pool: sum(j.virtual_size for j in pool.jobs)),
    ("allocated_slots", "Sum of the jobs' slot targets.", lambda pool: sum(j.target for j in pool.jobs)),
    ("tail_index", "Tail index of task durations; smaller is heavier.", lambda pool: pool.tail_index),
    ("last_contact_age_seconds", "Time since the last report.", lambda pool: pool.last_heard_s),
)


class Metrics:
    """The counters of one app, in a registry of their own. Job ids are never labels."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def counter(name: str, about: str, labels: Iterable[str] = ()) -> Counter:
            return Counter(f"grasshopper_{name}", about, labels, registry=self.registry)

        def histogram(name: str, about: str) -> Histogram:
            return Histogram(f"grasshopper_{name}", about, buckets=_SECONDS, registry=self.registry)

        self.decisions = counter("decisions", "Decisions recorded.", ("action", "reason", "mode"))
        self.launched = counter("copies_launched", "Copies that a host launched on our order.")
        self.won = counter("copies_won", "Copies that ended before the attempt they were to beat.")
        self.lost = counter("copies_lost", "Copies that were beaten.")
        self.refused = counter("copies_refused", "Reasons against copies, recorded where they change.", ("reason",))
        self.wasted = counter("wasted_core_seconds", "Core-seconds of losing copies.")
        self.saved = counter("saved_seconds", "Estimate of the time that winning copies saved.")
        self.promises = counter("promises", "Ended jobs with a deadline, by whether they kept it.", ("result",))
        self.orders = counter("orders", "Orders given.", ("type",))
        self.order_outcomes = counter("order_outcomes", "How orders ended.", ("type", "result"))
        about = "Orders that hosts refused or let expire, by their answer."
        self.not_carried_out = counter("orders_not_carried_out", about, ("type", "answer"))
        self.reports = counter("reports", "Reports applied.")
        self.facts = counter("facts", "Facts applied.")
        self.progress_updates = counter("progress_updates", "Progress updates of attempts applied.")
        self.bad_facts = counter("bad_facts", "Facts refused one by one.")
        self.ages_bounded = counter("ages_bounded", "Ages and durations greater than their source could have lived.")
        self.dropped_events = counter("shim_dropped_events", "Facts that shims had to drop.")
        self.repeats = counter("reports_repeated", "Reports answered again without being applied again.")
        self.refused_syncs = counter("shim_requests_refused", "Requests of shims that were not applied.", ("status",))
        self.refused_connections = counter("connections_refused", "Connections closed by us.", ("reason",))
        self.refused_tokens = counter("tokens_refused", "Requests whose token was wrong or missing.")
        self.full_asked = counter("full_reports_asked", "Full reports asked for.")
        self.engine_errors = counter("engine_errors", "Cycles that failed; their reports are asked for again.")
        self.cycle_seconds = histogram("decision_duration_seconds", "Time of one decision cycle.")
        self.sync_seconds = histogram("sync_duration_seconds", "Time from a report's arrival to its reply.")

    def count(self, decision: Decision) -> None:
        """Counts one cycle's decisions."""
        for (action, reason, mode), n in Tally((r.action, r.reason, r.mode) for r in decision.records).items():
            self.decisions.labels(action.label, reason.label, mode.value).inc(n)
            if action is Action.REFUSE_COPY:
                self.refused.labels(reason.label).inc(n)
        for kind, n in Tally(type(order) for orders in decision.orders.values() for order in orders).items():
            self.orders.labels(kind.__struct_config__.tag).inc(n)
        self.count_outcomes(decision.outcomes)
        for promise in decision.promises:
            self.promises.labels("kept" if promise.kept else "missed").inc()
        self.bad_facts.inc(len(decision.bad_facts))

    def count_outcomes(self, outcomes: Iterable[DecisionOutcome]) -> None:
        """Counts the outcomes of orders, and of the copies that they launched."""
        for outcome in outcomes:
            if outcome.order:
                self.order_outcomes.labels(outcome.kind, outcome.result.value).inc()
            if outcome.result in (Result.REFUSED, Result.EXPIRED):
                self.not_carried_out.labels(outcome.kind, host_code(outcome.reason)).inc()
            if outcome.result is Result.APPLIED and outcome.kind == _LAUNCH:
                self.launched.inc()
            elif outcome.result is Result.WON:
                self.won.inc()
                self.saved.inc(max(outcome.saved_s, 0.0))
            elif outcome.result is Result.LOST:
                self.lost.inc()
                self.wasted.inc(max(outcome.cost_core_s, 0.0))


class GaugeCollector(Collector):
    """The version, and gauges that are read at each scrape."""

    def __init__(self, gauges: Callable[[], dict[str, tuple[float, str]]]) -> None:
        self._gauges = gauges

    def describe(self) -> list[Metric]:
        """Nothing, so that registering reads no state."""
        return []

    def collect(self) -> Iterable[Metric]:
        """One family per gauge."""
        build = GaugeMetricFamily("grasshopper_build_info", "Version of the control plane.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        for name, (value, about) in self._gauges().items():
            yield GaugeMetricFamily(f"grasshopper_{name}", about, value=value)


class _SnapshotCollector(Collector):
    """The mode, and gauges by pool and by host, of a snapshot that needs no tasks."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterable[Metric]:
        """One family per gauge."""
        snapshot = self._snapshot
        yield GaugeMetricFamily("grasshopper_mode", "0 off, 1 shadow, 2 control.", value=snapshot.mode.rank)
        for name, about, read in _POOL_GAUGES:
            family = GaugeMetricFamily(f"grasshopper_pool_{name}", about, labels=["pool"])
            for pool in snapshot.pools:
                family.add_metric([pool.source], read(pool))
            yield family
        hosts = GaugeMetricFamily("grasshopper_host_slowness", "1 is a typical host.", labels=["host"])
        for host in snapshot.hosts:
            hosts.add_metric([host.host], host.slowness)
        yield hosts


def pool_gauges(snapshot: Snapshot) -> bytes:
    """The mode, pools and hosts of a snapshot in Prometheus text format."""
    registry = CollectorRegistry()
    registry.register(_SnapshotCollector(snapshot))
    return generate_latest(registry)
