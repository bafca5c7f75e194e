"""Do modes, budgets, write safety and the kill switch hold, whatever a policy wants?"""

from dataclasses import replace

import numpy as np
import pytest

from controlplane.engine.rooms import job_rooms
from controlplane.model import facts as f
from controlplane.model.columns import Jobs, Pools
from controlplane.model.decisions import CopyWish, KillWish, ModeSet, Result
from controlplane.model.errors import BadSetting
from controlplane.model.orders import KillAttempt, LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason
from tests.scenario import SOURCE, Scenario, orders, with_copy

pytestmark = pytest.mark.unit
CONTROL = EngineSettings(mode=f.Mode.CONTROL)


def refusals(scenario: Scenario, index: int = 3) -> set[Reason]:
    """Reasons recorded against copies of one task."""
    return {r.reason for r in scenario.records() if r.action is Action.REFUSE_COPY and r.index == index}


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


def test_a_job_that_opted_out_is_never_copied_whatever_its_stages_say():
    """`spark.grasshopper.copies.enabled=false` on the job is enough, and its target has no slots for copies.

    Eight tasks that all run could fill sixteen slots with copies; without them the job can use eight.
    """
    scenario = Scenario(slots=4)
    scenario.tell([f.JobSubmitted(job="job", copies_enabled=False)])
    assert scenario.run_with_straggler(seconds=3.0) == []
    cluster = scenario.scheduler.cluster
    assert cluster.jobs.target[cluster.sources[SOURCE].jobs["job"]] == 8
    assert refusals(scenario) == {Reason.OPTED_OUT}
    decision = scenario.handle(CopyWish(source=SOURCE, stage=1, stage_attempt=0, index=3))
    assert not decision.orders
    assert decision.records[-1].reason is Reason.OPTED_OUT


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


