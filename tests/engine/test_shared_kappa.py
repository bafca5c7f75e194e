"""Does the one slot that is spare go to the straggler whose job it helps most, in a pool and in a queue of pools?"""

from dataclasses import replace

import msgspec
import pytest

from controlplane.engine.decide import decide, read_snapshot
from controlplane.model import facts as f
from controlplane.model.decisions import TargetSet
from controlplane.model.orders import LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Reason
from tests.engine.test_applications import DRIVER, MINE, OTHER, QUEUE, Whole
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit

SHED_PLUS = EngineSettings(
    mode=f.Mode.CONTROL,
    allocator="fifo",
    speculator="shed-plus",
    max_copies_per_task=3,
    job_copy_share=1.0,
    pool_copy_share=1.0,
    cluster_copy_share=1.0,
)
SECOND = f"spark:{OTHER}"
NEAR_MS, FAR_MS = 12_000, 30_000
EITHER_FIRST = pytest.mark.parametrize("first", ["near", "far"])
"""Whichever job came first: the copy would make the one with the near deadline more likely to be in time."""
WITHIN_MS = {"near": NEAR_MS, "far": FAR_MS}


def both(first: str) -> list[str]:
    """The two jobs in order of arrival."""
    return sorted(WITHIN_MS, key=lambda job: job != first)


def contended(first: str, settings: EngineSettings = SHED_PLUS) -> Scenario:
    """Five slots: a straggler of each of two jobs with a deadline, two tasks of a job without one, and one idle."""
    scenario = Scenario(settings, hosts=5, slots=1)
    for place, job in enumerate(both(first)):
        scenario.tell([f.JobSubmitted(job=job, deadline_ms=WITHIN_MS[job])])
        scenario.stage(2, job=job, stage=place, input_bytes=1000)
        started = [scenario.started(10 * place + i, 2 * place + i, index=i, stage=place) for i in range(2)]
        scenario.tell(started)
    scenario.stage(2, job="other", stage=2)
    for step in range(1, 40):
        scenario.now_s = step / 10
        healthy = {0: 25 * step, 10: 25 * step}
        scenario.tell(progress=healthy | {1: 2 * step, 11: 2 * step})
    return scenario


def free_one(scenario: Scenario, seconds: float = 1.0) -> set[str]:
    """The healthy tasks end, and the job without a deadline takes their slots; returns the jobs that get copies."""
    scenario.now_s = 4.0
    ended = [scenario.ended(10 * place, 4.0, index=0, stage=place, bytes_read=1000) for place in range(2)]
    given = scenario.tell([*ended, *(scenario.started(20 + i, 2 * i, index=i, stage=2) for i in range(2))]).orders
    orders = given.get(SOURCE, [])
    for step in range(1, round(10 * seconds)):
        scenario.now_s = 4.0 + step / 10
        orders += scenario.tell(progress={1: 80 + 2 * step, 11: 80 + 2 * step}).orders.get(SOURCE, [])
    return {order.job for order in orders if isinstance(order, LaunchCopy)}


@EITHER_FIRST
def test_of_two_jobs_in_a_pool_the_one_that_it_helps_most_gets_the_spare_slot(first):
    """FIFO gives the first job all slots that copies of it could use, though it gets none."""
    assert free_one(contended(first)) == {"near"}


def crowded(**settings) -> Scenario:
    """Two tasks of a job that has all slots as its target, and four of one with a deadline: two straggle."""
    scenario = Scenario(SHED_PLUS, **settings)
    scenario.stage(2, job="first", stage=0)
    scenario.tell([scenario.started(i, i % settings["hosts"], index=i, stage=0) for i in range(2)])
    scenario.tell([f.JobSubmitted(job="near", deadline_ms=NEAR_MS)])
    scenario.stage(4, job="near", stage=1, input_bytes=1000)
    scenario.tell([scenario.started(10 + i, (2 + i) % settings["hosts"], index=i, stage=1) for i in range(4)])
    for step in range(1, 40):
        scenario.now_s = step / 10
        scenario.tell(progress={10: 25 * step, 11: 25 * step, 12: 2 * step, 13: 2 * step})
    scenario.now_s = 4.0
    return scenario


def copied(orders: dict) -> list[int]:
    """The tasks that get copies, once for each."""
    return sorted(order.index for order in orders.get(SOURCE, []) if isinstance(order, LaunchCopy))


def test_two_stragglers_of_a_job_beyond_its_target_have_both_idle_slots_at_once():
    """The first one's copy does not cost the second one its own."""
    scenario = crowded(hosts=6, slots=1)
    ended = [scenario.ended(10 + i, 4.0, index=i, stage=1, bytes_read=1000) for i in range(2)]
    assert copied(scenario.tell(ended).orders) == [2, 3]


def test_all_slots_of_an_executor_to_come_are_spare_though_its_size_is_not_reported():
    """One of six slots is full, and a second one may come beside it, on another host."""
    scenario = crowded(hosts=1, slots=6, executor_limit=2)
    assert next(filter(None, (copied(each.orders) for each in scenario.decisions))) == [2, 2, 2, 3, 3, 3]


