"""Does every sync get the reply of the cycle that saw its facts, at the pace that was asked for?"""

import asyncio
import itertools
import threading

import pytest
import structlog

from controlplane.engine.snapshot import describe
from controlplane.model.cluster import SILENT_S
from controlplane.model.decisions import Decision
from controlplane.model.facts import DriverAttached, Mode, StageSubmitted
from controlplane.model.orders import KillAttempt
from controlplane.model.parameters import EngineSettings
from controlplane.runtime import live
from controlplane.runtime.live import Runtime
from controlplane.runtime.parameters import RuntimeSettings
from controlplane.runtime.sources import Busy
from controlplane.store.parameters import StoreSettings
from controlplane.store.store import Store
from controlplane.wire.envelope import Source, SyncRequest
from tests.plane import Clock, attached, message, running, working
from tests.waiting import in_time

pytestmark = pytest.mark.unit


NIGHTLY = StageSubmitted(job="job", stage=1, stage_attempt=0, n_tasks=8, name="nightly")
KILL = KillAttempt(order=1, ttl_ms=2000, attempt=1, stage=1, stage_attempt=0, index=0)


class Engine:
    """Stands in for the scheduler: notes each batch, and orders what the test wants."""

    def __init__(self):
        self.settings = EngineSettings(mode=Mode.CONTROL)
        self.batches = []
        self.orders = {}
        self.refused = []
        self.cost_s = 0.0
        self.due_s = float("inf")
        self.clock = None

    def handle(self, batch, now_s):
        self.batches.append((now_s, [each.source for each in batch]))
        if self.clock is not None:
            self.clock.now_s += self.cost_s
        decision = Decision(cycle=len(self.batches), orders=self.orders)
        self.orders = {}
        due_s, self.due_s = self.due_s, float("inf")
        return decision, due_s

    def n_attempts(self, name):
        return 0, 0

    def n_running(self, name, attempts):
        return 0

    def learned(self):
        return {}

    def hosts(self, now_s, part):
        return []


def request(name, sequence=1):
    return SyncRequest(protocol=1, source=Source("spark", name, 1), sequence=sequence, full=sequence == 1)


def large(name, n_facts, sequence=1):
    return SyncRequest(
        protocol=1,
        source=Source("spark", name, 1),
        sequence=sequence,
        full=True,
        facts=[DriverAttached(application=name)] * n_facts,
    )


def run(tmp_path, scenario, **settings):
    """Runs a scenario(runtime, engine) with a real clock and a scripted engine."""

    async def whole():
        engine = Engine()
        store = Store(StoreSettings(url=str(tmp_path / "store.db")))
        runtime = Runtime(engine, RuntimeSettings(**settings), store, plane_epoch=1)
        runtime.start()
        try:
            await scenario(runtime, engine)
        finally:
            await runtime.stop()
            store.close()

    asyncio.run(whole())


def take(cycle_s, runtime, engine):
    """Lets every cycle take this much longer."""
    real, skipped = runtime.clock, [0.0]

    def clock():
        return real() + skipped[0]

    def handle(batch, now_s, handle=engine.handle):
        skipped[0] += cycle_s
        return handle(batch, now_s)

    runtime.clock, engine.handle = clock, handle


def test_facts_that_come_together_share_a_cycle(tmp_path):
    async def scenario(runtime, engine):
        await runtime.sync(request("first"))
        replies = await asyncio.gather(*(runtime.sync(request(f"app-{n}")) for n in range(10)))
        assert len({reply.cycle for reply in replies}) == 1
        assert len(engine.batches) == 2

    run(tmp_path, scenario)


def test_a_fact_after_a_pause_is_not_kept_waiting(tmp_path):
    """Gathering is for busy times; a lonely driver gets its order in the same round trip, at once."""

    async def scenario(runtime, engine):
        started_s = runtime.clock()
        await runtime.sync(request("lonely"))
        assert runtime.clock() - started_s < 0.4

    run(tmp_path, scenario, cycle_gap_ms=500)


def test_cycles_keep_their_distance(tmp_path):
    async def scenario(runtime, engine):
        for sequence in range(1, 4):
            await runtime.sync(request("app", sequence))
        starts = [start_s for start_s, _ in engine.batches]
        assert min(b - a for a, b in itertools.pairwise(starts)) >= 0.05

    run(tmp_path, scenario, cycle_gap_ms=50)