def test_a_job_whose_budget_is_used_up_keeps_no_other_job_from_copies():
    """Each may have one copy; two tasks of the first one straggle, and one of the second does by less."""
    scenario = Scenario(replace(CONTROL, job_copy_share=1 / 16, pool_copy_share=1.0, cluster_copy_share=1.0), slots=4)
    for stage in (1, 2):
        scenario.stage(4, job=f"job {stage}", stage=stage, input_bytes=1000)
    scenario.tell([scenario.started(i, i % 4, index=i % 4, stage=1 + i // 4) for i in range(8)])
    slow, copied = {0: 3, 1: 3, 4: 30}, []
    for second in range(1, 4):
        scenario.now_s = float(second)
        copied += orders(scenario.tell(progress={i: slow.get(i, 300) * second for i in range(8)}))
    assert sorted(copy.stage for copy in copied) == [1, 2]


def test_losing_copies_use_up_their_share():
    """Copies that lose cost core-seconds; past the share there are no more."""
    scenario = Scenario(replace(CONTROL, losing_share=0.01, losing_allowance_tasks=0.01))
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


def test_a_winning_copy_is_credited_with_what_the_original_still_needed():
    """An estimate: a heavy tail says many times the original's 7 s, and half of it ends within as long again."""
    scenario = Scenario()
    with_copy(scenario)
    scenario.now_s += 3.0
    decision = scenario.tell(
        [scenario.ended(100, 3.0, index=3, speculative=True), scenario.ended(3, 7.0, outcome=f.Outcome.KILLED)]
    )
    won = next(o for o in decision.outcomes if o.result is Result.WON)
    assert (won.saved_s, won.cost_core_s) == (7.0, 0.0)
    job = scenario.scheduler.cluster.jobs
    assert (job.copies_launched[0], job.copies_won[0], job.copies_lost[0]) == (1, 1, 0)


def test_a_source_that_has_gone_takes_nobody_elses_copies_along():
    scenario = Scenario()
    with_copy(scenario)
    scenario.tell([scenario.attached], source="spark:other", full=True)
    scenario.scheduler.forget("spark:other", scenario.now_s)
    scenario.now_s += 3.0
    ended = scenario.tell([scenario.ended(100, 3.0, index=3, speculative=True)])
    assert [one.result for one in ended.outcomes if one.attempt == 100] == [Result.WON]


def test_a_losing_copy_is_charged():
    """The loser is no failure, and its core-seconds are counted."""
    scenario = Scenario()
    with_copy(scenario)
    scenario.now_s += 3.0
    facts = [scenario.ended(3, 7.0), scenario.ended(100, 3.0, index=3, outcome=f.Outcome.KILLED, speculative=True)]
    lost = next(o for o in scenario.tell(facts).outcomes if o.result is Result.LOST)
    assert lost.cost_core_s == 3.0
    cluster = scenario.scheduler.cluster
    assert (cluster.pools.losing_core_s[0], cluster.jobs.losing_core_s[0]) == (3.0, 3.0)


def test_a_losing_copy_of_the_host_s_own_is_not_charged_to_our_budget():
    """Where stock speculation wastes slots, ours must not be the one that may do nothing any more."""
    scenario = Scenario()
    scenario.stage(8, input_bytes=1000)
    scenario.start_all(8)
    scenario.tell([scenario.started(100, 0, index=3, speculative=True)])
    scenario.now_s = 3.0
    scenario.tell(
        [scenario.ended(3, 3.0), scenario.ended(100, 3.0, index=3, outcome=f.Outcome.KILLED, speculative=True)]
    )
    cluster = scenario.scheduler.cluster
    assert cluster.jobs.copies_lost[0] == 1
    assert (cluster.jobs.losing_core_s[0], cluster.pools.losing_core_s[0]) == (0.0, 0.0)
    assert cluster.pools.total_core_s[0] == 6.0


def test_a_copy_that_starts_is_no_longer_one_that_is_ordered():
    """Else it would count twice in every budget, for as long as its order lives."""
    scenario = Scenario()
    scenario.run_with_straggler(slow=3)
    tasks = scenario.scheduler.cluster.tasks
    task = scenario.scheduler.cluster.stage_infos[0].task_rows[3]
    assert (tasks.ordered_copies[task], tasks.n_copies[task]) == (1, 0)
    (copy,) = [o for one in scenario.decisions for o in one.orders.get(SOURCE, []) if isinstance(o, LaunchCopy)]
    scenario.tell([scenario.started(100, int(copy.host[1:]), index=3, speculative=True, order=copy.order)])
    assert (tasks.ordered_copies[task], tasks.n_copies[task]) == (0, 1)


def test_copies_that_are_ordered_count_against_the_most_of_a_task():
    """An operator who asks for three gets the two that may run; they need not have started to be two."""
    scenario = Scenario(
        replace(CONTROL, max_copies_per_task=2, job_copy_share=1.0, pool_copy_share=1.0, cluster_copy_share=1.0)
    )
    scenario.stage(2)
    scenario.start_all(2)
    decision = scenario.handle(CopyWish(source=SOURCE, stage=1, stage_attempt=0, index=0, copies=3))
    assert [r.reason for r in decision.records if r.index == 0] == [*[Reason.OPERATOR] * 2, Reason.ALREADY_COPIED]


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
    assert [(kill.attempt, kill.stage, kill.stage_attempt, kill.index) for kill in kills] == [(100, 1, 0, 3)]
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


def test_that_the_mode_is_off_is_recorded_once_a_job():
    """However many tasks run, one after the other, and again only after it was not: decisions must stay in sight."""
    scenario = Scenario()
    scenario.run_with_straggler()

    def jobs_noted(stage):
        before = len(scenario.records())
        scenario.handle(ModeSet(mode=f.Mode.OFF))
        for first in (0, 2):
            scenario.tell([scenario.started(100 * stage + i, i, index=i, stage=stage) for i in (first, first + 1)])
            scenario.now_s += 1.0
            scenario.tell([scenario.ended(100 * stage + first, 1.0, index=first, stage=stage)])
        told = [r for r in scenario.records()[before:] if r.reason is Reason.MODE]
        states = [task for task in scenario.scheduler.snapshot(scenario.now_s).pools[0].tasks if task.stage == stage]
        assert {task.reason for task in states} == {Reason.MODE.label}
        return [(r.job, r.index) for r in told]

    scenario.stage(4, job="other", stage=2)
    assert sorted(jobs_noted(stage=2)) == [("job", -1), ("other", -1)]
    scenario.handle(ModeSet(mode=f.Mode.CONTROL))
    scenario.now_s += 1.0
    scenario.tell()
    scenario.stage(4, job="other", stage=3)
    assert ("other", -1) in jobs_noted(stage=3)


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


@pytest.mark.parametrize("mode", [f.Mode.OFF, f.Mode.SHADOW])
def test_shadow_copies_take_no_budget_from_real_ones(mode):
    """The pool may have one copy; the first job's user allows none, so the second job gets it."""
    scenario = Scenario(replace(CONTROL, job_copy_share=1.0, pool_copy_share=1 / 16, cluster_copy_share=1.0), slots=4)
    scenario.tell([f.JobSubmitted(job="job 1", mode=mode), f.JobSubmitted(job="job 2")])
    for stage in (1, 2):
        scenario.stage(4, job=f"job {stage}", stage=stage, input_bytes=1000)
    scenario.tell([scenario.started(i, i % 4, index=i % 4, stage=1 + i // 4) for i in range(8)])
    slow, copied = {0: 3, 4: 30}, []
    for second in range(1, 4):
        scenario.now_s = float(second)
        copied += orders(scenario.tell(progress={i: slow.get(i, 300) * second for i in range(8)}))
    assert [copy.stage for copy in copied] == [2]
    shadow = [r for r in scenario.records() if r.job == "job 1" and r.action is Action.LAUNCH_COPY]
    assert [(r.mode, r.order) for r in shadow] == [(mode, 0)] * (mode is f.Mode.SHADOW)
    grants = {(r.job, r.mode) for r in scenario.records() if r.action is Action.GRANT}
    assert grants == {("job 1", mode), ("job 2", f.Mode.CONTROL)}


def test_a_job_that_is_off_is_refused_once():
    """However many tasks it has, and in however many cycles they are looked at."""
    scenario = Scenario(CONTROL)
    scenario.tell([f.JobSubmitted(job="job", mode=f.Mode.OFF)])
    scenario.stage(8, input_bytes=1000)
    for first in (0, 4):
        scenario.tell([scenario.started(i, i % 4) for i in range(first, first + 4)])
        scenario.now_s += 1.0
        assert not orders(scenario.tell(progress=dict.fromkeys(range(first + 4), 10)))
    assert [r.reason for r in scenario.records() if r.action is Action.REFUSE_COPY] == [Reason.MODE]


def test_settings_of_a_copy_budget_that_is_not_set_are_refused():
    """By name, as those of any policy that has no such setting."""
    with pytest.raises(BadSetting, match=r"copy_budget_settings\.x"):
        Scenario(EngineSettings(copy_budget_settings={"x": 1.0}))


def test_no_copy_is_queued_beyond_the_copies_share():
    """Of ten slots nine are for originals: with a copy on the tenth, the next free one is an original's."""
    jobs = Jobs()
    jobs.add(target=10, originals=9, before_waiting=True)
    for running, copies, room in ((9, 1, 0), (9, 0, 1)):
        counts = (np.array([each]) for each in (running, 1, copies, 0))
        rooms, *_ = job_rooms(jobs.reported[:1], jobs.decided, jobs.scratch, Pools().scratch, *counts)
        assert rooms[0].tolist() == [room]


def test_a_speculator_sees_the_copies_of_its_pool_that_are_ordered_or_run():
    """LATE has a tenth of the slots, one copy here: of two stragglers only one gets it."""
    scenario, ordered = Scenario(replace(CONTROL, speculator="late"), slots=4), []
    scenario.stage(8, input_bytes=1000)
    scenario.start_all(8)
    for step in range(1, 33):
        scenario.now_s = step / 10
        read = {index: round((30 if index in (2, 3) else 300) * scenario.now_s) for index in range(8)}
        ordered += orders(scenario.tell(progress=read))
    assert {order.index for order in ordered} == {2}
