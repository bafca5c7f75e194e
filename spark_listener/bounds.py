"""How does a Spark user bound jobs, and name their speculator? For what a thread starts inside a `with`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from controlplane.shim_settings import LONGEST_DEADLINE_MS
from spark_listener.local_properties import DEADLINE_UNITS_MS, PREFIX

if TYPE_CHECKING:
    from pyspark import SparkContext

MOST_UNDONE = 0.999999
"""Shares are reported in parts per million."""
LONGEST_NAME = 64
"""Characters of a speculator's name that a driver reports."""
DEADLINE = PREFIX + "deadline"
ERROR_BOUND = PREFIX + "error.bound"
SPECULATOR = PREFIX + "speculator"
"""The local properties that the shim reads."""


@contextmanager
def deadline(within: str | timedelta) -> Iterator[None]:
    """Jobs that this thread starts inside should end within this time, each from its own submission on.

    `within` is a duration as Spark writes it, with a unit: ms, s, m or min, h, d, as in "90s"; or a timedelta. It is at
    most 11574 days. It binds the stages that read input, and steers speculators that go by deadlines; it ends no job,
    as `approximate` does. Where the local property is set without this function, Spark reads it, and takes a number
    without a unit for milliseconds; one that cannot be read counts as none, as the driver's log and `doctor` say.
    Raises ValueError for anything else, RuntimeError where there is no SparkContext.

    Example: `with deadline("90s"): df.count()`
    """
    with _property(DEADLINE, f"{milliseconds(within)}ms"):
        yield


@contextmanager
def error_bound(share: float) -> Iterator[None]:
    """Jobs that this thread starts inside may leave this share of their input tasks to the last.

    It steers speculators that go by error bounds, and never leaves a task undone, as `approximate` does. 0 is an exact
    job, and `MOST_UNDONE` the most.
    Raises ValueError for anything else, RuntimeError where there is no SparkContext.
    """
    with _property(ERROR_BOUND, share_text(share, name="error_bound")):
        yield


@contextmanager
def speculator(name: str) -> Iterator[None]:
    """Let a speculator decide about copies of the jobs that this thread starts inside, if the operator allows it.

    `name` is its own, without an allocator's. If the setting `engine.job_speculators` does not list it, their pool's
    speculator decides, and the jobs' pages say so.
    Raises ValueError for what is no name, RuntimeError where there is no SparkContext.

    Example: `with speculator("grass"): df.count()`
    """
    if not isinstance(name, str) or not re.fullmatch(rf"[^\s,+]{{1,{LONGEST_NAME}}}", name):
        want = f'one name of at most {LONGEST_NAME} characters, as in "grass"'
        raise ValueError(f"speculator: got {name!r}, want {want}")
    with _property(SPECULATOR, name):
        yield


def share_text(share: float, *, name: str) -> str:
    """An error bound as the shim reads it, to the millionth.  Raises ValueError, which names the argument.

    >>> share_text(0.1, name="error")
    '0.100000'
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= MOST_UNDONE:
        raise ValueError(f"{name}: got {share!r}, want a share from 0 to {MOST_UNDONE}")
    return f"{share:.6f}"


def milliseconds(within: str | timedelta) -> int:
    """A deadline in milliseconds.  Raises ValueError.

    >>> milliseconds("90s"), milliseconds(timedelta(minutes=5))
    (90000, 300000)
    """
    if isinstance(within, timedelta):
        found_ms = round(within.total_seconds() * 1000)
    else:
        text = within.strip().lower() if isinstance(within, str) else ""
        parts = re.fullmatch(r"(\d{1,18})([a-z]+)", text, re.ASCII)
        found_ms = int(int(parts[1]) * DEADLINE_UNITS_MS.get(parts[2], 0)) if parts else 0
    if not 1 <= found_ms <= LONGEST_DEADLINE_MS:
        want = 'a number with a unit (ms, s, m or min, h, d), as in "90s", or a timedelta; at most 11574d'
        raise ValueError(f"deadline: got {within!r}, want {want}")
    return found_ms


@contextmanager
def _property(name: str, value: str) -> Iterator[None]:
    """A local property of this thread; it has its old value afterwards.  Raises RuntimeError without a SparkContext."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is None:
        raise RuntimeError("there is no SparkContext; start a session first")
    before = context.getLocalProperty(name)
    context.setLocalProperty(name, value)
    try:
        yield
    finally:
        _put_back(context, name, before)


def _put_back(context: SparkContext, name: str, before: str | None) -> None:
    """Does nothing where the context has ended: its properties have, too, and the user's own error must be seen."""
    from py4j.protocol import Py4JError

    # A stopped context has no Java object; one whose JVM has died has no answer, or no connection.
    with suppress(AttributeError, Py4JError, OSError):
        context.setLocalProperty(name, before)  # type: ignore[arg-type]  # None removes it
