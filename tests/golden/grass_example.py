"""What does a small job come to under GS or RAS, started or copied one attempt at a time? GRASS's own examples.

Times are exact. A task that runs at the beginning may be slow; a copy of any other one takes as long as the task.
"""

from dataclasses import dataclass, field
from math import inf

from controlplane.policies.registry import speculator
from tests.seen import running

EXACT = {"sooner_by_s": 0.0, "sooner_times": 1.0}
"""Times are exact here, so no margin is needed."""
SETTINGS = {"gs": EXACT, "ras": EXACT | {"gs_on_free_slots": 0.0}}


@dataclass(slots=True)
class Runs:
    """A task with the ends of its attempts, and what a fresh one takes."""

    ends_s: list[float]
    t_new_s: float


@dataclass(slots=True, kw_only=True)
class Example:
    """A job with a deadline, or with a number of tasks that its error bound wants done; `done` of its tasks are."""

    policy: str
    slots: int
    done: int
    running: list[Runs]
    waiting_s: list[float]
    now_s: float = 0.0
    deadline_s: float = inf
    wanted: int | None = None
    tasks: int = field(init=False)

    def __post_init__(self) -> None:
        self.tasks = self.done + len(self.running) + len(self.waiting_s)

    def play(self) -> "Example":
        """The same at its deadline, when its bound is met, or when nothing runs any more."""
        while self.now_s < self.deadline_s and self.done < (self.tasks if self.wanted is None else self.wanted):
            while sum(len(task.ends_s) for task in self.running) < self.slots and self._start_one():
                pass
            self.now_s = min((min(task.ends_s) for task in self.running), default=inf)
            n_running = len(self.running)
            self.running = [task for task in self.running if min(task.ends_s) > self.now_s]
            self.done += (n_running - len(self.running)) * (self.now_s <= self.deadline_s)
        return self

    def _start_one(self) -> bool:
        """Start the copy that is wanted most, else the original that is; False if the bound asks for neither."""
        policy, settings = speculator(self.policy), SETTINGS[self.policy]
        bound = {"deadline_s": self.deadline_s - self.now_s}
        if self.wanted is not None:
            bound |= {"tasks": self.tasks, "done": self.done, "needed": self.wanted - self.done}
        view = running(
            [min(task.ends_s) - self.now_s for task in self.running],
            [task.t_new_s for task in self.running],
            running_attempts=[len(task.ends_s) for task in self.running],
            stages=bound,
            waiting_s=self.waiting_s,
        )
        answer = policy.speculate(view, settings)
        if answer["copies"].any():
            best = self.running[int((answer["score"] * (answer["copies"] > 0)).argmax())]
            best.ends_s.append(self.now_s + best.t_new_s)
            return True
        order = policy.precedence(view, settings)
        if not order["named"].any():
            return False
        first = max(range(len(order)), key=lambda at: (order["named"][at], order["score"][at]))
        t_new_s = self.waiting_s.pop(first)
        self.running.append(Runs([self.now_s + t_new_s], t_new_s))
        return True
