"""Does a straggler get a copy where no slot is left for one, but an executor would come, and only there?"""

from dataclasses import replace

import msgspec
import pytest

from controlplane.engine.decide import decide, read_snapshot
from controlplane.engine.growth import Growth
from controlplane.hosts.spark import SPARK, copies_to_come
from controlplane.model import facts as f
from controlplane.model.decisions import CopyWish, Decision, ModeSet, PolicySet, Result, TargetSet
from controlplane.model.orders import LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason
from tests.engine.test_applications import DRIVER, MINE, OTHER, QUEUE, Whole
from tests.engine.test_draining import ABLE
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit
CONTROL = EngineSettings(mode=f.Mode.CONTROL, allocator="hopper", speculator="ras")
GENEROUS = replace(CONTROL, pool_copy_share=1.0, job_copy_share=1.0, cluster_copy_share=1.0)
SLOW = 3


def finish_but_one(scenario: Scenario) -> None:
    """Of four tasks three have run on the first host, one after the other; the last one begins to straggle there."""
    scenario.stage(4, input_bytes=1000)
    for task in range(SLOW):
        scenario.tell([scenario.started(task, 0)])
        for step in (100, 200, 300):
            scenario.now_s += 1
            scenario.tell(progress={task: step})
        scenario.tell([scenario.ended(task, 3.0, bytes_read=300)])
    scenario.tell([scenario.started(SLOW, 0)])


def copies_of(decision: Decision, source: str = SOURCE) -> list[LaunchCopy]:
    """Those that are ordered."""
    return [order for order in decision.orders.get(source, []) if isinstance(order, LaunchCopy)]


def crawl(scenario: Scenario, seconds: int = 8) -> list[LaunchCopy]:
    """The straggler reads a hundredth of its input a second; returns the copies ordered."""
    orders = []
    begin_s = scenario.now_s
    for second in range(1, seconds + 1):
        scenario.now_s = begin_s + second
        orders += copies_of(scenario.tell(progress={SLOW: 10 * second}), scenario.source)
    return orders


def alone(settings: EngineSettings = CONTROL, *, slots: int = 1, limit: int = 2) -> Scenario:
    """A driver whose only executor holds the straggler."""
    scenario = Scenario(settings, hosts=1, slots=slots, executor_limit=limit)
    finish_but_one(scenario)
    return scenario


def last_reason(scenario: Scenario) -> Reason:
    """Why the straggler has no copy, or why it has one on its way."""
    task = next(iter(scenario.scheduler.cluster.sources[scenario.source].attempts.values()))
    return Reason(int(scenario.scheduler.cluster.tasks.reason[scenario.scheduler.cluster.attempts.task[task]]))


def assert_decided_alike(scenario: Scenario) -> None:
    """A dump of this moment says of every task what the engine said; copies that it has ordered are on their way."""
    snapshot = read_snapshot(msgspec.json.encode(scenario.scheduler.snapshot(scenario.now_s)))
    policy = scenario.scheduler.steering.policy_name(scenario.source)
    advice = decide(snapshot, policy, scenario.scheduler.settings).pools
    (mine,) = (pool for pool in advice if pool.source == scenario.source)
    (pool,) = (pool for pool in snapshot.pools if pool.source == scenario.source)
    pending = Reason.ORDER_PENDING.label
    assert {(task.stage, task.index): pending if task.ordered_copies else task.reason for task in pool.tasks} == {
        (each.stage, each.index): each.reason for each in mine.copies + mine.refusals
    }


@pytest.mark.parametrize(
    ("executors", "slots", "tasks", "limit", "copies"),
    [
        (0, 1, 0, 9, 0),
        (1, 1, 1, 1, 0),
        (1, 1, 1, 2, 1),
        (1, 1, 2, 2, 0),
        (1, 4, 1, 2, 4),
        (1, 4, 6, 2, 2),
        (2, 1, 1, 9, 0),
        (2, 4, 7, 9, 0),
        (2, 4, 8, 3, 4),
        (4, 1, 4, 3, 0),
    ],
)
def test_executors_come_for_what_does_not_fit_into_those_that_are_there(executors, slots, tasks, limit, copies):
    """As Spark counts: one more than tasks fill; a second one in any case; never more than the limit."""
    assert copies_to_come(executors=executors, slots=slots, tasks=tasks, limit=limit) == copies


def test_a_queue_without_room_lets_no_executor_come():
    """A limit of none is one, unlike no limit."""
    full, free = (Growth(kind=SPARK, executors=1, slots=1, limit=4, queue_limit=limit) for limit in (0, -1))
    assert (full.copies(1), full.refusal(1, Reason.NO_SLOT_IN_TARGET)) == (0, Reason.NO_ROOM_IN_QUEUE)
    assert free.copies(1) > 0


