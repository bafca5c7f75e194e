"""Does a cycle decide what the papers and the laws ask for?"""

from dataclasses import replace

import msgspec
import pytest

from controlplane.deciding.asking import call_speculator
from controlplane.engine.scheduler import RETRY_S, Scheduler
from controlplane.model import facts as f
from controlplane.model.decisions import CopyWish, ModeSet, PolicySet, Report, Result
from controlplane.model.errors import BadSetting
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason
from controlplane.policies.registry import speculator
from tests.scenario import SOURCE, Scenario, with_copy

pytestmark = pytest.mark.unit
CONTROL = EngineSettings(mode=f.Mode.CONTROL)


def test_a_refused_order_is_not_repeated_at_once():
    """A host that says no is asked again only after a pause."""
    scenario = Scenario()
    copy = scenario.run_with_straggler(slow=3)[0]
    decision = scenario.tell([f.OrderOutcome(order=copy.order, result=f.OrderResult.REFUSED, reason="above_clamp")])
    assert [o.result for o in decision.outcomes] == [Result.REFUSED]
    assert scenario.go_on(3, 8, 0.8) == []
    assert len(scenario.go_on(3, 8, 1.0)) == 1


def reason_of(scenario, index):
    """What stands in the state about a task of the first stage."""
    (pool,) = scenario.scheduler.snapshot(scenario.now_s).pools
    return next(task.reason for task in pool.tasks if task.index == index)


def test_a_task_whose_copy_is_on_its_way_is_told_from_one_that_is_left_alone():
    """On call these are two stories: one waits for a slot, the other for a host that said no."""
    scenario = Scenario()
    copy = scenario.run_with_straggler(slow=3)[0]
    scenario.tell()
    assert reason_of(scenario, 3) == "order_pending"
    scenario.tell([f.OrderOutcome(order=copy.order, result=f.OrderResult.REFUSED, reason="above_clamp")])
    assert reason_of(scenario, 3) == "left_alone"
    refused_s = scenario.now_s
    scenario.go_on(3, 8, 0.8)
    assert reason_of(scenario, 3) == "left_alone"
    scenario.now_s = refused_s + RETRY_S
    scenario.tell()
    assert reason_of(scenario, 3) != "left_alone"


def test_a_copy_that_a_cycle_has_no_time_for_comes_in_the_next(monkeypatch):
    """A cycle tries a bounded number of copies; the others are not pending, for nobody has ordered them."""
    monkeypatch.setattr("controlplane.engine.speculation.ORDERS_PER_CYCLE", 1)
    scenario, stuck = Scenario(hosts=8), (0, 1)
    scenario.stage(8, input_bytes=1000)
    scenario.start_all(8)
    reasons = []
    while not reasons or "order_pending" not in reasons[-1]:
        scenario.now_s += 0.1
        scenario.tell(progress={i: round((20 + i if i in stuck else 50) * scenario.now_s) for i in range(8)})
        reasons.append({reason_of(scenario, i) for i in stuck})
    ordering = next(told for told in reasons if "not_tried" in told)
    assert ordering == {"saves_slot_time", "not_tried"}


def test_an_order_that_nobody_answers_expires():
    """Lost replies leave no trace but a record."""
    scenario = Scenario()
    scenario.run_with_straggler(slow=3)
    scenario.now_s += 30.0
    decision = scenario.tell()
    assert Result.EXPIRED in {outcome.result for outcome in decision.outcomes}
    assert set(scenario.scheduler.ledger.open) <= {order.order for order in decision.orders.get(SOURCE, [])}


def test_a_pool_can_have_a_policy_of_its_own():
    """Allocators are chosen per pool; a bad name is refused."""
    scenario = Scenario()
    scenario.handle(PolicySet(source=SOURCE, policy="fair+none"))
    assert scenario.run_with_straggler() == []
    assert scenario.scheduler.snapshot(scenario.now_s).pools[0].policy == "fair+none"
    with pytest.raises(BadSetting, match="allocator"):
        scenario.handle(PolicySet(source=SOURCE, policy="best+none"))


def test_bad_settings_are_refused_whole():
    """The old settings stay."""
    scenario = Scenario()
    with pytest.raises(BadSetting, match=r"engine\.speculator"):
        scenario.scheduler.configure(replace(CONTROL, speculator="magic"))
    assert scenario.scheduler.settings.speculator == "ras"


