"""How does an order end, and is every one of them counted once?"""

import pytest

from controlplane.engine.ledger import GRACE_S, Ledger, OpenOrder
from controlplane.model import facts as f
from controlplane.model.decisions import CopyWish, KillWish, ModeSet, Result
from controlplane.model.orders import ContainerGrant
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import COPIED, Reason, sentence
from tests.looks import Counted
from tests.scenario import SOURCE, Scenario, orders, with_copy

pytestmark = pytest.mark.unit


def grants(decision):
    """The grants that one cycle gave."""
    return [order for order in decision.orders.get(SOURCE, []) if isinstance(order, ContainerGrant)]


def refuse(scenario, order, reason):
    """What came of an order that the host refuses."""
    facts = [f.OrderOutcome(order=order.order, result=f.OrderResult.REFUSED, reason=reason)]
    (outcome,) = [each for each in scenario.tell(facts).outcomes if each.order == order.order]
    return outcome


@pytest.mark.parametrize(
    ("reason", "result"),
    [("unknown_job", Result.MOOT), ("stage_ended", Result.MOOT), ("mode", Result.REFUSED)],
)
def test_what_comes_too_late_is_moot_and_no_error(reason, result):
    """A grant meets its job's end on the way; nobody has to look into that."""
    scenario = Scenario()
    (grant,) = grants(scenario.stage(20))
    outcome = refuse(scenario, grant, reason)
    assert (outcome.result, outcome.kind, outcome.reason) == (result, "container_grant", reason)


def test_a_lease_that_a_newer_one_replaced_is_moot_and_the_newer_one_is_not():
    """Whoever lets executors come and go refuses a target that is no longer meant."""
    scenario = Scenario()
    (old,) = grants(scenario.stage(20))
    (new,) = grants(scenario.tell([f.ExecutorAdded(executor="e9", host="h9", slots=4)]))
    assert refuse(scenario, old, "mode").result is Result.MOOT
    assert refuse(scenario, new, "mode").result is Result.REFUSED


def test_a_lease_that_is_said_again_ends_without_a_decision():
    """It is counted like any order; the decision's own news stay those of its first saying."""
    scenario = Scenario()
    scenario.stage(20)
    scenario.now_s = 2.9
    (again,) = grants(scenario.tell())
    facts = [f.OrderOutcome(order=again.order, result=f.OrderResult.APPLIED)]
    (outcome,) = scenario.tell(facts).outcomes
    assert (outcome.order, outcome.decision, outcome.result) == (again.order, 0, Result.APPLIED)


@pytest.mark.parametrize(
    ("facts", "result"),
    [
        ([], Result.EXPIRED),
        ([f.StageEnded(stage=1, stage_attempt=0)], Result.MOOT),
        ([f.JobEnded(job="job")], Result.MOOT),
    ],
)
def test_silence_is_an_error_only_while_there_is_something_to_do(facts, result):
    """A host that drops a copy's order with its stage may say nothing of it."""
    scenario = Scenario()
    (copy, *_) = scenario.run_with_straggler(slow=3)
    scenario.tell(facts)
    scenario.now_s += 30.0
    (outcome,) = [each for each in scenario.tell().outcomes if each.order == copy.order]
    assert (outcome.result, outcome.attempt) == (result, -1)


@pytest.mark.parametrize(("ends", "result"), [(True, Result.MOOT), (False, Result.EXPIRED)])
def test_a_kill_that_nobody_speaks_of_is_moot_once_its_attempt_has_ended(ends, result):
    """Also of attempt 0, which is as good an id as any."""
    scenario = Scenario()
    scenario.run_with_straggler(slow=0)
    scenario.tell([scenario.started(100, 3, index=0, speculative=True)])
    (kill,) = scenario.handle(KillWish(source=SOURCE, attempt=0)).orders[SOURCE]
    scenario.tell([scenario.ended(0, 4.5, outcome=f.Outcome.FAILED)] if ends else [])
    scenario.now_s += 30.0
    (outcome,) = [each for each in scenario.tell().outcomes if each.order == kill.order]
    assert outcome.result is result


