"""Does a cycle decide what the papers and the laws ask for?"""

from dataclasses import replace
from itertools import pairwise

import msgspec
import pytest

from controlplane.engine.scheduler import Scheduler
from controlplane.model import facts as f
from controlplane.model.decisions import CopyWish, KillWish, ModeSet, PolicySet, Result, TargetSet
from controlplane.model.errors import BadSetting
from controlplane.model.orders import ContainerGrant, KillAttempt, LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason
from tests.scenario import SOURCE, Scenario

pytestmark = pytest.mark.unit
CONTROL = EngineSettings(mode=f.Mode.CONTROL)


def refusals(scenario: Scenario, index: int = 3) -> set[Reason]:
    """Reasons recorded against copies of one task."""
    return {r.reason for r in scenario.records() if r.action is Action.REFUSE_COPY and r.index == index}


@pytest.mark.parametrize("policy", ["hopper+ras", "fair+late"])
def test_a_straggler_is_copied_to_another_host_with_its_reason(policy):
    """The whole point: one slow attempt, one copy elsewhere, and the numbers that speak for it."""
    allocator, speculator = policy.split("+")
    scenario = Scenario(replace(CONTROL, allocator=allocator, speculator=speculator))
    copies = scenario.run_with_straggler(slow=3)
    assert [copy.index for copy in copies] == [3]
    assert copies[0].host in {"h0", "h1", "h2"}
    launch = next(r for r in scenario.records() if r.action is Action.LAUNCH_COPY)
    assert launch.reason in (Reason.SAVES_SLOT_TIME, Reason.LONGEST_TO_END)
    assert launch.inputs["t_rem_s"] > 2 * launch.inputs["t_new_s"]
    assert launch.attempt == 3
    assert ("wait", 0.0) in launch.alternatives


def test_none_copies_nothing_and_claims_nothing():
    """Without a speculator of ours the host's own shall go on."""
    scenario = Scenario(replace(CONTROL, speculator="none"))
    assert scenario.run_with_straggler() == []
    assert scenario.decisions[-1].claims == {SOURCE: []}


def test_a_bigger_task_is_not_copied():
    """Ten times the bytes at the same speed is skew; a copy would take as long."""
    scenario = Scenario()
    scenario.stage(8, input_bytes=[1000] * 7 + [10_000])
    scenario.start_all(8)
    copies = []
    for step in range(1, 100):
        scenario.now_s = step / 10
        live = scenario.scheduler.cluster.sources[SOURCE].attempts
        read = {i: round(300 * scenario.now_s) for i in live}
        over = [scenario.ended(i, scenario.now_s, bytes_read=1000) for i, n in read.items() if i < 7 and n >= 1000]
        copies += scenario.tell(over, progress=read).orders.get(SOURCE, [])
    assert not [order for order in copies if isinstance(order, LaunchCopy)]


def test_a_starting_jvm_is_not_a_straggler():
    """Nothing is decided before an attempt could have made its first progress."""
    scenario = Scenario(replace(CONTROL, startup_prior_s=3.0))
    scenario.stage(2, input_bytes=1000)
    scenario.start_all(2)
    for step in range(1, 29):
        scenario.now_s = step / 10
        assert not [o for o in scenario.tell().orders.get(SOURCE, []) if isinstance(o, LaunchCopy)]
    task = scenario.scheduler.snapshot(scenario.now_s).pools[0].tasks[0]
    assert task.reason == "too_new"


def test_a_cold_start_is_late_when_other_cold_ones_have_long_been_reading():
    """Four JVMs start together; a sick host's attempt must not wait for the prior that stands for none seen."""
    scenario = Scenario(replace(CONTROL, startup_prior_s=5.0))
    scenario.stage(4, input_bytes=1000)
    scenario.start_all(4)
    copied_at_s = None
    for step in range(1, 60):
        scenario.now_s = step / 10
        read = {i: round(400 * max(scenario.now_s - 0.5, 0.0)) for i in range(3)}
        orders = scenario.tell(progress=read).orders.get(SOURCE, [])
        if copied_at_s is None and any(isinstance(order, LaunchCopy) and order.index == 3 for order in orders):
            copied_at_s = scenario.now_s
    assert copied_at_s is not None
    assert 0.5 < copied_at_s < 2.0


