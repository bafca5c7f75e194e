"""Does the store keep what it should, for as long as it should, and never get in the way of a decision?"""

import asyncio
import sqlite3
import time

import msgspec
import pytest
import structlog
from sqlalchemy import create_engine, event, func, select, text

from controlplane.model.decisions import DecisionOutcome, DecisionRecord, Result
from controlplane.model.facts import Mode
from controlplane.model.reasons import Action, Reason
from controlplane.store import schema
from controlplane.store.database import migrate
from controlplane.store.parameters import StoreSettings
from controlplane.store.recent import DecisionFilter
from controlplane.store.store import AuditEntry, Store, Stored

pytestmark = pytest.mark.unit

WALL_MS = 1_800_000_000_000
MANY_INPUTS = {f"input_{n}": 1.0 for n in range(1000)}
"""More than the pages that an empty file has left."""


def record(number, **more):
    fields = {
        "at_s": 5.0,
        "action": Action.LAUNCH_COPY,
        "reason": Reason.SAVES_SLOT_TIME,
        "source": "spark:a",
        "job": "j",
        "inputs": {"t_rem_s": 3.5},
    }
    return DecisionRecord(id=number, cycle=1, mode=Mode.CONTROL, policy="hopper+ras", **(fields | more))


def outcome(decision, result=Result.APPLIED, at_s=6.0):
    return DecisionOutcome(decision=decision, result=result, at_s=at_s)


def ids(page):
    return [decision.record.id for decision in page.decisions]


def find(store, before=None, limit=100, **which):
    return asyncio.run(store.decisions(DecisionFilter(**which), before=before, limit=limit))


@pytest.fixture
def opened(tmp_path):
    """A function that opens stores over one file; they are closed at the end."""
    stores = []

    def open_store(**settings):
        chosen = {"url": str(tmp_path / "store.db"), "retry_s": 0.02, "sweep_every_s": 3600.0} | settings
        store = Store(StoreSettings(**chosen), wall_ms=lambda: WALL_MS)
        store.open()
        stores.append(store)
        return store

    yield open_store
    for store in stores:
        store.close()


def test_decisions_are_read_back_after_a_restart_with_their_outcomes(opened):
    store = opened()
    store.record([record(1), record(2)], [], now_s=5.0)
    store.record([], [outcome(1), outcome(1, Result.WON)], now_s=6.0)
    assert store.flush()
    found = find(opened())
    assert ids(found) == [2, 1]
    first = found.decisions[1]
    assert first.record == record(1)
    assert first.at_unix_ms == WALL_MS
    assert [each.result for each in first.outcomes] == [Result.APPLIED, Result.WON]


def test_the_newest_are_readable_before_they_are_written(opened):
    store = opened()
    store.record([record(1)], [outcome(1)], now_s=5.0)
    assert ids(find(store)) == [1]
    assert asyncio.run(store.decision(1)).outcomes == [outcome(1)]
    assert asyncio.run(store.decision(2)) is None


@pytest.mark.parametrize("recent_rows", [1, 7, 1000])
def test_the_cursor_shows_every_decision_once_across_memory_and_database(opened, recent_rows):
    store = opened(recent_rows=recent_rows)
    store.record([record(number) for number in range(1, 24)], [], now_s=5.0)
    assert store.flush()
    seen, cursor = [], None
    while True:
        page = find(store, before=cursor, limit=5)
        seen += ids(page)
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == list(range(23, 0, -1))


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ({"source": "spark:b"}, [2]),
        ({"job": "other"}, [3]),
        ({"index": 7}, [4]),
        ({"attempt": 9, "stage": 3, "stage_attempt": 1}, [5]),
        ({"action": Action.KILL_ATTEMPT}, [6]),
        ({"reason": Reason.OPERATOR}, [6]),
        ({"source": "spark:b", "job": "other"}, []),
    ],
)
@pytest.mark.parametrize("recent_rows", [1, 1000])
def test_filters_mean_the_same_in_memory_and_in_the_database(opened, recent_rows, which, expected):
    store = opened(recent_rows=recent_rows)
    variants = [
        {},
        {"source": "spark:b"},
        {"job": "other"},
        {"index": 7},
        {"attempt": 9, "stage": 3, "stage_attempt": 1},
        {"action": Action.KILL_ATTEMPT, "reason": Reason.OPERATOR},
        {},
    ]
    store.record([record(number, **more) for number, more in enumerate(variants, 1)], [], now_s=5.0)
    assert store.flush()
    assert ids(find(store, **which)) == expected


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Result.PENDING, [2]),
        (Result.APPLIED, [5, 3]),
        (Result.REFUSED, [4]),
        (Result.WON, [5]),
        (Result.EXPIRED, []),
    ],
)
@pytest.mark.parametrize("recent_rows", [1, 1000])
def test_decisions_are_found_by_what_was_heard_of_their_orders(opened, recent_rows, wanted, expected):
    """1 and 6 gave no order; 2 waits; 3 was carried out, 4 refused; the copy of 5 has won."""
    store = opened(recent_rows=recent_rows)
    store.record([record(number, order=100 * (number not in (1, 6))) for number in range(1, 7)], [], now_s=5.0)
    heard = [(3, Result.APPLIED), (4, Result.REFUSED), (5, Result.APPLIED), (5, Result.WON)]
    store.record([], [outcome(decision, result) for decision, result in heard], now_s=6.0)
    assert store.flush()
    assert ids(find(store, outcome=wanted)) == expected


