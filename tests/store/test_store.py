"""Does the store keep what it should, for as long as it should, and never get in the way of a decision?"""

import asyncio
import contextlib
import math
import sqlite3
import stat
import subprocess
import sys
from time import monotonic
from types import SimpleNamespace

import msgspec
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from msgspec.structs import replace
from sqlalchemy import inspect, text
from sqlalchemy.exc import OperationalError

from controlplane import settings
from controlplane.model.decisions import Promise, Result, StockCopy
from controlplane.model.errors import BadSettings
from controlplane.model.reasons import Action, Reason, sentence
from controlplane.store import rows, schema
from controlplane.store.database import alone, migrate, open_engine
from controlplane.store.parameters import StoreSettings
from controlplane.store.recent import Recent
from controlplane.store.store import Store
from tests.store.stored import MANY_INPUTS, WALL_MS, count, find, free_pages, ids, outcome, record, sweep
from tests.waiting import eventually

pytestmark = pytest.mark.unit


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


def test_orders_that_a_run_leaves_open_are_over_when_the_next_one_starts(opened):
    """No host answers an order of a control plane that is gone; each ends once, however often one starts."""
    store = opened()
    store.record([record(1, order=8), record(2, order=9), record(3)], [outcome(1)], now_s=5.0)
    assert store.flush()
    store.close()
    opened().close()
    told = {each.record.id: [news.result for news in each.outcomes] for each in find(opened()).decisions}
    assert told == {1: [Result.APPLIED], 2: [Result.MOOT], 3: []}
    assert find(opened(), outcome=Result.PENDING).decisions == []


def test_the_end_of_an_order_that_a_run_leaves_open_is_dated_as_its_decision(opened):
    """By the clock of the run that gave it: the next one starts 2.5 s after the decision, which was at 5 s."""
    store = opened()
    store.record([record(1, order=8)], [], now_s=5.0)
    assert store.flush()
    with store.engine.begin() as connection:
        rows.end_orders(connection, WALL_MS + 2500)
    (found,) = find(opened()).decisions
    assert [news.at_s for news in found.outcomes] == [7.5]


def test_how_an_order_ends_that_no_decision_records_is_not_kept(opened):
    """A lease that is said again belongs to none: rows of it would grow without end."""
    store = opened()
    store.record([], [outcome(0)], now_s=5.0)
    assert store.flush()
    assert count(store, schema.outcomes) == 0


def test_a_decision_with_unknown_numbers_is_read_back(opened):
    store = opened()
    unknown = record(1, inputs={"t_rem_s": math.nan, "rate": 2.0}, alternatives=[("wait", math.inf)])
    store.record([unknown], [], now_s=5.0)
    assert store.flush()
    (found,) = find(opened()).decisions
    assert found.record.inputs == {"t_rem_s": None, "rate": 2.0}
    assert found.record.alternatives == [("wait", None)]
    assert "nan" in sentence(found.record.reason, found.record.inputs)


def test_the_newest_are_readable_before_they_are_written(opened):
    store = opened()
    store.record([record(1)], [outcome(1)], now_s=5.0)
    assert ids(find(store)) == [1]
    assert asyncio.run(store.decision(1)).outcomes == [outcome(1)]
    assert asyncio.run(store.decision(2)) is None


def test_no_more_decisions_are_in_memory_than_may_be():
    """The oldest makes room."""
    recent = Recent(limit=2)
    for number in (1, 2, 3):
        recent.add(record(number), WALL_MS)
    assert (len(recent), recent.oldest_id) == (2, 2)


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
        ({"epoch": 8}, [3]),
        ({"job": "other"}, [3]),
        ({"index": 7}, [4]),
        ({"attempt": 9, "stage": 3, "stage_attempt": 1}, [5]),
        ({"stage": -1, "stage_attempt": -1, "index": -1}, [7, 6, 3, 2, 1]),
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
        {"job": "other", "epoch": 8},
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
    store = Store(StoreSettings(url=f"{tmp_path}/store.db"))
    fill_first_tables(store.engine)
    store.open()
    assert ids(find(store, outcome=Result.APPLIED)) == [1]
    store.close()


