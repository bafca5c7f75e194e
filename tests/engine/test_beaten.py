"""Are beaten attempts ended by orders that keep the laws, and by no others?"""

from dataclasses import replace

import pytest

from controlplane.deciding.asking import ask_speculator
from controlplane.model import facts as f
from controlplane.model.decisions import KillWish
from controlplane.model.orders import KillAttempt
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason, sentence
from tests.scenario import SOURCE, Scenario, orders

pytestmark = pytest.mark.unit
KEEP = EngineSettings(mode=f.Mode.CONTROL, allocator="fair", speculator="late")
END = replace(KEEP, speculator_settings={"end_beaten": 1.0})
RATES = {0: 10, 10: 11, 20: 100}
"""Bytes per second of the three attempts of a task of 1,000."""


@pytest.fixture
def racing():
    """Three attempts of a task run for three seconds; nothing is ended yet."""
    scenario = Scenario(KEEP, hosts=4)
    scenario.stage(1, input_bytes=1000)
    scenario.tell([scenario.started(0, 0)])
    copies = [(10, 1), (20, 2)]
    scenario.tell([scenario.started(at, host, index=0, speculative=True) for at, host in copies])
    for scenario.now_s in (1.0, 2.0, 3.0):
        assert orders(scenario.tell(progress={at: round(rate * scenario.now_s) for at, rate in RATES.items()})) == []
    return scenario


def kills(decision):
    """Attempts that are ordered to end."""
    return [order.attempt for order in orders(decision) if isinstance(order, KillAttempt)]


def test_the_one_that_ends_last_is_ended_with_its_numbers(racing):
    """One at a time: the next cycle looks again."""
    racing.scheduler.configure(END)
    racing.now_s = 3.5
    assert kills(racing.tell()) == [0]
    (record,) = [r for r in racing.records() if r.action is Action.KILL_ATTEMPT]
    assert record.reason is Reason.BEATEN
    assert sentence(record.reason, record.inputs).startswith("It needs 9")
    assert kills(racing.tell()) == []
    assert kills(racing.tell([racing.ended(0, 3.6, outcome=f.Outcome.KILLED)])) == [10]


@pytest.mark.parametrize(("most", "want"), [(50, [(KillAttempt, 0)]), (0, [])])
def test_no_copy_is_ordered_while_an_attempt_of_the_task_ends(racing, monkeypatch, most, want):
    """The attempt that is being ended, or will be in a later cycle, may be why another copy looks cheap."""

    def wants_both(code, seen, settings, answer):
        answer["end_last"], answer["copies"], answer["score"], answer["reason"] = True, 1, 1.0, Reason.SAVES_SLOT_TIME

    monkeypatch.setattr("controlplane.deciding.asking.speculate", wants_both)
    monkeypatch.setattr("controlplane.engine.speculation.call_speculator", ask_speculator)
    monkeypatch.setattr("controlplane.engine.speculation.ORDERS_PER_CYCLE", most)
    racing.scheduler.configure(replace(END, max_copies_per_task=3))
    given = []
    for racing.now_s in (3.5, 3.6):
        given += orders(racing.tell())
    assert [(type(order), order.attempt) for order in given] == want
    (pool,) = racing.scheduler.snapshot(racing.now_s).pools
    assert [task.reason for task in pool.tasks] == [Reason.LOOKED_AT_LATER.label]


def test_none_is_ended_because_of_one_that_is_ended_itself(racing):
    """An operator ends the best; of the other two neither beats the other by far."""
    racing.scheduler.configure(END)
    racing.now_s = 3.5
    assert kills(racing.handle(KillWish(source=SOURCE, attempt=20, reason="a test"))) == [20]
    racing.now_s = 4.0
    assert kills(racing.tell()) == []


def test_nobody_is_ended_in_shadow(racing):
    """There it would be recorded in every cycle, so it is not."""
    racing.scheduler.configure(replace(END, mode=f.Mode.SHADOW))
    racing.now_s = 3.5
    assert racing.tell().orders.get(SOURCE, []) == []
    assert not [r for r in racing.records() if r.action is Action.KILL_ATTEMPT]


def test_guessed_times_end_nobody():
    """Nothing counts these tasks' progress: that the older attempt is late says nothing of when it ends."""
    scenario = Scenario(END, hosts=4)
    scenario.stage(5)
    scenario.tell([scenario.started(at, at % 4) for at in range(5)])
    scenario.now_s = 1.0
    scenario.tell([scenario.ended(at, 1.0) for at in range(1, 5)])
    scenario.now_s = 10.0
    scenario.tell([scenario.started(10, 1, index=0, speculative=True)])
    for step in range(1, 90):
        scenario.now_s = 10.0 + step / 10
        assert kills(scenario.tell()) == []
