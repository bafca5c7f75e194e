"""Do jobs with a deadline get the copies that Shed+ wants, in one cycle, and are the beaten ones ended together?"""

from dataclasses import replace

import pytest

from controlplane.model import facts as f
from controlplane.model.orders import KillAttempt, LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import WHY_COPIED, Action, Reason, sentence
from tests.scenario import Scenario, orders

pytestmark = pytest.mark.unit

SETTINGS = EngineSettings(
    mode=f.Mode.CONTROL,
    allocator="fifo",
    speculator="shed-plus",
    speculator_settings={"slot_share": 1.0},
    max_copies_per_task=3,
    job_copy_share=1.0,
    pool_copy_share=1.0,
    cluster_copy_share=1.0,
)


def begun(deadline_ms: int, hosts: int = 6) -> Scenario:
    """Two tasks of 1,000 bytes run on the first two of some hosts with a slot each, in a job with a deadline."""
    scenario = Scenario(SETTINGS, hosts=hosts, slots=1)
    scenario.tell([f.JobSubmitted(job="job", deadline_ms=deadline_ms)])
    scenario.stage(2, input_bytes=1000)
    scenario.tell([scenario.started(0, 0), scenario.started(1, 1)])
    return scenario


def read(scenario: Scenario, rates: dict[int, float], until_s: float) -> list:
    """Attempts read this many bytes per second; returns the orders that were given, again once they expire."""
    given = []
    while scenario.now_s < until_s - 0.05:
        scenario.now_s = round(scenario.now_s + 0.1, 3)
        given += orders(scenario.tell(progress={at: round(rate * scenario.now_s) for at, rate in rates.items()}))
    return given


def test_a_straggler_gets_all_copies_that_are_spare_in_one_cycle():
    """One task reads 200 bytes per second and the other 20: it would end after 50 s, and has 20."""
    given = read(begun(20_000), {0: 200.0, 1: 20.0}, until_s=4.0)
    launched = [order for order in given if isinstance(order, LaunchCopy)]
    assert [order.index for order in launched[:3]] == [1, 1, 1]
    assert len({order.order for order in launched[:3]}) == 3


def test_the_decision_tells_what_the_copies_are_worth():
    """How much more likely the task is in time, and by how many attempts."""
    scenario = begun(20_000)
    read(scenario, {0: 200.0, 1: 20.0}, until_s=4.0)
    record = next(one for one in scenario.records() if one.action is Action.LAUNCH_COPY)
    assert record.reason is Reason.RAISES_POCD
    assert 0.0 < record.inputs["gain"] < 1.0
    assert record.inputs["price"] == 3.0
    assert "with 3 more attempts at once" in sentence(record.reason, record.inputs)
    refused = {one.reason for one in scenario.records() if one.action is Action.REFUSE_COPY}
    assert not refused & WHY_COPIED, "a copy that is launched is not refused, too"


def test_a_task_in_time_gets_none():
    """There are two minutes for 50 s of work."""
    assert read(begun(120_000), {0: 200.0, 1: 20.0}, until_s=4.0) == []


def test_one_attempt_is_kept_after_a_while_and_the_others_end_together():
    """Two copies run beside the original; a twentieth of the deadline later the fastest is left alone."""
    scenario = begun(20_000)
    scenario.tell([scenario.started(at, at - 8, index=1, speculative=True) for at in (10, 11)])
    given = read(scenario, {0: 50.0, 1: 20.0, 10: 25.0, 11: 120.0}, until_s=5.0)
    killed = [order.attempt for order in given if isinstance(order, KillAttempt)]
    assert sorted(killed[:2]) == [1, 10]
    assert 11 not in killed
    reasons = {one.reason for one in scenario.records() if one.action is Action.KILL_ATTEMPT}
    assert reasons == {Reason.NOT_KEPT}


def test_no_more_attempts_end_than_a_cycle_may_order(monkeypatch):
    """Two are beaten at once."""
    monkeypatch.setattr("controlplane.engine.speculation.ORDERS_PER_CYCLE", 1)
    scenario = begun(20_000)
    scenario.tell([scenario.started(at, at - 8, index=1, speculative=True) for at in (10, 11)])
    ended = []
    while scenario.now_s < 4.95:
        scenario.now_s = round(scenario.now_s + 0.1, 3)
        read_so_far = {at: round(rate * scenario.now_s) for at, rate in {0: 50.0, 1: 20.0, 10: 25.0, 11: 120.0}.items()}
        ended.append(sum(isinstance(one, KillAttempt) for one in orders(scenario.tell(progress=read_so_far))))
    assert max(ended) == 1


def test_an_attempt_that_has_shown_nothing_yet_saves_them_all():
    """The second copy may be the best."""
    scenario = begun(20_000)
    scenario.tell([scenario.started(at, at - 8, index=1, speculative=True) for at in (10, 11)])
    given = read(scenario, {0: 50.0, 1: 20.0, 10: 25.0}, until_s=5.0)
    assert not [order for order in given if isinstance(order, KillAttempt)]


def test_a_policy_that_ends_all_but_the_furthest_keeps_that_one():
    """The original has done most, though the copy will end first."""
    scenario = begun(20_000)
    settings = {"keep_furthest": 1.0}
    read(scenario, {0: 50.0, 1: 80.0}, until_s=3.0)
    scenario.tell([scenario.started(10, 2, index=1, speculative=True)])
    scenario.scheduler.configure(replace(SETTINGS, speculator_settings=settings))
    killed = []
    for _ in range(40):
        scenario.now_s = round(scenario.now_s + 0.1, 3)
        copied_s = scenario.now_s - 3.0
        done = {0: round(50 * scenario.now_s), 1: 240 + round(20 * copied_s), 10: round(70 * copied_s)}
        killed += [one.attempt for one in orders(scenario.tell(progress=done)) if isinstance(one, KillAttempt)]
    assert set(killed) == {10}
