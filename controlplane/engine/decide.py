"""What would a policy do now? Asked of a snapshot, so anybody may ask it anywhere; nothing is ordered or changed.

The policy sees what the snapshot tells, through the same records as in the engine, and its wishes meet the same targets
and budgets. Three things a snapshot does not tell: the sizes of stages not submitted yet (taken as none), targets that
an operator has fixed (none), and how long tasks of a stage take before any has finished (its running tasks' `t_new_s`
stand for it).
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import inf, nan

import msgspec
import numpy as np
from msgspec import Struct

from controlplane.engine.allocation import shares
from controlplane.engine.budgets import copy_room, no_room, over_budget, spare_room, within_originals
from controlplane.engine.redundancy import factor, limit_s
from controlplane.engine.steering import Steering
from controlplane.engine.views import show_finished
from controlplane.model.errors import BadSetting
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Reason, sentence
from controlplane.model.snapshot import AttemptState, FinishedState, JobState, PoolState, Snapshot, TaskState
from controlplane.policies import registry
from controlplane.policies.interfaces import CLAIMANT, FINISHED, RUNNING_TASK, UNKNOWN_FINISHED, Records

SCHEMA_VERSION = 1
"""Of the snapshots that are understood."""
LARGEST = 2**53
"""Whole number in a snapshot: bytes and ids grow large, but stay exact in JSON."""
MOST_COUNTED = 10**12
"""Slots, tasks or copies in a snapshot: no cluster has as many, and no sum of them overflows."""
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

TaskKey = tuple[int, int, int]


class ClaimantAdvice(Struct, frozen=True, kw_only=True):
    """How many slots one claimant should hold."""

    job: str
    target: int
    cap: int
    """-1 for none."""
    virtual_size: float
    running: int
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
    copies: list[TaskAdvice]
    """Best first."""
    refusals: list[TaskAdvice]


class Advice(Struct, frozen=True, kw_only=True):
    """What the policy would do. `seed` is for policies that draw by chance; none of today's does."""

    policy: str
    seed: int
    cycle: int
    """The cycle of the snapshot."""
    pools: list[PoolAdvice]


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
    """Raises BadSetting for a whole number that no snapshot of ours holds: it would not fit the records."""
    if isinstance(value, dict):
        for name, each in value.items():
            _check(each, f"{place}.{name}")
    elif isinstance(value, list):
        for number, each in enumerate(value):
            _check(each, f"{place}[{number}]")
    elif isinstance(value, int):
        most = MOST_COUNTED if place.rpartition(".")[2] in _COUNTED else LARGEST
        if not -1 <= value <= most:
            raise BadSetting(place, got=value, want=f"-1 to {most}")


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
            self.by_job.update((pool.source, task.job) for task in pool.tasks if _is_pending(task))

    def refusal(self, pool: PoolState, task: TaskState, hosts: set[str]) -> Reason:
        """Why one more copy is over budget or has nowhere to go; `NONE` if it is not. `hosts` run the task."""
        of_pool = sum(n for (source, _), n in self.by_job.items() if source == pool.source)
        over = over_budget(
            self.settings,
            losing_core_s=pool.losing_core_s,
            total_core_s=pool.total_core_s,
            copies=(self.by_job[pool.source, task.job], of_pool, self.by_job.total()),
            slots=(pool.slots, self.slots_everywhere),
        )
        if over:
            return over
        all_hosts = {executor.host for executor in pool.executors if executor.slots}
        if len(all_hosts) == 1:
            return Reason.NONE if len(pool.executors) > task.running_attempts else Reason.NO_OTHER_HOST
        return Reason.NONE if all_hosts - hosts - self.sick else Reason.NO_OTHER_HOST


