"""Does a store that cannot write, or that holds what it cannot read, lose no more than it must, and say so?"""

import asyncio
import os
import sqlite3
from contextlib import closing

import pytest
import structlog
from sqlalchemy import event

from controlplane.store import schema, writer
from controlplane.store.parameters import StoreSettings
from controlplane.store.store import AuditEntry, Store, Stored
from tests.store.stored import MANY_INPUTS, count, find, ids, outcome, record
from tests.waiting import eventually

pytestmark = pytest.mark.unit


def test_a_full_disk_stops_recording_says_so_once_and_recovers(opened):
    """SQLite's own page limit stands in for the disk: the same error, from the same place."""
    store = opened()
    limit = [8]
    event.listen(store.engine, "checkout", lambda raw, *_: raw.execute(f"PRAGMA max_page_count={limit[0]}"))
    with structlog.testing.capture_logs() as logs:
        for number in range(1, 400):
            store.record([record(number, inputs=MANY_INPUTS)], [], now_s=5.0)
        eventually(lambda: "full" in store.failure)
        assert ids(find(store, limit=2)) == [399, 398]
        limit[0] = 1_000_000
        eventually(lambda: not store.failure)
    assert store.flush()
    told = [entry["event"] for entry in logs]
    assert told.count("store_not_recording") == 1
    assert told.count("store_recording_again") == 1
    assert count(store, schema.decisions) == 399


def test_a_sweep_that_fails_once_does_not_keep_the_store_from_recording(opened, monkeypatch):
    """No row comes to try the store by, and the next sweep is seconds away."""
    plain, calls = writer.rows.sweep, []

    def sweep(*told, **named):
        calls.append(1)
        if len(calls) == 1:
            raise OSError("full for a moment")
        return plain(*told, **named)

    monkeypatch.setattr(writer.rows, "sweep", sweep)
    store = opened(sweep_every_s=3.0, retry_s=0.3)
    eventually(lambda: store.failure)
    eventually(lambda: not store.failure)
    assert len(calls) == 1


def test_what_does_not_fit_while_the_disk_is_full_is_dropped_and_counted(opened):
    store = opened(queue_rows=10, batch_rows=5)
    event.listen(store.engine, "checkout", lambda raw, *_: raw.execute("PRAGMA max_page_count=1"))
    for number in range(1, 101):
        store.record([record(number, inputs=MANY_INPUTS)], [], now_s=5.0)
        if number == 1:
            eventually(lambda: store.failure)
    assert store.dropped == 100 - 1 - 10


