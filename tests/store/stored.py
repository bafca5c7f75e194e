"""What do the store's tests write, and how do they look at what is there?"""

import asyncio

from sqlalchemy import event, func, select

from controlplane.model.decisions import DecisionOutcome, DecisionRecord, Result
from controlplane.model.facts import Mode
from controlplane.model.reasons import Action, Reason
from controlplane.store.recent import DecisionFilter
from tests.waiting import eventually

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


def count(store, table):
    with store.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar()


def sweep(store):
    """Returns once a whole sweep has come and gone: the next but one has begun."""
    begun = []

    def note(connection, cursor, statement, *_):
        if statement.startswith("DELETE FROM decisions"):
            begun.append(statement)

    event.listen(store.engine, "before_cursor_execute", note)
    eventually(lambda: len(begun) > 1)
    event.remove(store.engine, "before_cursor_execute", note)


def free_pages(store):
    with store.engine.connect() as connection:
        return connection.exec_driver_sql("PRAGMA freelist_count").scalar()
