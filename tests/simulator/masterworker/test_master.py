"""Does the compiled simulator do what its six rules say, job by job?"""

import heapq
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from math import inf
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from controlplane.policies.redundancy.theory.plan import Plan
from controlplane.policies.redundancy.theory.system import System, job_size_shares, service_moment
from controlplane.simulator.draws import job_key, pareto_factor, uniform
from controlplane.simulator.masterworker.master import JobTimes, MasterWorker
from controlplane.simulator.masterworker.scenario import MasterWorkerScenario
from controlplane.simulator.masterworker.workloads import Jobs, ZipfParetoStream

pytestmark = [pytest.mark.unit, pytest.mark.filterwarnings("ignore:overflow encountered in scalar")]

ROOT = Path(__file__).parents[3]
SMALL = System(nodes=6, slots_per_node=2, max_tasks=3)
WIDE = System(nodes=6, slots_per_node=4, max_tasks=3, max_task_slots=3)
SCENARIOS = [
    MasterWorkerScenario(system=SMALL, offered_load=0.95, policy="none"),
    MasterWorkerScenario(system=SMALL, offered_load=0.5, policy="redundant-all", spare_tasks=3),
    MasterWorkerScenario(system=SMALL, offered_load=0.5, policy="redundant-all"),
    MasterWorkerScenario(system=SMALL, offered_load=0.9, policy="redundant-small", threshold_s=25.0),
    MasterWorkerScenario(system=SMALL, offered_load=0.9, policy="relaunch", relaunch_factor=1.5),
    MasterWorkerScenario(system=SMALL, offered_load=0.9, policy="relaunch"),
    MasterWorkerScenario(system=WIDE, offered_load=0.4, policy="redundant-small", threshold_s=60.0, cancel_s=4.0),
    MasterWorkerScenario(system=WIDE, offered_load=0.4, policy="relaunch", service_noise=0.5, cancel_s=4.0),
    MasterWorkerScenario(system=WIDE, offered_load=0.4, policy="redundant-small", threshold_s=60.0, service_noise=0.5),
]


class EventSimulator:
    """The six rules once more, with an event for every arrival, end and relaunch, and no cleverness."""

    def __init__(self, scenario: MasterWorkerScenario, jobs: Jobs, seed: int) -> None:
        self.plan, self.jobs, self.seed = scenario.plan(), jobs, seed
        self.tail_index = scenario.system.slowdown_tail_index
        self.busy = [0] * scenario.system.nodes
        self.slots_per_node, self.cancel_s = scenario.system.slots_per_node, scenario.cancel_s
        self.queue: list[int] = []
        self.events: list[tuple[float, int, str, int, int]] = []
        self.running: dict[int, dict[int, tuple[int, float]]] = {}
        self.ended: dict[int, tuple[float, float, float]] = {}

    def run(self) -> JobTimes:
        for job, arrival_s in enumerate(np.cumsum(self.jobs.gap_s)):
            self.at(float(arrival_s), "arrival", job)
        self.arrival_s, self.start_s, self.done, self.cost_s, self.version = {}, {}, {}, {}, {}
        self.cleaning = defaultdict(list)
        while self.events:
            now_s, _, kind, job, task = heapq.heappop(self.events)
            getattr(self, kind)(now_s, job, task)
        columns = np.array([self.ended[job] for job in range(len(self.ended))]).T
        return JobTimes(wait_s=columns[0], latency_s=columns[1], cost_s=columns[2])

    def at(self, time_s: float, kind: str, job: int, task: int = 0) -> None:
        heapq.heappush(self.events, (time_s, len(self.events) + 10**9 * (kind == "arrival"), kind, job, task))

    def factor(self, job: int, task: int, attempt: int) -> float:
        return pareto_factor(uniform(job_key(self.seed, job), task, attempt), self.tail_index)

    def arrival(self, now_s: float, job: int, task: int) -> None:
        self.arrival_s[job] = now_s
        self.queue.append(job)
        self.try_head(now_s)

    def try_head(self, now_s: float) -> None:
        while self.queue:
            job = self.queue[0]
            needed, service_s = int(self.jobs.tasks[job]), float(self.jobs.service_s[job])
            slots, estimated_s = int(self.jobs.task_slots[job]), float(self.jobs.estimated_s[job])
            is_small = needed * slots * estimated_s <= self.plan.threshold_s
            started = self.plan.expanded_tasks[needed] if is_small else needed
            room = [node for node in range(len(self.busy)) if self.busy[node] + slots <= self.slots_per_node]
            if len(room) < started:
                return
            self.queue.pop(0)
            nodes = sorted(room, key=lambda node: (self.busy[node], node))[:started]
            self.start_s[job], self.done[job], self.cost_s[job] = now_s, 0, 0.0
            self.running[job] = {task: (node, now_s) for task, node in enumerate(nodes)}
            for task, node in enumerate(nodes):
                self.busy[node] += slots
                self.version[job, task] = 0
                self.at(now_s + service_s * self.factor(job, task, 0), "end_0", job, task)
            if self.plan.relaunch_factor[needed] < inf:
                self.at(now_s + estimated_s * self.plan.relaunch_factor[needed], "relaunch", job)

    def relaunch(self, now_s: float, job: int, task: int) -> None:
        for late in self.running.get(job, {}):
            self.version[job, late] = 1
            start_s = now_s + self.cancel_s
            self.at(start_s + float(self.jobs.service_s[job]) * self.factor(job, late, 1), "end_1", job, late)

    def free(self, now_s: float, job: int, task: int) -> None:
        for node in self.cleaning[job]:
            self.busy[node] -= int(self.jobs.task_slots[job])
        self.try_head(now_s)

    def end_0(self, now_s: float, job: int, task: int) -> None:
        self.end(now_s, job, task, 0)

    def end_1(self, now_s: float, job: int, task: int) -> None:
        self.end(now_s, job, task, 1)

    def end(self, now_s: float, job: int, task: int, version: int) -> None:
        if task not in self.running.get(job, {}) or self.version[job, task] != version:
            return
        self.done[job] += 1
        over = self.done[job] == self.jobs.tasks[job]
        slots = int(self.jobs.task_slots[job])
        for ending in list(self.running[job]) if over else [task]:
            node, _ = self.running[job].pop(ending)
            cleaning_s = self.cancel_s if ending != task else 0.0
            self.cost_s[job] += slots * (now_s + cleaning_s - self.start_s[job])
            if cleaning_s:
                self.cleaning[job].append(node)
            else:
                self.busy[node] -= slots
        if over:
            self.at(now_s + self.cancel_s, "free", job)
            start_s = self.start_s[job]
            self.ended[job] = (start_s - self.arrival_s[job], now_s - start_s, self.cost_s[job])
            del self.running[job]
        self.try_head(now_s)


