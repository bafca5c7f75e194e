"""What would a policy do now? Asked of a snapshot, so anybody may ask it anywhere; nothing is ordered or changed.

The policy sees what the snapshot tells, through the same records as in the engine, and its wishes meet the same targets
and budgets. Three things a snapshot does not tell: the sizes of stages not submitted yet (taken as none), targets that
an operator has fixed (none), and how long tasks of a stage take before any has finished (its running tasks' `t_new_s`
stand for it).
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import isfinite

import msgspec
import numpy as np
from msgspec import Struct

from controlplane.engine.allocation import shares
from controlplane.engine.budgets import copy_room, no_room, over_budget, restart_room, spare_room, within_originals
from controlplane.engine.growth import Growth, slots_each
from controlplane.engine.snapshot_records import (
    claimant_records,
    is_claimant,
    is_pending,
    task_key,
    task_records,
)
from controlplane.engine.steering import Steering
from controlplane.model.columns import Ints
from controlplane.model.errors import BadSetting
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Reason, sentence
from controlplane.model.snapshot import JobState, PoolState, Snapshot, TaskState
from controlplane.policies import registry
from controlplane.policies.interfaces import Load, Records

SCHEMA_VERSION = 1
"""Of the snapshots that are understood."""
LARGEST = 2**53
"""Whole number in a snapshot: bytes and ids grow large, but stay exact in JSON."""
MOST_COUNTED = 10**12
"""Slots, tasks or copies in a snapshot: no cluster has as many, and no sum of them overflows."""
MOST_MEASURED = 1e100
"""Any other number in a snapshot: far beyond seconds and bytes, and small enough that products of two stay finite."""
_COUNTED = frozenset(
    {
        "slots",
        "running",
        "running_attempts",
        "remaining_tasks",
        "n_running",
        "n_copies",
        "n_tasks",
        "n_done",
        "n_waiting",
    }
)
_STANDING = {
    reason.label: reason
    for reason in (
        Reason.UNSAFE_OUTPUT,
        Reason.UNKNOWN_OUTPUT,
        Reason.OPTED_OUT,
        Reason.BARRIER,
        Reason.PIPELINED,
        Reason.STREAMING,
        Reason.MODE,
        Reason.HOST_CANNOT,
        Reason.TOO_NEW,
        Reason.ORDER_PENDING,
        Reason.LEFT_ALONE,
    )
}
"""The engine's own reasons for leaving a task alone, which hold under any policy."""


class ClaimantAdvice(Struct, frozen=True, kw_only=True):
    """How many slots one claimant should hold."""

    job: str
    target: int
    cap: int
    """-1 for none."""
    virtual_size: float
    running: int
    """Attempts that run, copies included."""
    remaining_tasks: int


class TaskAdvice(Struct, frozen=True, kw_only=True):
    """What is to be done about one running task, and why."""

    job: str
    stage: int
    stage_attempt: int
    index: int
    running_attempts: int
    score: float
    """Orders the tasks of one job, higher first."""
    reason: str
    sentence: str


class PoolAdvice(Struct, frozen=True, kw_only=True):
    """One pool's share of the answer."""

    source: str
    slots: int
    targets: list[ClaimantAdvice]
    """Slots for each job."""
    copies: list[TaskAdvice]
    """Best first."""
    refusals: list[TaskAdvice]
    """Tasks that run and that it would not copy."""


class Advice(Struct, frozen=True, kw_only=True):
    """What the policy would do. `seed` is for policies that draw by chance; none of today's does."""

    policy: str
    seed: int
    """As it was asked with."""
    cycle: int
    """The cycle of the snapshot."""
    pools: list[PoolAdvice]
    """One answer for each."""


def read_snapshot(body: bytes) -> Snapshot:
    """The snapshot in the JSON of `state:dump`. Raises msgspec.DecodeError, which names the place of a bad field."""
    return msgspec.json.decode(body, type=Snapshot)


def decide(snapshot: Snapshot, policy: str, settings: EngineSettings, seed: int = 0) -> Advice:
    """What the pair "allocator+speculator" would do in every pool. Raises BadSetting for what it does not know."""
    if snapshot.schema_version != SCHEMA_VERSION:
        raise BadSetting("schema_version", snapshot.schema_version, str(SCHEMA_VERSION))
    _check(msgspec.to_builtins(snapshot), "snapshot")
    _check_jobs(snapshot)
    registry.parse_policy(policy)
    books = _Books(snapshot=snapshot, settings=settings)
    pools = [_decide_pool(pool, policy, books) for pool in snapshot.pools]
    return Advice(policy=policy, seed=seed, cycle=snapshot.cycle, pools=pools)