def test_an_operators_copy_in_shadow_is_recorded_though_the_policy_wants_it_too():
    """Who asks over REST is told which decision came of it."""
    scenario = Scenario(user_mode=f.Mode.SHADOW)
    scenario.run_with_straggler()
    wish = CopyWish(source=SOURCE, stage=1, stage_attempt=0, index=3)
    told = [(record.action, record.reason, record.order) for record in scenario.handle(wish).records]
    assert (Action.LAUNCH_COPY, Reason.OPERATOR, 0) in told


def test_the_same_history_gives_the_same_decisions_bit_for_bit():
    """Law 2: no clock and no chance of its own."""

    def decisions() -> bytes:
        scenario = Scenario()
        with_copy(scenario)
        scenario.go_on(3, 8, 2.0)
        return msgspec.json.encode([(d.records, d.outcomes, d.claims, d.orders) for d in scenario.decisions])

    assert decisions() == decisions()


def test_what_was_learned_survives_a_restart():
    """Only learned things are stored, and they can be taken back."""
    scenario = Scenario()
    scenario.run_with_straggler()
    learned = msgspec.json.decode(msgspec.json.encode(scenario.scheduler.learned()))
    again = Scheduler(CONTROL)
    again.restore(learned)
    assert again.learned() == learned
    (stage,) = scenario.scheduler.cluster.stage_infos.values()
    assert again.learning.remaining.history.get(stage.fact) is not None


def test_a_snapshot_is_plain_json():
    """What state:dump returns can be read back into the same structs."""
    scenario = Scenario()
    with_copy(scenario)
    snapshot = scenario.scheduler.snapshot(scenario.now_s)
    again = msgspec.json.decode(msgspec.json.encode(snapshot), type=type(snapshot))
    assert again == snapshot
    assert snapshot.pools[0].jobs[0].n_copies == 1
    assert {attempt.attempt for attempt in snapshot.pools[0].attempts} == {3, 100}


@pytest.mark.parametrize(("input_bytes", "shown"), [(1000, 1000), (0, -1)])
def test_a_snapshot_tells_an_unknown_input_from_an_empty_one(input_bytes, shown):
    """As -1; nobody shall read that a task has nothing to do."""
    scenario = Scenario()
    scenario.stage(1, input_bytes=input_bytes)
    scenario.start_all(1)
    assert scenario.scheduler.snapshot(0.0).pools[0].tasks[0].input_bytes == shown


def test_lost_orders_do_not_block_a_task_for_good():
    """Replies get lost; after each expiry the straggler must get another chance."""
    scenario = Scenario()
    scenario.stage(8, input_bytes=1000)
    scenario.start_all(8)
    assert len(scenario.go_on(3, 8, 30.0)) >= 3


def test_a_job_that_cannot_be_judged_for_long_is_left_to_its_host():
    """By its settings this control plane would wait ten minutes for the first progress; its host need not."""
    scenario = Scenario(replace(CONTROL, startup_prior_s=600.0, judge_within_ms=5000))
    scenario.stage(2, input_bytes=1000)
    scenario.start_all(2)
    scenario.now_s = 4.9
    assert [claim.job for claim in scenario.tell().claims[SOURCE]] == ["job"]
    scenario.now_s = 5.1
    assert not scenario.tell().claims.get(SOURCE)
    scenario.tell([scenario.ended(0, 5.1, bytes_read=1000)], progress={1: 500})
    scenario.now_s = 6.0
    assert [claim.job for claim in scenario.tell(progress={1: 600}).claims[SOURCE]] == ["job"]


def test_a_job_that_opted_out_keeps_the_hosts_own_speculation():
    """Neither ours nor stock's would be less than the user had before."""
    scenario = Scenario()
    decision = scenario.tell([f.JobSubmitted(job="own", copies_enabled=False), f.JobSubmitted(job="ours")])
    assert [claim.job for claim in decision.claims[SOURCE]] == ["ours"]


def test_an_end_in_another_task_is_refused_and_harms_nobody():
    """One contradictory fact of one driver must not leave a freed row behind for everybody to trip over."""
    scenario = Scenario()
    scenario.stage(4)
    scenario.stage(4, job="other", stage=2)
    scenario.start_all(4)
    decision = scenario.tell([scenario.ended(0, 1.0, stage=2)])
    assert "attempt_ended.attempt" in decision.bad_facts[0][1]
    scenario.tell([f.StageEnded(stage=1, stage_attempt=0)])
    scenario.tell([scenario.ended(i, 1.0) for i in range(4)])
    scenario.tell([f.DriverDetached()])
    assert len(scenario.scheduler.cluster.attempts) == 0