@pytest.mark.parametrize(("waiting", "too_new"), [(0, False), (20, True)])
def test_while_slots_are_idle_silence_is_suspicious_sooner(waiting, too_new):
    """A needless copy of a slow start then costs no other task its slot, and a late one costs the job seconds."""
    scenario = Scenario()
    scenario.stage(4, input_bytes=1000)
    scenario.stage(waiting, job="other", stage=2)
    scenario.start_all(4)
    for step in range(1, 10):
        scenario.now_s = step / 10
        scenario.tell(progress={i: round(400 * max(scenario.now_s - 0.5, 0.0)) for i in range(3)})
    assert (scenario.scheduler.snapshot(scenario.now_s).pools[0].tasks[3].reason == "too_new") is too_new


def test_the_only_task_of_a_stage_is_copied_when_its_host_hangs():
    """A single task has no siblings; the past of other stages must do (users name this case first)."""
    scenario = Scenario(replace(CONTROL, startup_prior_s=1.0))
    scenario.stage(1, input_bytes=1000)
    scenario.tell([scenario.started(0, 0)])
    orders = []
    for step in range(1, 100):
        scenario.now_s = step / 5
        orders += scenario.tell().orders.get(SOURCE, [])
    copies = [order for order in orders if isinstance(order, LaunchCopy)]
    assert copies
    assert copies[0].host != "h0"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"barrier": True}, Reason.BARRIER),
        ({"pipelined": True}, Reason.PIPELINED),
        ({"streaming": True}, Reason.STREAMING),
        ({"copies_enabled": False}, Reason.OPTED_OUT),
        ({"kind": "result", "action": "foreachPartition"}, Reason.UNSAFE_OUTPUT),
        ({"kind": "result", "action": "save", "writer": "org.elasticsearch.spark.rdd.EsSpark"}, Reason.UNKNOWN_OUTPUT),
    ],
)
def test_stages_that_may_not_run_twice_are_never_copied(fields, reason):
    """The write-safety gate comes before any policy, and even before an operator."""
    scenario = Scenario()
    scenario.stage(8, input_bytes=1000, **fields)
    scenario.start_all(8)
    assert scenario.go_on(3, 8, 5.0) == []
    wish = CopyWish(source=SOURCE, stage=1, stage_attempt=0, index=3)
    decision = scenario.handle(wish)
    assert not decision.orders
    assert decision.records[-1].reason is reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"job_copy_share": 0.0}, Reason.NO_BUDGET_JOB),
        ({"pool_copy_share": 0.0}, Reason.NO_BUDGET_POOL),
        ({"cluster_copy_share": 0.0}, Reason.NO_BUDGET_CLUSTER),
        ({"max_copies_per_task": 0}, Reason.HOST_CANNOT),
    ],
)
def test_budgets_are_hard(change, reason):
    """Whatever a policy wants, the budget's no stands and is recorded."""
    scenario = Scenario(replace(CONTROL, **change))
    assert scenario.run_with_straggler() == []
    assert reason in refusals(scenario)


def test_losing_copies_use_up_their_share():
    """Copies that lose cost core-seconds; past the share there are no more."""
    scenario = Scenario(replace(CONTROL, losing_share=0.01, losing_allowance_core_s=0.5))
    copies = scenario.run_with_straggler(slow=3)
    lost = scenario.started(100, 0, index=3, speculative=True, order=copies[0].order)
    scenario.tell([lost])
    scenario.now_s += 1.0
    scenario.tell([scenario.ended(100, 1.0, index=3, outcome=f.Outcome.KILLED, speculative=True)])
    assert scenario.go_on(3, 8, 3.0) == []
    assert Reason.NO_BUDGET_WASTE in refusals(scenario)


