"""Does GRASS's own example come out: which of GS and RAS completes more tasks before a near and a far deadline?"""

import json
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import pytest

from controlplane.policies.registry import speculator
from tests.seen import running

pytestmark = pytest.mark.unit

FIGURE = json.loads(Path(__file__).with_name("grass_figure_1.json").read_text())
EXACT = {"sooner_by_s": 0.0, "sooner_times": 1.0}
"""Times are exact here, so no margin is needed."""


@dataclass(slots=True)
class Example:
    """T1 runs on one of two slots, T2 has just ended on the other, and seven tasks wait."""

    policy: str
    deadline_s: float
    now_s: float = FIGURE["begins_s"]
    done: int = FIGURE["done"]
    waiting_s: list[float] = field(default_factory=lambda: list(FIGURE["waiting_s"]))
    running: list[list[float]] = field(default_factory=lambda: [[FIGURE["begins_s"] + FIGURE["t_rem_s"]]])
    """When each attempt of each running task will end."""

    def play(self) -> int:
        """Tasks that are done at the deadline."""
        while self.now_s < self.deadline_s:
            while sum(map(len, self.running)) < FIGURE["slots"] and self._start_one():
                pass
            self.now_s = min((min(ends) for ends in self.running), default=inf)
            n_running = len(self.running)
            self.running = [ends for ends in self.running if min(ends) > self.now_s]
            self.done += (n_running - len(self.running)) * (self.now_s <= self.deadline_s)
        return self.done

    def _start_one(self) -> bool:
        """Start the copy that is wanted most, else the original that is; False if nothing ends before the deadline."""
        policy, tasks, left_s = speculator(self.policy), self.running, self.deadline_s - self.now_s
        view = running(
            [min(ends) - self.now_s for ends in tasks],
            # T1 alone is slow: a copy of any other task takes as long as the task.
            [FIGURE["t_new_s"] if at == 0 and len(tasks[0]) == 1 else 1.0 for at in range(len(tasks))],
            running_attempts=[len(ends) for ends in tasks],
            stages={"deadline_s": left_s},
            waiting_s=self.waiting_s,
        )
        settings = EXACT if self.policy == "gs" else EXACT | {"gs_on_free_slots": 0.0}
        answer = policy.speculate(view, settings)
        if answer["copies"].any():
            best = int((answer["score"] * (answer["copies"] > 0)).argmax())
            tasks[best].append(self.now_s + view.tasks["t_new_s"][best])
            return True
        order = policy.precedence(view, settings)
        if not order["named"].any():
            return False
        first = max(range(len(order)), key=lambda at: (order["named"][at], order["score"][at]))
        tasks.append([self.now_s + self.waiting_s.pop(first)])
        return True


@pytest.mark.parametrize("deadline", FIGURE["done_by_deadline"])
@pytest.mark.parametrize("policy", ["gs", "ras"])
def test_figure_1(policy, deadline):
    """RAS is ahead in the long run, because it saves slot time; GS is where the deadline is near."""
    assert Example(policy, float(deadline)).play() == FIGURE["done_by_deadline"][deadline][policy]