def test_decisions_recorded_before_they_had_an_epoch_have_none(tmp_path):
    """It is 0 in what is read, and in the column that is searched."""
    store = Store(StoreSettings(url=f"{tmp_path}/store.db"))
    fill_first_tables(store.engine)
    store.open()
    (found,) = find(store, epoch=0).decisions
    assert (found.record.id, found.record.epoch) == (1, 0)
    store.close()


@pytest.mark.parametrize("revision", ["base", "0001"])
def test_a_start_killed_while_it_changes_the_tables_leaves_them_as_they_were(tmp_path, revision):
    """Wherever the kill or a full disk cuts what SQLite was writing, the next start finds the old tables or the new."""
    store = Store(StoreSettings(url=f"{tmp_path}/store.db"))
    if revision != "base":
        fill_first_tables(store.engine)
        store.engine.dispose()
    assert store.read() is not None
    written, log = ((tmp_path / f"store.db{end}").read_bytes() for end in ("", "-wal"))
    page_bytes = int.from_bytes(log[8:12], "big")
    cuts = range(32, len(log) + 1, 24 + page_bytes)  # SQLite's format: a header, then pages with headers of their own
    for cut in cuts:
        (tmp_path / "cut.db").write_bytes(written)
        (tmp_path / "cut.db-wal").write_bytes(log[:cut])
        again = Store(StoreSettings(url=f"{tmp_path}/cut.db"))
        assert again.read() is not None, again.unread
        with again.engine.connect() as connection:
            assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []
        assert ids(find(again, outcome=Result.APPLIED)) == [1] * (revision != "base")
        again.engine.dispose()
    assert len(cuts) > 5
    store.engine.dispose()


def test_old_decisions_go_and_take_their_outcomes_along(opened, tmp_path):
    store = opened(keep_days=1.0, sweep_every_s=0.05, recent_rows=1)
    two_days_s = 2 * 86_400
    store.record([record(1), record(2, at_s=two_days_s)], [outcome(1), outcome(2, at_s=two_days_s)], now_s=two_days_s)
    eventually(lambda: count(store, schema.decisions) == 1)
    assert ids(find(store)) == [2]
    eventually(lambda: count(store, schema.outcomes) == 1)


def test_a_row_two_hours_old_outlives_a_sweep_that_keeps_a_day(opened):
    """A day is one of 24 hours: whoever counts it in another unit loses today's decisions."""
    store = opened(keep_days=1.0, sweep_every_s=0.02)
    two_hours_s = 2 * 3600.0
    store.record([record(1, at_s=0.0), record(2, at_s=two_hours_s)], [], now_s=two_hours_s)
    assert store.flush()
    sweep(store)
    assert count(store, schema.decisions) == 2


def test_a_file_shrinks_when_decisions_go(opened):
    """By all the pages that are free, hundreds of them: not by one a sweep."""
    store = opened(keep_rows=1, sweep_every_s=0.05, recent_rows=1)
    store.record([record(number, at_s=float(number), inputs=MANY_INPUTS) for number in range(1, 100)], [], now_s=100.0)
    eventually(lambda: count(store, schema.decisions) == 1)
    eventually(lambda: free_pages(store) == 0)


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
    assert store.flush()
    sweep(store)
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
    sweep(store)
    assert count(store, schema.decisions) == 2
    store.close()


def test_decisions_grow_old_while_the_server_runs(opened, monkeypatch):
    """By the time since the start: of two rows of an earlier run only the one that was old by its end goes.

    For how long the machine has been up does not matter: here for ten days more than it has.
    """
    day_s = 86_400.0
    monkeypatch.setattr("controlplane.store.writer.time", SimpleNamespace(monotonic=lambda: monotonic() + 10 * day_s))
    store = opened()
    store.record([record(1, at_s=0.0), record(2, at_s=2 * day_s)], [], now_s=2 * day_s)
    assert store.flush()
    store.close()
    again = opened(keep_days=1.0, sweep_every_s=0.05, recent_rows=1)
    sweep(again)
    assert ids(find(again)) == [2]


def test_surplus_decisions_go_oldest_first(opened):
    store = opened(keep_rows=3, sweep_every_s=0.05, recent_rows=1)
    store.record([record(number, at_s=float(number)) for number in range(1, 11)], [], now_s=10.0)
    eventually(lambda: ids(find(store)) == [10, 9, 8])


