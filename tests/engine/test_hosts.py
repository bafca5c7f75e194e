"""Where do copies go, and where do originals wait? Sick hosts, single hosts, hosts that copies are bound for."""

from dataclasses import replace

import msgspec
import pytest

from controlplane.estimators.host_slowness import HALF_LIFE_S
from controlplane.model import facts as f
from controlplane.model.decisions import CopyWish, ModeSet, Report
from controlplane.model.orders import AnyOrder, AvoidHosts, LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason
from tests.scenario import SOURCE, SPARK, Scenario

pytestmark = pytest.mark.unit
CONTROL = EngineSettings(mode=f.Mode.CONTROL)


def crawling_on_h2(
    seconds: float, straggler: int | None = None, mode: f.Mode = f.Mode.CONTROL
) -> tuple[Scenario, list[AnyOrder]]:
    """Twelve tasks of 1,000 bytes, eight of them running at 300 bytes/s; on h2, and a straggler elsewhere, at 20."""
    scenario, orders = Scenario(user_mode=mode), []
    scenario.stage(12, input_bytes=1000)
    scenario.start_all(8)
    for step in range(1, round(10 * seconds)):
        scenario.now_s = step / 10
        live = scenario.scheduler.cluster.sources[SOURCE].attempts
        crawls = {2, 6, straggler}
        read = {i: round((20 if i in crawls else 300) * scenario.now_s) for i in live if i < 8}
        over = [scenario.ended(i, scenario.now_s, bytes_read=1000) for i, n in read.items() if n >= 1000]
        orders += scenario.tell(over, progress=read).orders.get(SOURCE, [])
    return scenario, orders


def test_no_copy_goes_to_a_sick_host():
    """A host on which every attempt crawls must not get the copies of its own stragglers, or of others'."""
    scenario, orders = crawling_on_h2(12.0, straggler=1)
    copies = [order for order in orders if isinstance(order, LaunchCopy)]
    assert copies
    assert "h2" not in {copy.host for copy in copies}
    sick = {host.host for host in scenario.scheduler.snapshot(scenario.now_s).hosts if host.sick}
    assert sick == scenario.sick_hosts() == {"h2"}


def copied_with_sick(*hosts: int) -> set[str]:
    """Where the copies of a straggler on h0 go when these of four hosts are sick by what ended there."""
    scenario = Scenario()
    for host in hosts:
        for _ in range(8):
            scenario.scheduler.learning.hosts.attempt_ended(host, 1.4, now_s=0.0)
    scenario.stage(4, input_bytes=1000)
    scenario.start_all(4)
    return {order.host for order in scenario.go_on(0, 4, 4.0)}


def test_where_no_host_is_healthy_one_is_as_good_as_another():
    """They may all have become slower, or be taken for it: the straggler still gets its copy."""
    assert copied_with_sick(1, 2, 3) == set()
    assert copied_with_sick(0, 1, 2, 3)


def test_a_copy_goes_where_its_input_lies():
    """Of two equal hosts; where only one had it, that may be what the straggler waits for."""
    scenario = Scenario()
    scenario.stage(4, input_bytes=1000, preferred_hosts=[["h3", "h2"]] * 4)
    scenario.start_all(4)
    copy, *_ = scenario.go_on(3, 4, 4.0)
    assert copy.host == "h2"


def avoided(orders: list[AnyOrder]) -> list[AvoidHosts]:
    return [order for order in orders if isinstance(order, AvoidHosts)]


def test_originals_are_kept_off_a_sick_host_and_back_once_it_has_recovered():
    """On a host several times slower a small job's task ends later than by waiting: a record each way, and a lease."""
    scenario, orders = crawling_on_h2(4.0)
    told = avoided(orders)
    assert told[-1].hosts == ["h2"]
    assert told[-1].waves[0] >= 1.0
    assert len(told) < 8, "said again when half of its time is over, not in every exchange"
    scenario.tell([scenario.ended(i, 4.0, outcome=f.Outcome.KILLED) for i in (2, 6)])
    scenario.now_s += 10 * HALF_LIFE_S
    scenario.stage(1, stage=2)
    orders = scenario.tell([scenario.started(8, 0, index=0, stage=2)]).orders[SOURCE]
    assert avoided(orders)[-1].hosts == []
    changes = [(r.reason, r.host) for r in scenario.records() if r.action is Action.AVOID_HOST]
    assert changes == [(Reason.SICK_HOST, "h2"), (Reason.HOST_RECOVERED, "h2")]