def _decide_pool(pool: PoolState, policy: str, books: _Books) -> PoolAdvice:
    steering = Steering(books.settings)
    steering.set_policy(pool.source, policy)
    max_copies = min(books.settings.max_copies_per_task, pool.capabilities.max_copies)
    jobs = sorted(filter(_is_claimant, pool.jobs), key=lambda job: -job.age_s)

    allocator, allocator_settings = steering.allocator(pool.source)
    claimants = _claimants(pool, jobs, max_copies)
    allocation = shares(allocator, allocator_settings, pool.slots, claimants, pool.capabilities)
    targets = {job.job: int(target) for job, target in zip(jobs, allocation["target"], strict=True)}

    speculator, speculator_settings = steering.speculator(pool.source)
    standing = [_standing_reason(task, max_copies, speculator.at_start) for task in pool.tasks]
    free, waiting, ordered = _room(pool, targets)
    spare = dict(zip((job.job for job in pool.jobs), spare_room(free, waiting).tolist(), strict=True))
    tasks, finished = _running_tasks(pool, spare, np.array(standing) == Reason.NONE)
    tasks["small_demand_s"] = limit_s(
        speculator, speculator_settings, slots=pool.slots, offered_load=pool.offered_load, tail_index=pool.tail_index
    )
    tasks["relaunch_factor"] = [factor(speculator, int(n_tasks), pool.tail_index) for n_tasks in tasks["stage_tasks"]]
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
    rooms = Counter(dict(zip(spare, copy_room(free, waiting, ordered, before).tolist(), strict=True)))
    full = {job: Reason(code) for job, code in zip(spare, no_room(waiting, before).tolist(), strict=True)}
    _pick(pool, answer, reasons, rooms, full, books)
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


def _claimants(pool: PoolState, jobs: list[JobState], max_copies: int) -> Records:
    """The jobs as the allocator sees them, shape (n_jobs,)."""
    opted_out = {task.job for task in pool.tasks if task.reason == Reason.OPTED_OUT.label}
    durations_s = defaultdict(list)
    for task in pool.tasks:
        durations_s[task.stage, task.stage_attempt].append(_seconds(task, "t_new_s"))
    durations_s.update({(each.stage, each.stage_attempt): each.duration_s for each in pool.finished})
    claimants = np.zeros(len(jobs), dtype=CLAIMANT)
    for claimant, job in zip(claimants, jobs, strict=True):
        waiting = sum(stage.n_waiting for stage in job.stages)
        most = 0 if job.job in opted_out else max_copies
        running = (job.remaining_tasks - waiting) * most - job.n_copies
        foreseen = job.remaining_tasks * most - job.n_copies
        claimant["arrival_s"], claimant["weight"] = -job.age_s, job.weight
        claimant["remaining_tasks"], claimant["running"] = job.remaining_tasks, job.n_running
        claimant["usable"] = job.n_running + waiting + max(running, 0)
        claimant["foreseen"] = job.n_running + waiting + max(foreseen, 0)
        claimant["tail_index"], claimant["transfer_ratio"] = job.tail_index, job.transfer_ratio
        claimant["fixed_target"] = claimant["fixed_cap"] = -1
        for stage in job.stages:
            known_s = [each for each in durations_s[stage.stage, stage.stage_attempt] if each < inf]
            mean_s = sum(known_s) / len(known_s) if known_s else 1.0
            claimant["remaining_work_s"] += (stage.n_tasks - stage.n_done) * mean_s
        if job.queued:
            claimant["remaining_tasks"] = claimant["remaining_work_s"] = job.queued.wanted
            claimant["usable"] = job.queued.running + job.queued.pending
            claimant["tail_index"] = job.tail_index if job.queued.driver else inf
    return claimants


def _is_claimant(job: JobState) -> bool:
    return bool(job.remaining_tasks or job.n_running or (job.queued and job.queued.pending))