def _check(value: object, place: str) -> None:
    """Raises BadSetting for a number that no snapshot of ours holds: it would not fit the records, or their sums.

    Infinite and undefined ones are what is unknown; they never come from JSON.
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
    elif isinstance(value, float) and isfinite(value) and abs(value) > MOST_MEASURED:
        raise BadSetting(place, got=value, want=f"{-MOST_MEASURED:g} to {MOST_MEASURED:g}")


def _check_jobs(snapshot: Snapshot) -> None:
    """Raises BadSetting for a job that is there twice, or a task whose job is not."""
    for number, pool in enumerate(snapshot.pools):
        jobs = Counter(job.job for job in pool.jobs)
        for job, times in jobs.items():
            if times > 1:
                raise BadSetting(f"snapshot.pools[{number}].jobs", got=f"{job} {times} times", want="each job once")
        for place, task in enumerate(pool.tasks):
            if task.job not in jobs:
                where = f"snapshot.pools[{number}].tasks[{place}].job"
                raise BadSetting(where, got=task.job, want="one of the pool's jobs")


@dataclass(slots=True, kw_only=True)
class _Books:
    """Copies by (source, job), those of this answer included; and which hosts are sick."""

    snapshot: Snapshot
    settings: EngineSettings
    by_job: Counter[tuple[str, str]] = field(default_factory=Counter)
    sick: set[str] = field(default_factory=set)
    slots_everywhere: int = 0

    def __post_init__(self) -> None:
        self.sick = {host.host for host in self.snapshot.hosts if host.sick}
        for pool in self.snapshot.pools:
            self.slots_everywhere += 0 if pool.is_queue else pool.slots
            self.by_job.update({(pool.source, job.job): job.n_copies for job in pool.jobs})
            self.by_job.update((pool.source, task.job) for task in pool.tasks if is_pending(task))

    def over_budget(self, pool: PoolState, task: TaskState) -> Reason:
        """Why one more copy is over budget; `NONE` if it is not."""
        of_pool = sum(n for (source, _), n in self.by_job.items() if source == pool.source)
        return over_budget(
            self.settings,
            losing_core_s=pool.likely_loss_core_s,
            total_core_s=pool.total_core_s,
            task_core_s=pool.task_core_s,
            copies=(self.by_job[pool.source, task.job], of_pool, self.by_job.total()),
            slots=(pool.slots, self.slots_everywhere),
        )

    def has_other_host(self, pool: PoolState, task: TaskState, hosts: set[str]) -> bool:
        """Whether a copy has somewhere to go as it is; `hosts` run the task."""
        all_hosts = {executor.host for executor in pool.executors if executor.slots}
        if len(all_hosts) == 1:
            return len(pool.executors) > task.running_attempts
        return bool(all_hosts - hosts - self.sick)


def _decide_pool(pool: PoolState, policy: str, books: _Books) -> PoolAdvice:
    steering = Steering(books.settings)
    steering.set_policy(pool.source, policy)
    max_copies = min(books.settings.max_copies_per_task, pool.capabilities.max_copies)
    jobs = sorted(filter(is_claimant, pool.jobs), key=lambda job: -job.age_s)

    allocator, allocator_settings = steering.allocator(pool.source)
    claimants = claimant_records(pool, jobs, max_copies)
    allocation = shares(allocator, allocator_settings, pool.slots, claimants, pool.capabilities)
    targets = {job.job: int(target) for job, target in zip(jobs, allocation["target"], strict=True)}

    speculator, speculator_settings = steering.speculator(pool.source)
    standing = [_standing_reason(task, max_copies, speculator.at_start) for task in pool.tasks]
    free, waiting, ordered = _room(pool, targets)
    spare = dict(zip((job.job for job in pool.jobs), spare_room(free, waiting).tolist(), strict=True))
    tasks, finished = task_records(pool, spare, np.array(standing) == Reason.NONE)
    load = Load(slots=pool.slots, offered_load=pool.offered_load, tail_index=pool.tail_index)
    tasks["prepared"] = speculator.prepared(load, tasks["stage_tasks"], speculator_settings)
    answer = speculator.speculate(tasks, speculator_settings, finished)
    reasons = [own or Reason(code) for own, code in zip(standing, answer["reason"].tolist(), strict=True)]
    originals = dict(zip((job.job for job in jobs), allocation["originals"].tolist(), strict=True))
    free, waiting = within_originals(
        free,
        waiting,
        target=np.array([targets.get(job.job, 0) for job in pool.jobs], dtype=np.int64),
        originals=np.array([originals.get(job.job, -1) for job in pool.jobs], dtype=np.int64),
        running=np.array([job.n_running for job in pool.jobs], dtype=np.int64),
        copies=np.array([job.n_copies for job in pool.jobs], dtype=np.int64) + ordered,
    )
    before = np.full(len(free), speculator.before_waiting)
    room = copy_room(free, waiting, ordered, before)
    in_target = np.stack([room, np.maximum(room, restart_room(free, ordered))])
    _pick(pool, answer, reasons, _Rooms.of(pool, in_target, waiting, no_room(waiting, before)), books)
    verdicts = [
        _verdict(task, float(score), reason, targets.get(task.job, 0))
        for task, score, reason in zip(pool.tasks, answer["score"], reasons, strict=True)
    ]
    wanted = answer["wanted"].tolist()
    return PoolAdvice(
        source=pool.source,
        slots=pool.slots,
        targets=[_target(job, share) for job, share in zip(jobs, allocation, strict=True)],
        copies=sorted((v for v, copy in zip(verdicts, wanted, strict=True) if copy), key=lambda v: -v.score),
        refusals=[v for v, copy in zip(verdicts, wanted, strict=True) if not copy],
    )


def _standing_reason(task: TaskState, max_copies: int, at_start: bool) -> Reason:
    """The engine's own reason for leaving a task alone; `NONE` where it has none. `at_start` nothing is too new."""
    if max_copies == 0:
        return Reason.HOST_CANNOT
    if task.reason in _STANDING and not (at_start and task.reason == Reason.TOO_NEW.label):
        return _STANDING[task.reason]
    return Reason.ALREADY_COPIED if task.running_attempts > max_copies else Reason.NONE