def test_a_host_that_cannot_copy_is_not_asked():
    """Capabilities are declared at attach; admission refuses the rest."""
    scenario = Scenario(capabilities=f.Capabilities())
    assert scenario.run_with_straggler() == []
    assert Reason.HOST_CANNOT in refusals(scenario)


def test_shadow_records_once_and_orders_nothing():
    """What control would have done is one record, with what it would have saved once the task has ended."""
    scenario = Scenario(replace(CONTROL, mode=f.Mode.SHADOW))
    assert scenario.run_with_straggler(seconds=8.0) == []
    assert all(not decision.orders and not decision.claims.get(SOURCE) for decision in scenario.decisions)
    launches = [r for r in scenario.records() if r.action is Action.LAUNCH_COPY]
    assert len(launches) == 1
    scenario.now_s = 33.0
    outcome = scenario.tell([scenario.ended(3, 33.0, bytes_read=1000)]).outcomes[0]
    assert (outcome.decision, outcome.result) == (launches[0].id, Result.SHADOW)
    assert 20 < outcome.saved_s < 33


def test_shadow_keeps_to_the_budgets():
    """What it says control would do must be what control could do: one copy where one may run."""
    scenario = Scenario(replace(CONTROL, mode=f.Mode.SHADOW, pool_copy_share=1 / 16), slots=4)
    scenario.stage(16, input_bytes=1000)
    scenario.start_all(16)
    for step in range(1, 60):
        scenario.now_s = step / 10
        over = range(8) if step == 34 else ()
        read = {i: round((300 if i < 8 else 30) * scenario.now_s) for i in range(16) if i >= 8 or step < 34}
        scenario.tell([scenario.ended(i, scenario.now_s, bytes_read=1000) for i in over], progress=read)
    assert len([one for one in scenario.records() if one.action is Action.LAUNCH_COPY]) == 1
    assert Reason.NO_BUDGET_POOL in {one for index in range(8, 16) for one in refusals(scenario, index)}


@pytest.mark.parametrize("user_mode", [f.Mode.OFF, f.Mode.SHADOW])
def test_the_lower_mode_counts(user_mode):
    """A user who allows less than the server gets less."""
    scenario = Scenario(user_mode=user_mode)
    assert scenario.run_with_straggler() == []
    assert scenario.decisions[-1].modes[SOURCE] is user_mode


def with_copy(scenario: Scenario) -> LaunchCopy:
    """Lets a straggler get its copy, as attempt 100 on the ordered host."""
    copy = scenario.run_with_straggler(slow=3)[0]
    scenario.tell(
        [scenario.started(100, int(copy.host[1:]), index=3, speculative=True, order=copy.order, attempt_number=1)]
    )
    return copy


def test_a_winning_copy_is_credited_with_what_the_original_still_needed():
    """Effectiveness figures from day one: won, and an estimate of what it saved."""
    scenario = Scenario()
    with_copy(scenario)
    scenario.now_s += 3.0
    decision = scenario.tell(
        [scenario.ended(100, 3.0, index=3, speculative=True), scenario.ended(3, 7.0, outcome=f.Outcome.KILLED)]
    )
    won = next(o for o in decision.outcomes if o.result is Result.WON)
    assert won.saved_s > 10
    job = scenario.scheduler.cluster.jobs
    assert (job.copies_launched[0], job.copies_won[0], job.copies_lost[0]) == (1, 1, 0)


def test_a_losing_copy_is_charged():
    """The loser is no failure, and its core-seconds are counted."""
    scenario = Scenario()
    with_copy(scenario)
    scenario.now_s += 3.0
    facts = [scenario.ended(3, 7.0), scenario.ended(100, 3.0, index=3, outcome=f.Outcome.KILLED, speculative=True)]
    lost = next(o for o in scenario.tell(facts).outcomes if o.result is Result.LOST)
    assert lost.cost_core_s == 3.0
    assert scenario.scheduler.cluster.pools.losing_core_s[0] == 3.0


