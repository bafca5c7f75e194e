"""Are messages that come twice, late, or not at all dealt with as the protocol says?"""

from contextlib import contextmanager

import pytest

from controlplane.model.facts import DriverAttached, Mode
from controlplane.model.orders import KillAttempt
from controlplane.runtime.parameters import RuntimeSettings
from controlplane.runtime.sources import (
    Busy,
    Caller,
    NotYours,
    Outbox,
    Sources,
    StaleReport,
    TooLarge,
    TooMuch,
    Treatment,
    Unheard,
)
from controlplane.wire.envelope import Source, SyncRequest
from tests.plane import attached, ended, message, running, started, while_another_reports, working

pytestmark = pytest.mark.unit


def request(sequence, *, source="a", epoch=1, full=False, facts=()):
    who = Source("spark", source, epoch)
    return SyncRequest(protocol=1, source=who, sequence=sequence, full=full, facts=list(facts))


def test_the_same_message_twice_is_applied_once_and_answered_alike(plane):
    """A shim that lost the reply sends again; doing so must be harmless."""
    first = plane.reply(message(1, working(), full=True))
    cycle = plane.runtime.cycle
    assert plane.reply(message(1, working(), full=True)) == first
    assert plane.runtime.cycle == cycle


@pytest.mark.parametrize("mode", ["off", "shadow"])
@pytest.mark.parametrize("is_lost", [False, True])
def test_an_order_to_launch_does_not_outlive_the_mode_that_allowed_it(plane, mode, is_lost):
    """It waited for the next message, or its reply was lost and is asked for again: after the switch it is too late."""
    plane.reply(message(1, working(), full=True))
    plane.client.post("/api/v1/tasks/spark%3Aapp-1/1/0/2:copy", json={"reason": "slow"})
    if is_lost:
        reply = plane.reply(message(2))
        assert [order["type"] for order in reply["orders"]] == ["launch_copy"]
        assert reply["claims"]
    plane.client.put("/api/v1/mode", json={"mode": mode, "reason": "too hot"})
    reply = plane.reply(message(2))
    assert reply["mode"] == mode
    assert "claims" not in reply
    assert "orders" not in reply


def test_a_gap_asks_for_everything_and_changes_nothing(plane):
    """Facts between the two are missing, so what came after cannot be trusted to add up."""
    plane.reply(message(1, working(), full=True))
    reply = plane.reply(message(3, [started(99)]))
    assert (reply["want_full"], reply["next_interval_ms"]) == (True, 0)
    assert "claims" not in reply
    attempts = plane.client.get("/api/v1/attempts").json()["items"]
    assert {each["attempt"] for each in attempts} == {0, 1, 2, 3}


def test_a_full_report_closes_the_gap(plane):
    plane.reply(message(1, working(), full=True))
    plane.reply(message(3))
    assert "want_full" not in plane.reply(message(4, working(), full=True))
    assert "want_full" not in plane.reply(message(5))


def test_a_source_nobody_has_met_is_asked_for_everything(plane):
    """After a restart of the control plane, shims go on with their numbers."""
    assert plane.reply(message(17))["want_full"]


def test_facts_that_do_not_add_up_are_followed_by_a_full_report(plane):
    """An attempt on an executor that nobody has named: whatever else the source says, it is asked again."""
    plane.reply(message(1, working(), full=True))
    assert plane.reply(message(2, [started(9, index=0, host=9)]))["want_full"]
    assert plane.reply(message(3))["want_full"]
    assert "want_full" not in plane.reply(message(4, working(), full=True))


def test_an_older_epoch_is_refused(plane):
    """Two drivers of one id cannot both be alive; the older one's facts are history."""
    plane.reply(message(1, [attached()], full=True, epoch=8))
    response = plane.sync(message(2, epoch=7))
    assert response.status_code == 409
    assert response.json()["errors"][0]["field"] == "source.epoch"
    assert "spark:app-1 sent source.epoch = 7 after 8" in response.text


def test_a_newer_epoch_starts_afresh(plane):
    plane.reply(message(5, working(), full=True, epoch=7))
    assert plane.reply(message(1, epoch=8))["want_full"]
    plane.reply(message(2, [attached()], full=True, epoch=8))
    assert plane.client.get("/api/v1/attempts").json()["items"] == []