def test_orders_expire_in_the_order_of_their_ids():
    """A later one may hold for less time; what is written down of both does not depend on that."""
    ledger = Ledger()
    for order, expires_s in ((1, 9.0), (2, 4.0), (3, 9.0), (4, 60.0)):
        grant = ContainerGrant(order=order, ttl_ms=1, job=f"job-{order}", target=1)
        task = (-1, -1, -1)
        ledger.ordered(OpenOrder(order=grant, decision=0, source=SOURCE, task=task, expires_s=expires_s))
    ended = ledger.expire(9.0 + GRACE_S + 0.1, lambda _: False)
    assert [outcome.order for _, outcome in ended] == [1, 2, 3]
    assert list(ledger.open) == [4]


def test_a_driver_s_last_words_count_before_it_is_forgotten():
    """An outcome in the message that says good-bye is what came of the order."""
    scenario = Scenario()
    (grant,) = grants(scenario.stage(20))
    told = f.OrderOutcome(order=grant.order, result=f.OrderResult.APPLIED)
    decision = scenario.tell([told, f.DriverDetached()])
    assert [(each.order, each.result) for each in decision.outcomes] == [(grant.order, Result.APPLIED)]


def test_orders_of_a_source_that_falls_silent_end_with_it():
    """They are returned by whoever forgets it, for no cycle will tell of them."""
    scenario = Scenario()
    (grant,) = grants(scenario.stage(20))
    outcomes = scenario.scheduler.forget(SOURCE, scenario.now_s)
    assert [(each.order, each.result) for each in outcomes] == [(grant.order, Result.MOOT)]
    assert not scenario.scheduler.ledger.open


def test_state_after_a_cycle_that_fails_halfway_is_empty_and_its_orders_never_were(monkeypatch):
    """Orders of earlier cycles end as moot; what it had heard is kept; what it wanted to order was not sent."""
    scenario = Scenario()
    (grant,) = grants(scenario.stage(20))
    monkeypatch.setattr("controlplane.engine.seeing.follow_pools", lambda *_: 1 / 0)
    told = f.OrderOutcome(order=grant.order, result=f.OrderResult.APPLIED)
    more = f.StageSubmitted(job="other", stage=2, stage_attempt=0, n_tasks=20, kind="shuffle_map")
    with pytest.raises(ZeroDivisionError):
        scenario.tell([told, more])
    scheduler = scenario.scheduler
    assert len(scheduler.ledger.open) > 1
    outcomes = scheduler.reset(scenario.now_s)
    assert [(each.order, each.result) for each in outcomes] == [(grant.order, Result.APPLIED)]
    assert (scheduler.ledger.open, scheduler.cluster.sources, len(scheduler.cluster.stages)) == ({}, {}, 0)


def test_why_no_copy_comes_says_so_where_one_runs():
    """ "No other healthy host has room" reads as if there were none, while it runs."""
    scenario = Scenario(hosts=2)
    with_copy(scenario)
    scenario.now_s += 1.0
    scenario.tell(progress={3: 150, 100: 300})
    (task,) = scenario.scheduler.snapshot(scenario.now_s).pools[0].tasks
    assert task.running_attempts == 2
    assert task.sentence.startswith(COPIED)


@pytest.mark.parametrize(("reason", "attempts"), [(Reason.ENDS_SOONER, 2.0), (Reason.NO_OTHER_HOST, 1.0)])
def test_a_first_copy_and_what_speaks_for_one_are_told_as_ever(reason, attempts):
    """Only what speaks against a further copy needs to say that there is one."""
    assert COPIED not in sentence(reason, {"running_attempts": attempts})


def test_a_late_start_and_a_refusal_leave_no_less_than_no_copy_ordered():
    """Else the next copy that is ordered would not count, and another one would be ordered beside it."""
    scenario = Scenario()
    scenario.stage(1)
    scenario.tell([scenario.started(0, 0)])
    wish = CopyWish(source=SOURCE, stage=1, stage_attempt=0, index=0)
    (expired,) = orders(scenario.handle(wish))
    scenario.now_s += 30.0
    (newer,) = orders(scenario.handle(wish))
    scenario.tell([scenario.started(1, 1, index=0, speculative=True, order=expired.order)])
    refuse(scenario, newer, "mode")
    scenario.now_s += 2.0
    reasons = [record.reason for _ in range(2) for record in scenario.handle(wish).records]
    assert reasons == [Reason.OPERATOR, Reason.ALREADY_COPIED]