def sick_beside_long_job(healthy_slots: int, seconds: int = 15) -> tuple[Scenario, list[AvoidHosts]]:
    """Work crawls on the four slots of h1; a job whose tasks never end then holds all of h0, and another one waits."""
    scenario, orders = Scenario(hosts=0), []
    slots = {"h0": healthy_slots, "h1": 4}
    scenario.tell([f.ExecutorAdded(executor=f"e{host[1]}", host=host, slots=n) for host, n in slots.items()])
    scenario.stage(8, input_bytes=1000)
    scenario.tell([scenario.started(i, int(i in (2, 6))) for i in range(8)])
    for step in range(1, 40):
        scenario.now_s = step / 10
        live = scenario.scheduler.cluster.sources[SOURCE].attempts
        read = {i: round((20 if i in (2, 6) else 300) * scenario.now_s) for i in live}
        over = [scenario.ended(i, scenario.now_s, bytes_read=1000) for i, n in read.items() if n >= 1000]
        orders += scenario.tell(over, progress=read).orders.get(SOURCE, [])
    scenario.stage(healthy_slots, job="long", stage=2)
    scenario.tell([scenario.started(100 + i, 0, index=i, stage=2) for i in range(healthy_slots)])
    orders += scenario.stage(2, job="waiting", stage=3).orders.get(SOURCE, [])
    for _ in range(seconds):
        scenario.now_s += 1.0
        orders += scenario.tell().orders.get(SOURCE, [])
    return scenario, avoided(orders)


def test_nobody_waits_for_healthy_slots_that_others_hold():
    """Within its patience no healthy slot would serve the waiting job, and the sick host idles for nothing."""
    scenario, told = sick_beside_long_job(8)
    assert told[0].hosts == ["h1"]
    assert told[-1].hosts == []
    changes = [r.reason for r in scenario.records() if r.action is Action.AVOID_HOST]
    assert changes == [Reason.SICK_HOST, Reason.HEALTHY_SLOTS_HELD]


def test_a_small_healthy_host_holds_back_fewer_than_a_large_one():
    """A job's target counts the sick slots, too, but who waits is served by the healthy ones only."""
    small, large = (sick_beside_long_job(n, seconds=0)[1] for n in (8, 36))
    assert max(order.waves[0] for order in small) < max(order.waves[0] for order in large)


def avoidance(scenario: Scenario) -> list[tuple[Reason, str]]:
    return [(record.reason, record.host) for record in scenario.records() if record.action is Action.AVOID_HOST]


@pytest.mark.parametrize("lost", [["e2"], ["e0", "e1", "e3"]])
def test_a_host_that_leaves_or_has_no_healthy_neighbour_left_has_not_recovered(lost):
    """The order is taken back, and nobody reads that a sick host is well again."""
    scenario, _ = crawling_on_h2(4.0)
    orders = scenario.tell([f.ExecutorLost(executor=executor) for executor in lost]).orders[SOURCE]
    assert avoided(orders)[-1].hosts == []
    assert avoidance(scenario) == [(Reason.SICK_HOST, "h2")]


def test_switching_off_is_no_recovery():
    """Off records nothing of hosts; back in control the host that is still sick is kept off again, and recorded."""
    scenario, _ = crawling_on_h2(4.0)
    scenario.handle(ModeSet(mode=f.Mode.OFF))
    scenario.tell([scenario.ended(i, 4.0, outcome=f.Outcome.KILLED) for i in (2, 6)])
    scenario.now_s += 10 * HALF_LIFE_S
    scenario.tell()
    assert avoidance(scenario) == [(Reason.SICK_HOST, "h2")]
    scenario, _ = crawling_on_h2(4.0)
    scenario.handle(ModeSet(mode=f.Mode.OFF))
    scenario.tell()
    scenario.handle(ModeSet(mode=f.Mode.CONTROL))
    assert avoided(scenario.tell().orders[SOURCE])[-1].hosts == ["h2"]
    assert avoidance(scenario) == [(Reason.SICK_HOST, "h2")] * 2


def test_a_driver_in_shadow_is_not_told_which_hosts_to_avoid():
    """Shadow records what it would do, and orders nothing."""
    scenario, orders = crawling_on_h2(4.0, mode=f.Mode.SHADOW)
    assert not avoided(orders)
    assert Reason.SICK_HOST in {record.reason for record in scenario.records()}


def test_a_host_on_which_nothing_runs_any_more_is_judged_by_what_has_ended():
    """Evidence of running attempts counts while they run."""
    scenario, _ = crawling_on_h2(4.0)
    scenario.tell([scenario.ended(i, 4.0, outcome=f.Outcome.LOST) for i in (2, 6)])
    scenario.now_s += 1.0
    scenario.tell()
    assert scenario.sick_hosts() == set()


@pytest.mark.parametrize(("executors", "copies"), [(1, 0), (3, 1)])
def test_on_a_single_host_a_copy_needs_an_executor_of_its_own(executors, copies):
    """One machine with several executors is a cluster, too; in a single executor a copy would not help."""
    scenario = Scenario(hosts=0)
    scenario.executors = [f.ExecutorAdded(executor=f"e{i}", host="h", slots=2) for i in range(executors)]
    scenario.tell(scenario.executors)
    scenario.stage(2, input_bytes=1000)
    here = {"executor": "e0", "host": "h", "stage": 1, "stage_attempt": 0}
    scenario.tell([f.AttemptStarted(attempt=i, index=i, **here) for i in range(2)])
    orders = []
    for step in range(1, 40):
        scenario.now_s = step / 10
        orders += scenario.tell(progress={0: 300 * step, 1: 3 * step}).orders.get(SOURCE, [])
    assert len({order.index for order in orders if isinstance(order, LaunchCopy)}) == copies