def test_after_a_clock_was_ahead_the_newest_decisions_stay(tmp_path):
    """Those of the present are dated before the earlier ones, and would go until the clock gets there."""
    day_ms = 86_400_000
    wall_ms = [WALL_MS + day_ms]
    settings = StoreSettings(url=str(tmp_path / "store.db"), keep_rows=3, sweep_every_s=0.02, recent_rows=1)
    store = Store(settings, wall_ms=lambda: wall_ms[0])
    store.open()
    for numbers in (range(1, 6), (6, 7)):
        store.record([record(number) for number in numbers], [outcome(number) for number in numbers], now_s=6.0)
        copies = [StockCopy(source=f"spark:{n}", won=True, core_s=0.0, ended_s=5.0) for n in numbers]
        store.record_stock_copies(copies, now_s=6.0)
        assert store.flush()
        wall_ms[0] = WALL_MS
    sweep(store)
    found = find(store)
    assert ids(found) == [7, 6, 5]
    assert [len(each.outcomes) for each in found.decisions] == [1, 1, 1]
    assert count(store, schema.outcomes) == 3
    assert set(asyncio.run(store.stock_copies(0))) == {"spark:5", "spark:6", "spark:7"}
    store.close()


def test_promises_outlive_a_restart_and_go_by_age_alone(opened):
    """Those that are not known stay so; a surplus of decisions takes none along."""
    days_s = 86_400
    kept = Promise(
        source="spark:a",
        epoch=3,
        job="j",
        ended_s=4.0 * days_s,
        first_pocd=0.25,
        newest_pocd=None,
        first_with_copies=0.5,
        kept=True,
    )
    old = replace(kept, ended_s=0.0, kept=False)
    store = opened()
    store.record_promises([old, kept], now_s=4.0 * days_s)
    store.close()
    again = opened(keep_days=3.0, keep_rows=1, sweep_every_s=0.05)
    again.record([record(number, at_s=4.0 * days_s + number) for number in (1, 2)], [], now_s=4.0 * days_s)
    eventually(lambda: count(again, schema.decisions) == count(again, schema.promises) == 1)
    (found,) = asyncio.run(again.promises(limit=9))
    assert (found.source, found.epoch, found.job, found.kept) == ("spark:a", 3, "j", True)
    assert (found.at_unix_ms, found.first_pocd, found.newest_pocd, found.first_with_copies) == (
        WALL_MS,
        0.25,
        None,
        0.5,
    )
    assert asyncio.run(again.promises(limit=9, source="spark:a", job="other")) == []
    assert asyncio.run(again.promises(limit=9, since_ms=WALL_MS + 1)) == []


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


def test_what_could_not_be_read_is_not_written_over_on_disk(opened, monkeypatch):
    """A run that starts from nothing, as a disk was sick for a moment, must not leave nothing to the next one."""
    first = opened()
    first.save_learned({"tail": [1.5]})
    assert first.flush()
    first.close()
    with monkeypatch.context() as sick:
        sick.setattr("controlplane.store.rows.read_learned", lambda _: 1 / 0)
        sick.setattr("controlplane.store.store.DBAPIError", ZeroDivisionError)
        blind = opened()
    assert blind.unread
    blind.save_learned({"tail": []})
    blind.save_settings({"lease_ms": 1000})
    assert blind.flush()
    blind.close()
    assert opened().learned == {"tail": [1.5]}


def test_the_audit_log_outlives_a_restart(opened):
    store = opened()
    store.audit(role="operate", action="mode", reason="first", details={"mode": "off"})
    store.audit(role="operate", action="mode", reason="second")
    assert store.flush()
    assert [entry.reason for entry in opened().audit_log()] == ["second", "first"]


def test_migrations_lead_to_the_tables_that_the_code_expects(opened):
    """Alembic's comparison of a migrated file with the schema finds nothing to change."""
    store = opened()
    with store.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []


def test_migrations_that_are_taken_back_leave_no_table(opened):
    """But Alembic's own, which is then empty."""
    config = Config()
    config.set_main_option("script_location", "controlplane.store:migrations")
    with opened().engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
        assert inspect(connection).get_table_names() == ["alembic_version"]
        assert MigrationContext.configure(connection).get_current_heads() == ()


