"""Do targets reach the drivers, hold as long as they should, and never exceed the slots?"""

from dataclasses import replace
from itertools import pairwise

import pytest

from controlplane.model import facts as f
from controlplane.model.decisions import ModeSet, TargetSet
from controlplane.model.orders import ContainerGrant
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit
CONTROL = EngineSettings(mode=f.Mode.CONTROL)


def test_targets_never_exceed_the_pool_and_follow_fixed_wishes():
    """Two jobs, 6 and 2 of 8 slots by an operator's word."""
    scenario = Scenario(replace(CONTROL, allocator="fixed"))
    scenario.stage(20, job="a", stage=1)
    scenario.stage(20, job="b", stage=2)
    decision = scenario.handle(
        TargetSet(source=SOURCE, job="a", target=6), TargetSet(source=SOURCE, job="b", target=2, cap=2)
    )
    grants = {o.job: (o.target, o.cap) for o in decision.orders[SOURCE] if isinstance(o, ContainerGrant)}
    assert grants["b"] == (2, 2)
    assert scenario.scheduler.cluster.jobs.target[:2].tolist() == [6, 2]


def test_of_jobs_without_a_past_the_one_with_fewer_tasks_has_less_to_do():
    """Each of their tasks is taken for one of a second; if it were nothing, whoever came first would go first."""
    scenario = Scenario(replace(CONTROL, allocator="srpt"))
    scenario.stage(20, job="long", stage=1)
    scenario.stage(3, job="short", stage=2)
    assert scenario.scheduler.cluster.jobs.target[:2].tolist() == [5, 3]


def test_stages_that_wait_for_open_ones_are_work_left_too():
    """Two tasks now and 23 in the two stages after them are more than four; grants tell the hosts this order."""
    scenario = Scenario(replace(CONTROL, allocator="srpt"), hosts=1, slots=3)
    submitted = f.JobSubmitted(job="chain", stages=[1, 2, 3], stage_tasks=[2, 3, 20], edges=[(1, 2), (2, 3)])
    scenario.tell([submitted])
    scenario.stage(2, job="chain", stage=1)
    decision = scenario.stage(4, job="short", stage=9)
    assert scenario.scheduler.cluster.jobs.target[:2].tolist() == [0, 3]
    grants = {o.job: o.precedence for o in decision.orders[SOURCE] if isinstance(o, ContainerGrant)}
    assert grants == {"chain": 25.0, "short": 4.0}


def test_a_grant_of_a_job_without_a_cap_has_none():
    """In the columns -1 stands for it; a host that was told so would take every slot away."""
    scenario = Scenario(replace(CONTROL, allocator="fair"))
    (grant,) = (o for o in scenario.stage(20).orders[SOURCE] if isinstance(o, ContainerGrant))
    assert (grant.target, grant.cap, grant.originals) == (8, None, None)


def test_grants_are_renewed_before_they_expire():
    """A grant is a lease: silence gives the slots back, so a live control plane says it again."""
    scenario = Scenario()
    scenario.stage(20)
    times = []
    for step in range(60):
        scenario.now_s = step / 10
        if any(isinstance(o, ContainerGrant) for o in scenario.tell().orders.get(SOURCE, [])):
            times.append(scenario.now_s)
    assert all(later - earlier < 3.0 for earlier, later in pairwise(times))
    assert len(times) >= 3


@pytest.mark.parametrize(("n_jobs", "least", "most"), [(60, 3, 6), (21, 1, 2)])
def test_no_cycle_renews_all_grants_at_once(n_jobs, least, most):
    """Ten thousand jobs would make it a slow one; each has its own moment in every half of the lease."""
    scenario = Scenario()
    for job in range(n_jobs):
        scenario.stage(1, job=f"job {job}", stage=job)
    renewed = []
    for step in range(1, 61):
        scenario.now_s = step / 10
        renewed.append(sum(isinstance(o, ContainerGrant) for o in scenario.tell().orders.get(SOURCE, [])))
    assert sum(renewed) == n_jobs * 4
    assert least <= min(renewed) <= max(renewed) <= most


def test_a_job_that_comes_again_is_granted_again():
    """Its host has dropped the grant with the job that ended, though the target is what it was."""
    scenario = Scenario()
    scenario.stage(20)
    scenario.now_s = 0.5
    again = [f.JobEnded(job="job"), f.JobSubmitted(job="job")]
    stage = f.StageSubmitted(job="job", stage=2, stage_attempt=0, n_tasks=20, kind="shuffle_map")
    orders = scenario.tell([*again, stage]).orders[SOURCE]
    assert [order.job for order in orders if isinstance(order, ContainerGrant)] == ["job"]


@pytest.mark.parametrize("change", ["mode", "full"])
def test_a_driver_that_stood_down_hears_its_grants_at_once(change):
    """After a lower mode, or a restart of either side, it holds nothing of what it was told."""
    scenario = Scenario()
    scenario.stage(20)
    scenario.now_s = 0.2
    if change == "mode":
        scenario.handle(ModeSet(mode=f.Mode.SHADOW))
        scenario.tell()
        scenario.handle(ModeSet(mode=f.Mode.CONTROL))
        decision = scenario.tell()
    else:
        stage = f.StageSubmitted(job="job", stage=1, stage_attempt=0, n_tasks=20, kind="shuffle_map")
        facts = [scenario.attached, *scenario.executors, f.JobSubmitted(job="job"), stage]
        decision = scenario.tell(facts, full=True)
    assert any(isinstance(order, ContainerGrant) for order in decision.orders.get(SOURCE, []))


def test_what_shadow_only_foresaw_is_recorded_again_when_it_is_ordered():
    """A refusal of the first order had no decision to belong to, and the log said shadow while grants were in force."""
    scenario = Scenario(replace(CONTROL, mode=f.Mode.SHADOW))
    scenario.stage(20)
    scenario.handle(ModeSet(mode=f.Mode.CONTROL))
    (grant,) = [one for one in scenario.tell().orders[SOURCE] if isinstance(one, ContainerGrant)]
    decisions = [(record.mode, record.order) for record in scenario.records() if record.action is Action.GRANT]
    assert decisions == [(f.Mode.SHADOW, 0), (f.Mode.CONTROL, grant.order)]
    refusal = f.OrderOutcome(order=grant.order, result=f.OrderResult.REFUSED, reason="fifo_mode")
    (outcome,) = scenario.tell([refusal]).outcomes
    assert outcome.decision == scenario.records()[1].id


def test_a_target_of_none_holds_before_the_job_asks_for_anything():
    """Zero is a target like any other: the job's first tasks must find its cap."""
    scenario = Scenario(replace(CONTROL, allocator="fixed"))
    scenario.tell([f.JobSubmitted(job="job")])
    decision = scenario.handle(TargetSet(source=SOURCE, job="job", target=0, cap=0))
    assert [(order.job, order.target, order.cap) for order in decision.orders[SOURCE]] == [("job", 0, 0)]