@pytest.mark.parametrize("end", ["good-bye", "good-bye with its end", "silence", "restart"])
@pytest.mark.parametrize("is_stock", [False, True])
def test_a_copy_that_runs_when_its_application_goes_has_lost(end, is_stock):
    """Batch programs stop right after their last job: half of all losing copies had no outcome, and cost nothing."""
    scenario = Scenario()
    (copy, *_) = scenario.run_with_straggler(slow=3)
    order = 0 if is_stock else copy.order
    scenario.tell([scenario.started(100, 0, index=3, speculative=True, order=order)])
    scenario.now_s += 2.0
    scenario.tell()
    killed = scenario.ended(100, 2.0, index=3, speculative=True, order=order, outcome=f.Outcome.KILLED)
    if end == "silence":
        outcomes, stock = scenario.scheduler.forget(SOURCE, scenario.now_s), []
    else:
        facts = [killed, f.DriverDetached()] if end == "good-bye with its end" else [f.DriverDetached()]
        again = {"full": True, "epoch": 2}
        decision = scenario.tell([scenario.attached], **again) if end == "restart" else scenario.tell(facts)
        outcomes, stock = decision.outcomes, decision.stock_copies
    races = [(each.result, each.cost_core_s) for each in outcomes if each.result in (Result.WON, Result.LOST)]
    assert races == ([] if is_stock else [(Result.LOST, pytest.approx(2.0))])
    if end != "silence":
        assert [(each.won, each.core_s) for each in stock] == ([(False, pytest.approx(2.0))] if is_stock else [])


def test_an_attempts_end_is_ordered_without_a_look_at_all_others():
    """With 3,000 copies the kill switch held the control plane up for two seconds, in each of its cycles."""
    scenario = Scenario()
    (copy, *_) = scenario.run_with_straggler(slow=3)
    scenario.tell([scenario.started(100, 0, index=3, speculative=True, order=copy.order)])
    ledger = scenario.scheduler.ledger
    kills = ledger._kills = Counted()
    assert orders(scenario.handle(ModeSet(mode=f.Mode.OFF)))
    assert kills
    scenario.handle()
    scenario.tell([scenario.ended(100, 1.0, index=3, speculative=True, order=copy.order, outcome=f.Outcome.KILLED)])
    assert (kills, kills.looked) == ({}, 0)


def test_an_expired_order_does_not_count_beside_the_one_that_takes_its_place():
    """The host never answers. Its budget is two copies: of the two stragglers each has one on its way."""
    settings = EngineSettings(mode=f.Mode.CONTROL, allocator="fair", pool_copy_share=0.25, order_ttl_ms=1000)
    scenario = Scenario(settings, hosts=8, slots=1)
    scenario.stage(5, input_bytes=1000)
    scenario.start_all(5)
    ordered = {3: 0, 4: 0}
    for step in range(1, 80):
        scenario.now_s = step / 10
        over = [scenario.ended(index, 3.3, bytes_read=1000) for index in range(3)] if step == 33 else []
        read = {index: round(300 * scenario.now_s) for index in range(3)} if step < 33 else {}
        for order in orders(scenario.tell(over, progress=read | {3: 3 * step, 4: 3 * step})):
            ordered[order.index] += 1
        tasks = {task.index: task for task in scenario.scheduler.snapshot(scenario.now_s).pools[0].tasks}
        assert all(tasks[index].ordered_copies <= 1 for index in ordered if index in tasks)
        assert "no_budget_pool" not in {tasks[index].reason for index in ordered if index in tasks}
    assert min(ordered.values()) > 1


def test_a_shadow_copy_that_could_no_longer_be_ordered_says_why():
    """Its hosts leave; what was once recorded for it is no reason any more."""
    scenario = Scenario(EngineSettings(mode=f.Mode.SHADOW))
    scenario.run_with_straggler()

    def reason():
        scenario.now_s += 1.0
        scenario.tell(progress={3: round(30 * scenario.now_s)})
        (task,) = scenario.scheduler.snapshot(scenario.now_s).pools[0].tasks
        return task.reason

    assert reason() == "saves_slot_time"
    scenario.tell([f.ExecutorLost(executor=executor) for executor in ("e0", "e1", "e2")])
    assert reason() == "no_other_host"
