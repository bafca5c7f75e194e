"""Which local properties of a Spark job can be read, and what does any other value count as?

Each key that `JobKey.java` knows has a reading. A value that cannot be read counts as another one, which allows no
more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from controlplane.shim_settings import LONGEST_DEADLINE_MS, UNITS_MS, Reading

PREFIX = "spark.grasshopper."
DEADLINE_UNITS_MS = {"us": 0.001} | UNITS_MS | {"h": 3_600_000, "d": 86_400_000}
"""Spark's own units, with which it reads a deadline; a bare number is milliseconds."""
HEAVIEST = 1000
"""The largest weight of a job."""


def weight_counts(value: str) -> str:
    """A whole number; one out of the range counts as the nearest in it.

    >>> weight_counts("3"), weight_counts("2000"), weight_counts("heavy")
    ('', '1000', '1')
    """
    counted = min(HEAVIEST, max(1, int(value))) if re.fullmatch(r"[+-]?\d{1,9}", value, re.ASCII) else 1
    return "" if value == str(counted) else str(counted)


def deadline_counts(value: str) -> str:
    """A duration as Spark reads it, of a millisecond to 31 years.

    >>> deadline_counts("90s"), deadline_counts("2 h"), deadline_counts("banana")
    ('', 'none', 'none')
    """
    parts = re.fullmatch(r"(\d{1,18})([a-z]*)", value.strip().lower(), re.ASCII)
    found_ms = int(parts[1]) * DEADLINE_UNITS_MS.get(parts[2], 0) if parts else 0
    return "" if 1 <= found_ms <= LONGEST_DEADLINE_MS else "none"


def error_bound_counts(value: str) -> str:
    """A share below 1, also once it is rounded to millionths.

    >>> error_bound_counts("0.1"), error_bound_counts("10%"), error_bound_counts("0.9999999")
    ('', '0', '0')
    """
    try:
        return "" if 0 <= float(value) < 1 and round(1e6 * float(value)) < 10**6 else "0"
    except ValueError:
        return "0"


def word_counts(*allowed: str, otherwise: str) -> Reading:
    """One of these words, in small or in large letters.

    >>> word_counts("keep", "kill", otherwise="keep")("maybe")
    'keep'
    """
    return lambda value: "" if value.lower() in allowed else otherwise


def speculator_counts(value: str) -> str:
    """One name.

    >>> speculator_counts("shed-plus"), speculator_counts("fifo+shed-plus")
    ('', 'none')
    """
    return "" if re.fullmatch(r"[^\s,+]{0,64}", value) else "none"


LOCAL_READINGS: Mapping[str, Reading] = {
    "weight": weight_counts,
    "copies.enabled": word_counts("true", "false", otherwise="false"),
    "mode": word_counts("off", "shadow", "control", otherwise="off"),
    "deadline": deadline_counts,
    "error.bound": error_bound_counts,
    "late.job": word_counts("keep", "kill", otherwise="keep"),
    "speculator": speculator_counts,
}
"""By local property under `spark.grasshopper.`: what a value counts as; empty for one that counts as it is."""
