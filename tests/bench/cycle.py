"""How much CPU does one full scheduling cycle take, with each policy, beside what its memory alone takes?

The peer is one pass that reads and writes, once, as many bytes as the records of all jobs, stages, tasks and attempts
have: a cycle looks at all of them. As in the server, what start-up left is frozen, so that no collection looks at it,
and collections are as rare.
"""

import gc
import time

import numpy as np

from controlplane.engine.scheduler import Scheduler
from controlplane.main import GC_THRESHOLDS
from controlplane.model import facts as f
from controlplane.model.columns import Floats
from controlplane.model.decisions import PolicySet, Report
from controlplane.model.parameters import EngineSettings
from controlplane.model.writers import Writer
from controlplane.policies import registry
from controlplane.policies.row import Kind
from tests.bench.floor import floor_ms
from tests.scenario import SPARK

SOURCE = "spark:bench"
N_HOSTS = 500
INPUT_BYTES = 10**8
CYCLE_S = 0.2
WARM_UP = 10
CYCLES = 50
GOAL_P99_MS = 20.0
MANY_JOBS, TASKS_PER_JOB = 10_000, 10
POLICIES = (
    *(f"{name}+ras" for name in registry.names(Kind.ALLOCATOR)),
    *(f"hopper+{name}" for name in registry.names(Kind.SPECULATOR) if name != "ras"),
)
BY_DEADLINE = ("gs", "grass", "shed-plus", "shed", "dolly")
"""Speculators whose rows are of jobs with deadlines."""
WITHIN_MS = 600_000
"""A deadline that some of the tasks miss by their own pace."""
JOBS_PER_REPORT = 10_000


class Pool:
    """One pool with every task running, a fifth of which report in each cycle; the fastest takes `least_s`."""

    def __init__(self, jobs: int, tasks_per_job: int, least_s: float = 60.0, within_ms: int = -1) -> None:
        self.tasks, self.cycle, self.within_ms = jobs * tasks_per_job, 0, within_ms
        self.scheduler = Scheduler(EngineSettings(mode=f.Mode.CONTROL))
        for first in range(0, jobs, JOBS_PER_REPORT):
            facts: list[f.AnyFact] = [] if first else self._attached(jobs * tasks_per_job)
            for job in range(first, min(first + JOBS_PER_REPORT, jobs)):
                facts += self._job(job, tasks_per_job)
            report = Report(source=SOURCE, epoch=1, received_s=0.0, facts=facts, full=not first)
            self.scheduler.handle([report], 0.0)
        rng = np.random.default_rng([1, 0])
        self.bytes_per_s = INPUT_BYTES / (least_s * (1 + rng.pareto(1.5, self.tasks)))

    def cycles_ms(self, cycles: int, warm_up: int = WARM_UP) -> Floats:
        """Processor time of so many cycles, and of some before them that do not count."""
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        elapsed_ms = [self._cycle_ms() for _ in range(warm_up + cycles)]
        return np.array(elapsed_ms[warm_up:])

    def floor_ms(self) -> float:
        """Processor time of a pass over the records that a cycle looks at."""
        cluster = self.scheduler.cluster
        tables = (cluster.jobs, cluster.stages, cluster.tasks, cluster.attempts)
        return floor_ms(sum(table.size * getattr(table, by).itemsize for table in tables for by in Writer))

    def _cycle_ms(self) -> float:
        self.cycle += 1
        now_s = 10.0 + self.cycle * CYCLE_S
        some = np.arange(self.cycle % 5, self.tasks, 5)
        read = np.minimum(self.bytes_per_s[some] * now_s, INPUT_BYTES - 1).astype(int)
        progress = f.Progress(attempt=some.tolist(), bytes_read=read.tolist())
        report = Report(source=SOURCE, epoch=1, received_s=now_s, facts=[], progress=progress)
        started_s = time.process_time()
        self.scheduler.handle([report], now_s)
        return (time.process_time() - started_s) * 1000

    @staticmethod
    def _attached(tasks: int) -> list[f.AnyFact]:
        slots = tasks // N_HOSTS + 20
        executors = [f.ExecutorAdded(executor=str(i), host=f"host{i}", slots=slots) for i in range(N_HOSTS)]
        return [f.DriverAttached(application="bench", capabilities=SPARK), *executors]

    def _job(self, job: int, n_tasks: int) -> list[f.AnyFact]:
        stage = f.StageSubmitted(
            job=f"job-{job}",
            stage=job,
            stage_attempt=0,
            n_tasks=n_tasks,
            input_bytes=[INPUT_BYTES] * n_tasks,
            kind="shuffle_map",
            name=f"stage {job % 50}",
        )
        attempts = range(job * n_tasks, (job + 1) * n_tasks)
        hosts = [attempt % N_HOSTS for attempt in attempts]
        started = [
            f.AttemptStarted(
                attempt=attempt, stage=job, stage_attempt=0, index=index, executor=str(host), host=f"host{host}"
            )
            for index, (attempt, host) in enumerate(zip(attempts, hosts, strict=True))
        ]
        return [f.JobSubmitted(job=f"job-{job}", deadline_ms=self.within_ms), stage, *started]


def rows() -> list[dict]:
    """`cycle-p50` and `cycle-p99` with 1,000 jobs, `cycle-<policy>` with ten times as many, all with 100,000 tasks."""
    pool = Pool(1_000, 100)
    usual_ms, least_ms = pool.cycles_ms(CYCLES), pool.floor_ms()
    p50_ms = _row("cycle-p50", usual_ms, 50, least_ms)
    return [{**p50_ms, "goal": None, "met": None}, _row("cycle-p99", usual_ms, 99, least_ms), *_by_policy()]


def _by_policy() -> list[dict]:
    with_deadlines = [policy for policy in POLICIES if policy.partition("+")[2] in BY_DEADLINE]
    others = [policy for policy in POLICIES if policy not in with_deadlines]
    return [*_rows_of(others, within_ms=-1), *_rows_of(with_deadlines, within_ms=WITHIN_MS)]


def _rows_of(policies: list[str], within_ms: int) -> list[dict]:
    pool, found = Pool(MANY_JOBS, TASKS_PER_JOB, least_s=300.0, within_ms=within_ms), []
    least_ms = pool.floor_ms()
    for policy in policies:
        pool.scheduler.handle([PolicySet(source=SOURCE, policy=policy)], 10.0 + pool.cycle * CYCLE_S)
        found.append(_row(f"cycle-{policy}", pool.cycles_ms(CYCLES), 99, least_ms))
    return found


def _row(name: str, elapsed_ms: Floats, percentile: int, least_ms: float) -> dict:
    value = round(float(np.percentile(elapsed_ms, percentile)), 2)
    return {
        "name": name,
        "value": value,
        "goal": GOAL_P99_MS,
        "met": value <= GOAL_P99_MS,
        "unit": "ms",
        "peer": f"floor {least_ms:.1f} ms",
        "ratio": round(value / least_ms, 1),
        "runs": len(elapsed_ms),
        "spread": [round(float(bound), 2) for bound in np.percentile(elapsed_ms, [5, 95])],
    }