def test_a_queue_says_no_only_where_the_driver_itself_would_say_yes():
    """The on-call engineer asks whose limit it is."""
    growth = Growth(kind=SPARK, executors=1, slots=1, limit=2, queue_limit=1)
    assert growth.refusal(1, Reason.NO_OTHER_HOST) is Reason.NO_ROOM_IN_QUEUE
    assert growth.refusal(2, Reason.NO_OTHER_HOST) is Reason.NO_OTHER_HOST
    assert replace(growth, queue_limit=2).refusal(1, Reason.NO_OTHER_HOST) is Reason.NONE


@pytest.mark.parametrize("slots", [1, 2])
def test_the_last_executors_straggler_gets_a_copy_on_a_host_to_come(slots):
    """On no named host, for it has none yet; for as long as an executor takes to start; and once."""
    scenario = alone(slots=slots)
    (order,) = crawl(scenario)
    assert (order.host, order.avoid_hosts, order.ttl_ms) == ("", ["h0"], SPARK.executor_starts_ms)
    assert crawl(scenario, seconds=40) == []
    scenario.tell([f.ExecutorAdded(executor="e1", host="h1", slots=slots)])
    decision = scenario.tell([scenario.started(9, 1, index=SLOW, speculative=True, order=order.order)])
    assert [outcome.result for outcome in decision.outcomes] == [Result.APPLIED]


@pytest.mark.parametrize(
    ("slots", "limit", "reason"),
    [
        (1, 0, Reason.NO_SLOT_IN_TARGET),
        (1, 1, Reason.NO_SLOT_IN_TARGET),
        (2, 0, Reason.NO_OTHER_HOST),
        (2, 1, Reason.NO_OTHER_HOST),
    ],
)
def test_where_no_executor_comes_there_is_no_copy(slots, limit, reason):
    """Executors are allocated statically, or there are as many as there may be."""
    scenario = alone(slots=slots, limit=limit)
    assert crawl(scenario) == []
    assert last_reason(scenario) is reason


def test_a_free_slot_elsewhere_is_taken_before_an_executor_is_asked_for():
    """As without dynamic allocation: by its name, and for as long as any order."""
    scenario = Scenario(CONTROL, hosts=2, slots=1, executor_limit=9)
    finish_but_one(scenario)
    (order,) = crawl(scenario, seconds=3)
    assert (order.host, order.ttl_ms) == ("h1", CONTROL.order_ttl_ms)


@pytest.mark.parametrize(("slots", "reason"), [(1, Reason.OPERATOR), (2, Reason.NO_OTHER_HOST)])
def test_idle_slots_on_hosts_of_the_task_keep_executors_from_coming(slots, reason):
    """Spark counts slots, not hosts: it fills those that are there before it asks for more."""
    scenario = Scenario(GENEROUS, hosts=2, slots=slots, executor_limit=9)
    scenario.stage(1)
    scenario.tell([scenario.started(0, 0), scenario.started(1, 1, index=0, speculative=True)])
    decision = scenario.handle(CopyWish(source=SOURCE, stage=1, stage_attempt=0, index=0))
    assert [record.reason for record in decision.records] == [reason]


@pytest.mark.parametrize(("limit", "copies"), [(4, 0), (5, 1), (6, 2), (9, 2)])
def test_where_all_slots_are_full_as_many_copies_are_ordered_as_executors_may_come(limit, copies):
    """Two of four tasks straggle, each on an executor of its own."""
    scenario = Scenario(GENEROUS, hosts=4, slots=1, executor_limit=limit)
    scenario.stage(4, input_bytes=1000)
    scenario.start_all(4)
    orders = []
    for step in range(1, 4):
        scenario.now_s = step
        orders += copies_of(scenario.tell(progress={i: (3 if i < 2 else 300) * step for i in range(4)}))
        assert_decided_alike(scenario)
    assert len(orders) == copies
    assert {order.index for order in orders} <= {0, 1}


def test_of_two_jobs_only_as_many_get_copies_as_executors_come():
    """Room beyond a target is the pool's, not each job's."""
    scenario = Scenario(GENEROUS, hosts=4, slots=1, executor_limit=5)
    for stage in (1, 2):
        scenario.stage(2, job=f"job {stage}", stage=stage, input_bytes=1000)
    scenario.tell([scenario.started(i, i, index=i % 2, stage=1 + i // 2) for i in range(4)])
    orders = []
    for step in range(1, 5):
        scenario.now_s = step
        orders += copies_of(scenario.tell(progress={i: (3 if i % 2 else 300) * step for i in range(4)}))
        assert_decided_alike(scenario)
    assert len(orders) == 1


def test_while_originals_wait_no_executor_comes_for_a_copy():
    """It would start them first, and Spark asks for it on their account already."""
    scenario = Scenario(replace(GENEROUS, speculator="late"), hosts=4, slots=1, executor_limit=9)
    scenario.stage(5, input_bytes=1000)
    scenario.start_all(4)
    for step in range(1, 4):
        scenario.now_s = step
        assert copies_of(scenario.tell(progress={i: (3 if i < 1 else 300) * step for i in range(4)})) == []
        assert_decided_alike(scenario)
    assert Reason.ORIGINALS_WAIT in {record.reason for record in scenario.records()}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"pool_copy_share": 0.0}, Reason.NO_BUDGET_POOL),
        ({"job_copy_share": 0.0}, Reason.NO_BUDGET_JOB),
        ({"max_copies_per_task": 0}, Reason.HOST_CANNOT),
    ],
)
def test_budgets_hold_for_executors_to_come(settings, reason):
    """A container costs more than a slot that is idle anyway."""
    scenario = alone(replace(CONTROL, **settings))
    assert crawl(scenario) == []
    assert last_reason(scenario) is reason