def test_a_target_that_an_operator_has_fixed_holds_for_spare_slots_too():
    """Under the allocator that uses it."""
    scenario = contended("far", replace(SHED_PLUS, allocator="fixed"))
    scenario.handle(TargetSet(source=SOURCE, job="near", target=1, cap=None))
    assert free_one(scenario) == set()


def test_other_speculators_stay_within_their_jobs_targets():
    """RAS, whose first job has all slots, has none for the second."""
    scenario = contended("far", replace(SHED_PLUS, speculator="ras"))
    assert "near" not in free_one(scenario)


class Queue(Whole):
    """Two drivers of one queue, each with an executor of one slot and a limit of two, and a job with a deadline."""

    def __init__(self, first: str) -> None:
        super().__init__(SHED_PLUS, hosts=1, slots=1, executor_limit=2)
        at_second = [f.ExecutorAdded(executor="e0", host="h9", slots=1)]
        self.tell([msgspec.structs.replace(self.attached, application=OTHER), *at_second], full=True, source=SECOND)
        self.job_of = dict(zip((DRIVER, SECOND), both(first), strict=True))
        self.list_both()
        for source, job in self.job_of.items():
            stage = f.StageSubmitted(
                job=job, stage=1, stage_attempt=0, n_tasks=2, kind="shuffle_map", input_bytes=[1000] * 2
            )
            self.tell([f.JobSubmitted(job=job, deadline_ms=WITHIN_MS[job]), stage], source=source)
            self.tell([self.started(0, 0)], source=source)
        for step in range(1, 20):
            self.now_s = step / 10
            for source in self.job_of:
                self.tell(progress={0: 50 * step}, source=source)
        self.now_s = 2.0
        for source in self.job_of:
            self.tell([self.ended(0, 2.0, bytes_read=1000), self.started(1, 0)], source=source)
        assert self.crawl(4.0) == set(), "each application holds one of the two containers"

    def list_both(self, containers: int = 2, pending: int = 0) -> None:
        """The queue has this number of containers and lists both applications, each with one of them."""
        can = f.Capabilities(order_pending=True, hold_slots=True)
        applications = [
            f.QueuedApplication(job=id, user="alice", running=1, pending=pending, age_ms=1000) for id in (MINE, OTHER)
        ]
        facts = [f.DriverAttached(application=QUEUE, capabilities=can)]
        self.tell([*facts, f.QueueDemand(slots=containers, applications=applications)], full=True, source=QUEUE)

    def crawl(self, until_s: float, *, reporting: tuple[str, ...] = (DRIVER, SECOND)) -> set[str]:
        """Both stragglers read 20 bytes a second, and these drivers say so; returns the jobs that get copies."""
        copied = set()
        while self.now_s < until_s - 0.05:
            self.now_s = round(self.now_s + 0.1, 3)
            for source in reporting:
                decision = self.tell(progress={1: round(20 * (self.now_s - 2.0))}, source=source)
                orders = [order for each in decision.orders.values() for order in each]
                copied |= {order.job for order in orders if isinstance(order, LaunchCopy)}
        return copied

    def reasons(self) -> dict[str, str]:
        """Of the stragglers, by their jobs."""
        pools = self.scheduler.snapshot(self.now_s).pools
        return {task.job: task.reason for pool in pools for task in pool.tasks}


@EITHER_FIRST
def test_of_two_applications_of_a_queue_the_one_that_it_helps_most_gets_the_free_container(first):
    """Its copy waits for an executor that starts; the other application has no slot to spare."""
    queue = Queue(first)
    queue.list_both(containers=3)
    assert queue.crawl(5.0) == {"near"}
    assert queue.reasons() == {"near": "order_pending", "far": "no_spare_slot"}


@EITHER_FIRST
def test_an_application_alone_with_news_does_not_take_what_another_needs_more(first):
    """Both pools are looked at together."""
    queue = Queue(first)
    queue.list_both(containers=3)
    assert queue.crawl(4.1, reporting=(DRIVER,)) == {"near"}


def test_an_application_in_shadow_takes_nothing_from_the_others_of_its_queue():
    """Its job would have had the free container; but nothing of it is ordered."""
    queue = Queue("near")
    queue.scheduler.steering.set_mode(f.Mode.SHADOW, DRIVER)
    queue.list_both(containers=3)
    assert queue.crawl(5.0) == {"far"}


def test_a_queue_with_room_for_both_lets_both_have_one():
    queue = Queue("far")
    queue.list_both(containers=4)
    assert queue.crawl(5.0) == {"near", "far"}


def test_containers_that_applications_ask_for_are_not_spare():
    """Originals go first."""
    queue = Queue("near")
    queue.list_both(containers=4, pending=1)
    assert queue.crawl(5.0) == set()


def test_a_dump_shares_the_container_out_as_the_engine_would():
    """Of a moment at which nothing has been ordered."""
    queue = Queue("far")
    queue.list_both(containers=3)
    snapshot = read_snapshot(msgspec.json.encode(queue.scheduler.snapshot(queue.now_s)))
    advice = decide(snapshot, "fifo+shed-plus", SHED_PLUS)
    assert {task.job for pool in advice.pools for task in pool.copies} == {"near"}
    assert {task.reason for pool in advice.pools for task in pool.refusals} == {Reason.NO_SPARE_SLOT.label}