def fill_first_tables(engine):
    """A decision and its outcome, as the first version has written them."""
    with engine.begin() as connection:
        migrate(connection, "0001")
        fields = msgspec.to_builtins(record(1, order=7))
        del fields["epoch"]
        body = msgspec.json.encode(fields)
        values = "1, 1, 'spark:a', 'j', -1, -1, -1, -1, 1, 1, :body"
        connection.execute(text(f"INSERT INTO decisions VALUES ({values})"), {"body": body})
        body = msgspec.json.encode(outcome(1))
        connection.execute(text("INSERT INTO outcomes VALUES (1, 1, 1, :body)"), {"body": body})


def test_a_closed_store_lets_go_of_its_file(opened, tmp_path):
    """SQLite puts its log into the file when the last connection goes: the file alone can then be copied."""
    store = opened()
    store.record([record(1)], [], now_s=5.0)
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]


def test_the_stores_files_are_their_users_alone(opened, tmp_path):
    """They hold names of jobs and users; everybody could read them."""
    store = opened()
    store.record([record(1)], [], now_s=5.0)
    assert store.flush()
    with alone(str(tmp_path / "store.db")):
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("store.db", "store.db-wal", "store.db-shm", "store.db.lock"), 0o600)


def test_a_store_that_is_reached_by_a_link_is_the_same_store(tmp_path):
    """Two servers, each by a name of its own, wrote to one file."""
    (tmp_path / "link.db").symlink_to(tmp_path / "store.db")
    with alone(str(tmp_path / "store.db")), pytest.raises(BlockingIOError), alone(str(tmp_path / "link.db")):
        pass


def test_a_hard_link_is_the_same_store_and_another_spelling_too(tmp_path):
    """Each server wrote a log of its own beside one file, and half of the records were lost."""
    store, link = tmp_path / "store.db", tmp_path / "elsewhere" / "link.db"
    link.parent.mkdir()
    with alone(str(store)):
        link.hardlink_to(store)
        for other in (str(link), f"sqlite:///{link}", f"sqlite+pysqlite:///{store}?timeout=5"):
            with pytest.raises(BlockingIOError), alone(other):
                pass
    with alone(str(link)):
        pass


def test_a_store_that_is_kept_can_be_written_and_stays_kept(opened, tmp_path):
    """SQLite opens and closes the file meanwhile, which ends a process's locks of the older kind."""
    path = str(tmp_path / "store.db")
    with alone(path):
        store = opened()
        store.record([record(1)], [], now_s=5.0)
        assert store.flush()
        store.close()
        with pytest.raises(BlockingIOError), alone(path):
            pass
    assert ids(find(opened())) == [1]


def test_a_new_connection_leaves_the_locks_of_others(tmp_path):
    """It opened and closed the file, so a first connection's lock was gone, and others could write meanwhile."""
    path = tmp_path / "store.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as first:
        first.execute("CREATE TABLE kept (id INTEGER)")
        first.execute("BEGIN EXCLUSIVE")
        with pytest.raises(OperationalError):
            open_engine(f"sqlite:///{path}?timeout=0").connect()
        other = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"
        told = subprocess.run([sys.executable, "-c", other, path], capture_output=True, text=True, check=False)
    assert "database is locked" in told.stderr


@pytest.mark.parametrize(
    "url", ["sqlite:///file:{}?uri=true", "sqlite:///file:{}?mode=ro&uri=true", "sqlite:///{}?uri=true"]
)
def test_sqlites_own_addresses_are_refused_by_a_sentence(tmp_path, url):
    """They opened a running server's file under a name that nobody compared."""
    with pytest.raises(BadSettings) as refused:
        settings.load(overrides={"store": {"url": url.format(tmp_path / "store.db")}})
    assert "no file: or :memory:" in str(refused.value)


@pytest.mark.parametrize("url", [":memory:", "sqlite:///:memory:", "sqlite://"])
def test_a_database_in_memory_is_refused(url):
    """Every thread had one of its own, without tables."""
    with pytest.raises(BadSettings, match="no file: or :memory:"):
        settings.load(overrides={"store": {"url": url}})


def test_a_decision_that_is_no_longer_in_memory_is_read_by_its_number(opened):
    """One that never was is None, whatever comes before it."""
    store = opened(recent_rows=1)
    store.record([record(1), record(3)], [], now_s=5.0)
    assert store.flush()
    found = [asyncio.run(store.decision(number)) for number in (1, 2, 3)]
    assert [each and each.record.id for each in found] == [1, None, 3]
