"""What is a program of the corpus? A function of a session and its inputs, and what is known of its slow place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tests.programs.inputs import Inputs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT_END = sys.maxsize
"""In place of a row at which a task stalls: once all rows have been handed on."""
FAMILIES = ("ml", "python_udfs", "rdds", "sql", "waits", "writes")

Body = Callable[["SparkSession", Inputs], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """`run` gives a result that no order of execution changes; in one of its stages each row passes the stall."""

    name: str
    operator: str
    """Kind of the operator at the slow place."""
    run: Body
    python: bool = False
    """Whether the slow place is Python code."""
    iterator: bool = False
    """Whether that code has the task's rows as an iterator, and so can stall behind the last one."""
    slow_task: int = 5
    """Index of the task that is slowed from inside."""
    rows: int = 60_000
    """About as many rows as that task has."""
    paced: bool = False
    """Whether it reads `inputs.text`, which a source may hand out slowly."""
    drivers: int = 1
    """How many drivers run it at once, each on its part of the cores."""
    conf: Mapping[str, str] = field(default_factory=dict)


PROGRAMS: dict[str, Program] = {}


def program(operator: str, **known: Any) -> Callable[[Body], Body]:
    """Enter a function into the table under its own name."""

    def enter(body: Body) -> Body:
        PROGRAMS[body.__name__] = Program(name=body.__name__, operator=operator, run=body, **known)
        return body

    return enter


def programs() -> dict[str, Program]:
    """All programs by name."""
    for family in FAMILIES:
        import_module(f"tests.programs.{family}")
    return dict(sorted(PROGRAMS.items()))
