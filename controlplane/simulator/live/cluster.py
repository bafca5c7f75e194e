"""What does a driver on simulated machines hold? Jobs, their open stage, tasks, attempts and slots; no decision."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import exp, inf
from typing import Any

import numpy as np

from controlplane.model import facts as f
from controlplane.model.orders import LaunchCopy

TASK_BYTES = 10**9
"""What a task of mean size reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spreads:
    """How unequal start-ups and tasks are: the standard deviation of the logarithm of a factor whose mean is 1."""

    launch: float = 0.0
    """Of each attempt's start-up."""
    size: float = 0.0
    """Of what each task reads, and of the time it takes."""


def drawn_factor(spread: float, *key: int) -> float:
    """A lognormal factor with a mean of 1, the same whenever it is drawn for this key.

    >>> drawn_factor(0.0, 1, 2), drawn_factor(0.5, 1, 2) == drawn_factor(0.5, 1, 2)
    (1.0, True)
    """
    return exp(spread * float(np.random.default_rng(key).standard_normal()) - spread**2 / 2) if spread > 0 else 1.0


def ran_s(until_s: float, duty: float) -> float:
    """For how long a process has run by then that runs for the first `duty` seconds of each second.

    >>> [ran_s(until_s, duty=0.25) for until_s in (0.125, 0.5, 2.125)]
    [0.125, 0.25, 0.625]
    >>> ran_s(2.1, duty=1.0)
    2.1
    """
    whole, part = divmod(until_s, 1.0)
    return whole * duty + min(part, duty)


def when_ran_s(time_s: float, duty: float) -> float:
    """The inverse of `ran_s`: when it has run for so long; once it goes on, if it has just been stopped then.

    >>> [when_ran_s(time_s, duty=0.25) for time_s in (0.125, 0.625)]
    [0.125, 2.125]
    >>> when_ran_s(0.5, duty=0.25)
    2.0
    """
    whole, part = divmod(time_s, duty)
    return whole + part


@dataclass(slots=True, eq=False)
class Attempt:
    """One attempt, on a slot of a machine."""

    id: int
    task: "Task"
    number: int
    machine: int
    started_s: float
    works_s: float
    """When it begins to read."""
    end_s: float
    order: int = 0
    """The order that asked for it; 0 for an original."""
    duty: float = 1.0
    """Its process runs for so much of each second."""
    size_bytes: int = TASK_BYTES
    """What it reads in all."""

    def bytes_read(self, now_s: float) -> int:
        """Bytes read so far: it reads evenly until its end, while its process runs."""
        begun_s, done_s, ended_s = (ran_s(at_s, self.duty) for at_s in (self.works_s, now_s, self.end_s))
        share = (done_s - begun_s) / (ended_s - begun_s) if ended_s > begun_s else 1.0
        return int(self.size_bytes * min(max(share, 0.0), 1.0))

    def started(self) -> f.AttemptStarted:
        """The fact of its start."""
        return f.AttemptStarted(**self._about())

    def ended(self, now_s: float, outcome: f.Outcome) -> f.AttemptEnded:
        """The fact of its end."""
        return f.AttemptEnded(
            **self._about(),
            outcome=outcome,
            duration_ms=round(1000 * (now_s - self.started_s)),
            bytes_read=self.bytes_read(now_s),
        )

    def _about(self) -> dict[str, Any]:
        stage = self.task.stage
        return {
            "attempt": self.id,
            "stage": stage.id,
            "stage_attempt": 0,
            "index": self.task.index,
            "executor": executor(self.machine),
            "host": host(self.machine),
            "attempt_number": self.number,
            "speculative": self.order > 0,
            "order": self.order,
        }


@dataclass(slots=True, eq=False)
class Task:
    """One task of an open stage that has been started."""

    stage: "Stage"
    index: int
    live: list[Attempt] = field(default_factory=list)
    n_started: int = 0
    done: bool = False


@dataclass(slots=True, eq=False)
class Stage:
    """The open phase of a job."""

    id: int
    job: "Job"
    work_s: list[list[float]]
    """By task and attempt, what it takes once it works."""
    sizes_bytes: list[int]
    """What each task reads."""
    waiting: list[int]
    """Indices of the tasks that have not started, the last one next."""
    tasks: dict[int, Task] = field(default_factory=dict)
    n_done: int = 0
    launched_s: float = -inf
    """When it last launched an original, or was submitted."""
    patient_until_s: float = -inf
    """Until when it last waited for a machine that is not avoided."""
    transferred_s: float = -inf
    """When all output so far has been moved to the next phase."""


@dataclass(slots=True, eq=False)
class Job:
    """A live job; the grant is the newest one."""

    id: int
    key: str
    arrival_s: float
    weight: float
    phase: int = -1
    stage: Stage | None = None
    running: int = 0
    copies: int = 0
    cost_s: float = 0.0
    target: int = 0
    cap: int | None = None
    originals: int | None = None
    precedence: float = 0.0


@dataclass(slots=True, eq=False)
class Ordered:
    """A copy that waits for its slot."""

    order: LaunchCopy
    task: Task
    expires_s: float


class Slots:
    """Free slots by machine. The next one is looked for from machine to machine, so that none is favoured."""

    def __init__(self, machines: range, slots_per_machine: int) -> None:
        self._first = machines.start
        self._free = [slots_per_machine] * len(machines)
        self._next = 0
        self.n = self.n_free = len(machines) * slots_per_machine

    def take(self, machine: int) -> None:
        """One is used."""
        self._free[machine - self._first] -= 1
        self.n_free -= 1
        self._next = (machine - self._first + 1) % len(self._free)

    def give_back(self, machine: int) -> None:
        """One is free again."""
        self._free[machine - self._first] += 1
        self.n_free += 1

    def machines(self) -> Iterator[int]:
        """Machines with a free slot, in the order in which they are offered."""
        n = len(self._free)
        return (self._first + at % n for at in range(self._next, self._next + n) if self._free[at % n] > 0)


def host(machine: int) -> str:
    """A machine's name."""
    return f"m{machine}"


def executor(machine: int) -> str:
    """The executor on it."""
    return f"e{machine}"
