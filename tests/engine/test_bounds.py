"""Does a job's bound decide which of its tasks are copied, and which of its originals start first?"""

from dataclasses import replace
from math import inf

import pytest

from controlplane.engine.seeing import view_groups
from controlplane.model import facts as f
from controlplane.model.orders import LaunchCopy, RunNext
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Reason
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit

CONTROL = EngineSettings(mode=f.Mode.CONTROL)
BOTH = pytest.mark.parametrize("speculator", ["gs", "ras"])


def reasons(scenario: Scenario) -> set[Reason]:
    """Those of all running tasks."""
    return {Reason(code) for code in scenario.scheduler.cluster.tasks.reason.tolist()}


def begin(speculator: str, *, edges: tuple = (), job_speculators: str = "", **bound) -> Scenario:
    """Two slots, and a job with a bound whose stage has six tasks of several sizes: the first two run."""
    settings = replace(CONTROL, speculator=speculator, job_speculators=job_speculators)
    scenario = Scenario(settings, hosts=2, slots=1)
    scenario.tell([f.JobSubmitted(job="job", edges=list(edges), **bound)])
    scenario.stage(6, input_bytes=[1000, 1000, 1000, 4000, 500, 2000])
    scenario.tell([scenario.started(0, 0), scenario.started(1, 1)])
    return scenario


def first_ends(scenario: Scenario, slow_read: int = 900) -> list[list[int]]:
    """The first reads 500 bytes/s and ends after two seconds, the second has read less; returns which start first."""
    for step in range(1, 20):
        scenario.now_s = step / 10
        scenario.tell(progress={0: 50 * step, 1: slow_read * step // 20})
    scenario.now_s = 2.0
    decision = scenario.tell([scenario.ended(0, 2.0, bytes_read=1000)], progress={1: slow_read})
    return [order.indices for order in decision.orders.get(SOURCE, []) if isinstance(order, RunNext)]


@BOTH
def test_an_error_bound_names_the_longest_of_the_earliest_tasks_that_it_needs(speculator):
    """Half of six: with one done, two more. Of those left, task 1 nearly ends, and task 4 is the smallest."""
    assert first_ends(begin(speculator, error_bound=500_000)) == [[4]]
    assert first_ends(begin(speculator, error_bound=300_000)) == [[5, 2, 4]]


@BOTH
def test_before_a_deadline_the_shortest_goes_first_and_what_would_be_late_is_not_named(speculator):
    """Five seconds are left; the largest task takes eight."""
    assert first_ends(begin(speculator, deadline_ms=7000)) == [[4, 2, 5]]


@BOTH
def test_without_a_bound_the_host_orders_originals(speculator):
    assert first_ends(begin(speculator)) == []


def test_gs_is_shown_the_originals_that_go_before_a_copy():
    """Task 1 reads a tenth as fast as the first; a copy of it takes two seconds, and task 4 waits for one."""
    scenario = begin("gs", deadline_ms=60_000)
    first_ends(scenario, slow_read=90)
    scenario.now_s = 3.0
    scenario.tell(progress={1: 130})
    assert Reason.SHORTER_WAITS in reasons(scenario)


@BOTH
def test_a_later_stage_runs_whole(speculator):
    """The bound is that of the stage that reads input, so all four are needed."""
    assert first_ends(begin(speculator, edges=[(0, 1)], error_bound=500_000)) == [[3, 5, 2, 4]]


@BOTH
def test_a_straggler_that_the_error_bound_does_not_need_gets_no_copy(speculator):
    """Seven of eight are enough, and seven have ended."""
    scenario = Scenario(replace(CONTROL, speculator=speculator))
    scenario.tell([f.JobSubmitted(job="job", error_bound=125_000)])
    assert scenario.run_with_straggler() == []
    assert Reason.NOT_NEEDED in reasons(scenario)


@BOTH
def test_a_copy_that_would_end_after_the_deadline_is_not_launched(speculator):
    """Healthy tasks take 3.4 s, and the deadline is 4 s after the job's submission."""
    scenario = Scenario(replace(CONTROL, speculator=speculator))
    scenario.tell([f.JobSubmitted(job="job", deadline_ms=4000)])
    assert scenario.run_with_straggler() == []
    assert Reason.BEYOND_DEADLINE in reasons(scenario)
    late = Scenario(replace(CONTROL, speculator=speculator))
    late.tell([f.JobSubmitted(job="job", deadline_ms=60_000)])
    assert [type(order) for order in late.run_with_straggler()] == [LaunchCopy]


def test_the_time_of_later_stages_is_taken_off_the_deadline():
    """The first job ended 3 s after its input, and one that failed teaches nothing; so the next has 4 of 7 s."""
    scenario = Scenario(replace(CONTROL, speculator="gs"), hosts=2, slots=1)
    scenario.tell([f.JobSubmitted(job="before", name="report", edges=[(7, 8)])])
    scenario.stage(1, job="before", stage=7)
    scenario.now_s = 2.0
    scenario.tell([f.StageEnded(stage=7, stage_attempt=0)])
    scenario.now_s = 5.0
    scenario.tell([f.JobEnded(job="before")])
    scenario.tell([f.JobSubmitted(job="failed", name="report", edges=[(17, 18)])])
    scenario.stage(1, job="failed", stage=17)
    scenario.tell([f.StageEnded(stage=17, stage_attempt=0), f.JobEnded(job="failed", outcome=f.Outcome.FAILED)])
    scenario.tell([f.JobSubmitted(job="job", name="report", edges=[(1, 2)], deadline_ms=7000)])
    scenario.stage(6)
    scenario.stage(2, stage=2)
    scenario.now_s = 6.0
    scenario.tell()
    cluster = scenario.scheduler.cluster
    _, _, stages = view_groups(cluster, 6.0)
    rows = [cluster.sources[SOURCE].stages[stage, 0] for stage in (1, 2)]
    assert stages["deadline_s"][rows].tolist() == [5.0 + 7.0 - 3.0 - 6.0, inf]