def test_an_attempt_costs_as_many_core_seconds_a_second_as_its_stage_asked_cores_for():
    """`spark.task.cpus` of 2 makes a lost copy twice as dear, and all other time, too."""
    scenario = Scenario()
    with_copy(scenario)
    pools, before_s = scenario.scheduler.cluster.pools, scenario.scheduler.cluster.pools.total_core_s[0]
    scenario.tell([f.ResourceRequested(request=1, count=8, job="job", stage=1, stage_attempt=0, cores=2)])
    scenario.now_s += 3.0
    facts = [scenario.ended(3, 7.0), scenario.ended(100, 3.0, index=3, outcome=f.Outcome.KILLED, speculative=True)]
    lost = next(o for o in scenario.tell(facts).outcomes if o.result is Result.LOST)
    assert lost.cost_core_s == 6.0
    assert pools.losing_core_s[0] == 6.0
    assert pools.total_core_s[0] - before_s == 20.0


def test_the_kill_switch_ends_copies_and_never_a_last_attempt():
    """Off means off at once, but no task is left without an attempt."""
    scenario = Scenario()
    with_copy(scenario)
    kills = [o for o in scenario.handle(ModeSet(mode=f.Mode.OFF)).orders[SOURCE] if isinstance(o, KillAttempt)]
    assert [kill.attempt for kill in kills] == [100]
    scenario.now_s += 1.0
    assert not scenario.tell().orders
    scenario.now_s += 2.0
    assert [order.attempt for order in scenario.tell().orders[SOURCE]] == [100]
    scenario.tell([scenario.ended(3, 8.0, outcome=f.Outcome.LOST)])
    scenario.now_s += 3.0
    assert not scenario.tell().orders
    assert scenario.go_on(3, 8, 2.0) == []


def test_the_kill_switch_is_silent_about_what_it_leaves_alive():
    """Of two copies without an original one dies; that the other must live is no news, cycle after cycle."""
    scenario = Scenario()
    copy = with_copy(scenario)
    second = scenario.started(101, 1, index=3, speculative=True, order=copy.order, attempt_number=2)
    scenario.tell([second, scenario.ended(3, 8.0, outcome=f.Outcome.LOST)])
    kills = [o for o in scenario.handle(ModeSet(mode=f.Mode.OFF)).orders[SOURCE] if isinstance(o, KillAttempt)]
    assert len(kills) == 1
    assert not [one for _ in range(5) for one in scenario.tell().records if one.action is Action.KILL_ATTEMPT]


def test_the_kill_switch_catches_a_copy_that_is_reported_late():
    """A copy that started just before the switch is no reason to leave one running after it."""
    scenario = Scenario()
    copy = scenario.run_with_straggler(slow=3)[0]
    assert not scenario.handle(ModeSet(mode=f.Mode.OFF)).orders
    late = scenario.started(100, int(copy.host[1:]), index=3, speculative=True, order=copy.order, attempt_number=1)
    assert [kill.attempt for kill in scenario.tell([late]).orders[SOURCE]] == [100]


def test_the_kill_switch_leaves_the_hosts_own_copies_alone():
    """What stock speculation launched is not ours to end."""
    scenario = Scenario()
    scenario.run_with_straggler(slow=3, seconds=0.1)
    scenario.tell([scenario.started(100, 0, index=3, speculative=True, attempt_number=1)])
    assert not scenario.handle(ModeSet(mode=f.Mode.OFF)).orders


@pytest.mark.parametrize("mode", [f.Mode.SHADOW, f.Mode.OFF])
def test_an_operator_kills_nothing_outside_control(mode):
    """Shadow orders nothing, and off is off: the wish is answered with its reason."""
    scenario = Scenario()
    with_copy(scenario)
    scenario.handle(ModeSet(mode=mode))
    decision = scenario.handle(KillWish(source=SOURCE, attempt=3))
    assert not decision.orders
    assert decision.records[-1].reason is Reason.MODE