def test_outcomes_recorded_before_they_could_be_searched_are_found(tmp_path):
    """A file of the first tables is brought to the newest ones with what it holds."""
    engine = create_engine(f"sqlite:///{tmp_path}/store.db")
    with engine.begin() as connection:
        migrate(connection, "0001")
        body = msgspec.json.encode(record(1, order=7))
        values = "1, 1, 'spark:a', 'j', -1, -1, -1, -1, 1, 1, :body"
        connection.execute(text(f"INSERT INTO decisions VALUES ({values})"), {"body": body})
        body = msgspec.json.encode(outcome(1))
        connection.execute(text("INSERT INTO outcomes VALUES (1, 1, 1, :body)"), {"body": body})
    engine.dispose()
    store = Store(StoreSettings(url=f"{tmp_path}/store.db"))
    store.open()
    assert ids(find(store, outcome=Result.APPLIED)) == [1]
    store.close()


def test_old_decisions_go_and_take_their_outcomes_along(opened, tmp_path):
    store = opened(keep_days=1.0, sweep_every_s=0.05, recent_rows=1)
    two_days_s = 2 * 86_400
    store.record([record(1), record(2, at_s=two_days_s)], [outcome(1), outcome(2, at_s=two_days_s)], now_s=two_days_s)
    assert eventually(lambda: count(store, schema.decisions) == 1)
    assert ids(find(store)) == [2]
    assert eventually(lambda: count(store, schema.outcomes) == 1)


def test_a_clock_that_jumps_ahead_deletes_nothing(tmp_path):
    """A month is counted from the start by the monotonic clock, not by one that somebody sets."""
    wall_ms = [WALL_MS]
    settings = StoreSettings(url=str(tmp_path / "store.db"), keep_days=30.0, sweep_every_s=0.02)
    store = Store(settings, wall_ms=lambda: wall_ms[0])
    store.open()
    store.record([record(1)], [], now_s=5.0)
    assert store.flush()
    wall_ms[0] += 400 * 86_400_000
    store.record([record(2)], [], now_s=6.0)
    time.sleep(0.2)
    assert store.flush()
    assert count(store, schema.decisions) == 2
    store.close()


@pytest.mark.parametrize("is_put_right", [False, True])
def test_a_clock_that_is_ahead_at_the_start_deletes_nothing(opened, tmp_path, is_put_right):
    """A machine that starts before its time service has answered must not take a month's decisions for old ones."""
    first = opened()
    first.record([record(1)], [], now_s=5.0)
    assert first.flush()
    first.close()
    wall_ms = [WALL_MS + 400 * 86_400_000]
    settings = StoreSettings(url=str(tmp_path / "store.db"), keep_days=30.0, sweep_every_s=0.02)
    store = Store(settings, wall_ms=lambda: wall_ms[0])
    store.open()
    store.record([record(2)], [], now_s=5.0)
    assert store.flush()
    if is_put_right:
        wall_ms[0] = WALL_MS
    time.sleep(0.2)
    assert store.flush()
    assert count(store, schema.decisions) == 2
    store.close()


