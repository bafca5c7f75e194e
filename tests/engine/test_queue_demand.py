"""Do a leaf queue's applications share it like jobs share a driver's pool?"""

from dataclasses import replace

import pytest

from controlplane.model import facts as f
from controlplane.model.decisions import TargetSet
from controlplane.model.orders import ContainerGrant
from controlplane.model.parameters import EngineSettings
from tests.scenario import Scenario

pytestmark = pytest.mark.unit
SOURCE = "yarn:c:root.q"
CONTROL = EngineSettings(mode=f.Mode.CONTROL, allocator="hopper", allocator_settings={"fairness_epsilon": 1.0})
QUEUE = f.Capabilities(order_pending=True, hold_slots=True)


class Queue(Scenario):
    """A leaf queue of `slots` containers whose ResourceManager tells everything in each report."""

    def __init__(self, settings: EngineSettings = CONTROL, *, slots: int = 8) -> None:
        super().__init__(settings, hosts=0, capabilities=QUEUE, source=SOURCE)
        self.slots = slots

    def demand(self, *, full: bool = False, **applications: tuple[int, int]) -> dict[str, ContainerGrant]:
        """Applications as (running, pending), in order of arrival; returns the grants of this report by application."""
        queued = [
            f.QueuedApplication(job=job, running=running, pending=pending, age_ms=1000 - place)
            for place, (job, (running, pending)) in enumerate(applications.items())
        ]
        facts = [f.QueueDemand(slots=self.slots, applications=queued)]
        decision = self.tell([self.attached, *facts] if full else facts, full=full)
        return {order.job: order for order in decision.orders.get(SOURCE, []) if isinstance(order, ContainerGrant)}

    @property
    def jobs(self) -> set[str]:
        """The applications that the engine knows."""
        return set(self.scheduler.cluster.sources[SOURCE].jobs)


def test_the_smaller_application_gets_all_it_asks_for_when_the_queue_is_short():
    """Hopper's guideline 2 between applications: virtual sizes 3 and 20 in 8 slots leave 5 to the larger."""
    grants = Queue().demand(large=(0, 20), small=(0, 3))
    assert {job: grant.target for job, grant in grants.items()} == {"large": 5, "small": 3}


def test_a_container_wants_no_copy():
    """Without its driver an application's virtual size is what it runs and asks for, whatever the tail."""
    queue = Queue()
    queue.demand(app=(2, 3))
    job = queue.scheduler.snapshot(0.0).pools[0].jobs[0]
    assert job.virtual_size == 5.0


def test_a_driver_is_no_queue():
    """Queues say whose an application is and whether it runs at all: a driver that spoke as one would stop others."""
    scenario = Scenario()
    listed = [f.QueuedApplication(job="application_1_1", running=0, pending=4, user="bob")]
    decision = scenario.tell([f.QueueDemand(slots=1, applications=listed, cluster_unix_ms=1)])
    want = "spark:app reported source.kind = 'spark', want another for queue_demand"
    assert decision.bad_facts == [("spark:app", want)]
    cluster = scenario.scheduler.cluster
    assert (cluster.queues, cluster.queued) == ({}, {})
    assert not scenario.scheduler.snapshot(scenario.now_s).pools[0].is_queue


def test_a_queue_has_neither_executors_nor_stages():
    """Slots of two kinds, of which one would be taken off the other, do not add up."""
    queue = Queue()
    queue.demand(a=(0, 6))
    strange = [
        f.ExecutorAdded(executor="e", host="h", slots=8),
        f.JobSubmitted(job="b"),
        f.StageSubmitted(job="a", stage=1, stage_attempt=0, n_tasks=3),
    ]
    decision = queue.tell(strange)
    assert [problem for _, problem in decision.bad_facts] == [
        f"{SOURCE} reported source.kind = 'yarn', want another for {fact}"
        for fact in ("executor_added", "job_submitted", "stage_submitted")
    ]
    (pool,) = queue.scheduler.snapshot(queue.now_s).pools
    assert (pool.slots, queue.jobs) == (8, {"a"})
    assert not len(queue.scheduler.cluster.stages)