@pytest.mark.parametrize(("host", "named"), [("h", True), ("elsewhere", False)])
def test_on_a_single_host_an_operator_may_name_that_host_only(host, named):
    """A copy that was asked for elsewhere must not start here instead."""
    scenario = Scenario(hosts=0)
    scenario.tell([f.ExecutorAdded(executor=f"e{i}", host="h", slots=2) for i in range(2)])
    scenario.stage(1)
    scenario.tell([f.AttemptStarted(attempt=0, index=0, executor="e0", host="h", stage=1, stage_attempt=0)])
    wish = CopyWish(source=SOURCE, stage=1, stage_attempt=0, index=0, host=host)
    orders = scenario.handle(wish).orders.get(SOURCE, [])
    assert [isinstance(order, LaunchCopy) for order in orders] == [True] * named


def test_one_host_says_that_there_is_no_other():
    """A copy on the same host would share its trouble."""
    scenario = Scenario(hosts=1, slots=8)
    assert scenario.run_with_straggler() == []
    assert Reason.NO_OTHER_HOST in {record.reason for record in scenario.records()}


def test_copies_on_their_way_take_slots_on_their_hosts():
    """Orders of two cycles in a row must not both go to the one slot that looks best: the second would wait in vain."""
    scenario = Scenario(slots=1)
    scenario.stage(2)
    scenario.tell([scenario.started(0, 0), scenario.started(1, 1)])
    wishes = [CopyWish(source=SOURCE, stage=1, stage_attempt=0, index=index) for index in range(2)]
    orders = [scenario.handle(wish).orders[SOURCE][0] for wish in wishes]
    assert sorted(order.host for order in orders) == ["h2", "h3"]


def test_a_copy_that_its_host_has_refused_takes_no_slot_any_more():
    """The slot is the next copy's, which would otherwise go to a worse host, or to none."""
    scenario = Scenario(hosts=3, slots=1)
    scenario.stage(2)
    scenario.tell([scenario.started(0, 0), scenario.started(1, 1)])
    wishes = [CopyWish(source=SOURCE, stage=1, stage_attempt=0, index=index) for index in range(2)]
    (refused,) = scenario.handle(wishes[0]).orders[SOURCE]
    scenario.tell([f.OrderOutcome(order=refused.order, result=f.OrderResult.REFUSED)])
    (copy,) = scenario.handle(wishes[1]).orders[SOURCE]
    assert (refused.host, copy.host) == ("h2", "h2")


def test_a_second_copy_avoids_the_host_of_the_first_one_that_has_not_started():
    """Two attempts of a task never share a host, also while one is only ordered."""
    scenario = Scenario()
    scenario.stage(1)
    scenario.tell([scenario.started(0, 0)])
    wish = CopyWish(source=SOURCE, stage=1, stage_attempt=0, index=0)
    orders = [scenario.handle(wish).orders[SOURCE][0] for _ in range(2)]
    assert len({order.host for order in orders} | {"h0"}) == 3


def test_an_operator_gets_three_copies_on_three_hosts():
    """More than one extra attempt, as far as settings and host allow."""
    scenario = Scenario(replace(CONTROL, max_copies_per_task=3))
    scenario.stage(1)
    scenario.tell([scenario.started(0, 0)])
    orders = scenario.handle(CopyWish(source=SOURCE, stage=1, stage_attempt=0, index=0, copies=3)).orders[SOURCE]
    assert sorted(order.host for order in orders) == ["h1", "h2", "h3"]


def test_two_drivers_share_hosts_but_not_slots():
    """Each pool's targets sum to its own slots; a host that is sick for one is sick for the other."""
    scenario = Scenario()
    scenario.stage(20)
    other = [
        f.DriverAttached(application="other", capabilities=SPARK),
        f.ExecutorAdded(executor="x", host="h0", slots=3),
        f.StageSubmitted(job="j", stage=9, stage_attempt=0, n_tasks=50, kind="shuffle_map"),
    ]
    decision = scenario.handle(Report(source="spark:other", epoch=1, received_s=0.0, facts=other, full=True))
    cluster = scenario.scheduler.cluster
    jobs = cluster.jobs.rows()
    for source, slots in ((SOURCE, 8), ("spark:other", 3)):
        row = cluster.sources[source].row
        assert cluster.jobs.target[jobs[cluster.jobs.pool[jobs] == row]].sum() == slots
    assert {o.job for o in decision.orders["spark:other"]} == {"j"}


def test_a_sick_host_that_shadow_only_foresaw_is_recorded_again_when_it_is_avoided():
    """What the driver answers to the first order belongs to a decision."""
    scenario, _ = crawling_on_h2(12.0, mode=f.Mode.SHADOW)
    scenario.tell([msgspec.structs.replace(scenario.attached, mode=f.Mode.CONTROL)])
    scenario.tell()
    avoided = [record for record in scenario.records() if record.action is Action.AVOID_HOST]
    assert [(record.host, record.mode, record.order > 0) for record in avoided] == [
        ("h2", f.Mode.SHADOW, False),
        ("h2", f.Mode.CONTROL, True),
    ]
