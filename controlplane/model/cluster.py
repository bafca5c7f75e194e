"""What is running right now? Columns of numbers, and objects for the rest; `apply` changes them by facts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from controlplane.model import facts as f
from controlplane.model.columns import NAN, Attempts, Executors, Flags, Floats, Hosts, Ints, Jobs, Pools, Stages, Tasks
from controlplane.model.costs import listed
from controlplane.model.finished import FinishedSample
from controlplane.model.index import Index
from controlplane.model.orders import Claim
from controlplane.model.reasons import Reason

UNIT_NONE, UNIT_BYTES, UNIT_RECORDS, UNIT_SHARE = 0, 1, 2, 3
HOST_KEPT_S = 600.0
"""A host without executors is forgotten after this long: until then, what was learned about it may be needed."""
MOST_LEFT_HOSTS = 10_000
"""Hosts without executors that are remembered; the first to leave is forgotten first."""
SILENT_S = 10.0
"""A source that is silent for longer counts as gone; it is asked to report more than three times meanwhile."""
KEPT_AFTER_CLOSE_S = 3600.0
"""A closed stage whose last attempts never report their end is given up after this long. An attempt that cannot be
interrupted holds its slot for as long as it runs; one that is only thought to run goes with the next full report."""

TaskKey = tuple[int, int, int]
"""(stage, stage_attempt, index) by the host's own ids."""


class SourceKind(Protocol):
    """The fields of a kind of host that the model needs; see `controlplane.hosts`."""

    @property
    def is_queue(self) -> bool:
        """Whether its sources are leaf queues; else drivers."""

    @property
    def python_operators(self) -> tuple[str, ...]:
        """Parts of the names of operators that hand rows to Python workers."""


@dataclass(slots=True)
class StageInfo:
    """Non-numeric state of a stage; `row` is its row in `Cluster.stages`."""

    row: int
    source: str
    fact: f.StageSubmitted
    n_listed: int = 0
    """Numbers and names in the lists of its fact."""
    in_python: bool = False
    """Whether its tasks run Python workers."""
    done: bytearray = field(default_factory=bytearray)
    """1 for each finished task, by its index; empty while there is none, so a stage costs nothing in advance."""
    done_unseen_s: float = -math.inf
    """When tasks with unknown attempts were last found to have finished."""
    task_rows: dict[int, int] = field(default_factory=dict)
    ended: dict[int, None] = field(default_factory=dict)
    """Ids of its attempts that have ended, the newest last."""
    live: set[int] = field(default_factory=set)
    """Rows of its live attempts."""
    warm_executors: set[str] = field(default_factory=set)
    """Names of executors on which an attempt has ended, and in Python the latest attempt ended well."""
    named: list[int] = field(default_factory=list)
    """Waiting tasks that its host was last ordered to start first, in this order."""
    named_s: float = -math.inf
    """Time of that order."""
    finished: FinishedSample = field(init=False)
    mean_bytes: float = field(init=False)
    """Mean of its tasks' known inputs; nan if none is known."""

    def __post_init__(self) -> None:
        self.finished = FinishedSample(self.fact.n_tasks)
        known = [size for size in self._sizes if size > 0]
        self.mean_bytes = sum(known) / len(known) if known else math.nan

    @property
    def _sizes(self) -> list[int]:
        return self.fact.input_bytes or self.fact.relative_bytes

    def relative_size(self, index: int) -> float:
        """A task's input over the mean of all; nan where its size is not known."""
        size = self._sizes[index] if self._sizes else -1
        return size / self.mean_bytes if size > 0 else math.nan

    def relative_sizes(self, indices: Ints) -> Floats:
        """The same of many tasks, shape (n,)."""
        sizes = np.array(self._sizes, dtype=np.float64)[indices] if self._sizes else np.full(len(indices), NAN)
        return np.where(sizes > 0, sizes / self.mean_bytes, NAN)

    def is_done(self, index: int) -> bool:
        """Whether a task is finished."""
        return bool(self.done) and bool(self.done[index])

    def mark_done(self, first: int, last: int) -> int:
        """Tasks `first` to `last` are finished; returns how many of them were not before."""
        self.done = self.done or bytearray(self.fact.n_tasks)
        n = last + 1 - first
        n_before = self.done.count(1, first, last + 1)
        self.done[first : last + 1] = b"\1" * n
        return n - n_before


