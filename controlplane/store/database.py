"""How is the database opened and brought to the newest tables?"""

import fcntl
import os
import re
import struct
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

_MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK_WAIT_S = 2.0
_OUR_BYTE = 2**62
"""The locked byte of the database's file, far behind those that SQLite locks."""
_SECRET = re.compile("pass|secret|token|key", re.IGNORECASE)


def full_url(url: str) -> str:
    """An SQLAlchemy URL; a bare path means an SQLite file.

    >>> full_url("/tmp/a.db"), full_url("postgresql+psycopg://host/db")
    ('sqlite:////tmp/a.db', 'postgresql+psycopg://host/db')
    """
    return url if "://" in url else f"sqlite:///{url}"


def shown_url(url: str) -> str:
    """A URL as it may be shown: without its passwords.

    >>> shown_url("postgresql://ann:secret@host/db?sslpassword=hush"), shown_url("plane.db")
    ('postgresql://ann:***@host/db?sslpassword=hidden', 'plane.db')
    """
    if "://" not in url:
        return url
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        return "***"
    hidden = {name: "hidden" for name in parsed.query if _SECRET.search(name)}
    return parsed.update_query_dict(hidden).render_as_string(hide_password=True)


def usable(url: str) -> bool:
    """Whether the URL can be understood and its driver is installed; nothing is connected to.

    SQLite's own `file:` addresses are not: they may open one file as several. Nor is a database in memory: each thread
    would have its own.

    >>> usable("/tmp/a.db"), usable("sqlite:///file:/tmp/a.db?uri=true"), usable("sqlite:///:memory:")
    (True, False, False)
    """
    try:
        parsed = make_url(full_url(url))
        if parsed.get_backend_name() == "sqlite" and ("uri" in parsed.query or not _file_name(parsed)):
            return False
        open_engine(url).dispose()
    except (ArgumentError, ImportError, ValueError):
        return False
    return True


def open_engine(url: str) -> Engine:
    """An engine that connects on first use. SQLite gets a write-ahead log, so readers and the writer do not wait.

    We begin transactions in SQLite ourselves: Python would leave changes of tables out of them.
    """
    parsed = make_url(full_url(url))
    if parsed.get_backend_name() != "sqlite":
        return create_engine(parsed, pool_pre_ping=True)
    given = {"timeout": _LOCK_WAIT_S, "check_same_thread": False, "isolation_level": None}
    engine = create_engine(parsed, connect_args=given)
    if _file_name(parsed):
        event.listen(engine, "do_connect", _make_private)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


@contextmanager
def alone(url: str) -> Iterator[None]:
    """Keeps an SQLite file for this process meanwhile; raises BlockingIOError if another one has it.

    The file counts, not the name: a link to it is the same one, symbolic or hard. Its place is kept, too, should the
    file be taken away. Other databases are not kept, nor are files that cannot be locked.
    """
    name = _file_name(make_url(full_url(url)))
    with ExitStack() as stack:
        for path, lock in ((f"{os.path.realpath(name)}.lock", _lock_file), (name, _lock_byte)) if name else ():
            try:
                lock(stack.enter_context(open(path, "a", opener=_privately)).fileno())
            except BlockingIOError:
                raise
            except OSError:
                pass
        yield


def files_of(engine: Engine) -> tuple[object, ...]:
    """The identity of an open SQLite database's files, which changes when one is replaced, emptied or deleted.

    The write-ahead log stays the same file while any connection is open; some file systems allow none. Empty for other
    databases. Raises OSError if the database file is gone.
    """
    name = _file_name(engine.url)
    if not name:
        return ()
    file, log = Path(name).stat(), Path(f"{os.path.realpath(name)}-wal")
    return file.st_dev, file.st_ino, file.st_size == 0, log.stat().st_ino if log.exists() else None


def _file_name(url: URL) -> str:
    """The path of an SQLite database; empty if it has none, or is not SQLite."""
    name = url.database or ""
    return "" if url.get_backend_name() != "sqlite" or name == ":memory:" or name.startswith("file:") else name


def durable(engine: Engine) -> Engine:
    """The same database; a transaction is on the disk when it ends, and in SQLite waits for the lock when it begins.

    Others may be lost in a power failure, but never in part.
    """
    return engine.execution_options(durable=True)


def migrate(connection: Connection, revision: str = "head") -> None:
    """Migrates the tables to the newest shape, or up to an older one; does nothing if they have it.

    All of it belongs to the connection's transaction.
    """
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def _privately(path: str, flags: int) -> int:
    """Opens a file that nobody but its user may read, if it is new."""
    return os.open(path, flags | os.O_CREAT, 0o600)


def _lock_file(descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_byte(descriptor: int) -> None:
    """Locks a byte that SQLite does not know, until the descriptor is closed.

    SQLite's locks belong to the process and go with any descriptor of the file that it closes; this one does not. Only
    Linux has such locks.
    """
    if sys.platform != "linux":
        return
    kind = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, _OUR_BYTE, 1, 0)
    fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, kind)


def _make_private(_dialect: Any, _record: Any, arguments: Any, _options: Any) -> None:
    """Makes the file before SQLite does, which would let everybody read it; files next to it get its permissions.

    An existing one stays closed: closing it would end the locks of this process's other connections. If it cannot
    be made, SQLite says why.
    """
    with suppress(OSError):
        os.close(_privately(arguments[0], os.O_RDONLY | os.O_EXCL))


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    is_new = cursor.execute("PRAGMA page_count").fetchone() == (0,)
    if is_new:  # Later it has no effect, but waits for the holder of the write lock.
        cursor.execute("PRAGMA auto_vacuum=INCREMENTAL")
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA cache_size=-1000")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    is_durable = connection.get_execution_options().get("durable", False)
    connection.exec_driver_sql(f"PRAGMA synchronous={'FULL' if is_durable else 'NORMAL'}")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_durable else "BEGIN")