def test_the_distance_of_cycles_is_what_was_set(tmp_path, monkeypatch):
    """By a clock that only sleep moves."""

    async def scenario(runtime, engine):
        runtime.clock = clock = Clock()

        async def sleep(seconds, sleep=asyncio.sleep):
            clock.advance(seconds)
            await sleep(0)

        monkeypatch.setattr(asyncio, "sleep", sleep)
        for sequence in (1, 2):
            await runtime.sync(request("app", sequence))
        (first_s, _), (second_s, _) = engine.batches
        assert second_s - first_s == pytest.approx(0.05)

    run(tmp_path, scenario, cycle_gap_ms=50)


def test_long_cycles_leave_most_of_the_time_to_others(tmp_path):
    """A cycle of 50 ms at a share of a quarter: the next one starts no earlier than 200 ms after it."""

    async def scenario(runtime, engine):
        take(0.05, runtime, engine)
        await runtime.sync(request("one"))
        await runtime.sync(request("two"))
        starts = [start_s for start_s, _ in engine.batches]
        assert starts[-1] - starts[-2] >= 0.19

    run(tmp_path, scenario, cycle_gap_ms=0, longest_wait_ms=1000)


def test_no_report_waits_for_long_even_where_cycles_are_long(tmp_path):
    """A cycle of a second would rest for three; an order would then come too late to be of use."""

    async def scenario(runtime, engine):
        real, skipped = runtime.clock, [0.0]

        def handle(batch, now_s, handle=engine.handle):
            skipped[0] += 1.0
            return handle(batch, now_s)

        runtime.clock, engine.handle = lambda: real() + skipped[0], handle
        await runtime.sync(request("one"))
        await runtime.sync(request("two"))
        starts = [start_s for start_s, _ in engine.batches]
        assert 1.04 <= starts[-1] - starts[-2] < 3.5

    run(tmp_path, scenario, cycle_gap_ms=0, longest_wait_ms=50)


def test_a_long_cycle_does_not_wait_when_every_source_waits(tmp_path):
    async def scenario(runtime, engine):
        real, skipped = runtime.clock, [0.0]

        def handle(batch, now_s, handle=engine.handle):
            skipped[0] += 0.5
            return handle(batch, now_s)

        runtime.clock, engine.handle = lambda: real() + skipped[0], handle
        await runtime.sync(request("only", 1))
        await runtime.sync(request("only", 2))
        starts = [start_s for start_s, _ in engine.batches]
        assert starts[-1] - starts[-2] < 1.0

    run(tmp_path, scenario, cycle_gap_ms=0)


def test_a_timer_runs_a_cycle_without_facts(tmp_path):
    async def scenario(runtime, engine):
        engine.due_s = runtime.clock() + 0.03
        await runtime.sync(request("app"))
        await in_time(lambda: engine.batches[-1][1] == [])

    run(tmp_path, scenario)


def test_orders_for_a_source_that_did_not_ask_wait_for_its_next_sync(tmp_path):
    async def scenario(runtime, engine):
        await runtime.sync(request("a"))
        engine.orders = {"spark:a": [KILL]}
        assert (await runtime.sync(request("b"))).orders == []
        reply = await runtime.sync(request("a", 2))
        assert [each.order for each in reply.orders] == [1]
        assert (await runtime.sync(request("a", 3))).orders == []

    run(tmp_path, scenario)


def test_orders_go_with_the_reply_that_somebody_waits_for(tmp_path):
    """A shim gave up on a message that no cycle had seen yet and sent the next one: it reads that one's reply only."""

    async def scenario(runtime, engine):
        await runtime.sync(request("a"))
        engine.orders = {"spark:a": [KILL]}
        given_up, awaited = await asyncio.gather(runtime.sync(request("a", 2)), runtime.sync(request("a", 3)))
        assert given_up.cycle == awaited.cycle
        assert ([], [KILL.order]) == (given_up.orders, [order.order for order in awaited.orders])

    run(tmp_path, scenario, cycle_gap_ms=100)