@dataclass(frozen=True, slots=True)
class JobInfo:
    """Non-numeric state of a job. A new report replaces values whole, so readers of a copy may share them."""

    row: int
    source: str
    key: str
    name: str
    host_ids: list[int]
    edges: list[tuple[int, int]]
    stage_tasks: dict[int, int] = field(default_factory=dict)
    """Number of tasks by stage id, also of stages not submitted yet."""
    stage_rows: set[int] = field(default_factory=set)
    open_rows: set[int] = field(default_factory=set)
    """Rows of the stages that are not over."""
    n_listed: int = 0
    """Numbers and names in the lists of its last report."""
    speculator: str = ""
    """The speculator that its user names; empty for its pool's."""
    queued: f.QueuedApplication | None = None
    """Its queue's last report of it; None for a driver's jobs."""
    parents: frozenset[int] = field(init=False)
    """The stages that feed others."""
    fed: frozenset[int] = field(init=False)
    """The stages that others feed."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", frozenset(parent for parent, _ in self.edges))
        object.__setattr__(self, "fed", frozenset(child for _, child in self.edges))

    def reads_input(self, stage: int) -> bool:
        """Whether no stage of the job feeds this one."""
        return stage not in self.fed


@dataclass(frozen=True, slots=True)
class Claimed:
    """What was last claimed of a source, and what that followed from."""

    rows: Ints
    """`Index.rows` of its jobs."""
    flags: Flags
    """Whether each of them was claimed."""
    lease_ms: int
    claims: list[Claim]


@dataclass(slots=True)
class SourceState:
    """One driver or leaf queue: its pool's row and its ids, each leading to a row."""

    name: str
    epoch: int
    row: int
    attached: f.DriverAttached
    kind: SourceKind
    heard_s: float
    applied_s: float = -math.inf
    """When it last reported that it had applied an order."""
    jobs: Index[str] = field(default_factory=Index)
    stages: Index[tuple[int, int]] = field(default_factory=Index)
    attempts: dict[int, int] = field(default_factory=dict)
    executors: Index[str] = field(default_factory=Index)
    requests: dict[int, tuple[f.ResourceRequested, float]] = field(default_factory=dict)
    requests_of: dict[tuple[int, int], set[int]] = field(default_factory=dict)
    """Ids of the requests of each stage."""
    n_tasks: int = 0
    """Tasks of all its stages."""
    n_started: int = 0
    """Those of them that have or had an attempt."""
    n_listed: int = 0
    """Numbers and names in the lists of all its jobs, stages and requests."""
    avoided: dict[str, int] = field(default_factory=dict)
    """Hosts that its originals were last ordered to stay off, with the waves of waiting ones that outweigh it."""
    avoided_s: float = -math.inf
    """When it was told so."""
    most_executors: int | None = None
    """For a driver in a queue: its last limit of executors; None for as many as it likes."""
    most_executors_s: float = -math.inf
    """When it was told so."""
    most_executors_in: f.Mode | None = None
    """The mode, the lower of its own and its queue's, in which that limit was given."""
    claimed: Claimed | None = None
    """The claims of its last answer, repeated while nothing has changed."""
    lease_mode: f.Mode | None = None
    """The mode in which it last got any order."""
    cluster_unix_ms: int = 0
    """For a queue: the start of its ResourceManager, if that lists all of its applications."""
    membership: Reason = Reason.NONE
    """For a driver: the queues' verdict on its application; `NONE` if none of them needs to know it."""

    laws_broken: set[tuple[str, Reason]] = field(default_factory=set)
    """Laws broken by its policies' newest answers; while there are any, it gets no orders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """Things that are forgotten at the end of a cycle."""

    stages: list[tuple[str, int, int]]
    """(source, stage, stage_attempt)."""
    hosts: list[int]
    """Rows, which may be given to other hosts."""


class Cluster:
    """Columns of everything that runs, over all sources."""

    def __init__(self, kinds: Mapping[str, SourceKind]) -> None:
        self.kinds = kinds
        """Kinds of hosts by the prefix of their sources' names."""
        self.pools, self.hosts, self.executors = Pools(), Hosts(), Executors()
        self.jobs, self.stages, self.tasks, self.attempts = Jobs(), Stages(), Tasks(), Attempts(1024)
        self.sources: dict[str, SourceState] = {}
        self.source_of_pool: dict[int, SourceState] = {}
        self.queues: dict[str, SourceState] = {}
        """The sources that are leaf queues, by name."""
        self.queued: dict[str, set[int]] = {}
        """Rows of the jobs that are applications of leaf queues, by their ids."""
        self.host_rows: dict[str, int] = {}
        self.host_names: dict[int, str] = {}
        self.executor_names: dict[int, str] = {}
        self.attempts_on: dict[int, dict[int, None]] = {}
        """Rows of the live attempts on each executor, in order of arrival, by its row."""
        self.job_infos: dict[int, JobInfo] = {}
        self.stage_infos: dict[int, StageInfo] = {}
        self.n_tasks = 0
        """Tasks of all stages."""
        self.n_listed = 0
        """Numbers and names in the lists of all jobs, stages and requests."""

    def most(self, everywhere: int, of_source: int, by_all: int) -> int:
        """How much a source may have, given the total: if that is too much, each has an equal part."""
        return of_source if everywhere <= by_all else min(of_source, by_all // len(self.sources))

    def keep_tasks(self, source: SourceState, n: int) -> None:
        """Count `n` more tasks in a source's stages; fewer if negative."""
        source.n_tasks += n
        self.n_tasks += n

    def keep_listed(self, source: SourceState, n: int) -> None:
        """Count `n` more numbers and names in the lists of a source's jobs, stages and requests; fewer if negative."""
        source.n_listed += n
        self.n_listed += n

    def drop_request(self, source: SourceState, request: int) -> None:
        """Ends a resource request, if it is known."""
        if request in source.requests:
            fact, _ = source.requests.pop(request)
            self.keep_listed(source, -sum(listed(fact).values()))
            stage = (fact.stage, fact.stage_attempt)
            source.requests_of[stage].discard(request)
            if not source.requests_of[stage]:
                del source.requests_of[stage]

    def purge(self, now_s: float) -> Purged:
        """Remove what is over: closed stages without live attempts, ended jobs without stages, hosts long left.

        Left to the end of a cycle, so that estimators can still read what an ended attempt belonged to. A stage whose
        last attempts never report their end goes after `KEPT_AFTER_CLOSE_S`.
        """
        stages = self.stages
        rows = stages.rows()
        over = (stages.n_running[rows] == 0) | (now_s - stages.closed_s[rows] > KEPT_AFTER_CLOSE_S)
        removed = []
        for row in rows[stages.closing[rows] & over].tolist():
            info = self.stage_infos[row]
            removed.append((info.source, info.fact.stage, info.fact.stage_attempt))
            self.remove_stage(self.sources[info.source], row)
        jobs = self.jobs.rows()
        for row in jobs[self.jobs.ended[jobs]].tolist():
            job = self.job_infos[row]
            if not job.stage_rows:
                self.remove_job(self.sources[job.source], job.key)
        return Purged(stages=removed, hosts=self._purge_hosts(now_s))

    def _purge_hosts(self, now_s: float) -> list[int]:
        left_s = self.hosts.left_s[: self.hosts.size]
        left_s[np.isnan(left_s)] = now_s
        left_s[self.executors.host[self.executors.rows()]] = NAN
        left = self.hosts.rows()
        left = left[~np.isnan(left_s[left])]
        gone = left[now_s - left_s[left] > HOST_KEPT_S]
        if len(left) - len(gone) > MOST_LEFT_HOSTS:
            gone = left[np.argsort(left_s[left], kind="stable")][:-MOST_LEFT_HOSTS]
        gone = gone.tolist()
        for row in gone:
            del self.host_rows[self.host_names.pop(row)]
            self.hosts.remove(row)
        return gone

    def host_row(self, name: str) -> int:
        """The row of a host, a new one if it has not been seen before."""
        row = self.host_rows.get(name)
        if row is None:
            row = self.host_rows[name] = self.hosts.add()
            self.host_names[row] = name
        return row

    def remove_executor(self, row: int) -> None:
        """Give an executor's row back; no attempt runs on it any more."""
        self.executors.remove(row)
        del self.executor_names[row], self.attempts_on[row]

    def remove_job(self, source: SourceState, key: str) -> None:
        """Give a job's row back; it has no stages any more."""
        row = source.jobs.pop(key)
        info = self.job_infos.pop(row)
        self.keep_listed(source, -info.n_listed)
        if info.queued is not None:
            self.queued[key].discard(row)
            if not self.queued[key]:
                del self.queued[key]
        self.jobs.remove(row)

    def remove_stage(self, source: SourceState, row: int) -> None:
        """Give a stage's row back, and those of its tasks and of attempts that never reported their end."""
        info = self.stage_infos.pop(row)
        for attempt_row in info.live:
            self.free_attempt(source, attempt_row)
        for task_row in info.task_rows.values():
            self.tasks.remove(task_row)
        source.n_started -= len(info.task_rows)
        source.stages.pop((info.fact.stage, info.fact.stage_attempt))
        self.keep_tasks(source, -info.fact.n_tasks)
        self.keep_listed(source, -info.n_listed)
        job = self.job_infos[int(self.stages.job[row])]
        job.stage_rows.discard(row)
        job.open_rows.discard(row)
        self.stages.remove(row)

    def task_key(self, task: int) -> TaskKey:
        """The host's key of a task."""
        fact = self.stage_infos[int(self.tasks.stage[task])].fact
        return (fact.stage, fact.stage_attempt, int(self.tasks.index[task]))

    def attempts_of(self, task: int) -> list[int]:
        """Rows of a task's live attempts, the one that started last first."""
        rows, row = [], int(self.tasks.newest[task])
        while row >= 0:
            rows.append(row)
            row = int(self.attempts.older[row])
        return rows

    def leading_attempt(self, task: int) -> int:
        """Row of the live attempt that is estimated to end first; among equal ones the newest."""
        return min(self.attempts_of(task), key=lambda row: float(self.attempts.t_rem_s[row]))

    def free_attempt(self, source: SourceState, row: int) -> None:
        """Give an attempt's row back, and the slot that it held."""
        attempts, task = self.attempts, int(self.attempts.task[row])
        rows = self.attempts_of(task)
        at = rows.index(row)
        if at:
            attempts.older[rows[at - 1]] = attempts.older[row]
        else:
            self.tasks.newest[task] = attempts.older[row]
        executor = int(attempts.executor[row])
        del self.attempts_on[executor][row]
        self.executors.running[executor] -= 1
        self.stages.n_running[attempts.stage[row]] -= 1
        self.tasks.n_live[task] -= 1
        del source.attempts[int(attempts.id[row])]
        attempts.remove(row)
