"""Do decisions tell what a copy gains and its price, and does a task remember what its copies have shown?"""

import msgspec
import pytest
from msgspec.structs import replace

from controlplane.engine.decide import decide, read_snapshot
from controlplane.model import facts as f
from controlplane.model.orders import LaunchCopy
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import Action, Reason, sentence
from tests.scenario import Scenario, orders

pytestmark = pytest.mark.unit
PAIR = {"allocator": "unified", "speculator": "unified"}
SLOW, RATES = 3, {0: 300, 1: 320, 2: 310, 3: 20}
"""The straggler, and bytes per second of four tasks of 1,000 bytes."""


@pytest.fixture
def straggling():
    """Four tasks on eight slots for two seconds, one of them far behind; everything may be copied."""
    scenario = Scenario(EngineSettings(mode=f.Mode.SHADOW, **PAIR), hosts=4)
    scenario.stage(4, input_bytes=1000)
    scenario.tell([scenario.started(at, at) for at in RATES])
    for scenario.now_s in (0.5, 1.0, 1.5, 2.0):
        scenario.tell(progress={at: round(rate * scenario.now_s) for at, rate in RATES.items()})
    return scenario


def control(scenario):
    """The same under control."""
    scenario.scheduler.configure(EngineSettings(mode=f.Mode.CONTROL, **PAIR))
    scenario.now_s = 2.5
    return scenario.tell(progress={at: round(rate * scenario.now_s) for at, rate in RATES.items()})


def test_a_copy_comes_with_its_gain_and_its_price(straggling):
    """On idle slots nobody pays for it."""
    assert [order.index for order in orders(control(straggling)) if isinstance(order, LaunchCopy)] == [SLOW]
    *_, record = [r for r in straggling.records() if r.action is Action.LAUNCH_COPY and r.reason]
    assert record.reason is Reason.WORTH_ITS_PRICE
    assert record.inputs["gain"] > 10.0
    assert record.inputs["price"] == 0.0
    saved = f"A copy saves {record.inputs['gain']:.1f} job-seconds at no price: "
    assert sentence(record.reason, record.inputs).startswith(saved)


def test_the_state_tells_both_and_what_copies_have_shown(straggling):
    """By a dump in which one was as slow, nobody copies the task again; RAS, which does not ask, does."""
    dump = read_snapshot(msgspec.json.encode(straggling.scheduler.snapshot(straggling.now_s)))
    (pool,) = dump.pools
    (task,) = [task for task in pool.tasks if task.index == SLOW]
    assert {"gain", "price"} <= task.inputs.keys()
    pool = replace(pool, kept_slowness=0.5, tasks=[replace(each, likeness=4.0) for each in pool.tasks])
    for policy, copied in (("unified+unified", []), ("srpt+ras", [SLOW])):
        (advice,) = decide(replace(dump, pools=[pool]), policy, straggling.scheduler.settings).pools
        assert [each.index for each in advice.copies] == copied


@pytest.mark.parametrize(("copy_rate", "is_like"), [(22, True), (300, False)])
def test_a_task_remembers_how_its_copy_went(straggling, copy_rate, is_like):
    """Also after the copy has ended."""
    control(straggling)
    started = straggling.started(10, 0, index=SLOW, speculative=True, attempt_number=1)
    straggling.tell([started])
    for straggling.now_s in (3.0, 3.5, 4.0):
        slow = round(RATES[SLOW] * straggling.now_s)
        straggling.tell(progress={SLOW: slow, 10: round(copy_rate * (straggling.now_s - 2.5))})
    straggling.tell([straggling.ended(10, 1.5, index=SLOW, outcome=f.Outcome.KILLED)])
    straggling.now_s = 4.5
    straggling.tell(progress={SLOW: 95})
    tasks = straggling.scheduler.cluster.tasks
    (likeness,) = tasks.likeness[tasks.rows()][tasks.index[tasks.rows()] == SLOW]
    assert likeness > 1.0 if is_like else likeness < -1.0