def cluster(scenario: MasterWorkerScenario, seed: int = 1) -> MasterWorker:
    system = scenario.system
    tail_index = system.slowdown_tail_index
    return MasterWorker(system.nodes, system.slots_per_node, tail_index, scenario.plan(), seed, scenario.cancel_s)


def some_jobs(scenario: MasterWorkerScenario, jobs: int = 1500) -> Jobs:
    stream = ZipfParetoStream(
        system=scenario.system, offered_load=scenario.offered_load, service_noise=scenario.service_noise
    )
    return stream.block(1, 0).rows(0, jobs)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: str(scenario.policy))
def test_every_job_fares_as_in_a_plain_event_simulation(scenario):
    """The recursion over free slots is a shortcut; events, played one by one, give every job the same."""
    jobs = some_jobs(scenario)
    ours, theirs = cluster(scenario).run(jobs), EventSimulator(scenario, jobs, seed=1).run()
    assert np.count_nonzero(ours.wait_s) > 100
    for name in ("wait_s", "latency_s", "cost_s"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=1e-6)


def test_compiled_and_plain_python_give_the_same():
    """The plain functions are what a reader checks."""
    scenario = SCENARIOS[4]
    program = (
        "import json; from tests.simulator.masterworker.test_master import SCENARIOS, cluster, some_jobs\n"
        "print(json.dumps(cluster(SCENARIOS[4]).run(some_jobs(SCENARIOS[4], jobs=300)).cost_s.tolist()))"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
    plain = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment, cwd=ROOT
    )
    ours = cluster(scenario).run(some_jobs(scenario, jobs=300)).cost_s
    assert ours == pytest.approx(json.loads(plain.stdout))


def one_by_one(
    tasks: list[int],
    service_s: list[float],
    nodes: int,
    slots: int,
    gaps_s: list[float],
    task_slots: Sequence[int] = (1, 1, 1),
) -> JobTimes:
    """Jobs without variability on an empty cluster, none with spare tasks."""
    sizes = np.arange(max(tasks) + 1)
    plan = Plan(expanded_tasks=sizes, threshold_s=0.0, relaunch_factor=np.full(len(sizes), inf))
    jobs = Jobs(
        gap_s=np.array(gaps_s),
        tasks=np.array(tasks),
        task_slots=np.array(task_slots),
        service_s=np.array(service_s),
        estimated_s=np.array(service_s),
    )
    return MasterWorker(nodes, slots, inf, plan, seed=1).run(jobs)


def test_nobody_overtakes_the_head():
    """A job of two tasks waits for a second node; the one behind it waits too, though a slot is free for it."""
    ended = one_by_one([1, 2, 1], [10.0, 10.0, 10.0], nodes=2, slots=1, gaps_s=[0.0, 1.0, 1.0])
    assert ended.wait_s.tolist() == [0.0, 9.0, 18.0]


def test_two_tasks_of_a_job_never_share_a_node():
    """One node has two free slots, yet the second task waits for the other node."""
    ended = one_by_one([1, 2, 2], [10.0, 6.0, 1.0], nodes=2, slots=2, gaps_s=[0.0, 0.0, 0.0])
    assert ended.wait_s.tolist() == [0.0, 0.0, 6.0]