def test_shadow_mode_records_it_and_orders_nothing():
    """What control would have asked of the cluster."""
    scenario = alone(replace(CONTROL, mode=f.Mode.SHADOW))
    assert crawl(scenario) == []
    copies = [record for record in scenario.records() if record.action is Action.LAUNCH_COPY]
    assert [(record.order, record.to_host) for record in copies] == [(0, "")]


def test_a_fixed_target_holds_nobody_to_it_under_another_allocator():
    """An operator's target is in force under the allocator `fixed` alone."""
    scenario = alone()
    scenario.handle(TargetSet(source=SOURCE, job="job", target=1))
    assert crawl(scenario)


def test_a_fixed_target_is_not_grown_beyond():
    """An operator has said how many slots the job shall hold."""
    scenario = alone(replace(CONTROL, allocator="fixed"))
    scenario.handle(TargetSet(source=SOURCE, job="job", target=1))
    assert crawl(scenario) == []
    assert last_reason(scenario) is Reason.NO_SLOT_IN_TARGET


@pytest.mark.parametrize(("limit", "told"), [(2, (Action.LAUNCH_COPY, "")), (1, (Action.REFUSE_COPY, ""))])
def test_an_operators_copy_may_wait_for_an_executor_too(limit, told):
    """By the same rule as a speculator's."""
    scenario = alone(limit=limit)
    decision = scenario.handle(CopyWish(source=SOURCE, stage=1, stage_attempt=0, index=SLOW))
    assert [(record.action, record.to_host) for record in decision.records] == [told]


class InQueue(Whole):
    """The same driver in a queue in which its application has a cap."""

    def __init__(self, cap: int | None, settings: EngineSettings = CONTROL, **more) -> None:
        super().__init__(settings, hosts=1, slots=1, executor_limit=4, capabilities=ABLE, **more)
        self.listed(**{MINE: (1, 0), OTHER: (4, 0)})
        self.handle(PolicySet(source=QUEUE, policy="fixed+none"), TargetSet(source=QUEUE, job=MINE, target=1, cap=cap))
        finish_but_one(self)
        self.listed(**{MINE: (1, 0), OTHER: (4, 0)})


@pytest.mark.parametrize(
    ("cap", "copies", "reason"),
    [(1, 0, Reason.NO_ROOM_IN_QUEUE), (2, 1, Reason.ORDER_PENDING), (None, 1, Reason.ORDER_PENDING)],
)
def test_a_queues_cap_bounds_what_may_come(cap, copies, reason):
    """The ResourceManager would give no container beyond it, and the reason says whose limit it is."""
    whole = InQueue(cap)
    assert len(crawl(whole)) == copies
    assert last_reason(whole) is reason
    assert_decided_alike(whole)


def test_a_cap_that_nobody_enforces_bounds_nothing():
    """In a queue that is watched only, the ResourceManager goes by no cap of ours."""
    whole = InQueue(1)
    whole.handle(ModeSet(source=QUEUE, mode=f.Mode.SHADOW))
    assert len(crawl(whole)) == 1


def test_a_driver_that_is_to_let_executors_go_gets_none_for_a_copy():
    """Another application waits for what it holds beyond its target, so it is told to hold no more."""
    whole = InQueue(None, replace(CONTROL, drain_executors=True))
    whole.listed(**{MINE: (2, 0), OTHER: (1, 4)})
    assert whole.scheduler.cluster.sources[DRIVER].most_executors == 1
    assert crawl(whole) == []
    assert last_reason(whole) is Reason.NO_ROOM_IN_QUEUE
    assert_decided_alike(whole)


def test_a_queue_that_allows_no_executor_gets_none():
    """Zero is a number; as many as it likes is -1."""
    growth = Growth(kind=SPARK, executors=1, slots=1, limit=2, queue_limit=0)
    assert growth.copies(tasks=1) == 0
    assert replace(growth, queue_limit=-1).copies(tasks=1) == 1
