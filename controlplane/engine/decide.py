"""What would a policy do now? Asked of a snapshot, so anybody may ask it anywhere; nothing is ordered or changed.

The snapshot becomes a cluster again (`loading.py`), on which the steps of the engine's own cycle decide: what it says
is what the engine would do with that state, without looking at a clock or learning anything.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import isfinite, nan

import msgspec
from msgspec import Struct, structs

from controlplane.engine.allocation import allocate
from controlplane.engine.applications import claimants_of
from controlplane.engine.cycle import Cycle
from controlplane.engine.loading import load
from controlplane.engine.remits import remits, remits_of
from controlplane.engine.seeing import JobSums, TaskView, job_sums
from controlplane.engine.speculation import note_inputs, speculate
from controlplane.engine.steering import Steering
from controlplane.engine.waiting import order_waiting, ordered_stages, orders_waiting
from controlplane.model.cluster import SourceState, TaskKey
from controlplane.model.decisions import Decision
from controlplane.model.errors import BadSetting, LawBroken
from controlplane.model.facts import Mode
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import TEXTS, Action, Reason, priced, sentence
from controlplane.model.snapshot import PoolState, Snapshot
from controlplane.policies import registry
from controlplane.policies.row import Kind

SCHEMA_VERSION = 2
"""The version of snapshots that is understood."""
LARGEST = 2**53
"""Largest whole number in a snapshot: bytes and ids grow large, but stay exact in JSON."""
MOST_COUNTED = 10**12
"""Most slots, tasks or copies in a snapshot: no cluster has that many, and no sum of them overflows."""
MOST_MEASURED = 1e100
"""Largest other number in a snapshot: far beyond seconds and bytes, but products of two stay finite."""
_COUNTED = frozenset(
    {
        "slots",
        "running",
        "running_attempts",
        "attempts_started",
        "remaining_tasks",
        "n_running",
        "n_copies",
        "n_tasks",
        "n_done",
        "n_waiting",
        "n_ended",
        "ordered_copies",
        "cores",
    }
)
_SHARES = frozenset({"error_bound"})


class ClaimantAdvice(Struct, frozen=True, kw_only=True):
    """How many slots one claimant should hold."""

    job: str
    target: int
    cap: int
    """-1 for none."""
    virtual_size: float
    running: int
    """Running attempts, including copies."""
    remaining_tasks: int


class TaskAdvice(Struct, frozen=True, kw_only=True):
    """What to do about one running task, and why."""

    job: str
    policy: str
    """The pair that decides about its job."""
    stage: int
    stage_attempt: int
    index: int
    running_attempts: int
    score: float
    """Orders the tasks of one job, higher first."""
    host: str
    """Where its copy would go; empty for any host that has no attempt of it, and if it gets none."""
    reason: str
    sentence: str


class WaitingAdvice(Struct, frozen=True, kw_only=True):
    """Which waiting originals of one stage start first."""

    stage: int
    stage_attempt: int
    indices: list[int]
    """Tasks in starting order; the host orders the others."""


class PoolAdvice(Struct, frozen=True, kw_only=True):
    """One pool's part of the answer."""

    source: str
    slots: int
    targets: list[ClaimantAdvice]
    """Slots for each job."""
    copies: list[TaskAdvice]
    """One entry per copy, the best first."""
    refusals: list[TaskAdvice]
    """Running tasks that it would not copy."""
    waiting: list[WaitingAdvice] = []
    """One entry per stage whose waiting tasks it orders."""


class Advice(Struct, frozen=True, kw_only=True):
    """A policy's decisions on a snapshot."""

    policy: str
    cycle: int
    """The cycle of the snapshot."""
    pools: list[PoolAdvice]
    """One answer per pool."""


def read_snapshot(body: bytes) -> Snapshot:
    """The snapshot in the JSON of `state:dump`. Raises msgspec.DecodeError, which names the place of a bad field."""
    return msgspec.json.decode(body, type=Snapshot)


def decide(snapshot: Snapshot, policy: str, settings: EngineSettings) -> Advice:
    """Decide as the pair "allocator+speculator" would in every pool.

    Jobs that had the speculators that their users name keep them.

    Raises BadSetting for unknown names, LawBroken if the policy gives an answer that no policy may.
    """
    if snapshot.schema_version != SCHEMA_VERSION:
        raise BadSetting("schema_version", snapshot.schema_version, str(SCHEMA_VERSION))
    registry.parse_policy(policy)
    _check(msgspec.to_builtins(snapshot), "snapshot")
    cycle = _cycle(snapshot, policy, settings)
    sources = list(cycle.cluster.sources.values())
    sums = job_sums(cycle.cluster)
    for source in sources:
        allocate(cycle, source, sums)
    asked = [source for source in sources if source.attempts or orders_waiting(cycle, source)]
    if asked:
        deciding = remits(cycle.steering, cycle.cluster, asked)
        speculate(cycle, asked, deciding, sums, note_inputs(cycle, asked, deciding, sums))
        order_waiting(cycle, asked, deciding)
    for name, law, raised in cycle.decision.laws_broken:
        raise LawBroken(raised or TEXTS[law].sentence.removesuffix("."), f"{policy} in {name}")
    pools = [_advice(cycle, sums, pool) for pool in snapshot.pools]
    return Advice(policy=policy, cycle=snapshot.cycle, pools=pools)


