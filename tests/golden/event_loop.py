"""When do a few jobs end under a pair of policies? An exact event loop without preemption, small enough to read.

All jobs are there at 0 and durations are known: a task's age, its time to go and that of a copy are exact. A straggler
shows once it has run for `seen_after_s`; then the speculator is asked. Time moves from one end, or one such moment, to
the next.
"""

from dataclasses import dataclass, field
from math import inf, nan

import numpy as np

from controlplane.model.columns import Records
from controlplane.policies.policy import Policy
from controlplane.policies.seen import CLAIMANT
from tests.seen import running


@dataclass(slots=True)
class Task:
    """A task of one job with the moments its attempts start and it ends; inf for what has not happened."""

    job: str
    original_s: float
    copy_s: float
    started_s: float = inf
    copied_s: float = inf
    ended_s: float = inf

    @property
    def attempts(self) -> int:
        """Live attempts."""
        return 0 if self.ended_s < inf else (self.started_s < inf) + (self.copied_s < inf)

    @property
    def end_s(self) -> float:
        """When its first attempt will end."""
        return min(self.started_s + self.original_s, self.copied_s + self.copy_s)


@dataclass(slots=True, kw_only=True)
class EventLoop:
    """`anticipates` says whether a job counts slots for copies that it may want, or only for those it wants now."""

    slots: int
    tasks: list[Task]
    allocator: Policy
    settings: dict[str, float]
    speculator: Policy
    seen_after_s: float
    tail_index: float
    anticipates: bool
    now_s: float = 0.0
    jobs: list[str] = field(init=False)

    def run(self) -> dict[str, float]:
        """The moment at which each job ends."""
        self.jobs = sorted({task.job for task in self.tasks})
        while any(task.ended_s == inf for task in self.tasks):
            for task in self.tasks:
                if task.attempts and task.end_s <= self.now_s:
                    task.ended_s = self.now_s
            while self._start_one():
                pass
            live = [task for task in self.tasks if task.attempts]
            moments = [moment for task in live for moment in (task.end_s, task.started_s + self.seen_after_s)]
            self.now_s = min((moment for moment in moments if moment > self.now_s), default=inf)
        return {job: max(task.ended_s for task in self.tasks if task.job == job) for job in self.jobs}

    def _start_one(self) -> bool:
        """Start one attempt that fits its job's target, if there is one; copies first, unless they have a budget."""
        if self._held(self.tasks) == self.slots:
            return False
        wanted = self._wanted()
        answer = self.allocator.allocate(self.slots, self._claimants(wanted), self.settings)
        for job, share in zip(self.jobs, answer, strict=True):
            mine = [task for task in self.tasks if task.job == job]
            originals = sum(task.attempts > 0 for task in mine)
            waiting = [task for task in mine if task.started_s == inf]
            if self._held(mine) >= share["target"]:
                continue
            is_budgeted = share["originals"] >= 0
            if is_budgeted and waiting and originals < share["originals"]:
                waiting[0].started_s = self.now_s
                return True
            if copies := [task for task in wanted if task.job == job]:
                copies[0].copied_s = self.now_s
                return True
            if waiting and not is_budgeted:
                waiting[0].started_s = self.now_s
                return True
        return False

    def _wanted(self) -> list[Task]:
        """The tasks whose copies the speculator wants, best first; whose the free slots are the allocator says."""
        seen = [task for task in self.tasks if task.attempts == 1 and self.now_s - task.started_s >= self.seen_after_s]
        tasks = running(
            [task.end_s - self.now_s for task in seen],
            [task.copy_s for task in seen],
            elapsed_s=[self.now_s - task.started_s for task in seen],
            progress_rate=0.0,
            sibling_rate=nan,
            pools={"slots": self.slots, "idle": 1},
        )
        answer = self.speculator.speculate(tasks)
        best_first = np.argsort(-answer["score"], kind="stable")
        return [seen[row] for row in best_first if answer["copies"][row]]

    def _claimants(self, wanted: list[Task]) -> Records:
        claimants = np.zeros(len(self.jobs), dtype=CLAIMANT)
        claimants["weight"], claimants["transfer_ratio"], claimants["tail_index"] = 1.0, 1.0, self.tail_index
        claimants["fixed_target"], claimants["fixed_cap"] = -1, -1
        for claimant, job in zip(claimants, self.jobs, strict=True):
            left = [task for task in self.tasks if task.job == job and task.ended_s == inf]
            now = self._held(left) + sum(task.started_s == inf for task in left) + sum(t.job == job for t in wanted)
            claimant["remaining_tasks"] = len(left)
            claimant["remaining_work_s"] = sum(min(task.end_s - self.now_s, task.original_s) for task in left)
            claimant["running"] = self._held(left)
            claimant["usable"] = 2 * len(left) if self.anticipates else now
        return claimants

    @staticmethod
    def _held(tasks: list[Task]) -> int:
        return sum(task.attempts for task in tasks)
