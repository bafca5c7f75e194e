"""What does a doctor say? Findings, each with its severity and what to do about it, worst first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad a finding is; only an error makes a doctor fail."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


OK, NOTE, WARNING, ERROR = Severity
HEADINGS = ("", "check", "found", "what to do")
"""Columns of the table that `as_rows` fills."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: which check, what it found, and what to do about it."""

    severity: Severity
    check: str
    message: str
    fix: str = ""


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """The findings by severity; equal ones in the order of the checks."""
    order = list(reversed(Severity))
    return sorted(findings, key=lambda each: order.index(each.severity))


def as_rows(findings: Iterable[Finding]) -> list[tuple[str, ...]]:
    """One line of a table for each.

    >>> as_rows([Finding(NOTE, "mode", "shadow", "hand over")])
    [('note', 'mode', 'shadow', 'hand over')]
    """
    return [(each.severity.value, each.check, each.message, each.fix) for each in findings]
