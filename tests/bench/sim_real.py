"""Does the simulator foretell the large demo? The live engine on a simulated driver, given the demo's own draws.

The rounds are those that `demo_ratio` has run with this code; none is run here.
"""

import random
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from controlplane.model.columns import Floats
from controlplane.model.facts import Mode
from controlplane.model.orders import AnyOrder, AvoidHosts, LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.simulator.cluster import world as cluster
from controlplane.simulator.live.cluster import Job, Slots
from controlplane.simulator.live.driver import MOST_STARTED, Driver
from controlplane.simulator.live.play import Play
from controlplane.simulator.live.scenario import UNLIMITED
from spark_listener.demo.application import Outcome
from spark_listener.demo.world import SPLIT_BYTES, World
from spark_listener.event_log import read_attempts, read_stages
from spark_listener.swim import ModelJob
from tests.bench.demo_ratio import COMPETITORS, FIRST_SEED, FOLDERS, ROUNDS, SIZE, TWO_ATTEMPTS
from tests.bench.demo_rounds import Round, event_log, kept
from tests.bench.paced import slowdown
from tests.bench.statistics import ratio_row

WITHIN = 0.1
"""The ratio of means may differ from 1 by so much."""
REPORT_S = 0.1
STEPS = 64
"""Sleeps of the paced file system in a split; a process that is stopped during one finds it over when it goes on."""
HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5")
PLACEMENTS = 5
"""Runs of a round: Spark offers free executors in a random order, and what starts on the sick host decides much."""


class Overhead(NamedTuple):
    """Seconds that the paced file system does not account for."""

    attempt_s: float
    """Of an attempt, from its launch to its end."""
    job_s: float
    """Of a job, while none of its stages is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A contestant's policies in the simulator."""

    allocator: str
    speculator: str
    speculator_settings: Mapping[str, float] = field(default_factory=dict)
    max_copies: int = EngineSettings().max_copies_per_task
    is_stock: bool = False

    def settings(self) -> EngineSettings:
        """Stock knows no budgets, and one copy a task; ours has the defaults."""
        stock = UNLIMITED if self.is_stock else {}
        return EngineSettings(
            mode=Mode.CONTROL,
            allocator=self.allocator,
            speculator=self.speculator,
            speculator_settings=dict(self.speculator_settings),
            max_copies_per_task=self.max_copies,
            **stock,
        )


MODELS = {
    "stock": Model(allocator="fifo", speculator="none", max_copies=0, is_stock=True),
    "stock-tuned": Model(
        allocator="fair",
        speculator="stock-spark",
        speculator_settings={"quantile": SIZE.best_stock.quantile, "multiplier": SIZE.best_stock.multiplier},
        max_copies=1,
        is_stock=True,
    ),
    "hopper+ras": Model(allocator="hopper", speculator="ras"),
    "unified+unified": Model(allocator="unified", speculator="unified"),
    TWO_ATTEMPTS.name: Model(allocator="hopper", speculator="ras", max_copies=1),
}


class ShuffledSlots(Slots):
    """Slots whose machines are offered in a random order."""

    def __init__(self, machines: range, slots_per_machine: int, placement: int) -> None:
        super().__init__(machines, slots_per_machine)
        self._random = random.Random(placement)

    def machines(self) -> Iterator[int]:
        """Machines with a free slot."""
        free = list(super().machines())
        return iter(self._random.sample(free, len(free)))


