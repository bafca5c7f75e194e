"""Do the modes keep their word on a real cluster? Off ends copies at once, shadow only records, users have a say."""

import time

import pytest

from tests.integration.driver import JOB_S
from tests.integration.plane_process import eventually

pytestmark = pytest.mark.integration
SQUARES = [n * n for n in range(8)]


@pytest.fixture
def ras(plane, driver):
    """A speculator that copies by itself, whatever copies have lost before; the mode is back at control afterwards."""
    with plane.policy(driver.source, "fair+ras"), plane.engine(losing_share=1.0):
        yield
        plane.set_mode("control")


def copies(plane, driver, group):
    """Live copies of a job."""
    return [attempt for attempt in plane.attempts(driver.source, group) if attempt["speculative"]]


def after_the_switch_ms(plane, decision):
    """The time from the newest change of mode, by the audit, to the first word of what came of a decision."""
    off_ms = max(entry["at_unix_ms"] for entry in plane.call("GET", "/audit")["items"] if entry["action"] == "mode")
    return round(decision["at_unix_ms"] + 1000 * decision["outcomes"][0]["after_s"] - off_ms)


def live_numbers(plane, driver, index):
    """The attempt numbers that run of one task; the original's is 0."""
    return [attempt["attempt_number"] for attempt in plane.attempts(driver.source, "switched", index)]


def stragglers(driver, group, gate, **more):
    """A job of eight tasks, two of which hang until the gate opens."""
    return driver.start("squares", group=group, tasks=8, held=[0, 1], gate=str(gate), **more)


def test_the_kill_switch_ends_copies_within_a_second_and_stops_new_ones(plane, driver, ras, gate, tmp_path):
    """Off is for the moment when somebody suspects us: it must work at once, and hurt no task."""
    job = stragglers(driver, "switched", gate, hold_copies=True)
    eventually(lambda: len(copies(plane, driver, "switched")) == 2, about=lambda: plane.pool(driver.source))
    original = next(a for a in plane.attempts(driver.source, "switched", 1) if not a["speculative"])
    plane.kill_attempt(original, driver.source)
    eventually(lambda: original["attempt"] not in [a["attempt"] for a in plane.attempts(driver.source, "switched")])
    began_s = time.monotonic()
    plane.set_mode("off")
    eventually(lambda: live_numbers(plane, driver, 0) == [0], about=lambda: plane.decisions(driver.source)[:5])
    print(f"copies were gone {time.monotonic() - began_s:.2f} s after the switch")
    kills = plane.decisions(driver.source, action="kill_attempt", reason="kill_switch")
    assert {kill["result"] for kill in kills} == {"applied"}
    carried_out_ms = [after_the_switch_ms(plane, kill) for kill in kills]
    print(f"kills were carried out {carried_out_ms} ms after the switch")
    assert max(carried_out_ms) < 1000
    assert len(live_numbers(plane, driver, 1)) == 1, "this task has lost its original, so one copy stays"

    other_gate = tmp_path / "other-gate"
    other = stragglers(driver, "while-off", other_gate)
    plane.running(driver.source, "while-off", 0)
    time.sleep(4)
    assert not copies(plane, driver, "while-off")
    assert live_numbers(plane, driver, 0) == [0]
    gate.touch()
    assert job.result(timeout=JOB_S) == SQUARES
    ended = plane.ended(driver.source, "group-switched")
    assert {attempt["outcome"] for attempt in ended} == {"killed", "success"}
    assert [a["speculative"] for a in ended if a["index"] == 1 and a["outcome"] == "success"] == [True]

    plane.set_mode("control")
    assert other.result(timeout=JOB_S) == SQUARES, "back in control, the copies come that off has held back"


def test_a_copy_that_still_waits_for_a_slot_at_the_kill_switch_never_starts(plane, driver, gate, tmp_path):
    """It was ordered in good time and accepted; but a new copy after the switch is what the switch is against."""
    first = tmp_path / "first"
    blocker = driver.start("squares", group="full", tasks=1, held=[0], gate=str(first), hold_copies=True)
    freed = plane.running(driver.source, "full", 0)[0]["host"]
    job = driver.start("squares", group="waiting", tasks=7, held=list(range(7)), gate=str(gate), hold_copies=True)
    eventually(lambda: len(plane.attempts(driver.source, "waiting")) == 7)
    original = next(one for one in plane.attempts(driver.source, "waiting") if one["host"] != freed)
    (queued,) = plane.copy(original, driver.source)["decisions"]
    # The order reaches the driver with its next exchange, which is due every 100 ms; it lives for 5 s.
    time.sleep(1)
    plane.set_mode("off")
    try:
        eventually(lambda: plane.call("GET", f"/decisions/{queued['id']}")["result"] == "expired")
        end = plane.call("GET", f"/decisions/{queued['id']}")
        assert end["outcomes"][0]["reason"] == "mode", "the switch has ended it, and not its age"
        assert after_the_switch_ms(plane, end) < 1000
        first.touch()
        assert blocker.result(timeout=JOB_S) == [0]
        time.sleep(1)
        assert not copies(plane, driver, "waiting"), "a slot is free that it may have had"
    finally:
        plane.set_mode("control")
    gate.touch()
    assert job.result(timeout=JOB_S) == [n * n for n in range(7)]
    assert {one["speculative"] for one in plane.ended(driver.source, "group-waiting")} == {False}


def test_shadow_orders_nothing_and_records_what_control_would_have_done(plane, driver, ras, gate):
    """A platform operator starts here: what would have been copied, why, and what would it have saved?"""
    plane.set_mode("shadow")
    job = stragglers(driver, "shadowed", gate)
    wanted = {"job": "group-shadowed", "action": "launch_copy"}
    eventually(lambda: len(plane.decisions(driver.source, **wanted)) == 2, about=lambda: plane.pool(driver.source))
    time.sleep(1 + max(one["inputs"]["t_new_s"] for one in plane.decisions(driver.source, **wanted)))
    assert not copies(plane, driver, "shadowed")
    gate.touch()
    assert job.result(timeout=JOB_S) == SQUARES
    eventually(lambda: all(one["outcomes"] for one in plane.decisions(driver.source, **wanted)))
    decisions = plane.decisions(driver.source, **wanted)
    assert sorted(one["index"] for one in decisions) == [0, 1], "once for each task that hangs"
    for decision in decisions:
        assert (decision["mode"], decision["order"], decision["result"]) == ("shadow", 0, "shadow")
        assert decision["outcomes"][0]["saved_s"] > 0
    assert all(one["order"] == 0 for one in plane.decisions(driver.source, job="group-shadowed"))
    assert len(plane.ended(driver.source, "group-shadowed")) == 8


@pytest.mark.parametrize(
    "properties", [{"spark.grasshopper.mode": "shadow"}, {"spark.grasshopper.copies.enabled": "false"}]
)
def test_a_user_keeps_copies_from_one_job(plane, driver, ras, gate, properties):
    """Whoever knows that a second attempt does harm says so by a local property; then nobody copies."""
    group = f"mine-{'-'.join(properties)}"
    job = stragglers(driver, group, gate, properties=properties)
    plane.copy(plane.running(driver.source, group, 0)[0], driver.source)
    time.sleep(3)
    assert not copies(plane, driver, group)
    gate.touch()
    assert job.result(timeout=JOB_S) == SQUARES
    assert len(plane.ended(driver.source, f"group-{group}")) == 8