def test_a_task_has_all_its_slots_on_one_node():
    """Three nodes have a free slot each, yet a task of two slots waits until one of them has two."""
    ended = one_by_one([3, 3, 1], [9.0, 5.0, 1.0], nodes=3, slots=3, gaps_s=[0.0, 0.0, 0.0], task_slots=[1, 1, 2])
    assert ended.wait_s.tolist() == [0.0, 0.0, 5.0]


def test_what_running_jobs_have_still_to_take_is_unspent():
    """When the third starts, at 4 s, the first has 6 s to go and itself 10; the slot that was never used owes none."""
    plan = Plan(expanded_tasks=np.arange(2), threshold_s=0.0, relaunch_factor=np.full(2, inf))
    ones, service_s = np.ones(3, dtype=np.int64), np.array([10.0, 1.0, 10.0])
    jobs = Jobs(gap_s=np.array([0, 0, 4.0]), tasks=ones, task_slots=ones, service_s=service_s, estimated_s=service_s)
    running = MasterWorker(nodes=3, slots_per_node=1, slowdown_tail_index=inf, plan=plan, seed=1)
    running.run(jobs)
    assert running.unspent_s() == 16.0


def test_the_same_seed_gives_the_same_numbers_in_blocks_of_any_length():
    """A run may be cut anywhere."""
    scenario = SCENARIOS[4]
    jobs = some_jobs(scenario)
    whole, cut = cluster(scenario).run(jobs), cluster(scenario)
    parts = [cut.run(jobs.rows(low, high)) for low, high in ((0, 1), (1, 700), (700, len(jobs.tasks)))]
    for name in ("wait_s", "latency_s", "cost_s"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        assert joined == pytest.approx(getattr(whole, name), abs=1e-6)


def test_policies_meet_the_same_luck():
    """Spare tasks change no task's own draw: a job never takes longer with them."""
    none, spare = SCENARIOS[0], SCENARIOS[2]
    jobs = some_jobs(none)
    without, with_them = cluster(none).run(jobs), cluster(spare).run(jobs)
    assert (with_them.latency_s <= without.latency_s).all()
    assert (with_them.latency_s < without.latency_s).any()


def test_jobs_come_as_the_system_says():
    """Truncated service times have the truncated moments, R is as often 1 as 3, and estimates err to both sides."""
    system = System(service_tail_index=1.5, max_service_s=500.0, max_task_slots=3)
    stream = ZipfParetoStream(system=system, offered_load=0.5, service_noise=0.6)
    blocks = [stream.block(1, number) for number in range(12)]
    service_s = np.concatenate([block.service_s for block in blocks])
    assert 10.0 <= service_s.min() < service_s.max() <= 500.0
    for moment in (1, 2):
        errors = service_s**moment - service_moment(system, moment)
        assert abs(errors.mean()) < 4 * errors.std() / len(errors) ** 0.5
    slots = np.concatenate([block.task_slots for block in blocks])
    assert np.bincount(slots)[1:] / len(slots) == pytest.approx([1 / 3] * 3, abs=0.01)
    log_error = np.log(np.concatenate([block.estimated_s for block in blocks]) / service_s)
    assert (log_error.mean(), log_error.std()) == (pytest.approx(0.0, abs=0.01), pytest.approx(0.6, rel=0.01))


def test_a_seed_has_the_jobs_that_it_had_before():
    """Whoever reports a run by its seed can be answered. The second block is of other jobs than the first."""
    block = ZipfParetoStream(system=WIDE, offered_load=0.5, service_noise=0.5).block(7, 1)
    assert len(block.tasks) == 8192
    assert [block.tasks[:6].tolist(), block.task_slots[:6].tolist()] == [[2, 2, 1, 2, 2, 2], [2, 2, 1, 1, 2, 1]]
    first_s = block.gap_s[0], block.service_s[0], block.estimated_s[0]
    assert first_s == pytest.approx((9.484535663, 23.506782496, 21.756855165))


def test_the_largest_draw_is_of_the_largest_job(monkeypatch):
    """The shares of four sizes add up to a little less than 1, and there are draws between."""
    most = SimpleNamespace(random=lambda n: np.full(n, 1.0 - 2.0**-53), exponential=lambda mean, n: np.full(n, mean))
    monkeypatch.setattr(np.random, "default_rng", lambda seed: most)
    system = System(max_tasks=4)
    assert np.cumsum(job_size_shares(system))[-1] < 1.0
    assert set(ZipfParetoStream(system=system, offered_load=0.5).block(1, 0).tasks.tolist()) == {4}


def test_draws_of_neighbouring_jobs_tasks_and_attempts_are_unrelated():
    """A weak mixture of the four numbers would show as correlation."""
    rows = [
        [uniform(job_key(seed, job), task, attempt) for job in range(3000)]
        for seed, task, attempt in ((1, 0, 0), (2, 0, 0), (1, 1, 0), (1, 0, 1))
    ]
    rows.append(rows[0][1:] + rows[0][:1])
    correlation = np.corrcoef(rows)
    assert np.abs(correlation[~np.eye(len(rows), dtype=bool)]).max() < 0.08
    assert np.mean(rows) == pytest.approx(0.5, abs=0.01)
    assert 0 < np.min(rows) < 0.001 < 0.999 < np.max(rows) <= 1