def _running_tasks(pool: PoolState, spare: dict[str, int], eligible: np.ndarray) -> tuple[Records, Records]:
    """The tasks as the speculator sees them, shape (n_tasks,), and what of their stages has finished.

    `spare` is each job's room for copies.
    """
    attempts: dict[TaskKey, list[AttemptState]] = defaultdict(list)
    for attempt in pool.attempts:
        attempts[_key(attempt)].append(attempt)
    reading = {(each.stage, each.stage_attempt) for each in pool.attempts if each.bytes_read > 0}
    stages: dict[tuple[int, int], int] = {}
    pending = sum(map(_is_pending, pool.tasks))
    waiting = sum(stage.n_waiting for job in pool.jobs for stage in job.stages)
    left = {job.job: job.remaining_tasks for job in pool.jobs}
    of_stage = {
        (each.stage, each.stage_attempt): (each.n_tasks, each.n_done) for job in pool.jobs for each in job.stages
    }
    records = np.zeros(len(pool.tasks), dtype=RUNNING_TASK)
    records["eligible"], records["executor_slots"] = eligible, pool.executor_slots
    records["pool_slots"], records["pool_copies"] = pool.slots, pool.n_copies + pending
    records["pool_idle"] = max(pool.slots - sum(job.n_running for job in pool.jobs) - waiting - pending, 0)
    for record, task in zip(records, pool.tasks, strict=True):
        stage = (task.stage, task.stage_attempt)
        record["stage"] = stages.setdefault(stage, len(stages))
        record["running_attempts"], record["job_room"] = task.running_attempts, spare[task.job]
        record["elapsed_s"] = _seconds(task, "elapsed_s")
        record["t_rem_s"], record["t_new_s"] = _seconds(task, "t_rem_s"), _seconds(task, "t_new_s")
        record["expected_s"] = _known(task.inputs.get("expected_s"), nan)
        record["job_tasks"], record["work"] = left.get(task.job, 0), task.input_bytes if task.input_bytes > 0 else nan
        record["stage_tasks"], record["stage_done"] = of_stage.get(stage, (0, 0))
        record["attempts_started"] = 1 + max((a.attempt_number for a in attempts[_key(task)]), default=0)
        size = task.input_bytes if task.input_bytes > 0 and stage in reading else 1.0
        mine = attempts[_key(task)]
        record["progress_rate"] = max((_rate(size, a.elapsed_s + _known(a.t_rem_s)) for a in mine), default=0.0)
        record["sibling_rate"] = max((_rate(size, _known(a.t_new_s)) for a in mine), default=0.0)
    told = {(each.stage, each.stage_attempt): _finished(each) for each in pool.finished}
    samples = {number: told.get(stage, UNKNOWN_FINISHED) for stage, number in stages.items()}
    return records, show_finished(records, samples)


def _finished(told: FinishedState) -> Records:
    """The finished attempts of a stage as policies see them; sorted once more, for people write dumps by hand."""
    records = np.zeros(len(told.duration_s), dtype=FINISHED)
    records["duration_s"], records["unit_s"] = np.sort(told.duration_s), inf
    unit_s = np.sort(told.unit_s)[: len(records)]
    records["unit_s"][: len(unit_s)] = unit_s
    return records


def _standing_reason(task: TaskState, max_copies: int, at_start: bool) -> Reason:
    """The engine's own reason for leaving a task alone; `NONE` where it has none. `at_start` nothing is too new."""
    if max_copies == 0:
        return Reason.HOST_CANNOT
    if task.reason in _STANDING and not (at_start and task.reason == Reason.TOO_NEW.label):
        return _STANDING[task.reason]
    return Reason.ALREADY_COPIED if task.running_attempts > max_copies else Reason.NONE


def _room(pool: PoolState, targets: dict[str, int]) -> Records:
    """What is free of each job's target, its waiting originals, and its copies on their way; shape (3, n_jobs)."""
    pending = Counter(task.job for task in pool.tasks if _is_pending(task))
    rooms = [
        (
            targets.get(job.job, 0) - job.n_running - pending[job.job],
            sum(stage.n_waiting for stage in job.stages),
            pending[job.job],
        )
        for job in pool.jobs
    ]
    return np.array(rooms, dtype=np.int64).reshape(-1, 3).T


def _pick(
    pool: PoolState,
    answer: Records,
    reasons: list[Reason],
    rooms: Counter[str],
    full: dict[str, Reason],
    books: _Books,
) -> None:
    """Of the wanted copies keep those with room and budget, best first; the others' reasons say what is in the way."""
    hosts = defaultdict(set)
    for attempt in pool.attempts:
        hosts[_key(attempt)].add(attempt.host)
    for row in np.argsort(-answer["score"], kind="stable").tolist():
        if not answer["wanted"][row]:
            continue
        task = pool.tasks[row]
        rooms[task.job] -= 1
        refusal = full[task.job] if rooms[task.job] < 0 else books.refusal(pool, task, hosts[_key(task)])
        if refusal:
            answer["wanted"][row], reasons[row] = False, refusal
        else:
            books.by_job[pool.source, task.job] += 1


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
    inputs = {name: _known(value) for name, value in task.inputs.items()} | {"target": float(target)}
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


def _is_pending(task: TaskState) -> bool:
    return task.reason == Reason.ORDER_PENDING.label


def _key(of: TaskState | AttemptState) -> TaskKey:
    return (of.stage, of.stage_attempt, of.index)


def _seconds(task: TaskState, name: str) -> float:
    return _known(task.inputs.get(name))


def _rate(size: float, seconds: float) -> float:
    return size / seconds if seconds > 0 else 0.0


def _known(value: float | None, otherwise: float = inf) -> float:
    return otherwise if value is None else value
