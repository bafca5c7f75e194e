"""What does the head of the first page say? Made from a snapshot and from what copies have brought."""

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.api.formats import Figure, counted, number, seconds, share
from controlplane.api.report import ESTIMATES
from controlplane.api.samples import SampleView, sample_views
from controlplane.deciding.budgets import copy_limit
from controlplane.model.facts import Mode
from controlplane.model.snapshot import PoolState, Snapshot
from controlplane.runtime.history import KnownHost

MODES = (
    (Mode.SHADOW, "decide and record, order nothing"),
    (Mode.CONTROL, "launch and kill copies"),
    (Mode.OFF, "stop all copies, leave hosts to themselves"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """An answer to the reader's last request."""

    text: str
    good: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What copying has brought since the control plane started."""

    launched: int = 0
    won: int = 0
    lost: int = 0
    losing_core_s: float = 0.0
    saved_s: float = 0.0
    """An estimate."""
    not_ordered: int = 0
    """Copies that shadow mode would have launched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The head of the first page."""

    headline: str
    effect: str
    figures: list[Figure]
    accuracy: list[tuple[str, float, float, float]]
    """(estimate, samples, median ratio, spread)"""
    samples: list[SampleView]


def overview(
    snapshot: Snapshot,
    effect: Effect,
    hosts: Sequence[KnownHost],
    *,
    copy_share: float,
    dropped_events: int,
    jobs_before: bool,
) -> Overview:
    """The first page's headline, its sentence of effect and its figures; hosts may be those of what has ended."""
    pools, known = [pool for pool in snapshot.pools if not pool.is_queue], snapshot.accuracy
    running = sum(pool.running for pool in pools)
    slots = sum(pool.slots for pool in pools)
    losing_core_s = sum(pool.losing_core_s for pool in pools)
    total_core_s = sum(pool.total_core_s for pool in pools)
    allowed = min(sum(pool.copy_limit for pool in pools), copy_limit(slots=slots, share=copy_share))
    heard_s = min((pool.last_heard_s for pool in snapshot.pools), default=None)
    return Overview(
        headline=_headline(snapshot, jobs_before),
        effect=_effect_sentence(snapshot.mode, effect),
        figures=[
            Figure(name="Slots busy", value=number(running), beside=f"of {slots}"),
            Figure(
                name="Copies running",
                value=number(sum(pool.n_copies for pool in pools)),
                beside=f"of {allowed} allowed",
            ),
            Figure(
                name="Copies won",
                value=number(effect.won),
                beside=f"of {effect.launched} since the start, {effect.lost} lost",
            ),
            Figure(
                name="Core time lost",
                value=f"{number(effect.losing_core_s)} core-s",
                beside=f"{share(losing_core_s, total_core_s)} of core time that drivers used" if total_core_s else "",
            ),
            Figure(name="Hosts", value=number(len(hosts)), beside=_health(hosts, snapshot.now_s)),
            Figure(
                name="Last heard",
                value=seconds(heard_s),
                beside=f"{counted(dropped_events, 'event')} dropped" if dropped_events else "no event dropped",
            ),
        ],
        accuracy=[
            (name, known[f"{kind}_samples"], known[f"{kind}_median_ratio"], known[f"{kind}_spread"])
            for kind, name in ESTIMATES.items()
            if f"{kind}_samples" in known
        ],
        samples=sample_views(snapshot.samples),
    )


def _health(hosts: Sequence[KnownHost], now_s: float) -> str:
    """How many are sick, or were when last seen; empty if no host is known."""
    if not hosts:
        return ""
    sick, ago_s = sum(host.state.sick for host in hosts), now_s - max(host.seen_s for host in hosts)
    return (f"▲ {sick} sick" if sick else "none sick") + (f", as of {seconds(ago_s)} ago" if ago_s else "")


def _headline(snapshot: Snapshot, jobs_before: bool) -> str:
    if snapshot.mode is Mode.OFF:
        return "Switched off: every host is left to itself"
    if not snapshot.pools:
        return "No application is attached at the moment" if jobs_before else "Ready, waiting for a first application"
    verb = "Steering" if snapshot.mode is Mode.CONTROL else "Watching"
    drivers = [pool for pool in snapshot.pools if not pool.is_queue]
    queues = [pool for pool in snapshot.pools if pool.is_queue]
    parts = (_inside(drivers, "job", "of", "application"), _inside(queues, "application", "in", "queue"))
    return f"{verb} {', and '.join(filter(None, parts))}"


def _inside(pools: list[PoolState], claimant: str, within: str, pool: str) -> str:
    if not pools:
        return ""
    jobs = sum(len(each.jobs) for each in pools)
    return f"{counted(jobs, claimant) if jobs else f'no {claimant}'} {within} {counted(len(pools), pool)}"


def _effect_sentence(mode: Mode, effect: Effect) -> str:
    ordered = (
        f"Since the start: {counted(effect.launched, 'copy')}, {effect.won} won, {number(effect.losing_core_s)}"
        f" core-seconds spent on losing copies, about {seconds(effect.saved_s)} of task time saved (estimate)."
        if effect.launched
        else "No copy has been launched since the start."
    )
    if mode is not Mode.SHADOW:
        return ordered
    would = f" It would have launched {counted(effect.not_ordered, 'copy')} (estimate)." if effect.not_ordered else ""
    return f"Shadow mode orders nothing.{would} {ordered if effect.launched else ''}".strip()
