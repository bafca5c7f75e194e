"""Does the live engine, told the facts of Hopper's Table 1, share out seven slots as the paper does?

A driver of paper: slots go as the Spark shim hands them out (jobs below their target first, caps on all slots and on
originals, copies that wait for a slot), and everything that happens is told to the engine. Before time 0 the slots are
busy with earlier tasks of B, of the usual 10, so that all grants are there when they come free.
"""

import json
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import pytest

from controlplane.model import facts as f
from controlplane.model.orders import ContainerGrant, LaunchCopy
from controlplane.model.parameters import EngineSettings
from spark_listener.demo.table1 import COPY, ENGINE, ORIGINALS, SCHEDULES, SLOTS, Schedule
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit
GOLDEN = json.loads(Path(__file__).with_name("hopper_table_1.json").read_text())
STEP = 0.1
LEAD = 10.0
"""How long the earlier tasks run."""
DETECTED = 2.0
BYTES = 1_000_000


@dataclass
class Attempt:
    """One attempt on a slot."""

    id: int
    job: str
    index: int
    slot: int
    start: float
    end: float
    copy: bool


@dataclass
class Driver:
    """Spark's side: what runs where, and what was ordered."""

    live: Scenario
    running: list[Attempt] = field(default_factory=list)
    waiting: dict[str, list[int]] = field(default_factory=dict)
    grants: dict[str, ContainerGrant] = field(default_factory=dict)
    wishes: list[LaunchCopy] = field(default_factory=list)
    done: dict[tuple[str, int], float] = field(default_factory=dict)
    facts: list = field(default_factory=list)
    ids: int = 0

    def held(self, job: str, *, originals: bool = False) -> int:
        return sum(one.job == job and not (originals and one.copy) for one in self.running)

    def submit(self, job: str) -> None:
        tasks = len(ORIGINALS[job])
        self.waiting[job] = list(range(tasks))
        stage = {"stage": stage_of(job), "stage_attempt": 0, "n_tasks": tasks, "input_bytes": [BYTES] * tasks}
        self.facts += [f.JobSubmitted(job=job), f.StageSubmitted(job=job, kind="shuffle_map", **stage)]

    def start(self, job: str, index: int, order: int = 0) -> None:
        slot = min(set(range(SLOTS)) - {one.slot for one in self.running})
        takes = COPY if order else ORIGINALS[job][index]
        now = self.live.now_s
        self.running.append(Attempt(self.ids, job, index, slot, now, now + takes, order > 0))
        where = {"stage": stage_of(job), "index": index, "speculative": order > 0, "order": order}
        self.facts.append(self.live.started(self.ids, slot, attempt_number=int(order > 0), **where))
        self.ids += 1

    def end_what_is_over(self) -> None:
        for one in [one for one in self.running if one.end <= self.live.now_s + 1e-9]:
            if one not in self.running:
                continue
            self.done[one.job, one.index] = self.live.now_s
            for other in [other for other in self.running if (other.job, other.index) == (one.job, one.index)]:
                self.running.remove(other)
                outcome = f.Outcome.SUCCESS if other is one else f.Outcome.KILLED
                took, where = self.live.now_s - other.start, {"stage": stage_of(one.job), "index": one.index}
                self.facts.append(self.live.ended(other.id, took, outcome=outcome, bytes_read=BYTES, **where))

    def hand_out(self) -> None:
        while len(self.running) < SLOTS and any(self._takes(job) for job in sorted(self.waiting, key=self._turn)):
            pass

    def _turn(self, job: str) -> tuple[bool, float]:
        target = self.grants[job].target if job in self.grants else 0
        return (self.held(job) >= target, self.held(job) / max(target, 1))

    def _takes(self, job: str) -> bool:
        grant = self.grants.get(job)
        if grant is not None and grant.cap is not None and self.held(job) >= grant.cap:
            return False
        wish = next((wish for wish in self.wishes if wish.job == job), None)
        most = inf if grant is None or grant.originals is None else grant.originals
        may_start = self.waiting[job] and self.held(job, originals=True) < most
        if wish is not None and (wish.before_waiting or not may_start):
            self.wishes.remove(wish)
            if (job, wish.index) not in self.done:
                self.start(job, wish.index, wish.order)
            return True
        if may_start:
            self.start(job, self.waiting[job].pop(0))
            return True
        return False

    def tell(self) -> None:
        """One exchange; what is younger than `DETECTED` has shown no progress."""
        now = self.live.now_s
        read = {
            one.id: round(BYTES * (now - one.start) / (one.end - one.start))
            for one in self.running
            if now - one.start >= DETECTED - 0.5
        }
        facts, self.facts = self.facts, []
        for order in self.live.tell(facts, progress=read).orders.get(SOURCE, []):
            if isinstance(order, ContainerGrant):
                self.grants[order.job] = order
            elif isinstance(order, LaunchCopy):
                self.wishes = [wish for wish in self.wishes if (wish.job, wish.index) != (order.job, order.index)]
                self.wishes.append(order)


def stage_of(job: str) -> int:
    return "AB".index(job)


def run(schedule: Schedule) -> tuple[float, float]:
    """When A and B end, after time 0."""
    settings = EngineSettings(
        mode=f.Mode.CONTROL, allocator=schedule.allocator, allocator_settings=schedule.allocator_settings,
        speculator=schedule.speculator, startup_prior_s=DETECTED, **ENGINE,
    )  # fmt: skip
    driver = Driver(Scenario(settings, hosts=SLOTS, slots=1))
    for step in range(round((LEAD + 60) / STEP)):
        driver.live.now_s = step * STEP
        if step in (0, 10):
            driver.submit("B" if step == 0 else "A")
        driver.end_what_is_over()
        driver.hand_out()
        driver.tell()
        driver.hand_out()
        driver.tell()
    return tuple(max(at for (job, _), at in driver.done.items() if job == name) - LEAD for name in "AB")


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: one.name)
def test_the_engine_ends_a_and_b_when_the_paper_does(schedule):
    """Six numbers of Table 1, each within the time that reports and detection take."""
    assert run(schedule) == pytest.approx(schedule.paper, abs=1.0)


def test_the_demo_runs_the_tables_durations_and_holds_them_against_its_numbers():
    """The golden file is the paper's; the demo must not have numbers of its own."""
    ours = {job: list(durations[-len(GOLDEN["original_s"][job]) :]) for job, durations in ORIGINALS.items()}
    assert (ours, COPY, SLOTS) == (GOLDEN["original_s"], GOLDEN["copy_s"], GOLDEN["slots"])
    paper = {case["allocator"]: tuple(case["ends_s"].values()) for case in GOLDEN["cases"]}
    assert {one.allocator: one.paper for one in SCHEDULES} == paper
