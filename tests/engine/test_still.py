"""Does what was taken at one moment stay as it was, and cost little to take?"""

import msgspec
import pytest

from controlplane.engine.snapshot import describe
from controlplane.model import facts as f
from tests.scenario import Scenario

pytestmark = pytest.mark.unit
QUEUE = "yarn:cluster:queue"


def demand(pending: int, *names: str) -> f.QueueDemand:
    """A leaf queue whose applications ask for so many containers."""
    applications = [f.QueuedApplication(job=name, running=1, pending=pending, tags=[f"{pending}"]) for name in names]
    return f.QueueDemand(slots=9, applications=applications)


def told() -> Scenario:
    """A driver with a job of two stages, of which one has a finished and a running attempt, and a queue."""
    scenario = Scenario()
    scenario.tell([scenario.attached, demand(1, "a", "b")], full=True, source=QUEUE)
    scenario.tell([f.JobSubmitted(job="job", name="before", host_ids=[1], edges=[(1, 2)])])
    scenario.stage(4)
    scenario.tell([f.StageSubmitted(job="job", stage=2, stage_attempt=0, n_tasks=3)])
    scenario.tell([scenario.started(1, 0, index=0), scenario.started(2, 1, index=1)])
    scenario.tell([scenario.ended(1, 1.0, index=0)])
    return scenario


def change(scenario: Scenario) -> None:
    """Something of all that a snapshot tells."""
    scenario.now_s += 1.0
    scenario.tell([f.JobSubmitted(job="job", name="after", host_ids=[1, 2], edges=[(2, 3)])])
    scenario.tell([scenario.ended(2, 0.5, index=1), scenario.started(3, 2, index=2)])
    scenario.tell([f.StageEnded(stage=2, stage_attempt=0)])
    scenario.tell([f.StageSubmitted(job="job", stage=3, stage_attempt=0, n_tasks=3), f.JobSubmitted(job="other")])
    scenario.tell([demand(7, "b", "c")], source=QUEUE)


@pytest.mark.parametrize("with_tasks", [True, False])
def test_what_was_taken_stays_as_it_was(with_tasks):
    """It is described on a thread of its own, while cycles go on; told anew are names, edges, stages, applications."""
    scenario = told()
    before = describe(scenario.scheduler.still(scenario.now_s, with_tasks=with_tasks))
    assert bool(before.pools[0].finished) == bool(before.pools[0].tasks) == with_tasks
    taken = scenario.scheduler.still(scenario.now_s, with_tasks=with_tasks)
    change(scenario)
    assert msgspec.json.decode(msgspec.json.encode(describe(taken))) == msgspec.json.decode(msgspec.json.encode(before))
    assert describe(scenario.scheduler.still(scenario.now_s)) != before


def test_jobs_and_stages_are_told_in_order_with_what_is_left():
    """Stages of a job by their rows, those that are over and still run among them, which have nothing left to do."""
    scenario = told()
    scenario.tell([f.JobSubmitted(job="other"), f.StageEnded(stage=1, stage_attempt=0)])
    jobs = scenario.scheduler.snapshot(scenario.now_s).pools[0].jobs
    assert [(job.job, [stage.stage for stage in job.stages], job.remaining_tasks) for job in jobs] == [
        ("job", [1, 2], 3),
        ("other", [], 0),
    ]


def test_no_job_or_stage_is_copied_by_itself():
    """A hundred thousand open jobs kept everybody waiting for 1.1 s whenever somebody looked."""
    scheduler = told().scheduler
    cluster, taken = scheduler.cluster, scheduler.still(1.0).cluster
    for name in ("job_infos", "stage_infos"):
        live, copied = getattr(cluster, name), getattr(taken, name)
        assert live is not copied
        assert all(copied[row] is info for row, info in live.items())
