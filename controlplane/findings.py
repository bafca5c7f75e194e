"""What does a doctor say? Findings, each with its severity and what to do about it, worst first."""

from __future__ import annotations

from collections import Counter
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


class Findings(list[Finding]):
    """Findings that have been printed: a notebook shows only how many there are of each severity."""

    def __repr__(self) -> str:
        """As in `<15 findings: 1 warning, 14 ok>`.

        >>> Findings([Finding(OK, "Spark", "4.0.1"), Finding(NOTE, "mode", "shadow", "hand over")])
        <2 findings: 1 note, 1 ok>
        """
        counts = Counter(each.severity for each in self)
        parts = ", ".join(f"{counts[each]} {each.value}" for each in reversed(Severity) if counts[each])
        return f"<{len(self)} findings: {parts}>"


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
