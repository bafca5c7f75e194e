"""Does the table of limits say what the code holds everybody to?"""

from dataclasses import fields
from pathlib import Path

import pytest

from controlplane.api import app, auth, connections, report, shim
from controlplane.model import apply, attempts, cluster, costs, facts
from controlplane.runtime import fair_queue, sources
from controlplane.runtime.parameters import RuntimeSettings

pytestmark = [pytest.mark.unit, pytest.mark.checkout]

SECURITY = Path(__file__).parents[2] / "docs" / "security.md"
PACES = {
    "cycle_gap_ms",
    "cycle_share",
    "longest_wait_ms",
    "fast_interval_ms",
    "sources_per_s",
    "forget_after_s",
    "first_report_age_s",
    "snapshot_age_s",
    "learned_every_s",
    "record_to",
    "record_mb",
}
"""Settings of the live driver that bound nothing a caller does."""


@pytest.fixture(scope="module")
def rows():
    """The limit of each row of a table, by what it bounds."""
    return {row.split("|")[1].strip(): row.split("|")[2] for row in SECURITY.read_text().splitlines() if "|" in row}


@pytest.mark.parametrize(
    ("what", "limits"),
    [
        ("request line and headers", [f"{connections.HEAD_BYTES // 2**10} KB", f"{connections.HEAD_S:.0f} s"]),
        ("requests of a connection", [f"{connections.PIPELINED}"]),
        (
            "a body on any path",
            [f"{connections.BODY_S:.0f} s", f"{connections.CRUMBS:,}", f"{connections.CRUMB_BYTES}"],
        ),
        ("a body after its answer", [f"{connections.UNWANTED_BYTES // 2**20} MB"]),
        ("connections", [f"{connections.RESERVED_FILES} files"]),
        ("a body for REST and pages", [f"{app.REST_BODY_BYTES // 2**20} MB"]),
        ("a question at the doorbell", [f"{shim.DOORBELL_BYTES // 2**10} KB"]),
        ("a body, and all bodies", [f"{shim.LARGE_BYTES // 2**10} KB"]),
        ("decisions that a report reads", [f"{report.MOST_DECISIONS:,}"]),
        ("addresses whose wrong tokens", [f"{auth.MOST_ADDRESSES:,}"]),
        (
            "a list:",
            [
                f"{most:,}"
                for most in (
                    facts.MOST_STAGES_OF_JOB,
                    facts.MOST_TASKS_OF_STAGE,
                    facts.MOST_NAMES,
                    facts.MOST_APPLICATIONS,
                )
            ],
        ),
        ("jobs of a source", [f"{most:,}" for most in (apply.MOST_OPEN, apply.MOST_TASKS, apply.MOST_LISTED)]),
        (
            "the same of all",
            [f"{most:,}" for most in (apply.MOST_OPEN_BY_ALL, apply.MOST_TASKS_BY_ALL, apply.MOST_LISTED_BY_ALL)],
        ),
        ("open requests of a source", [f"{apply.MOST_REQUESTS:,}"]),
        ("live attempts of one task", [f"{attempts.MOST_AT_ONCE}"]),
        ("tasks of a source's open", [f"{most:,}" for most in (attempts.MOST_STARTED, attempts.MOST_STARTED_BY_ALL)]),
        ("ended attempts of a stage", [f"{attempts.MOST_ENDED:,}"]),
        ("hosts without executors", [f"{cluster.MOST_LEFT_HOSTS:,}"]),
        ("sources of an address", [f"{sources.APPLICATION_SOURCES}"]),
        ("reports of a source that wait", [f"{sources.MOST_WAITING}"]),
    ],
)
def test_the_table_names_each_limit_in_its_row(what, limits, rows):
    """Who raises one in the code has to say so to those who rely on it."""
    (limit,) = [limit for row, limit in rows.items() if row.startswith(what)]
    left = limit
    for each in limits:
        assert each in left, limit
        left = left.partition(each)[2]


def test_what_counts_as_a_fact_is_what_is_charged(rows):
    """The row's numbers, from the price list."""
    (lists,) = [row for row in rows if row.startswith("lists in a message")]
    runs, applications = (costs._ELEMENTS_PER_FACT_OF[name] for name in ("done", "applications"))
    for told in (
        f"{costs._ELEMENTS_PER_FACT} numbers or names",
        f"{runs // 2} runs",
        f"{costs._TASKS_PER_FACT:,} tasks in such runs",
        f"{applications} applications",
        f"up to {costs._ELEMENTS_PER_FACT} tags",
        f"{costs._NAME_CHARS} characters begun",
    ):
        assert told in lists
    assert any(f"{fair_queue.UPDATES_PER_FACT} updates of progress" in row for row in rows)


def test_every_setting_that_bounds_a_caller_is_in_the_table(rows):
    """A new one is a pace, or it is told."""
    limits = "".join(rows.values())
    assert [each.name for each in fields(RuntimeSettings) if f"`{each.name}`" not in limits] == [
        each.name for each in fields(RuntimeSettings) if each.name in PACES
    ]
