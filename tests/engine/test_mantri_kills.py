"""Do Mantri's kills become orders that keep the laws: the new attempt first, then the old one's end?"""

from dataclasses import replace

import pytest

from controlplane.model import facts as f
from controlplane.model.orders import KillAttempt, LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason
from tests.scenario import Scenario, orders

pytestmark = pytest.mark.unit
CONTROL = EngineSettings(
    mode=f.Mode.CONTROL, allocator="fair", speculator="mantri", speculator_settings={"kill_margin_s": 5.0},
    pool_copy_share=1.0, job_copy_share=1.0, order_ttl_ms=60_000,
)  # fmt: skip
NO_KILLS = f.Capabilities(max_copies=4, named_host=True, order_pending=True)


def with_a_straggler(n_tasks: int, **scenario) -> tuple[Scenario, list]:
    """Two slots; task 0 has taken a second, task 1 reads 30 bytes/s of 1,000, task 2 runs; and what is ordered."""
    found = Scenario(replace(CONTROL), hosts=2, slots=1, **scenario)
    found.stage(n_tasks, input_bytes=1000)
    found.tell([found.started(0, 0), found.started(1, 1)])
    given = []
    for step in range(1, 31):
        found.now_s = step / 10
        facts = []
        if step == 10:
            facts = [found.ended(0, 1.0, bytes_read=1000)] + [found.started(2, 0)] * (n_tasks > 2)
        given += orders(found.tell(facts, progress={1: 3 * step}))
    return found, given


def test_in_a_full_pool_a_straggler_starts_anew_before_those_who_wait():
    """Task 3 waits, both slots are busy, and the job holds its target: the new attempt takes the next slot."""
    scenario, given = with_a_straggler(4)
    assert [(type(order), order.index, order.before_waiting) for order in given] == [(LaunchCopy, 1, True)]
    assert [r.reason for r in scenario.records() if r.action is Action.LAUNCH_COPY] == [Reason.ENDS_SOONER_ANEW]
    new = scenario.started(3, 0, index=1, speculative=True, order=given[0].order, attempt_number=1)
    (kill,) = orders(scenario.tell([scenario.ended(2, 2.0, bytes_read=1000), new], progress={1: 93}))
    assert (kill.attempt, kill.index) == (1, 1)
    assert [r.reason for r in scenario.records() if r.action is Action.KILL_ATTEMPT] == [Reason.REPLACED]


def test_without_originals_that_wait_a_full_pool_restarts_as_well():
    """All slots are busy with the job's last two tasks, and its target is full."""
    _, given = with_a_straggler(3)
    assert [order.index for order in given] == [1]


def test_with_a_free_slot_it_is_a_copy_and_no_restart():
    """Nobody holds the other slot, so nothing has to die for it."""
    scenario, given = with_a_straggler(2)
    assert [order.index for order in given] == [1]
    assert [r.reason for r in scenario.records() if r.action is Action.LAUNCH_COPY] == [Reason.LIKELY_SAVES]


def test_a_host_that_cannot_kill_is_asked_for_no_restart():
    """There the old attempt would run on, and hold two slots of a full pool."""
    scenario, given = with_a_straggler(4, capabilities=NO_KILLS)
    assert given == []
    assert Reason.HOST_CANNOT in {r.reason for r in scenario.records() if r.action is Action.REFUSE_COPY}


@pytest.mark.parametrize(("read", "killed"), [(500, [1]), (35, [])])
def test_an_original_ends_that_its_copy_beats_by_far(read, killed):
    """After a second the copy has read half, and ends half a minute before its original; or it is no faster."""
    scenario, (launch, *_) = with_a_straggler(2)
    scenario.tell([scenario.started(3, 0, index=1, speculative=True, order=launch.order, attempt_number=1)])
    given = []
    for step in range(1, 11):
        scenario.now_s += 0.1
        given += orders(scenario.tell(progress={1: 90 + 3 * step, 3: read * step // 10}))
    kills = [order for order in given if isinstance(order, KillAttempt)]
    assert [order.attempt for order in kills] == killed
    assert all((order.stage, order.stage_attempt, order.index) == (1, 0, 1) for order in kills)
    reasons = {r.reason for r in scenario.records() if r.action is Action.KILL_ATTEMPT}
    assert reasons == ({Reason.BEATEN} if killed else set())


@pytest.mark.parametrize("fields", [{"copies_enabled": False}, {"kind": "result", "action": "foreachPartition"}])
def test_what_may_not_be_copied_keeps_the_copies_that_its_host_made(fields):
    """They are none of ours, however long one of them may take."""
    scenario = Scenario(CONTROL, hosts=2, slots=1)
    scenario.stage(2, input_bytes=1000, **fields)
    scenario.tell([scenario.started(0, 0), scenario.started(1, 1)])
    scenario.now_s = 1.0
    scenario.tell([scenario.ended(0, 1.0, bytes_read=1000)], progress={1: 30})
    given = orders(scenario.tell([scenario.started(3, 0, index=1, speculative=True, attempt_number=1)]))
    for step in range(1, 11):
        scenario.now_s += 0.1
        given += orders(scenario.tell(progress={1: 30 + 3 * step, 3: 50 * step}))
    assert given == []


def test_the_end_of_a_beaten_attempt_is_ordered_once():
    """Until it has ended, or the order is lost."""
    scenario, (launch, *_) = with_a_straggler(2)
    scenario.tell([scenario.started(3, 0, index=1, speculative=True, order=launch.order, attempt_number=1)])
    kills = 0
    for step in range(1, 20):
        scenario.now_s += 0.1
        kills += len(orders(scenario.tell(progress={1: 90 + 3 * step, 3: 50 * step})))
    assert kills == 1