def test_a_locked_file_stops_recording_and_recovers(opened, tmp_path):
    store = opened()
    with sqlite3.connect(tmp_path / "store.db", isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        store.record([record(1)], [], now_s=5.0)
        eventually(lambda: "locked" in store.failure)
        other.execute("ROLLBACK")
    other.close()
    assert store.flush()
    assert not store.failure
    assert count(store, schema.decisions) == 1


def test_what_could_not_be_written_until_the_end_is_said(opened, tmp_path):
    """A kill switch that nobody will find in the audit log."""
    store = opened()
    with sqlite3.connect(tmp_path / "store.db", isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        store.record([record(1)], [], now_s=5.0)
        eventually(lambda: "locked" in store.failure)
        with structlog.testing.capture_logs() as logs:
            store.close()
    other.close()
    (told,) = [entry for entry in logs if entry["event"] == "store_rows_lost"]
    assert (told["decisions"], "locked" in told["reason"]) == (1, True)


def test_a_file_that_is_gone_stops_recording_until_it_is_back(opened, tmp_path):
    """SQLite would go on writing to the file that nobody finds again: a kill switch would be called recorded."""
    store, file = opened(), tmp_path / "store.db"
    store.record([record(1)], [], now_s=5.0)
    assert store.flush()
    file.rename(tmp_path / "gone")
    store.save_settings({"lease_ms": 1000})
    eventually(lambda: "store.db" in store.failure)
    assert not asyncio.run(store.recorded())
    file.write_bytes(b"")
    eventually(lambda: "another file" in store.failure)
    (tmp_path / "gone").rename(file)
    assert store.flush()
    assert not store.failure
    assert asyncio.run(store.recorded())


def test_a_file_that_is_emptied_stops_recording(opened, tmp_path):
    """A kill switch would be called recorded, and the next start would not know of it."""
    store, file = opened(), tmp_path / "store.db"
    os.truncate(file, 0)
    store.save_settings({"lease_ms": 1000})
    eventually(lambda: "another file, or nothing" in store.failure)
    assert not asyncio.run(store.recorded())


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_write_ahead_log_that_is_gone_or_replaced_stops_recording(opened, tmp_path, is_replaced):
    """SQLite writes to the old one until the end, and a crash loses all of it."""
    (tmp_path / "link.db").symlink_to(tmp_path / "store.db")
    store, log = opened(url=str(tmp_path / "link.db")), tmp_path / "store.db-wal"
    log.unlink()
    if is_replaced:
        log.write_bytes(b"")
    store.save_settings({"lease_ms": 1000})
    eventually(lambda: "another file, or nothing" in store.failure)
    assert not asyncio.run(store.recorded())


def test_a_store_goes_on_whatever_other_programs_read_and_its_log_is_written_back(opened, tmp_path):
    """Both change the files, and hurt none."""
    store = opened()
    for number in range(1, 4):
        store.record([record(number)], [], now_s=5.0)
        assert store.flush()
        with closing(sqlite3.connect(tmp_path / "store.db")) as other:
            assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
            assert other.execute("SELECT count(*) FROM decisions").fetchone() == (number,)
    assert not store.failure


def test_a_store_that_cannot_be_opened_still_shows_the_newest(tmp_path):
    """The folder does not exist; deciding goes on, and the answer says that it is not complete."""
    store = Store(StoreSettings(url=str(tmp_path / "missing" / "store.db"), retry_s=0.02))
    store.open()
    assert (store.learned, store.settings, bool(store.unread)) == ({}, {}, True)
    store.record([record(1)], [], now_s=5.0)
    page = find(store)
    assert (ids(page), page.complete) == ([1], False)
    eventually(lambda: store.failure)
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
        if number == 1:
            eventually(lambda: store.failure)
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


def test_what_operators_do_is_on_the_disk_before_it_is_called_recorded(opened):
    """A kill switch must outlive a power cut, for which SQLite has to sync each of these transactions by itself."""
    store = opened()
    assert store.flush()
    levels = []
    event.listen(store.engine, "commit", lambda raw: levels.append(raw.exec_driver_sql("PRAGMA synchronous").scalar()))
    store.save_settings({"choices": []})
    assert asyncio.run(store.recorded())
    store.record([record(1)], [], now_s=5.0)
    assert store.flush()
    full, normal = 2, 1  # as SQLite's documentation numbers them
    assert levels == [full, normal]


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


def test_rows_that_are_not_understood_hold_back_no_others(opened, tmp_path):
    """A torn row, or another version's, is told and left out: it must not keep the plane from ever deciding again."""
    store = opened()
    store.save_learned({"tail": [1.5]})
    store.save_settings({"lease_ms": 2000})
    store.audit(role="operate", action="mode", reason="before")
    assert store.flush()
    with sqlite3.connect(tmp_path / "store.db") as other:
        for torn in (b'{"tail', b"\xff"):
            other.execute("INSERT OR REPLACE INTO learned VALUES ('stages', 1, ?)", (torn,))
            other.execute("INSERT OR REPLACE INTO settings VALUES ('choices', 1, ?)", (torn,))
            other.execute("INSERT INTO audit (at_ms, body) VALUES (1, ?)", (torn,))
        other.execute("INSERT INTO audit (at_ms, body) VALUES (1, ?)", (b'{"at_unix_ms": 1, "who": "ann"}',))
    other.close()
    with structlog.testing.capture_logs() as logs:
        again = opened()
    assert (again.unread, again.learned) == ("", {"tail": [1.5]})
    assert again.settings == {"lease_ms": 2000, "choices": r"b'\xff'"}
    assert [entry.reason for entry in again.audit_log()] == ["before"]
    assert [entry["table"] for entry in logs if entry["event"] == "row_not_understood"] == ["learned", *["audit"] * 3]


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
def test_torn_decisions_are_passed_over_on_every_page(opened, tmp_path, limit):
    """Pages stay whole, and the cursor leads on to what is older than them."""
    store = opened()
    store.record([record(number) for number in range(1, 10)], [outcome(9)], now_s=5.0)
    assert store.flush()
    with sqlite3.connect(tmp_path / "store.db") as other:
        other.execute("UPDATE decisions SET body = ? WHERE id IN (1, 4, 6)", (b'{"id',))
        other.execute("UPDATE decisions SET body = 0 WHERE id = 7")
        other.execute("UPDATE outcomes SET body = ?", (b"{}",))
    other.close()
    again, seen, cursor = opened(), [], None
    while page := find(again, before=cursor, limit=limit):
        assert page.complete
        seen += ids(page)
        if (cursor := page.cursor) is None:
            break
    assert seen == [9, 8, 5, 3, 2]


def test_what_operators_did_during_an_outage_stays_in_a_full_audit_log(opened):
    """A store that is read late brings as many entries as are kept: the oldest of those give way, not the newest."""

    def entry(reason):
        return AuditEntry(at_unix_ms=1, role="operate", action="mode", reason=reason)

    store = opened()
    store.audit(role="operate", action="mode", reason="since")
    store.take_up(Stored(learned={}, settings={}, audit=[entry(f"{n}") for n in range(1000)]))
    reasons = [each.reason for each in store.audit_log()]
    assert (len(reasons), reasons[:2], reasons[-1]) == (1000, ["since", "999"], "1")


def test_a_list_with_decisions_that_are_not_written_does_not_call_itself_whole(opened):
    """A full disk can still be read: what has left the memory and did not reach it is missing."""
    store = opened(recent_rows=3)
    event.listen(store.engine, "checkout", lambda raw, *_: raw.execute("PRAGMA max_page_count=1"))
    for number in range(1, 20):
        store.record([record(number, inputs=MANY_INPUTS)], [], now_s=5.0)
    eventually(lambda: store.failure)
    assert find(store, limit=2).complete
    assert not find(store, limit=10).complete