def test_an_older_sequence_is_refused(plane):
    plane.reply(message(5, [attached()], full=True))
    response = plane.sync(message(4))
    assert response.status_code == 409
    assert response.json()["errors"][0]["field"] == "sequence"


@pytest.mark.parametrize("after", [2, 3], ids=["the same again", "the next one"])
def test_a_failed_cycle_is_our_fault_and_is_followed_by_a_full_report(plane, monkeypatch, after):
    """After an exception nobody knows which facts were applied."""
    plane.reply(message(1, working(), full=True))
    handle = plane.runtime.scheduler.handle
    monkeypatch.setattr(plane.runtime.scheduler, "handle", lambda *_: 1 / 0)
    response = plane.sync(message(2))
    assert (response.status_code, response.json()["code"]) == (500, "cycle_failed")
    monkeypatch.setattr(plane.runtime.scheduler, "handle", handle)
    assert plane.reply(message(after))["want_full"]
    assert "want_full" not in plane.reply(message(after + 1, working(), full=True))


def test_orders_that_wait_when_a_cycle_fails_go_nowhere(plane, monkeypatch):
    """They have ended as moot, and an engine that has forgotten them may order the same again."""
    plane.reply(message(1, working(), full=True))
    plane.client.post("/api/v1/tasks/spark:app-1/1/0/2:copy", json={"reason": "slow"})
    handle = plane.runtime.scheduler.handle
    monkeypatch.setattr(plane.runtime.scheduler, "handle", lambda *_: 1 / 0)
    plane.sync(message(2))
    monkeypatch.setattr(plane.runtime.scheduler, "handle", handle)
    plane.reply(message(3))
    orders = plane.reply(message(4, working(), full=True)).get("orders", [])
    assert [order["type"] for order in orders if order["type"] == "launch_copy"] == []


@pytest.mark.parametrize("source", ["", "spark:app-1"])
def test_a_mode_that_was_chosen_counts_although_its_cycle_fails(plane, monkeypatch, source):
    """It is stored and listed, so it must not wait for the next start."""
    plane.reply(message(1, working(), full=True))
    handle = plane.runtime.scheduler.handle
    monkeypatch.setattr(plane.runtime.scheduler, "handle", lambda *_: 1 / 0)
    chosen = {"mode": "off", "source": source, "reason": "too many copies"}
    assert plane.client.put("/api/v1/mode", json=chosen).status_code == 500
    monkeypatch.setattr(plane.runtime.scheduler, "handle", handle)
    plane.reply(message(2))
    assert plane.reply(message(3, working(), full=True))["mode"] == "off"


def test_a_silent_source_is_forgotten(plane):
    plane.reply(message(1, working(), full=True))
    while_another_reports(plane, 62)
    assert [each["source"] for each in plane.client.get("/api/v1/pools").json()["items"]] == ["spark:app-2"]
    assert plane.reply(message(2))["want_full"]


def test_nobody_is_silent_because_the_control_plane_stood_still(plane):
    """On a machine that was suspended, everybody's work and what was fixed by hand is as it was."""
    plane.reply(message(1, working(), full=True))
    plane.clock.advance(3600)
    while_another_reports(plane, 58)
    assert len(plane.client.get("/api/v1/pools").json()["items"]) == 2
    assert "want_full" not in plane.reply(message(2))


def test_a_control_plane_that_computes_for_long_was_not_suspended():
    """One source made each cycle take ten seconds, fell silent, and was never forgotten."""
    sources = Sources(RuntimeSettings(forget_after_s=60.0))
    sources.receive(request(1, full=True), 0.0)
    assert [len(sources.forget_silent(now_s, busy_s=9.5)) for now_s in (10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0)] == [
        0, 0, 0, 0, 0, 0, 1
    ]  # fmt: skip


