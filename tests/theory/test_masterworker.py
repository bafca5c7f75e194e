"""Does the master-worker simulator reach the queues that are solved exactly?"""

from dataclasses import dataclass
from math import factorial, fsum, inf

import numpy as np
import pytest

from controlplane.policies.redundancy.theory.execution import Execution, coded
from controlplane.policies.redundancy.theory.plan import Plan
from controlplane.policies.redundancy.theory.relaunch import relaunched
from controlplane.simulator.masterworker.master import MasterWorker
from controlplane.simulator.masterworker.record import outcome
from controlplane.simulator.masterworker.scenario import run
from controlplane.simulator.masterworker.workloads import BLOCK, Jobs

pytestmark = pytest.mark.unit

SEEDS = range(1, 9)
JOBS = 60_000


@dataclass(frozen=True)
class EqualJobs:
    """Poisson arrivals of jobs of one size; service times of mean 1, all equal or exponential."""

    rate: float
    tasks: int
    exponential: bool = False
    task_slots: int = 1

    def block(self, seed: int, number: int) -> Jobs:
        rng = np.random.default_rng([seed, number])
        service_s = rng.exponential(1.0, BLOCK) if self.exponential else np.ones(BLOCK)
        return Jobs(
            gap_s=rng.exponential(1 / self.rate, BLOCK),
            tasks=np.full(BLOCK, self.tasks),
            task_slots=np.full(BLOCK, self.task_slots),
            service_s=service_s,
            estimated_s=service_s,
        )


def simulated(
    stream: EqualJobs,
    nodes: int,
    slots: int,
    tail_index: float,
    started: int,
    factor: float = inf,
    cancel_s: float = 0.0,
):
    """(mean wait, its standard error, mean busy share) over the seeds."""
    sizes = np.arange(stream.tasks + 1)
    plan = Plan(
        expanded_tasks=sizes + started - stream.tasks, threshold_s=inf, relaunch_factor=np.full(len(sizes), factor)
    )
    clusters = [MasterWorker(nodes, slots, tail_index, plan, seed, cancel_s) for seed in SEEDS]
    found = outcome([run(cluster, stream, seed, JOBS) for cluster, seed in zip(clusters, SEEDS, strict=True)])
    assert found.stable_runs == len(SEEDS)
    return found.wait_s.mean, found.wait_s.error, found.busy_share.mean


def erlang_wait_s(servers: int, busy: float) -> float:
    """Mean wait in M/M/c with mean service 1."""
    work = servers * busy
    last = work**servers / factorial(servers) / (1 - busy)
    return last / (fsum(work**i / factorial(i) for i in range(servers)) + last) / (servers - work)


def one_server_wait_s(rate: float, run: Execution) -> float:
    """Pollaczek and Khinchine's mean wait in M/G/1."""
    return rate * run.latency_squared / (2 * (1 - rate * run.latency))


@pytest.mark.parametrize(("nodes", "slots", "busy"), [(1, 1, 0.7), (1, 4, 0.8), (5, 2, 0.8)])
def test_exponential_jobs_of_one_task_wait_as_erlang_says(nodes, slots, busy):
    """M/M/c: which node a task runs on does not matter."""
    stream = EqualJobs(rate=busy * nodes * slots, tasks=1, exponential=True)
    wait_s, error_s, busy_share = simulated(stream, nodes, slots, tail_index=inf, started=1)
    assert abs(wait_s - erlang_wait_s(nodes * slots, busy)) < 4 * error_s
    assert busy_share == pytest.approx(busy, abs=0.01)


def test_tasks_of_several_slots_leave_a_node_as_many_servers_as_fit():
    """M/M/c with c = 2: a third task of two slots does not fit on five."""
    stream = EqualJobs(rate=1.6, tasks=1, exponential=True, task_slots=2)
    wait_s, error_s, busy_share = simulated(stream, 1, 5, tail_index=inf, started=1)
    assert abs(wait_s - erlang_wait_s(2, 0.8)) < 4 * error_s
    assert busy_share == pytest.approx(0.8 * 4 / 5, abs=0.01)


def test_cancelled_tasks_keep_the_next_job_out():
    """M/G/1: a job that needs every node starts when the last cancelled task of the one before has let go."""
    cancel_s, run_s = 0.25, coded(3, 5, tail_index=6.0)
    held_s = Execution(
        latency=run_s.latency + cancel_s,
        latency_squared=run_s.latency_squared + 2 * cancel_s * run_s.latency + cancel_s**2,
        cost=run_s.cost + 2 * cancel_s,
    )
    stream = EqualJobs(rate=0.7 / held_s.latency, tasks=3)
    wait_s, error_s, busy_share = simulated(stream, 5, 1, tail_index=6.0, started=5, cancel_s=cancel_s)
    assert abs(wait_s - one_server_wait_s(stream.rate, held_s)) < 4 * error_s
    assert busy_share == pytest.approx(stream.rate * held_s.cost / 5, rel=0.01)


@pytest.mark.parametrize(("tasks", "started"), [(1, 1), (3, 3), (3, 5), (1, 4)])
def test_jobs_that_fill_the_cluster_are_one_server_of_order_statistics(tasks, started):
    """M/G/1: with a node for each task and nothing else, latency's first two moments give the wait exactly."""
    latency = coded(tasks, started, tail_index=6.0)
    stream = EqualJobs(rate=0.7 / latency.latency, tasks=tasks)
    wait_s, error_s, busy_share = simulated(stream, started, 1, tail_index=6.0, started=started)
    assert abs(wait_s - one_server_wait_s(stream.rate, latency)) < 4 * error_s
    assert busy_share == pytest.approx(stream.rate * latency.cost / started, rel=0.01)


@pytest.mark.parametrize("factor", [0.8, 1.2, 2.0])
def test_relaunched_jobs_that_fill_the_cluster_are_one_server(factor):
    """M/G/1 again: the corrected second moment and cost of relaunched jobs, in a running system."""
    latency = relaunched(3, factor, tail_index=6.0)
    stream = EqualJobs(rate=0.7 / latency.latency, tasks=3)
    wait_s, error_s, busy_share = simulated(stream, 3, 1, tail_index=6.0, started=3, factor=factor)
    assert abs(wait_s - one_server_wait_s(stream.rate, latency)) < 4 * error_s
    assert busy_share == pytest.approx(stream.rate * latency.cost / 3, rel=0.01)