def _cycle(snapshot: Snapshot, policy: str, settings: EngineSettings) -> Cycle:
    """A cycle at the moment of the snapshot, in its modes."""
    loaded = load(snapshot)
    steering = Steering(replace(settings, mode=Mode.CONTROL, job_speculators=",".join(_named_speculators(snapshot))))
    steering.note_named(loaded.cluster, loaded.cluster.job_infos)
    for pool in snapshot.pools:
        steering.set_mode(pool.mode, pool.source)
        steering.set_policy(pool.source, policy)
    return Cycle(
        cluster=loaded.cluster,
        ledger=loaded.ledger,
        steering=steering,
        ids=loaded.ids,
        view=TaskView(),
        health=loaded.health,
        samples=loaded.samples.seen,
        now_s=snapshot.now_s,
        decision=Decision(cycle=snapshot.cycle),
    )


def _named_speculators(snapshot: Snapshot) -> Iterator[str]:
    """Those that decided about the jobs that name them. Raises BadSetting for one that is unknown, naming the place."""
    known = registry.names(Kind.SPECULATOR)
    for at, pool in enumerate(snapshot.pools):
        for number, job in enumerate(pool.jobs):
            if (named := job.named_speculator) and named.reason == Reason.NONE.label:
                if named.name not in known:
                    place = f"snapshot.pools[{at}].jobs[{number}].named_speculator.name"
                    raise BadSetting(place, got=named.name, want=" or ".join(known))
                yield named.name


def _check(value: object, place: str) -> None:
    """Raises BadSetting for a number that no snapshot of ours holds: it would not fit the records, or their sums.

    Infinite and undefined ones stand for unknown ones; they never come from JSON.
    """
    if isinstance(value, dict):
        for name, each in value.items():
            _check(each, f"{place}.{name}")
    elif isinstance(value, list):
        for number, each in enumerate(value):
            _check(each, f"{place}[{number}]")
    elif isinstance(value, int):
        least, most = (0, MOST_COUNTED) if place.rpartition(".")[2] in _COUNTED else (-1, LARGEST)
        if not least <= value <= most:
            raise BadSetting(place, got=value, want=f"{least} to {most}")
    elif isinstance(value, float) and isfinite(value):
        low, high = (0.0, 1.0) if place.rpartition(".")[2] in _SHARES else (-MOST_MEASURED, MOST_MEASURED)
        if not low <= value <= high:
            raise BadSetting(place, got=value, want=f"{low:g} to {high:g}")


def _advice(cycle: Cycle, sums: JobSums, pool: PoolState) -> PoolAdvice:
    """The cycle's decisions about one pool."""
    source = cycle.cluster.sources[pool.source]
    launched = [
        ((record.stage, record.stage_attempt, record.index), record.to_host)
        for record in cycle.decision.records
        if record.source == pool.source and record.action is Action.LAUNCH_COPY
    ]
    verdicts = dict(_verdicts(cycle, pool))
    copies = [structs.replace(verdicts[key], host=host) for key, host in launched]
    return PoolAdvice(
        source=pool.source,
        slots=pool.slots,
        targets=list(_targets(cycle, sums, source)),
        copies=sorted(copies, key=lambda verdict: -verdict.score),
        refusals=[verdict for key, verdict in verdicts.items() if key not in dict(launched)],
        waiting=list(_named(cycle, source)),
    )


def _named(cycle: Cycle, source: SourceState) -> Iterator[WaitingAdvice]:
    """The order of waiting tasks, of each stage that has one; what another speculator had ordered is none."""
    for remit in remits_of(cycle.steering, cycle.cluster, source):
        for info in ordered_stages(cycle, remit):
            if named := info.named:
                stage, stage_attempt = info.fact.stage, info.fact.stage_attempt
                yield WaitingAdvice(stage=stage, stage_attempt=stage_attempt, indices=named)


def _targets(cycle: Cycle, sums: JobSums, source: SourceState) -> Iterator[ClaimantAdvice]:
    cluster, jobs = cycle.cluster, cycle.cluster.jobs
    rows, claimants = claimants_of(cluster, source, sums, cycle.steering.max_copies(source), cycle.now_s)
    for row, claimant in zip(rows.tolist(), claimants, strict=True):
        yield ClaimantAdvice(
            job=cluster.job_infos[row].key,
            target=int(jobs.target[row]),
            cap=int(jobs.cap[row]),
            virtual_size=float(jobs.virtual_size[row]),
            running=int(claimant["running"]),
            remaining_tasks=int(sums.remaining_tasks[row]),
        )


def _verdicts(cycle: Cycle, pool: PoolState) -> Iterator[tuple[TaskKey, TaskAdvice]]:
    """About every running task that is not done, in a stage that is not over, without the host of a copy."""
    cluster, view = cycle.cluster, cycle.view
    place_of = {int(row): place for place, row in enumerate(view.rows.tolist())}
    source = cluster.sources[pool.source]
    for task in pool.tasks:
        key, stage = (task.stage, task.stage_attempt, task.index), source.stages[task.stage, task.stage_attempt]
        place = place_of.get(cluster.stage_infos[stage].task_rows[task.index])
        if place is not None:
            reason = Reason(int(view.answer["reason"][place]))
            inputs = {name: nan if value is None else value for name, value in task.inputs.items()}
            answer, job = view.answer[place], int(cluster.stages.job[stage])
            inputs["target"] = float(cluster.jobs.target[job])
            speculator, _ = cycle.steering.speculator_of(cluster, source, job)
            inputs |= priced(reason, answer["gain"], answer["price"]) | speculator.shown(inputs)
            yield (
                key,
                TaskAdvice(
                    job=task.job,
                    policy=cycle.steering.policy_name_of(cluster, source, job),
                    stage=task.stage,
                    stage_attempt=task.stage_attempt,
                    index=task.index,
                    running_attempts=task.running_attempts,
                    score=float(view.answer["score"][place]),
                    host="",
                    reason=reason.label,
                    sentence=sentence(reason, inputs),
                ),
            )