@pytest.mark.parametrize("sequence", [0, 9])
def test_full_reports_are_asked_for_at_a_bounded_rate(sequence):
    """A thousand drivers must not send everything at once after a restart, whatever number they are at."""
    sources = Sources(RuntimeSettings(full_reports_per_s=10))
    treatments = [sources.receive(request(sequence, source=str(n)), 0.0)[1] for n in range(30)]
    assert treatments.count(Treatment.ASK_FULL) == 1
    waits = [source.full_slot_s for source in sources]
    assert waits == pytest.approx([n / 10 for n in range(30)])


def test_a_source_told_to_wait_is_asked_when_its_turn_comes():
    sources = Sources(RuntimeSettings(full_reports_per_s=10))
    sources.receive(request(9, source="first"), 0.0)
    assert sources.receive(request(9, source="second"), 0.0)[1] is Treatment.WAIT
    assert sources.receive(request(10, source="second"), 0.05)[1] is Treatment.WAIT
    assert sources.receive(request(11, source="second"), 0.11)[1] is Treatment.ASK_FULL
    assert sources.receive(request(12, source="second", full=True), 0.12)[1] is Treatment.APPLY


def test_a_waiting_source_gets_no_claims_and_a_longer_interval(tmp_path):
    with running(tmp_path, runtime={"full_reports_per_s": 1}) as plane:
        plane.reply(message(9, source="app-1"))
        reply = plane.reply(message(9, source="app-2"))
    assert "want_full" not in reply
    assert "claims" not in reply
    assert reply["mode"] == Mode.SHADOW.value
    assert 900 <= reply["next_interval_ms"] <= 1100


def test_more_sources_than_allowed_are_told_to_come_again():
    sources = Sources(RuntimeSettings(max_sources=1))
    sources.receive(request(1, source="a", full=True), 0.0)
    with pytest.raises(Busy):
        sources.receive(request(1, source="b", full=True), 0.0)


def test_stale_reports_change_nothing():
    sources = Sources(RuntimeSettings())
    source, _ = sources.receive(request(5, full=True), 0.0)
    with pytest.raises(StaleReport):
        sources.receive(request(4, full=True), 1.0)
    assert (source.sequence, source.heard_s) == (5, 0.0)


def kill(order, ttl_ms=1000):
    return KillAttempt(order=order, ttl_ms=ttl_ms, attempt=1, stage=1, stage_attempt=0, index=0)


def test_orders_wait_for_the_next_sync_and_lose_the_time_they_waited():
    outbox = Outbox()
    outbox.put([kill(1)], 0.0)
    (order,) = outbox.take(0.4)
    assert order.ttl_ms == 600
    outbox.heard(in_order=True)
    assert outbox.take(0.5) == []
    outbox.heard(in_order=False)
    assert outbox.take(0.6) == [], "what has arrived is not sent once more"


def test_orders_of_a_lost_reply_are_sent_once_more_but_never_late():
    outbox = Outbox()
    outbox.put([kill(1), kill(2, ttl_ms=100)], 0.0)
    assert len(outbox.take(0.0)) == 2
    outbox.heard(in_order=False)
    assert [order.order for order in outbox.take(0.2)] == [1]


def test_a_full_report_that_leaves_out_a_number_gets_the_orders_of_the_reply_before(plane):
    """A shim that dropped events sends one in place of a message whose reply it never saw."""
    plane.reply(message(1, working(), full=True))
    plane.client.post("/api/v1/tasks/spark:app-1/1/0/2:copy", json={"reason": "slow"})

    def launches(*request, **more):
        orders = plane.reply(message(*request, **more)).get("orders", [])
        return [order["order"] for order in orders if order["type"] == "launch_copy"]

    lost = launches(2)
    assert len(lost) == 1
    assert launches(4, working(), full=True) == lost
    assert launches(5) == []


def test_a_repeated_reply_leaves_out_expired_orders():
    """A time to live counts from receipt, so an old reply must not bring an old order to life."""
    outbox = Outbox()
    outbox.put([kill(1, ttl_ms=100), kill(2, ttl_ms=1000)], 0.0)
    outbox.take(0.0)
    assert [order.order for order in outbox.again(0.5)] == [2]