def test_an_operator_cannot_kill_both_attempts_in_one_cycle():
    """Two wishes at once must not add up to a dead task."""
    scenario = Scenario()
    with_copy(scenario)
    decision = scenario.handle(KillWish(source=SOURCE, attempt=3), KillWish(source=SOURCE, attempt=100))
    assert [order.attempt for order in decision.orders[SOURCE]] == [3]
    assert decision.records[-1].reason is Reason.LAST_ATTEMPT


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
    scenario.go_on(3, 8, 0.8)
    assert reason_of(scenario, 3) == "left_alone"


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


def test_a_job_that_comes_again_is_granted_again():
    """Its host has dropped the grant with the job that ended, though the target is what it was."""
    scenario = Scenario()
    scenario.stage(20)
    scenario.now_s = 0.5
    again = [f.JobEnded(job="job"), f.JobSubmitted(job="job")]
    stage = f.StageSubmitted(job="job", stage=2, stage_attempt=0, n_tasks=20, kind="shuffle_map")
    orders = scenario.tell([*again, stage]).orders[SOURCE]
    assert [order.job for order in orders if isinstance(order, ContainerGrant)] == ["job"]


def test_an_operators_copy_in_shadow_is_recorded_though_the_policy_wants_it_too():
    """Who asks over REST is told which decision came of it."""
    scenario = Scenario(user_mode=f.Mode.SHADOW)
    scenario.run_with_straggler()
    wish = CopyWish(source=SOURCE, stage=1, stage_attempt=0, index=3)
    told = [(record.action, record.reason, record.order) for record in scenario.handle(wish).records]
    assert (Action.LAUNCH_COPY, Reason.OPERATOR, 0) in told


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
    assert again.learning.remaining.history.get("stage 1") is not None


def test_a_snapshot_is_plain_json():
    """What state:dump returns can be read back into the same structs."""
    scenario = Scenario()
    with_copy(scenario)
    snapshot = scenario.scheduler.snapshot(scenario.now_s)
    again = msgspec.json.decode(msgspec.json.encode(snapshot), type=type(snapshot))
    assert again == snapshot
    assert snapshot.pools[0].jobs[0].n_copies == 1
    assert {attempt.attempt for attempt in snapshot.pools[0].attempts} == {3, 100}


def test_lost_orders_do_not_block_a_task_for_good():
    """Replies get lost; after each expiry the straggler must get another chance."""
    scenario = Scenario()
    scenario.stage(8, input_bytes=1000)
    scenario.start_all(8)
    assert len(scenario.go_on(3, 8, 30.0)) >= 3


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


def test_kills_of_two_cycles_never_add_up_to_a_dead_task():
    """An order that is still on its way counts: the other attempt is then the last."""
    scenario = Scenario()
    with_copy(scenario)
    assert scenario.handle(KillWish(source=SOURCE, attempt=3)).orders
    scenario.now_s += 0.05
    decision = scenario.handle(ModeSet(mode=f.Mode.OFF), KillWish(source=SOURCE, attempt=100))
    assert not decision.orders


def test_a_stage_that_nobody_judged_is_not_safe():
    """If a cycle fails between a stage's arrival and its verdict, the stage must not count as safe."""
    scenario = Scenario()
    scenario.stage(2)
    row = scenario.scheduler.cluster.stages.add()
    assert scenario.scheduler.cluster.stages.verdict[row] == Reason.UNKNOWN_OUTPUT


def test_a_kill_that_was_carried_out_is_not_ordered_again_while_the_attempt_dies():
    """A Python worker takes its time to end; saying it again would only fill the log."""
    scenario = Scenario()
    with_copy(scenario)
    kill = scenario.handle(ModeSet(mode=f.Mode.OFF)).orders[SOURCE][0]
    scenario.now_s += 0.1
    scenario.tell([f.OrderOutcome(order=kill.order, result=f.OrderResult.APPLIED, attempt=100)])
    scenario.now_s += 1.0
    assert not scenario.tell().orders