def test_the_same_demand_again_changes_nothing_until_the_grants_are_half_over():
    """A snapshot each tick must neither duplicate applications nor repeat orders."""
    queue = Queue()
    queue.demand(a=(0, 6), b=(0, 6))
    state = queue.scheduler.snapshot(0.0).pools[0]
    assert queue.demand(a=(0, 6), b=(0, 6)) == {}
    assert queue.scheduler.snapshot(0.0).pools[0] == state
    queue.now_s = CONTROL.grant_ttl_ms / 2000
    assert queue.demand(a=(0, 6), b=(0, 6)).keys() == {"a", "b"}


@pytest.mark.parametrize("full", [False, True])
def test_an_application_that_is_not_named_any_more_has_ended(full):
    """Its slots go to the others at once."""
    queue = Queue()
    queue.demand(small=(2, 0), large=(0, 20))
    grants = queue.demand(large=(0, 20), full=full)
    assert grants["large"].target == 8
    assert queue.jobs == {"large"}


def test_a_full_report_without_demand_ends_them_all():
    """An empty queue says so; nothing of before may live on."""
    queue = Queue()
    queue.demand(a=(1, 1))
    queue.tell([queue.attached], full=True)
    assert queue.jobs == set()


def test_targets_follow_the_slots_that_the_queue_reports():
    """Nodes come and go, and other queues take their share."""
    queue = Queue()
    assert queue.demand(a=(0, 20))["a"].target == 8
    queue.slots = 3
    assert queue.demand(a=(0, 20))["a"].target == 3


def test_an_operator_caps_an_application_of_a_queue():
    """The `fixed` allocator serves applications as it serves jobs."""
    queue = Queue(replace(CONTROL, allocator="fixed", allocator_settings={}))
    queue.demand(a=(0, 8), b=(0, 8))
    decision = queue.handle(TargetSet(source=SOURCE, job="a", target=2, cap=2))
    grant = next(order for order in decision.orders[SOURCE] if order.job == "a")
    assert (grant.target, grant.cap) == (2, 2)
    assert next(order for order in decision.orders[SOURCE] if order.job == "b").target == 6


def test_a_cap_holds_before_the_first_container_is_asked_for():
    """Whatever is asked for and placed between two reports would be above it."""
    queue = Queue(replace(CONTROL, allocator="fixed", allocator_settings={}))
    queue.demand(a=(0, 0))
    (grant,) = queue.handle(TargetSet(source=SOURCE, job="a", target=2, cap=2)).orders[SOURCE]
    assert (grant.job, grant.target, grant.cap) == ("a", 0, 2)
    assert queue.demand(a=(0, 8))["a"].target == 2
    assert queue.demand() == {}


def test_nobody_is_claimed_whose_attempts_cannot_be_copied():
    """A leaf queue is given slots; speculation stays with its applications."""
    queue = Queue()
    queue.demand(a=(1, 1))
    assert queue.decisions[-1].claims == {SOURCE: []}


def test_a_plan_is_as_old_as_the_newest_grant_that_was_applied():
    """A queue that reports and applies nothing is in stock order, however lately it was heard."""
    queue = Queue()

    def plan_age_s() -> float | None:
        return queue.scheduler.snapshot(queue.now_s).pools[0].plan_age_s

    grant = queue.demand(a=(0, 6))["a"]
    queue.tell([f.OrderOutcome(order=grant.order, result=f.OrderResult.REFUSED, reason="unknown_job")])
    assert plan_age_s() is None
    queue.tell([f.OrderOutcome(order=grant.order, result=f.OrderResult.APPLIED)])
    assert plan_age_s() == 0.0
    queue.now_s += 30.0
    queue.demand(a=(0, 6))
    assert plan_age_s() == pytest.approx(30.0)