def test_an_addresss_invented_sources_leave_room_for_others():
    """Ten thousand of them kept newcomers out."""
    sources = Sources(RuntimeSettings(sources_per_address=2))
    noisy, other = Caller(address="10.0.0.1"), Caller(address="10.0.0.2")
    for name in "ab":
        sources.receive(request(1, source=name, full=True), 0.0, noisy)
    with pytest.raises(TooMuch):
        sources.receive(request(1, source="c", full=True), 0.0, noisy)
    sources.receive(request(1, source="c", full=True), 0.0, other)
    assert sum(len(sources.forget_silent(float(now_s))) for now_s in range(0, 66, 3)) == 3
    sources.receive(request(1, source="d", full=True), 64.0, noisy)


def test_a_first_message_that_is_refused_takes_no_place():
    """Nor does it make the name its sender's."""
    sources = Sources(RuntimeSettings(max_sources=1, message_facts=1))
    facts = [DriverAttached(application="a"), DriverAttached(application="a")]
    with pytest.raises(TooLarge):
        sources.receive(request(1, full=True, facts=facts), 0.0, Caller(address="10.0.0.1"))
    sources.receive(request(1, full=True), 0.0, Caller(address="10.0.0.2"))


def test_a_source_whose_report_waits_is_not_silent():
    """It would be forgotten, and its report then applied: a ghost that nobody removes."""
    sources = Sources(RuntimeSettings(forget_after_s=2.0))
    source, _ = sources.receive(request(1, full=True), 0.0)
    source.waiting = 1
    assert not [gone for now_s in range(60) for gone in sources.forget_silent(float(now_s))]
    source.waiting = 0
    assert sources.forget_silent(60.0) == [source]


def test_a_token_that_has_not_attached_a_source_holds_none():
    """An empty first message claimed a driver's id; its own token was refused from then on."""
    mallory, victim = Caller(application="mallory"), Caller(application="a")
    named = Caller(application="nightly")
    facts = [DriverAttached(application="a", name="nightly")]
    sources = Sources(RuntimeSettings())
    sources.receive(request(1, full=True), 0.0, mallory)
    sources.receive(request(1, full=True, facts=facts), 0.0, named)
    with pytest.raises(NotYours):
        sources.receive(request(2), 0.0, mallory)
    sources.receive(request(3, full=True, facts=facts), 0.0, victim)
    with pytest.raises(NotYours):
        sources.receive(request(4), 0.0, named)
    assert len(sources) == 1


def test_a_source_beyond_its_rate_is_told_to_come_later_then_refused(tmp_path):
    """By `retry-after` in whole seconds, after which it is let in; a new epoch pays for the old one."""
    with running(tmp_path, runtime={"source_facts_per_s": 10, "source_burst": 10}) as plane:
        assert plane.reply(message(1, [attached()] * 10, full=True))["next_interval_ms"] <= 3000
        assert plane.reply(message(2, [attached()] * 45))["next_interval_ms"] == 4500
        for late in (message(3), message(1, [attached()], full=True, epoch=8)):
            response = plane.sync(late)
            assert (response.status_code, response.headers["retry-after"]) == (429, "5")
        plane.clock.advance(5.0)
        assert plane.sync(message(3)).status_code == 200


def test_a_message_with_too_many_facts_is_refused_for_good(tmp_path):
    """By 413, after which a shim sends another one; it repeats after 429, which would never help."""
    with running(tmp_path, runtime={"message_facts": 100, "source_attempts": 3}) as plane:
        response = plane.sync(message(1, [attached()] * 101, full=True))
        assert (response.status_code, response.json()["code"]) == (413, "too_large")
        assert "retry-after" not in response.headers
        assert plane.sync(message(1, progress={"attempt": [1, 2, 3, 4]})).status_code == 413
        assert plane.sync(message(1, [attached()] * 100, full=True)).status_code == 200


