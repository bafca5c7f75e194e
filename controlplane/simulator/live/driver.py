"""How does a simulated driver behave? It reports at each tick, obeys orders, hands out slots as the Spark shim does.

The engine knows what a shim would report: starts, ends, and bytes read, from an attempt's launch on.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from math import inf, isfinite
from typing import Any, Protocol

import msgspec
import numpy as np

from controlplane.compiled import kernel
from controlplane.deciding.bounds import needed_tasks
from controlplane.model import facts as f
from controlplane.model.columns import Floats, Records
from controlplane.model.decisions import Report
from controlplane.model.orders import AnyOrder, AvoidHosts, ContainerGrant, KillAttempt, LaunchCopy, RunNext
from controlplane.simulator.cluster.phases import JobResults
from controlplane.simulator.cluster.turns import turn
from controlplane.simulator.cluster.world import Workload, World, attempt_work_s, mean_factor
from controlplane.simulator.draws import job_key
from controlplane.simulator.live.cluster import (
    TASK_BYTES,
    Attempt,
    Job,
    Ordered,
    Slots,
    Spreads,
    Stage,
    Task,
    drawn_factor,
    executor,
    host,
    ran_s,
    when_ran_s,
)

MOST_STARTED = 16
"""Attempts of a task whose durations are drawn; further ones take as long as the last of these."""
LAUNCH, SIZE = 1, 2
"""What a factor is drawn for."""
DRAWN = np.dtype([("id", np.int64), ("key", np.uint64)])


@kernel
def draw_work(work: Workload, world: World, job: Records, first: int, works_s: Floats) -> None:
    """Fill in, by task and attempt, what the tasks of a job from `first` on take; `job` is one of `DRAWN`."""
    job[0]["key"] = job_key(world.seed, job[0]["id"])
    for task in range(works_s.shape[0]):
        for attempt in range(works_s.shape[1]):
            works_s[task, attempt] = attempt_work_s(work, world, job[0], first + task, attempt)


class Run(Protocol):
    """The run that a driver is part of: time, what happens next, the engine, and what is counted."""

    work: Workload
    world: World
    spreads: Spreads
    report_s: float
    now_s: float
    ids: Iterator[int]
    factor: Floats
    results: JobResults
    counts: dict[str, float]

    def at(self, time_s: float, happen: Any) -> None:
        """Let something happen at a time."""

    def decide(self, report: Report) -> None:
        """Tell the engine what a driver reports."""


class Driver:
    """One driver and its pool: jobs on machines of its own.

    A subclass may have jobs, luck and an order of its own: `draw_s`, `duty`, `need`, `place` and `stage_name`.
    """

    def __init__(self, play: Run, source: str, machines: range, slots_per_machine: int) -> None:
        self._play, self._source, self._slots = play, source, Slots(machines, slots_per_machine)
        self._jobs: dict[str, Job] = {}
        self._stages: dict[int, Stage] = {}
        self._attempts: dict[int, Attempt] = {}
        self._ordered: list[Ordered] = []
        self._avoided: dict[int, float] = {}
        """Waves by machine that originals are to stay off."""
        self._patience_s = 0.0
        self._said: dict[int, int] = {}
        """Bytes that were reported, by attempt."""
        self._facts: list[tuple[float, f.AnyFact]] = []
        self._reports, self._is_known = False, False
        capabilities = f.Capabilities(
            max_copies=16, named_host=True, kill_copy=True, order_pending=True, hold_slots=True, avoid_hosts=True
        )
        self._tell(f.DriverAttached(application=source, capabilities=capabilities))
        for machine in machines:
            self._tell(f.ExecutorAdded(executor=executor(machine), host=host(machine), slots=slots_per_machine))

    @property
    def n_busy(self) -> int:
        """Slots that are not free."""
        return self._slots.n - self._slots.n_free

    @property
    def n_copies(self) -> int:
        """Copies that run."""
        return sum(job.copies for job in self._jobs.values())

    def _tell(self, fact: f.AnyFact) -> None:
        """Keep a fact for the next report, which is at the next tick."""
        self._facts.append((self._play.now_s, fact))
        if not self._reports:
            self._reports = True
            self._play.at(self._play.report_s * np.ceil(self._play.now_s / self._play.report_s + 1e-9), self._report)

    def arrive(self, at: int) -> None:
        """A job of this driver is there."""
        job = Job(id=at, key=f"job-{at}", arrival_s=self._play.now_s, weight=float(self._play.work.weight[at]))
        self._jobs[job.key] = job
        stages = range(self._play.work.first_phase[at], self._play.work.first_phase[at + 1])
        within_s = float(self._play.work.deadline_s[at])
        self._tell(
            f.JobSubmitted(
                job=job.key,
                stages=list(stages),
                stage_tasks=self._play.work.phase_tasks[stages].tolist(),
                edges=[(stage - 1, stage) for stage in stages[1:]],
                weight=round(job.weight),
                deadline_ms=round(1000 * within_s) if isfinite(within_s) else -1,
                error_bound=round(1e6 * float(self._play.work.error_bound[at])),
            )
        )
        self._open_phase(job)

    def _open_phase(self, job: Job) -> None:
        job.phase += 1
        at = int(self._play.work.first_phase[job.id]) + job.phase
        n_tasks = int(self._play.work.phase_tasks[at])
        sizes = [drawn_factor(self._play.spreads.size, self._play.world.seed, SIZE, at, one) for one in range(n_tasks)]
        job.stage = self._stages[at] = Stage(
            id=at,
            job=job,
            work_s=[[size * one_s for one_s in task_s] for size, task_s in zip(sizes, self.draw_s(job), strict=True)],
            sizes_bytes=[round(size * TASK_BYTES) for size in sizes],
            waiting=list(range(n_tasks))[::-1],
            launched_s=self._play.now_s,
        )
        self._tell(
            f.StageSubmitted(
                job=job.key, stage=at, stage_attempt=0, n_tasks=n_tasks, name=self.stage_name(job),
                kind="shuffle_map", input_bytes=job.stage.sizes_bytes,
            )
        )  # fmt: skip
        if self._play.world.gives_up and job.phase == 0:
            due_s = job.arrival_s + float(self._play.work.input_deadline_s[job.id])
            self._play.at(max(due_s, self._play.now_s), partial(self._give_up, job.stage))
        self._hand_out()

    def draw_s(self, job: Job) -> list[list[float]]:
        """Durations of the tasks of the job's open phase without their launch, by task and attempt.  Units: seconds."""
        work = self._play.work
        at = int(work.first_phase[job.id]) + job.phase
        works_s, drawn = np.empty((int(work.phase_tasks[at]), MOST_STARTED)), np.zeros(1, dtype=DRAWN)
        drawn["id"] = job.id
        draw_work(work, self._play.world, drawn, int(work.phase_tasks[at - job.phase : at].sum()), works_s)
        return works_s.tolist()

    def duty(self, machine: int, work_s: float) -> float:
        """For how much of each second the process of an attempt runs that takes `work_s` on that machine."""
        return 1.0

    def stage_name(self, job: Job) -> str:
        """Name of the job's open phase, by which the engine recognises its stages."""
        return f"{job.key}-{job.phase}"

    def need(self, job: Job) -> float:
        """How soon it is the job's turn, the least first; infinite if it is not."""
        return turn(job.running, job.target, job.cap is not None, job.weight)

    def place(self, job: Job) -> tuple[bool, float, float]:
        """Whether it has what it should, its precedence, and its need: the least goes first."""
        need = self.need(job)
        return need >= 0, job.precedence, need

    def _start(self, task: Task, machine: int, order: int = 0) -> None:
        stage, job = task.stage, task.stage.job
        work_s = stage.work_s[task.index][min(task.n_started, MOST_STARTED - 1)] * float(self._play.factor[machine])
        duty = self.duty(machine, work_s)
        key = self._play.world.seed, LAUNCH, stage.id, task.index, task.n_started
        launch_s = self._play.world.launch_s * drawn_factor(self._play.spreads.launch, *key)
        working_s = ran_s(self._play.now_s, duty) + launch_s
        attempt = Attempt(
            id=next(self._play.ids),
            task=task,
            number=task.n_started,
            machine=machine,
            started_s=self._play.now_s,
            works_s=when_ran_s(working_s, duty),
            end_s=when_ran_s(working_s + work_s, duty),
            order=order,
            duty=duty,
            size_bytes=stage.sizes_bytes[task.index],
        )
        self._attempts[attempt.id] = attempt
        self._slots.take(machine)
        task.live.append(attempt)
        task.n_started += 1
        job.running += 1
        job.copies += order > 0
        self._play.counts["launched"] += order > 0
        self._tell(attempt.started())
        self._play.at(attempt.end_s, partial(self._succeed, attempt))

    def _succeed(self, attempt: Attempt) -> None:
        """An attempt has ended its task, unless it was killed before; the others are killed."""
        if attempt.id not in self._attempts:
            return
        task, stage, job = attempt.task, attempt.task.stage, attempt.task.stage.job
        self._play.counts["won"] += attempt.order > 0
        task.done = True
        self._end(attempt, f.Outcome.SUCCESS)
        for other in list(task.live):
            self._end(other, f.Outcome.KILLED)
        stage.n_done += 1
        n_tasks = len(stage.work_s)
        stage.transferred_s = max(stage.transferred_s, self._play.now_s) + self._moving_s(job) / n_tasks
        error_bound = float(self._play.work.error_bound[job.id]) if job.phase == 0 else 0.0
        if needed_tasks(n_tasks, stage.n_done, error_bound) == 0:
            self._close(stage)
        self._hand_out()

    def _give_up(self, stage: Stage) -> None:
        """The deadline of a first phase is there; if it is still open, it ends with what is done."""
        if stage.id in self._stages:
            self._close(stage)
            self._hand_out()

    def _moving_s(self, job: Job) -> float:
        """How long the output of a whole phase takes to the next one."""
        world = self._play.world
        mean_s = float(self._play.work.service_s[job.id]) * mean_factor(world.tail_index, world.tail_share)
        return float(self._play.work.transfer_ratio[job.id]) * mean_s

    def _close(self, stage: Stage) -> None:
        """End a phase with what is done of it: the next one opens if there is one and something to feed it."""
        job, n_tasks = stage.job, len(stage.work_s)
        for attempt in [attempt for task in stage.tasks.values() for attempt in task.live]:
            self._end(attempt, f.Outcome.KILLED)
        has_next = stage.id + 1 < self._play.work.first_phase[job.id + 1]
        written = round(self._moving_s(job) * stage.n_done * TASK_BYTES) if has_next else -1
        self._tell(f.StageEnded(stage=stage.id, stage_attempt=0, shuffle_write_bytes=written))
        del self._stages[stage.id]
        job.stage = None
        if job.phase == 0:
            self._play.results.done_share[job.id] = stage.n_done / n_tasks
        if has_next and stage.n_done > 0:
            self._play.at(max(stage.transferred_s, self._play.now_s), partial(self._open_phase, job))
        else:
            self._tell(f.JobEnded(job=job.key))
            self._play.results.response_s[job.id] = self._play.now_s - job.arrival_s
            self._play.results.cost_s[job.id] = job.cost_s
            del self._jobs[job.key]

    def _end(self, attempt: Attempt, outcome: f.Outcome) -> None:
        job = attempt.task.stage.job
        kill_s = self._play.world.kill_s if outcome is f.Outcome.KILLED else 0.0
        del self._attempts[attempt.id]
        self._said.pop(attempt.id, None)
        attempt.task.live.remove(attempt)
        job.running -= 1
        job.copies -= attempt.order > 0
        job.cost_s += self._play.now_s - attempt.started_s + kill_s
        self._tell(attempt.ended(self._play.now_s, outcome))
        if kill_s > 0:
            self._play.at(self._play.now_s + kill_s, partial(self._clean, attempt.machine))
        else:
            self._slots.give_back(attempt.machine)

    def _clean(self, machine: int) -> None:
        self._slots.give_back(machine)
        self._hand_out()

    def _report(self) -> None:
        """Send what has happened and how far attempts are; what the engine orders takes effect a moment later."""
        self._reports, told, self._facts = False, self._facts, []
        facts = [_aged(fact, self._play.now_s - at_s) for at_s, fact in told]
        read = {one.id: one.bytes_read(self._play.now_s) for one in self._attempts.values()}
        news = {attempt: n_bytes for attempt, n_bytes in read.items() if n_bytes > self._said.get(attempt, 0)}
        self._said |= news
        progress = f.Progress(attempt=list(news), bytes_read=list(news.values()))
        report = Report(
            source=self._source,
            epoch=1,
            received_s=self._play.now_s,
            facts=facts,
            progress=progress,
            full=not self._is_known,
        )
        self._is_known = True
        self._play.decide(report)
        if self._attempts and not self._reports:
            self._reports = True
            self._play.at(self._play.now_s + self._play.report_s, self._report)

    def obey(self, orders: Iterable[AnyOrder]) -> None:
        """Carry out the engine's orders, then use the slots that are free."""
        for order in orders:
            match order:
                case ContainerGrant(job=key) if key in self._jobs:
                    job = self._jobs[key]
                    job.target, job.cap, job.originals = order.target, order.cap, order.originals
                    job.precedence = order.precedence
                case LaunchCopy(stage=number):
                    stage = self._stages.get(number)
                    task = stage.tasks.get(order.index) if stage else None
                    if task is None or task.done:
                        self._refuse(order.order, "task_ended")
                    else:
                        self._ordered.append(Ordered(order, task, self._play.now_s + order.ttl_ms / 1000))
                case KillAttempt(attempt=number):
                    attempt = self._attempts.get(number)
                    if attempt is None or len(attempt.task.live) < 2:
                        self._refuse(order.order, "not_running" if attempt is None else "last_attempt")
                    else:
                        self._tell(f.OrderOutcome(order=order.order, result=f.OrderResult.APPLIED, attempt=number))
                        self._end(attempt, f.Outcome.KILLED)
                case AvoidHosts():
                    waves: list[float] = [*order.waves] or [inf] * len(order.hosts)
                    self._avoided = {int(name[1:]): wave for name, wave in zip(order.hosts, waves, strict=True)}
                    self._patience_s = order.patience_ms / 1000
                case RunNext(stage=number) if number in self._stages:
                    place = {index: at for at, index in enumerate(order.indices)}
                    self._stages[number].waiting.sort(key=lambda index: (-place.get(index, len(place)), -index))
        self._hand_out()

    def _refuse(self, order: int, reason: str) -> None:
        self._tell(f.OrderOutcome(order=order, result=f.OrderResult.REFUSED, reason=reason))

    def _hand_out(self) -> None:
        """Give free slots to the jobs whose turn it is: to an ordered copy of theirs, or to an original."""
        self._drop_overdue()
        while self._slots.n_free > 0:
            stages = [stage for stage in self._stages.values() if self.need(stage.job) < inf]
            if not any(self._start_next(stage) for stage in sorted(stages, key=lambda stage: self.place(stage.job))):
                return

    def _start_next(self, stage: Stage) -> bool:
        """Start one attempt of the stage, if there is one to start and a slot where it may; returns whether it did."""
        has_original = bool(stage.waiting) and _may_start(stage.job)
        for copy in self._ordered:
            if copy.task.stage is stage and (copy.order.before_waiting or not has_original):
                machine = next(filter(partial(_may_copy, copy), self._slots.machines()), None)
                if machine is not None:
                    self._ordered.remove(copy)
                    self._start(copy.task, machine, copy.order.order)
                    return True
        machine = next(filter(partial(self._may_go, stage), self._slots.machines()), None) if has_original else None
        if machine is None:
            return False
        stage.launched_s = self._play.now_s
        index = stage.waiting.pop()
        task = stage.tasks[index] = Task(stage, index)
        self._start(task, machine)
        return True

    def _may_go(self, stage: Stage, machine: int) -> bool:
        """Whether an original may start on a machine: on one to be avoided if many wait, or if its patience is over."""
        until_s = stage.launched_s + self._patience_s
        if machine not in self._avoided or self._play.now_s >= until_s:
            return True
        if len(stage.waiting) >= self._avoided[machine] * max(stage.job.target, 1):
            return True
        if stage.patient_until_s != until_s:
            stage.patient_until_s = until_s
            self._play.at(until_s, self._hand_out)
        return False

    def _drop_overdue(self) -> None:
        """Answer the ordered copies that can no longer start."""
        for copy in list(self._ordered):
            if copy.task.done or not copy.task.live:
                self._refuse(copy.order.order, "task_ended")
            elif self._play.now_s >= copy.expires_s:
                expired = f.OrderOutcome(order=copy.order.order, result=f.OrderResult.EXPIRED, reason="no_slot")
                self._tell(expired)
            else:
                continue
            self._ordered.remove(copy)


def _may_copy(copy: Ordered, machine: int) -> bool:
    """Whether an ordered copy may start on a machine: on none that has an attempt of its task."""
    order, own = copy.order, {attempt.machine for attempt in copy.task.live}
    return machine not in own and order.host in ("", host(machine)) and host(machine) not in order.avoid_hosts


def _aged(fact: f.AnyFact, age_s: float) -> f.AnyFact:
    """The fact with its age, if it has one."""
    return msgspec.structs.replace(fact, age_ms=round(1000 * age_s)) if hasattr(fact, "age_ms") else fact


def _may_start(job: Job) -> bool:
    """Whether its share leaves its originals a slot."""
    return job.originals is None or job.running - job.copies < job.originals
