"""Does every sync get the reply of the cycle that saw its facts, at the pace that was asked for?"""

import asyncio
import itertools
import sqlite3
import time

import pytest

from controlplane.model.cluster import SILENT_S
from controlplane.model.decisions import Decision
from controlplane.model.facts import Mode
from controlplane.model.orders import KillAttempt
from controlplane.model.parameters import EngineSettings
from controlplane.runtime.live import Runtime
from controlplane.runtime.parameters import RuntimeSettings
from controlplane.runtime.sources import Busy
from controlplane.store import database
from controlplane.store.parameters import StoreSettings
from controlplane.store.store import Store
from controlplane.wire.envelope import Source, SyncRequest
from tests.plane import attached, message, running, working

pytestmark = pytest.mark.unit


def eventually(holds, timeout_s=10.0):
    end_s = time.monotonic() + timeout_s
    while not holds() and time.monotonic() < end_s:
        time.sleep(0.01)
    return holds()


KILL = KillAttempt(order=1, ttl_ms=2000, attempt=1, stage=1, stage_attempt=0, index=0)


class Engine:
    """Stands in for the scheduler: notes each batch, and orders what the test wants."""

    def __init__(self):
        self.settings = EngineSettings(mode=Mode.CONTROL)
        self.batches = []
        self.orders = {}
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

    def learned(self):
        return {}


def request(name, sequence=1):
    return SyncRequest(protocol=1, source=Source("spark", name, 1), sequence=sequence, full=sequence == 1)


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


def test_long_cycles_leave_most_of_the_time_to_others(tmp_path):
    """A cycle of 50 ms at a share of a quarter: the next one starts no earlier than 200 ms after it."""

    async def scenario(runtime, engine):
        real, skipped = runtime.clock, [0.0]

        def clock():
            return real() + skipped[0]

        def handle(batch, now_s, handle=engine.handle):
            skipped[0] += 0.05
            return handle(batch, now_s)

        runtime.clock, engine.handle = clock, handle
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
        for _ in range(100):
            if engine.batches[-1][1] == []:
                return
            await asyncio.sleep(0.01)
        raise AssertionError("the timer never ran")

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


def test_idle_sources_come_before_their_leases_end(tmp_path):
    """What an idle driver was told must still hold when its next job begins."""
    with running(tmp_path, engine={"idle_interval_ms": 60_000, "lease_ms": 900}) as plane:
        assert plane.reply(message(1, working()[:1], full=True))["next_interval_ms"] == 300


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


def test_jobs_are_claimed_in_control_only(plane):
    assert [claim["job"] for claim in plane.reply(message(1, working(), full=True))["claims"]] == ["job-1"]
    plane.client.put("/api/v1/mode", json={"mode": "shadow", "reason": "test"})
    reply = plane.reply(message(2))
    assert reply["mode"] == "shadow"
    assert "claims" not in reply


def test_the_kill_switch_and_changed_settings_outlive_a_restart(tmp_path):
    with running(tmp_path) as plane:
        plane.client.put("/api/v1/mode", json={"mode": "off", "reason": "too many copies"})
        wish = {"engine": {"max_copies_per_task": 1}, "reason": "be careful"}
        assert plane.client.patch("/api/v1/settings", json=wish).status_code == 200
    with running(tmp_path) as plane:
        assert plane.client.get("/api/v1/mode").json()["mode"] == "off"
        assert plane.client.get("/api/v1/settings").json()["engine"]["max_copies_per_task"] == 1
        assert [entry["reason"] for entry in plane.client.get("/api/v1/audit").json()["items"]] == [
            "be careful",
            "too many copies",
        ]


def test_what_operators_chose_for_one_source_outlives_a_restart(tmp_path):
    """A mode and a policy, also while the source is away; both with their reasons."""
    source = "spark:app-1"
    with running(tmp_path, runtime={"snapshot_age_s": 0.0}) as plane:
        plane.reply(message(1, working(), full=True))
        plane.client.put("/api/v1/mode", json={"mode": "shadow", "source": source, "reason": "look first"})
        plane.client.put(f"/api/v1/pools/{source}/policy", json={"policy": "fair+late", "reason": "compare"})
    with running(tmp_path, runtime={"snapshot_age_s": 0.0}) as plane:
        (choice,) = plane.client.get("/api/v1/mode").json()["choices"]
        assert (choice["value"], choice["reason"]) == ("shadow", "look first")
        assert plane.reply(message(1, working(), full=True))["mode"] == "shadow"
        assert plane.client.get(f"/api/v1/pools/{source}").json()["policy"] == "fair+late"
        plane.client.delete(f"/api/v1/pools/{source}/policy?reason=done")
        plane.client.put("/api/v1/mode", json={"mode": "control", "source": source, "reason": "go"})
    with running(tmp_path, runtime={"snapshot_age_s": 0.0}) as plane:
        assert plane.reply(message(1, working(), full=True))["mode"] == "control"
        assert plane.client.get(f"/api/v1/pools/{source}").json()["policy"] == "hopper+ras"