def test_lists_count_as_facts(tmp_path):
    """A quarter of a million applications in one fact stopped everybody for 21 s."""
    with running(tmp_path, runtime={"message_facts": 100, "source_facts_per_s": 10, "source_burst": 10}) as plane:
        for n, status in ((201, 413), (104, 200)):
            applications = [{"job": f"{n}", "running": 1, "pending": 0} for n in range(n)]
            demand = {"type": "queue_demand", "slots": 1, "applications": applications}
            body = message(1, [attached(), demand], full=True)
            response = plane.sync(body | {"source": body["source"] | {"kind": "yarn"}})
            assert response.status_code == status
        assert response.json()["next_interval_ms"] == pytest.approx(4400, abs=1)
        assert "facts' worth of lists" in plane.sync(message(1, [attached(), wide(10_050)], full=True)).text


def wide(n_edges):
    """A job of so many edges."""
    return {"type": "job_submitted", "job": "j", "edges": [[0, 1]] * n_edges}


def test_attempts_of_a_source_and_of_all_are_bounded(tmp_path):
    """Where all have too many, those with more than an equal share are refused until others have fewer.

    What the source itself has too many of, no repetition of the message changes.
    """
    limits = {"source_attempts": 30, "max_attempts": 40}
    with running(tmp_path, runtime=limits) as plane:
        assert plane.sync(message(1, working(31), full=True)).status_code == 413
        plane.reply(message(1, working(30), full=True))
        assert plane.sync(message(2, [started(99, index=0)])).status_code == 413
        invented = [ended(900 + n, index=0) for n in range(5)]
        assert plane.sync(message(2, [*invented, started(99, index=0)])).status_code == 413
        plane.reply(message(2, [ended(0)]))
        plane.reply(message(1, working(10), full=True, source="app-2"))
        assert plane.sync(message(1, working(25), full=True, source="app-3")).status_code == 429
        plane.reply(message(1, working(10), full=True, source="app-3"))


def test_a_repeated_message_is_answered_alike_however_many_attempts_run(tmp_path):
    """Its starts count already: a driver that lost the reply would be refused for as long as they run."""
    with running(tmp_path, runtime={"source_attempts": 30}) as plane:
        plane.reply(message(1, working(20), full=True))
        starts = message(2, [started(100 + n, index=n) for n in range(10)])
        first = plane.reply(starts)
        assert plane.reply(starts) == first
        assert plane.sync(message(3, [started(200, index=0)])).status_code == 413


def test_a_repeated_message_is_answered_alike_though_others_leave_less_room(tmp_path):
    """Its share of all attempts is smaller by then."""
    with running(tmp_path, runtime={"max_attempts": 40}) as plane:
        full = message(1, working(30), full=True)
        first = plane.reply(full)
        plane.reply(message(1, working(10), full=True, source="app-2"))
        plane.reply(message(1, working(5), full=True, source="app-3"))
        assert plane.sync(message(2, [started(200, index=0)])).status_code == 429
        assert plane.reply(full)["acknowledged"] == first["acknowledged"] == 1


def test_the_message_of_another_who_takes_a_source_over_is_no_repeat():
    """It is applied, whatever its number, so its attempts must be counted."""
    sources = Sources(RuntimeSettings())
    source, treatment = sources.receive(request(1, full=True), 0.0)
    assert (treatment, sources.is_repeat(request(1, full=True))) == (Treatment.APPLY, False)
    source.answer = "the reply"
    other = Caller(application="a")
    assert sources.is_repeat(request(1, full=True))
    assert not sources.is_repeat(request(1, full=True), other)
    assert sources.receive(request(1, full=True), 0.0, other)[1] is Treatment.APPLY


def test_who_is_told_to_come_again_is_told_when(tmp_path):
    """503 with whole seconds, which a shim and a proxy understand."""
    with running(tmp_path, runtime={"max_sources": 1}) as plane:
        plane.reply(message(1, [attached()], full=True))
        response = plane.sync(message(1, [attached()], full=True, source="app-2"))
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")


@pytest.mark.parametrize(
    "error",
    [
        StaleReport("epoch", 1, 2, "s"),
        Busy("queue", 1),
        TooLarge("s", "facts", 1),
        TooMuch("s", "facts", 1),
        NotYours("s"),
        Unheard("s"),
    ],
)
def test_a_refusal_passes_through_a_context(error):
    """contextlib writes down where it was, which a frozen exception would not have."""

    @contextmanager
    def context():
        yield

    with pytest.raises(type(error)), context():
        raise error