def test_a_full_queue_is_busy_and_takes_no_note_of_the_message(tmp_path):
    """The shim sends the same message again, so its number must still be unheard of."""

    async def scenario(runtime, engine):
        await runtime.sync(request("first"))
        waiting = [asyncio.ensure_future(runtime.sync(request(f"app-{n}"))) for n in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await runtime.sync(request("late"))
        await asyncio.gather(*waiting)
        assert (await runtime.sync(request("late"))).acknowledged == 1

    run(tmp_path, scenario, queue_reports=2, cycle_gap_ms=100)


def test_sources_with_running_work_come_often_and_idle_ones_seldom(plane):
    assert plane.reply(message(1, working(), full=True))["next_interval_ms"] == 100
    idle = plane.reply(message(1, working()[:1], full=True, source="app-2"))
    assert idle["next_interval_ms"] == 1000


@pytest.mark.parametrize(("short", "interval_ms"), [({"lease_ms": 900}, 300), ({"grant_ttl_ms": 1000}, 333)])
def test_idle_sources_come_before_their_leases_and_grants_end(tmp_path, short, interval_ms):
    """What an idle driver was told must still hold when its next job begins."""
    with running(tmp_path, engine={"idle_interval_ms": 60_000} | short) as plane:
        assert plane.reply(message(1, working()[:1], full=True))["next_interval_ms"] == interval_ms


def test_no_source_stays_away_until_it_seems_gone(tmp_path):
    """Whatever is set, and however many there are: two of its messages may be lost, and it is still there."""
    minute = dict.fromkeys(("idle_interval_ms", "lease_ms", "grant_ttl_ms", "order_ttl_ms"), 60_000)
    with running(tmp_path, engine=minute, runtime={"sources_per_s": 1}) as plane:
        idle = [plane.reply(message(1, [attached()], full=True, source=f"app-{n}")) for n in range(20)]
        busy = plane.reply(message(1, working(), full=True))
    assert all(0 < 3 * reply["next_interval_ms"] < 1000 * SILENT_S for reply in (*idle, busy))


def test_many_sources_come_less_often(tmp_path):
    with running(tmp_path, runtime={"sources_per_s": 1}) as plane:
        assert plane.reply(message(1, working(), full=True))["next_interval_ms"] == 1000


def test_of_very_many_hosts_a_part_is_remembered_each_second(plane, monkeypatch):
    """All of a hundred thousand, each second, made every driver wait."""
    monkeypatch.setattr(live, "HOSTS_NOTED", 3)
    hosts = plane.runtime.history.hosts
    plane.clock.advance(1.0)
    plane.reply(message(1, working(), full=True))
    seen = []
    for sequence in (2, 3, 4, 5):
        plane.clock.advance(1.1)
        plane.reply(message(sequence))
        plane.client.portal.call(plane.runtime._do_chores, plane.clock.now_s)
        seen.append(sum(host.seen_s == plane.clock.now_s for host in hosts.values()))
    assert sorted(seen) == [1, 1, 3, 3]
    assert len(hosts) == 4


def test_a_silent_source_that_cannot_be_forgotten_keeps_no_other(plane, monkeypatch):
    """The runtime does not know them any more, so nobody would try again: their attempts would run for ever."""
    names = ("app-1", "app-2", "app-3")
    for name in names:
        plane.reply(message(1, working(), full=True, source=name))
    scheduler, forget = plane.runtime.scheduler, plane.runtime.scheduler.forget

    def forget_others(key, now_s):
        if key == "spark:app-1":
            raise ValueError("a defect")
        return forget(key, now_s)

    monkeypatch.setattr(scheduler, "forget", forget_others)
    with structlog.testing.capture_logs() as logs:
        for _ in range(100):
            plane.clock.advance(1.1)
            plane.client.portal.call(plane.runtime._do_chores, plane.clock.now_s)
    assert set(scheduler.cluster.sources) == {"spark:app-1"}
    assert [entry["source"] for entry in logs if entry["event"] == "chores_failed"] == ["spark:app-1"]


def test_jobs_are_claimed_in_control_only(plane):
    assert [claim["job"] for claim in plane.reply(message(1, working(), full=True))["claims"]] == ["job-1"]
    plane.client.put("/api/v1/mode", json={"mode": "shadow", "reason": "test"})
    reply = plane.reply(message(2))
    assert reply["mode"] == "shadow"
    assert "claims" not in reply


def test_a_start_after_the_clock_was_set_back_uses_no_id_again(tmp_path):
    """Nor do two starts within a second: the database would refuse the decisions, hosts would ignore the orders."""
    seen = []
    for _ in range(2):
        with running(tmp_path) as plane:
            plane.reply(message(1, working(), full=True))
            seen.append({each["id"] for each in plane.client.get("/api/v1/decisions").json()["items"]})
            assert plane.runtime.store.flush()
            assert plane.runtime.store.dropped == 0
    assert len(seen[1]) > len(seen[0]) > 0


def test_the_command_line_goes_before_settings_changed_at_run_time(tmp_path):
    with running(tmp_path) as plane:
        plane.client.patch("/api/v1/settings", json={"engine": {"speculator": "late"}, "reason": "try"})
    with running(tmp_path, engine={"mode": "control", "speculator": "none"}) as plane:
        assert plane.client.get("/api/v1/settings").json()["engine"]["speculator"] == "none"


def test_what_was_learned_is_restored(tmp_path):
    with running(tmp_path) as plane:
        plane.reply(message(1, working(), full=True))
        plane.runtime.scheduler.learning.remaining.history.learn(NIGHTLY, 4.5, 4.5, 0.5, 0.1)
    with running(tmp_path) as plane:
        assert plane.runtime.scheduler.learning.remaining.history.get(NIGHTLY).duration_s == 4.5


def test_the_snapshot_is_at_most_a_second_old(plane):
    plane.reply(message(1, working(), full=True))
    first = plane.snapshot()
    plane.clock.advance(0.5)
    assert plane.snapshot() is first
    plane.clock.advance(0.6)
    assert plane.snapshot() is not first


def test_who_scrapes_often_gets_one_description_that_holds_nobody_up(plane, monkeypatch):
    """Twelve of them, and a few thousand jobs, made the kill switch wait for more than a second."""
    told_on = []

    def tell(moment):
        told_on.append(threading.current_thread())
        return describe(moment)

    monkeypatch.setattr(live, "describe", tell)
    monkeypatch.setattr("controlplane.engine.scheduler.describe", tell)

    def scrape():
        return [plane.client.get("/metrics").text for _ in range(12)]

    plane.reply(message(1, working(), full=True))
    assert all("grasshopper_mode 2.0" in text for text in scrape())
    plane.client.get("/api/v1/mode")
    assert [thread.name.startswith("grasshopper-describe") for thread in told_on] == [True]
    plane.clock.advance(1.1)
    scrape()
    assert len(told_on) == 2
    mode = plane.client.put("/api/v1/mode", json={"mode": "off", "reason": "stop"}).json()
    assert mode["sources"] == {"spark:app-1": "off"}
    assert "grasshopper_mode 0.0" in scrape()[0], "what has just been done is seen"


def test_after_a_large_message_others_have_four_times_as_long(tmp_path):
    """A cycle of 50 ms; the next large message has its turn 250 ms after that one began."""

    async def scenario(runtime, engine):
        take(0.05, runtime, engine)
        await asyncio.gather(*(runtime.sync(large(name, 120)) for name in ("first", "second")))
        begun_s = [start_s for start_s, batch in engine.batches if batch]
        assert begun_s[1] - begun_s[0] == pytest.approx(0.25, abs=0.04)

    run(tmp_path, scenario, cycle_facts=100, cycle_gap_ms=0, cycle_share=1.0)


def test_a_cycle_that_rests_begins_when_the_last_source_has_reported(tmp_path):
    """Nobody else could send anything meanwhile."""

    async def scenario(runtime, engine):
        await asyncio.gather(runtime.sync(request("one")), runtime.sync(request("two")))
        take(0.5, runtime, engine)
        await runtime.sync(request("one", 2))
        waiting = asyncio.ensure_future(runtime.sync(request("one", 3)))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await asyncio.wait_for(runtime.sync(request("two", 2)), 1.0)
        await waiting

    run(tmp_path, scenario, cycle_gap_ms=0, longest_wait_ms=5000)


def test_nobody_waits_for_a_cycle_after_the_end(tmp_path):
    """Their drivers go on alone at once."""

    async def scenario(runtime, engine):
        await runtime.sync(request("first"))
        waiting = asyncio.ensure_future(runtime.sync(request("second")))
        await asyncio.sleep(0.01)
        await runtime.stop()
        await asyncio.wait([waiting], timeout=1.0)
        assert waiting.cancelled()
        assert runtime.checks()["engine"] == "no cycle is running"

    run(tmp_path, scenario, cycle_gap_ms=1000)