def test_a_kill_that_was_carried_out_is_not_ordered_again_while_the_attempt_dies():
    """A Python worker takes its time to end; saying it again would only fill the log."""
    scenario = Scenario()
    with_copy(scenario)
    kill = scenario.handle(ModeSet(mode=f.Mode.OFF)).orders[SOURCE][0]
    scenario.now_s += 0.1
    scenario.tell([f.OrderOutcome(order=kill.order, result=f.OrderResult.APPLIED, attempt=100)])
    scenario.now_s += 1.0
    assert not scenario.tell().orders


def test_a_mode_for_everybody_is_also_that_of_who_comes_later():
    """A reply to a source that is not known yet, and every page, say what counts."""
    scenario = Scenario()
    scenario.handle(ModeSet(mode=f.Mode.OFF))
    scheduler = scenario.scheduler
    assert [scheduler.mode_of("spark:later"), scheduler.settings.mode, scheduler.snapshot(0.0).mode] == [f.Mode.OFF] * 3


def test_a_pool_is_reviewed_in_time_whoever_else_reports():
    """A report of another pool just before put the review off by almost a whole interval."""
    scenario = Scenario()
    scenario.stage(4)
    scenario.start_all(4)
    scenario.now_s = 0.15
    other = Report(source="spark:other", epoch=1, received_s=0.15, facts=[scenario.attached], full=True)
    _, due_s = scenario.scheduler.handle([other], 0.15)
    assert due_s == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("change", "jobs"),
    [
        (lambda scenario: scenario.tell([f.JobSubmitted(job="new")]), ["job", "new"]),
        (lambda scenario: scenario.tell([f.JobEnded(job="job")]), []),
        (lambda scenario: scenario.tell([f.JobSubmitted(job="job", copies_enabled=False)]), []),
        (lambda scenario: scenario.handle(ModeSet(mode=f.Mode.SHADOW)), []),
        (lambda scenario: scenario.scheduler.configure(replace(CONTROL, lease_ms=500)), ["job"]),
    ],
    ids=["new job", "ended", "opted out", "mode", "lease"],
)
def test_claims_are_kept_until_something_changes(change, jobs):
    """Ten thousand of them are said again in every answer."""
    scenario = Scenario()
    scenario.stage(8)
    claims = scenario.tell().claims[SOURCE]
    assert [claim.job for claim in claims] == ["job"]
    assert scenario.tell().claims[SOURCE] is claims
    change(scenario)
    said = scenario.tell().claims.get(SOURCE, [])
    assert [claim.job for claim in said] == jobs
    assert {claim.lease_ms for claim in said} <= {scenario.scheduler.settings.lease_ms}


def test_what_a_speculator_is_shown_does_not_depend_on_who_else_is_due(monkeypatch):
    """Mantri asks for finished attempts, RAS does not, though both are asked in one cycle."""
    shown = {}

    def call(code, seen, settings, answer):
        shown[code] = len(seen.finished), seen.stages["finished_to"].max(initial=0)
        return call_speculator(code, seen, settings, answer)

    monkeypatch.setattr("controlplane.engine.speculation.call_speculator", call)
    scenario = Scenario(EngineSettings(mode=f.Mode.CONTROL, speculator="ras"))
    other = {"source": "spark:other"}
    scenario.tell([scenario.attached, *scenario.executors], full=True, **other)
    scenario.handle(PolicySet(source="spark:other", policy="fair+mantri"))
    stage = f.StageSubmitted(job="job", stage=1, stage_attempt=0, n_tasks=4, kind="shuffle_map", input_bytes=[1000] * 4)
    for one in ({}, other):
        scenario.tell([stage, *(scenario.started(index, index) for index in range(4))], **one)
    scenario.now_s = 5.0
    reports = [
        Report(source=name, epoch=1, received_s=5.0, facts=[scenario.ended(0, 5.0, bytes_read=1000)])
        for name in (SOURCE, "spark:other")
    ]
    shown.clear()
    scenario.handle(*reports)
    assert shown == {speculator("ras").code: (0, 0), speculator("mantri").code: (1, 1)}
