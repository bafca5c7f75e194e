"""Which stages of a job come after its open ones, and is each edge between them looked at only a few times?"""

from dataclasses import replace

import pytest

from controlplane.engine.seeing import follow_jobs
from controlplane.model import facts as f
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit
DIAMOND = [(1, 2), (1, 3), (2, 4), (3, 4), (4, 5)]
TASKS = [1, 20, 300, 4000, 50_000]


class Edges(list):
    """Counts how many edges are read, and ends a walk that reads far too many."""

    n_read = 0

    def __iter__(self):
        for edge in super().__iter__():
            self.n_read += 1
            assert self.n_read <= 10 * len(self), "each edge is read again and again"
            yield edge


def submit(edges, stage_tasks):
    """A driver with one job, none of whose stages, numbered from 1, has been submitted."""
    scenario = Scenario()
    stages = list(range(1, len(stage_tasks) + 1))
    scenario.tell([f.JobSubmitted(job="job", stages=stages, stage_tasks=stage_tasks, edges=edges)])
    return scenario


def tasks_after(scenario):
    """Tasks of the stages that open ones feed, and of all that depend on open ones."""
    cluster = scenario.scheduler.cluster
    row = cluster.sources[SOURCE].jobs["job"]
    return cluster.jobs.downstream_tasks[row], cluster.jobs.later_tasks[row]


def reading(scenario):
    """The submitted stages that read input."""
    cluster = scenario.scheduler.cluster
    return {info.fact.stage for row, info in cluster.stage_infos.items() if cluster.stages.reads_input[row]}


def test_a_long_chain_is_followed_in_a_few_looks_at_each_edge():
    """One look at all edges for each of many thousand levels would make every driver wait for minutes."""
    n_stages = 20_000
    scenario = submit([(n, n + 1) for n in range(1, 10)], [1] * 10)
    scenario.stage(1)
    cluster = scenario.scheduler.cluster
    row = cluster.sources[SOURCE].jobs["job"]
    edges = Edges((n, n + 1) for n in range(1, n_stages))
    stage_tasks = dict.fromkeys(range(1, n_stages + 1), 1)
    cluster.job_infos[row] = replace(cluster.job_infos[row], edges=edges, stage_tasks=stage_tasks)
    follow_jobs(cluster, [row])
    assert tasks_after(scenario) == (1, n_stages - 1)


def chain(n_stages):
    """A job whose stages feed one another, all submitted, and its row; its edges count how often they are read."""
    scenario = submit([(n, n + 1) for n in range(1, n_stages)], [1] * n_stages)
    for stage in range(1, n_stages + 1):
        scenario.stage(1, stage=stage)
    cluster = scenario.scheduler.cluster
    row = cluster.sources[SOURCE].jobs["job"]
    cluster.job_infos[row] = replace(cluster.job_infos[row], edges=Edges(cluster.job_infos[row].edges))
    return scenario, row


def test_who_reads_input_is_told_in_a_few_looks_at_each_edge():
    """One look at all edges for each of many submitted stages takes as long."""
    scenario, row = chain(40)
    follow_jobs(scenario.scheduler.cluster, [row])
    assert reading(scenario) == {1}


def test_the_ends_of_many_stages_are_learned_in_a_few_looks_at_each_edge():
    """One look at all edges for each of many ended stages held every driver's reply."""
    scenario, row = chain(100)
    scenario.tell([f.StageEnded(stage=stage, stage_attempt=0) for stage in range(1, 101)])
    assert scenario.scheduler.cluster.job_infos[row].edges.n_read <= 5 * 100


def test_a_job_that_is_described_again_without_edges_has_no_later_stages():
    """A reused job group: each description replaces the one before."""
    scenario = submit([(1, 2), (2, 3)], [1, 20, 300])
    for stage in (1, 2):
        scenario.stage(1, stage=stage)
    assert (tasks_after(scenario), reading(scenario)) == ((300, 300), {1})
    scenario.tell([f.JobSubmitted(job="job", stages=[1, 2], stage_tasks=[1, 20])])
    assert (tasks_after(scenario), reading(scenario)) == ((0, 0), {1, 2})


def test_stages_after_a_fork_that_meet_again_count_once():
    """Two paths lead to each of the last two stages."""
    scenario = submit(DIAMOND, TASKS)
    scenario.stage(1, stage=1)
    assert tasks_after(scenario) == (320, 54_320)
    assert reading(scenario) == {1}


def test_stages_that_are_submitted_already_do_not_count_as_later_ones():
    """One path of the fork is open: what comes after it is still to come, and next, as that path feeds it."""
    scenario = submit(DIAMOND, TASKS)
    for stage in (1, 3):
        scenario.stage(1, stage=stage)
    assert tasks_after(scenario) == (4020, 54_020)
    assert reading(scenario) == {1}


def test_a_circle_of_stages_comes_to_an_end():
    """A report may say anything."""
    scenario = submit([(1, 2), (2, 3), (3, 2)], [1, 20, 300])
    scenario.stage(1, stage=1)
    assert tasks_after(scenario) == (20, 320)