def test_decisions_grow_old_while_the_server_runs(opened):
    """By the time since the start: of two rows of an earlier run only the one that was old by its end goes."""
    day_s = 86_400.0
    store = opened()
    store.record([record(1, at_s=0.0), record(2, at_s=2 * day_s)], [], now_s=2 * day_s)
    assert store.flush()
    store.close()
    again = opened(keep_days=1.0, sweep_every_s=0.05, recent_rows=1)
    assert eventually(lambda: count(again, schema.decisions) == 1)
    assert ids(find(again)) == [2]


def test_surplus_decisions_go_oldest_first(opened):
    store = opened(keep_rows=3, sweep_every_s=0.05, recent_rows=1)
    store.record([record(number, at_s=float(number)) for number in range(1, 11)], [], now_s=10.0)
    assert eventually(lambda: ids(find(store)) == [10, 9, 8])


def test_a_full_disk_stops_recording_says_so_once_and_recovers(opened):
    """SQLite's own page limit stands in for the disk: the same error, from the same place."""
    store = opened()
    limit = [8]
    event.listen(store.engine, "checkout", lambda raw, *_: raw.execute(f"PRAGMA max_page_count={limit[0]}"))
    with structlog.testing.capture_logs() as logs:
        for number in range(1, 400):
            store.record([record(number, inputs=MANY_INPUTS)], [], now_s=5.0)
        assert eventually(lambda: "full" in store.failure)
        assert ids(find(store, limit=2)) == [399, 398]
        limit[0] = 1_000_000
        assert eventually(lambda: not store.failure)
    assert store.flush()
    told = [entry["event"] for entry in logs]
    assert told.count("store_not_recording") == 1
    assert told.count("store_recording_again") == 1
    assert count(store, schema.decisions) == 399


def test_what_does_not_fit_while_the_disk_is_full_is_dropped_and_counted(opened):
    store = opened(queue_rows=10, batch_rows=5)
    event.listen(store.engine, "checkout", lambda raw, *_: raw.execute("PRAGMA max_page_count=1"))
    for number in range(1, 101):
        store.record([record(number, inputs=MANY_INPUTS)], [], now_s=5.0)
        assert number > 1 or eventually(lambda: store.failure)
    assert store.dropped == 100 - 1 - 10


