"""Which tables are there? The newest shape; `migrations/` is how older files get to it."""

from sqlalchemy import BigInteger, Column, Float, Index, Integer, LargeBinary, MetaData, SmallInteger, String, Table

metadata = MetaData()

decisions = Table(
    "decisions",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("at_ms", BigInteger, nullable=False, index=True),
    Column("source", String, nullable=False),
    Column("job", String, nullable=False),
    Column("stage", BigInteger, nullable=False),
    Column("stage_attempt", BigInteger, nullable=False),
    Column("task", BigInteger, nullable=False),
    Column("attempt", BigInteger, nullable=False),
    Column("action", SmallInteger, nullable=False),
    Column("reason", SmallInteger, nullable=False),
    Column("ordered", SmallInteger, nullable=False, server_default="0"),
    Column("epoch", BigInteger, nullable=False, server_default="0"),
    Column("body", LargeBinary, nullable=False),
    Index("ix_decisions_job", "source", "job", "id"),
    Index("ix_decisions_action", "action", "id"),
    Index("ix_decisions_ordered", "ordered", "id"),
)
"""One row per decision; `body` is the whole DecisionRecord as JSON, the rest is for searching."""

outcomes = Table(
    "outcomes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("decision", BigInteger, nullable=False, index=True),
    Column("at_ms", BigInteger, nullable=False, index=True),
    Column("result", String, nullable=False, server_default=""),
    Column("body", LargeBinary, nullable=False),
    Index("ix_outcomes_result", "result", "decision"),
)

stock_copies = Table(
    "stock_copies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at_ms", BigInteger, nullable=False, index=True),
    Column("source", String, nullable=False),
    Column("won", SmallInteger, nullable=False),
    Column("core_s", Float, nullable=False),
)
"""One row per ended copy that a host launched by itself: ours are compared with these."""

promises = Table(
    "promises",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at_ms", BigInteger, nullable=False, index=True),
    Column("source", String, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("job", String, nullable=False),
    Column("first_pocd", Float),
    Column("newest_pocd", Float),
    Column("first_with_copies", Float),
    Column("kept", SmallInteger, nullable=False),
    Index("ix_promises_job", "source", "job", "id"),
)
"""One row per ended job with a deadline: how likely it was said to keep it, and whether it has."""

learned = Table(
    "learned",
    metadata,
    Column("key", String, primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
"""Samples and tail indices; one row per key of `Scheduler.learned()`."""

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

settings = Table(
    "settings",
    metadata,
    Column("key", String, primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
"""Settings changed at run time, which survive a restart."""