def _room(pool: PoolState, targets: dict[str, int]) -> Records:
    """What is free of each job's target, its waiting originals, and its copies on their way; shape (3, n_jobs)."""
    pending = Counter(task.job for task in pool.tasks if is_pending(task))
    rooms = [
        (
            targets.get(job.job, 0) - job.n_running - pending[job.job],
            sum(stage.n_waiting for stage in job.stages),
            pending[job.job],
        )
        for job in pool.jobs
    ]
    return np.array(rooms, dtype=np.int64).reshape(-1, 3).T


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rooms:
    """How many more copies each job of a pool may have, by its key."""

    in_target: list[dict[str, int]]
    """For copies, and for restarts."""
    to_come: dict[str, int]
    """Those that executors would come for."""
    full: dict[str, Reason]
    """Why there are no more."""
    growth: Growth
    tasks: int
    """What runs, waits or is ordered in the pool."""

    @classmethod
    def of(cls, pool: PoolState, in_target: Ints, waiting: Ints, full: Ints) -> "_Rooms":
        """Of a job whose originals wait, executors that come are theirs; shapes (2, n_jobs) and (n_jobs,)."""
        executors = len(pool.executors)
        growth = Growth(
            executors=executors,
            slots=slots_each(slots=pool.slots, executors=executors),
            limit=pool.executor_limit,
            queue_limit=pool.queue_limit,
        )
        tasks = sum(job.n_running + sum(stage.n_waiting for stage in job.stages) for job in pool.jobs)
        tasks += sum(map(is_pending, pool.tasks))
        no_slot = growth.refusal(tasks, Reason.NO_SLOT_IN_TARGET) or Reason.NO_SLOT_IN_TARGET
        keys = [job.job for job in pool.jobs]
        return cls(
            in_target=[dict(zip(keys, room.tolist(), strict=True)) for room in in_target],
            to_come={key: 0 if n else growth.copies(tasks) for key, n in zip(keys, waiting.tolist(), strict=True)},
            full={
                key: Reason(code) if n else no_slot
                for key, n, code in zip(keys, waiting.tolist(), full.tolist(), strict=True)
            },
            growth=growth,
            tasks=tasks,
        )


def _pick(pool: PoolState, answer: Records, reasons: list[Reason], rooms: _Rooms, books: _Books) -> None:
    """Of the wanted copies keep those with room and budget, best first; the others' reasons say what is in the way."""
    hosts, taken, ordered = defaultdict(set), Counter[str](), Counter[str]()
    for attempt in pool.attempts:
        hosts[task_key(attempt)].add(attempt.host)
    for row in np.argsort(-answer["score"], kind="stable").tolist():
        if not answer["wanted"][row]:
            continue
        task = pool.tasks[row]
        in_target = rooms.in_target[int(answer["kill"][row])][task.job]
        room = in_target + rooms.to_come[task.job]
        is_full = taken[task.job] >= room
        taken[task.job] += room > 0
        refusal = rooms.full[task.job] if is_full else books.over_budget(pool, task)
        if not refusal and ordered[task.job] >= in_target:
            refusal = rooms.growth.refusal(rooms.tasks + ordered.total(), Reason.NO_SLOT_IN_TARGET)
        elif not refusal and not books.has_other_host(pool, task, hosts[task_key(task)]):
            refusal = rooms.growth.refusal(rooms.tasks + ordered.total(), Reason.NO_OTHER_HOST)
        if refusal:
            answer["wanted"][row], reasons[row] = False, refusal
        else:
            books.by_job[pool.source, task.job] += 1
            ordered[task.job] += 1


def _target(job: JobState, share: Records) -> ClaimantAdvice:
    return ClaimantAdvice(
        job=job.job,
        target=int(share["target"]),
        cap=int(share["cap"]),
        virtual_size=float(share["virtual_size"]),
        running=job.n_running,
        remaining_tasks=job.remaining_tasks,
    )


def _verdict(task: TaskState, score: float, reason: Reason, target: int) -> TaskAdvice:
    inputs = {**task.inputs, "target": float(target)}
    return TaskAdvice(
        job=task.job,
        stage=task.stage,
        stage_attempt=task.stage_attempt,
        index=task.index,
        running_attempts=task.running_attempts,
        score=score,
        reason=reason.label,
        sentence=sentence(reason, inputs),
    )