def test_a_locked_file_stops_recording_and_recovers(opened, tmp_path):
    store = opened()
    with sqlite3.connect(tmp_path / "store.db", isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        store.record([record(1)], [], now_s=5.0)
        assert eventually(lambda: "locked" in store.failure, timeout_s=10)
        other.execute("ROLLBACK")
    other.close()
    assert store.flush()
    assert not store.failure
    assert count(store, schema.decisions) == 1


def test_a_store_that_cannot_be_opened_still_shows_the_newest(tmp_path):
    """The folder does not exist; deciding goes on, and the answer says that it is not complete."""
    store = Store(StoreSettings(url=str(tmp_path / "missing" / "store.db"), retry_s=0.02))
    store.open()
    assert (store.learned, store.settings, bool(store.unread)) == ({}, {}, True)
    store.record([record(1)], [], now_s=5.0)
    page = find(store)
    assert (ids(page), page.complete) == ([1], False)
    assert eventually(lambda: store.failure)
    (tmp_path / "missing").mkdir()
    assert store.flush()
    assert count(store, schema.decisions) == 1
    store.close()


def test_a_conflicting_row_is_given_up_alone(opened):
    """An id that is stored already is refused by the database for ever; its neighbours are not at fault."""
    store = opened(recent_rows=1)
    store.record([record(40)], [], now_s=5.0)
    assert store.flush()
    store.record([record(number) for number in range(1, 101)], [outcome(40)], now_s=5.0)
    assert store.flush()
    assert count(store, schema.decisions) == 100
    assert count(store, schema.outcomes) == 1
    assert (store.failure, store.dropped) == ("", 1)


def test_rows_that_were_written_are_not_written_again_after_a_later_failure(opened):
    """The database fails between the halves of a batch that held a conflict: nothing is lost, nothing doubled."""
    store = opened()
    store.record([record(4)], [], now_s=5.0)
    assert store.flush()
    inserts = []

    def fail_once(connection, cursor, statement, parameters, context, many):
        inserts.append(statement)
        if len(inserts) == 3:
            raise sqlite3.OperationalError("disk I/O error")

    event.listen(store.engine, "before_cursor_execute", fail_once)
    store.record([record(number) for number in range(1, 5)], [], now_s=5.0)
    assert store.flush()
    assert count(store, schema.decisions) == 4
    assert store.dropped == 1


def test_what_operators_did_is_written_after_an_outage_that_filled_the_queue(opened):
    """Decisions may be lost; the newest settings and the audit log may not."""
    store = opened(queue_rows=10, batch_rows=5)
    limit = [1]
    event.listen(store.engine, "checkout", lambda raw, *_: raw.execute(f"PRAGMA max_page_count={limit[0]}"))
    for number in range(1, 101):
        store.record([record(number, inputs=MANY_INPUTS)], [], now_s=5.0)
        assert number > 1 or eventually(lambda: store.failure)
    for lease_ms in (1000, 2000):
        store.save_settings({"lease_ms": lease_ms})
    store.audit(role="operate", action="settings", reason="during the outage")
    assert not asyncio.run(store.recorded())
    limit[0] = 1_000_000
    assert store.flush()
    assert asyncio.run(store.recorded())
    assert store.dropped > 0
    assert count(store, schema.settings) == count(store, schema.audit) == 1
    store.close()
    assert opened().settings == {"lease_ms": 2000}


def test_learned_samples_and_settings_are_kept_by_key(opened):
    store = opened()
    store.save_learned({"tail": [1.5], "hosts": {"a": 1.0}})
    store.save_learned({"tail": [1.7]})
    store.save_settings({"mode": "off"})
    assert store.flush()
    store.close()
    again = Store(StoreSettings(url=store.engine.url.render_as_string()))
    again.open()
    assert again.learned == {"tail": [1.7], "hosts": {"a": 1.0}}
    assert again.settings == {"mode": "off"}
    again.close()


def test_what_could_not_be_read_is_never_written_over(opened):
    """Read once it can be, and then joined with what has been changed since, which is newer."""
    first = opened()
    first.save_learned({"tail": [1.5]})
    first.save_settings({"lease_ms": 2000, "max_copies_per_task": 1})
    first.audit(role="operate", action="settings", reason="before")
    assert first.flush()
    first.close()
    store = Store(first._settings)
    event.listen(store.engine, "connect", refuse := lambda *_: (_ for _ in ()).throw(OSError("no disk")))
    store.open()
    assert "no disk" in store.unread
    store.save_learned({"tail": [9.9]})
    store.save_settings({"lease_ms": 3000})
    store.audit(role="operate", action="settings", reason="since")
    assert not asyncio.run(store.recorded())
    event.remove(store.engine, "connect", refuse)
    store.take_up(store.read())
    assert store.settings == {"lease_ms": 3000, "max_copies_per_task": 1}
    assert store.learned == {"tail": [1.5]}
    assert [entry.reason for entry in store.audit_log()] == ["since", "before"]
    store.close()


def test_what_operators_did_during_an_outage_stays_in_a_full_audit_log(opened):
    """A store that is read late brings as many entries as are kept: the oldest of those give way, not the newest."""

    def entry(reason):
        return AuditEntry(at_unix_ms=1, role="operate", action="mode", reason=reason)

    store = opened()
    store.audit(role="operate", action="mode", reason="since")
    store.take_up(Stored(learned={}, settings={}, audit=[entry(f"{n}") for n in range(1000)]))
    reasons = [each.reason for each in store.audit_log()]
    assert (len(reasons), reasons[:2], reasons[-1]) == (1000, ["since", "999"], "1")


def test_the_audit_log_outlives_a_restart(opened):
    store = opened()
    store.audit(role="operate", action="mode", reason="first", details={"mode": "off"})
    store.audit(role="operate", action="mode", reason="second")
    assert store.flush()
    assert [entry.reason for entry in opened().audit_log()] == ["second", "first"]


def test_migrations_lead_to_the_tables_that_the_code_expects(opened):
    """Alembic's comparison of a migrated file with the schema finds nothing to change."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    store = opened()
    with store.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []


def count(store, table):
    with store.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar()


def eventually(condition, timeout_s=5.0):
    """Whether the condition comes true before the time is up."""
    end_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end_s:
            return False
        time.sleep(0.01)
    return True