class DemoDriver(Driver):
    """Its driver: what its attempts read, on which hosts, and in which order stock serves its jobs."""

    def __init__(
        self,
        play: Play,
        source: str,
        machines: range,
        slots: ShuffledSlots,
        model: Model,
        demo: World,
        demo_jobs: Sequence[ModelJob],
    ) -> None:
        super().__init__(play, source, machines, slots.n // len(machines))
        self._slots, self._model, self._demo, self._demo_jobs = slots, model, demo, demo_jobs

    def draw_s(self, job: Job) -> list[list[float]]:
        """A split at the paced file system's rate; what a reduce task takes beside the overhead is nothing."""
        if job.phase == 1:
            return [[0.0] * MOST_STARTED]
        demo = self._demo_jobs[job.id]
        return [
            [read_s(self._demo, demo.job_id, task, attempt) for attempt in range(MOST_STARTED)]
            for task in range(demo.tasks)
        ]

    def duty(self, machine: int, work_s: float) -> float:
        """The sick host's processes run for whole steps, begun in a share of each second."""
        if HOSTS[machine] != self._demo.sick_host:
            return 1.0
        step_s = max(work_s / STEPS, 1e-3)
        return min(1.0, step_s * ceil(self._demo.sick_duty / step_s))

    def stage_name(self, job: Job) -> str:
        """All jobs are the same query."""
        return f"stage {job.phase}"

    def need(self, job: Job) -> float:
        """Stock serves stages in the order of their submission, or the job with the fewest attempts."""
        if not self._model.is_stock:
            return super().need(job)
        return 0.0 if self._model.allocator == "fifo" else job.running

    def place(self, job: Job) -> tuple[bool, float, float]:
        """Stock knows no precedence."""
        return (False, 0.0, self.need(job)) if self._model.is_stock else super().place(job)

    def obey(self, orders: Iterable[AnyOrder]) -> None:
        """Stock Spark's originals and copies go to sick hosts as to others."""
        if self._model.is_stock:
            orders = [
                msgspec.structs.replace(order, host="", avoid_hosts=[]) if isinstance(order, LaunchCopy) else order
                for order in orders
                if not isinstance(order, AvoidHosts)
            ]
        super().obey(orders)


class DemoPlay(Play):
    """A contestant's run of the demo: its jobs, arrivals, hosts and draws; `placement` chooses the order of offers."""

    def __init__(
        self,
        model: Model,
        jobs: Sequence[ModelJob],
        cores_per_worker: int,
        world: World,
        overhead: Overhead,
        placement: int,
        report_s: float = REPORT_S,
    ) -> None:
        self._demo, self._model, self._overhead = world, model, overhead
        self._demo_jobs = jobs
        n_jobs = len(jobs)
        work = cluster.Workload(
            arrival_s=np.array([job.arrival_s for job in jobs]),
            service_s=np.ones(n_jobs),
            weight=np.ones(n_jobs),
            transfer_ratio=np.zeros(n_jobs),
            first_phase=2 * np.arange(n_jobs + 1),
            phase_tasks=np.array([tasks for job in jobs for tasks in (job.tasks, 1)]),
            original_s=np.empty(0),
            first_original=np.zeros(n_jobs + 1, dtype=np.int64),
            deadline_s=np.array([inf if job.deadline_s is None else job.deadline_s for job in jobs]),
            input_deadline_s=np.full(n_jobs, inf),
            error_bound=np.zeros(n_jobs),
        )
        machines = cluster.World(
            seed=world.seed, machines=len(HOSTS), tail_index=inf, tail_share=1.0, shared_share=0.0,
            slow_machine_share=0.0, slow_machine_factor=1.0, noise=0.0, detect_s=0.0, launch_s=overhead.attempt_s,
            kill_s=0.0, replicas=0, remote_factor=1.0, resumes=False, gives_up=False,
        )  # fmt: skip
        self._placement = placement
        super().__init__(work, machines, model.settings(), cores_per_worker, report_s)

    def driver(self, source: str, machines: range, slots_per_machine: int) -> Driver:
        """The contestant's."""
        slots = ShuffledSlots(machines, slots_per_machine, self._placement)
        return DemoDriver(self, source, machines, slots, self._model, self._demo, self._demo_jobs)

    def job_s(self) -> Floats:
        """Play it, and tell each job's time, in order of arrival, (n_jobs,).  Units: seconds."""
        self.run(np.array([0.0, 0.0]))
        return self._overhead.job_s + self.results.response_s


def read_s(world: World, job_id: str, task: int, attempt: int) -> float:
    """How long the paced file system takes to serve a split."""
    factor = slowdown(world, f"{job_id}.tsv", task * SPLIT_BYTES, attempt)
    return SPLIT_BYTES / world.bytes_per_second * factor


def overhead_of(log: Path, job_s: Mapping[str, float], world: World) -> Overhead:
    """The means of one run: its attempts on healthy hosts beyond what they read, its jobs beyond their open stages.

    Attempts that were beaten or failed say nothing.
    """
    stages = {one.stage: one for one in read_stages(log) if one.job_group}
    reading = {one.job_group: one.stage for one in reversed(stages.values())}
    attempts = [one for one in read_attempts(log) if one.stage in stages and one.succeeded]
    ended_ms = {one.stage: one.finish_ms for one in attempts}
    open_s = sum(ended_ms[one.stage] - one.submitted_ms for one in stages.values()) / 1000
    beyond_s = []
    for one in attempts:
        if one.host != world.sick_host:
            job_id = stages[one.stage].job_group
            reads = reading[job_id] == one.stage
            beyond_s.append(one.duration_s - reads * read_s(world, job_id, one.task, one.attempt))
    return Overhead(attempt_s=statistics.fmean(beyond_s), job_s=(sum(job_s.values()) - open_s) / len(job_s))


def mean_overhead(folder: Path, outcomes: Sequence[Outcome], worlds: Sequence[World]) -> Overhead:
    """That of a contestant's rounds from the first on, of which this sitting's are in the folder with their event logs.

    Raises SystemExit if none is.
    """
    of_rounds = [
        overhead_of(event_log(folder, number, one.contestant), one.job_s, world)
        for number, (one, world) in enumerate(zip(outcomes, worlds, strict=True), start=1)
        if (folder / str(number)).exists()
    ]
    if not of_rounds:
        raise SystemExit(f"no round of {folder.name} is of this sitting: its event logs would tell the overheads")
    found = Overhead(*map(statistics.fmean, zip(*of_rounds, strict=True)))
    print(
        f"{folder.name}: {found.attempt_s:.2f} s an attempt and {found.job_s:.2f} s a job"
        f" beyond what the tasks of {outcomes[0].contestant} read"
    )
    return found


def rows() -> list[dict]:
    """Rows `sim-real-<world>`: the simulated mean job time over the measured one, for each contestant."""
    found = [
        row
        for kind, folder in FOLDERS.items()
        if (rounds := kept(folder, ROUNDS, COMPETITORS))
        for row in _world(kind, rounds)
    ]
    if not found:
        print("no round of the demo was run with this code")
    return found


def _world(kind: str, rounds: list[Round]) -> list[dict]:
    worlds = [SIZE.world(seed=FIRST_SEED + number, kind=kind) for number in range(len(rounds))]
    overhead = mean_overhead(FOLDERS[kind], [one.outcomes["stock"] for one in rounds], worlds)
    return [
        _row(f"sim-real-{kind} {name}", model, worlds, overhead, [one.outcomes[name] for one in rounds])
        for name, model in MODELS.items()
    ]


def _row(name: str, model: Model, worlds: list[World], overhead: Overhead, measured: list[Outcome]) -> dict:
    jobs = SIZE.workload().jobs
    simulated_s = [
        statistics.fmean(
            DemoPlay(model, jobs, SIZE.cores_per_worker, world, overhead, at).job_s().mean() for at in range(PLACEMENTS)
        )
        for world in worlds
    ]
    row = ratio_row(
        name, simulated_s, "measured", [statistics.fmean(one.job_s.values()) for one in measured], goal=WITHIN
    )
    return row | {"met": abs(row["ratio"] - 1) <= WITHIN}