def test_a_mode_set_while_the_store_cannot_record_says_so_and_is_written_later(tmp_path):
    """The folder is missing; what the operator wants holds at once all the same."""
    folder = tmp_path / "missing"
    with running(tmp_path, store={"url": str(folder / "plane.db")}) as plane:
        told = plane.client.put("/api/v1/mode", json={"mode": "off", "reason": "too hot"}).json()
        assert (told["mode"], told["recorded"]) == ("off", False)
        wish = {"engine": {"max_copies_per_task": 1}, "reason": "careful"}
        assert plane.client.patch("/api/v1/settings", json=wish).json()["recorded"] is False
        folder.mkdir()
        assert plane.runtime.store.flush()
        assert eventually(lambda: plane.client.get("/api/v1/mode").json()["recorded"])
    with running(tmp_path, store={"url": str(folder / "plane.db")}) as plane:
        assert plane.client.get("/api/v1/mode").json()["mode"] == "off"
        assert plane.client.get("/api/v1/settings").json()["engine"]["max_copies_per_task"] == 1


@pytest.fixture
def kill_switch(tmp_path, monkeypatch):
    """A folder whose store holds a kill switch, a pool's own mode and a limit; locks are waited for shortly."""
    monkeypatch.setattr(database, "_LOCK_WAIT_S", 0.05)
    with running(tmp_path) as plane:
        plane.reply(message(1, working(), full=True))
        plane.client.put("/api/v1/mode", json={"mode": "off", "reason": "too hot"})
        plane.client.put("/api/v1/mode", json={"mode": "shadow", "source": "spark:app-1", "reason": "look first"})
        plane.client.patch("/api/v1/settings", json={"engine": {"max_copies_per_task": 1}, "reason": "careful"})
    return tmp_path


def choices(plane):
    return {(each["source"], each["value"]) for each in plane.client.get("/api/v1/mode").json()["choices"]}


def test_nothing_goes_beyond_shadow_while_the_kill_switch_cannot_be_read(kill_switch):
    """The file is locked at the start; a choice made meanwhile joins the stored ones, and wipes none."""
    other = sqlite3.connect(kill_switch / "plane.db", isolation_level=None)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    with running(kill_switch) as plane:
        assert plane.reply(message(1, working(), full=True))["mode"] == "shadow"
        assert "[!]store: shadow is the most" in plane.client.get("/readyz").text
        wish = {"mode": "control", "source": "spark:app-2", "reason": "go"}
        plane.reply(message(1, working(), full=True, source="app-2"))
        assert plane.client.put("/api/v1/mode", json=wish).json()["recorded"] is False
        assert plane.reply(message(2, source="app-2"))["mode"] == "shadow"
        other.close()
        assert eventually(lambda: plane.runtime.mode is Mode.OFF)
        assert plane.client.get("/api/v1/settings").json()["engine"]["max_copies_per_task"] == 1
        assert plane.reply(message(2))["mode"] == "off"
        assert eventually(lambda: plane.client.get("/readyz").text == "ok\n")
        assert plane.client.get("/api/v1/mode").json()["recorded"]
    with running(kill_switch) as plane:
        assert choices(plane) == {("", "off"), ("spark:app-1", "shadow"), ("spark:app-2", "control")}


def test_control_wished_for_while_the_store_cannot_be_read_comes_once_it_can(tmp_path):
    """An operator's newer word counts, but what was chosen for single pools has to be known first."""
    with running(tmp_path, store={"url": str(tmp_path / "missing" / "plane.db")}) as plane:
        told = plane.client.put("/api/v1/mode", json={"mode": "control", "reason": "go"}).json()
        assert (told["mode"], told["recorded"]) == ("shadow", False)
        (tmp_path / "missing").mkdir()
        assert eventually(lambda: plane.runtime.mode is Mode.CONTROL)


def test_a_kill_switch_is_read_while_somebody_else_writes(kill_switch):
    """A backup holds the lock for writing; reading needs none."""
    other = sqlite3.connect(kill_switch / "plane.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with running(kill_switch) as plane:
        assert plane.runtime.mode is Mode.OFF
    other.close()


def test_a_choice_that_can_no_longer_be_read_stops_no_start(tmp_path):
    """An older or newer version has left it, or a policy is gone."""
    gone = {"what": "policy", "source": "spark:app-1", "value": "magic+ras", "reason": "x", "at_unix_ms": 1}
    for stored in ([gone], [{"what": "weather"}], "text"):
        with running(tmp_path) as plane:
            plane.runtime.store.save_settings({"choices": stored})
        with running(tmp_path) as plane:
            assert plane.reply(message(1, working(), full=True))["claims"]


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
        plane.runtime.scheduler.learning.remaining.history.learn("nightly", 4.5, 0.5)
    with running(tmp_path) as plane:
        assert plane.runtime.scheduler.learning.remaining.history.get("nightly").duration_s == 4.5


def test_the_snapshot_is_at_most_a_second_old(plane):
    plane.reply(message(1, working(), full=True))
    first = plane.runtime.snapshot()
    plane.clock.advance(0.5)
    assert plane.runtime.snapshot() is first
    plane.clock.advance(0.6)
    assert plane.runtime.snapshot() is not first
