"""Which values does a shim read? One reading for each key that `Settings.java` knows, which all hosts' shims share.

A value that cannot be read keeps the shim out of the application. Readings say why not, in the shim's own words.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

from controlplane.findings import ERROR, WARNING, Finding

TIMEOUTS = ("1ms", "60min")
RANGES: Mapping[str, tuple[str, str]] = {
    "copies.max": ("0", "100"),
    "progress.interval": ("20ms", "60min"),
    "queue.capacity": ("100", "10000000"),
}
"""Least and most of each key whose value counts as the nearest in its range."""
UNITS_MS = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000}
LONGEST_DEADLINE_MS = 10**12
"""The longest deadline that a host reports."""

Reading = Callable[[str], str]
"""What is wrong with a value; empty if it can be read."""


def number(value: str) -> str:
    """A whole number of 64 bits; one out of the key's range counts as the nearest in it.

    >>> number("many"), number("200")
    ('is not a number: many', '')
    """
    digits = re.fullmatch(r"[+-]?0*(\d+)", value, re.ASCII)
    fits = digits and len(digits[1]) < 20 and -(2**63) <= int(value) < 2**63
    return "" if fits else f"is not a number: {value}"


def duration(value: str) -> str:
    """A duration as Spark writes it; a bare number is milliseconds.

    >>> duration("200ms"), duration("2parsecs"), duration("1.5s")
    ('', 'is not a duration: 2parsecs', 'is not a number: 1.5')
    """
    digits, unit = _split(value)
    return number(digits) if unit in UNITS_MS else f"is not a duration: {value}"


def timeout(value: str) -> str:
    """A duration of a millisecond to an hour.

    >>> timeout("2s"), timeout("0")
    ('', 'is 0, want 1ms to 60min')
    """
    if wrong := duration(value):
        return wrong
    least, most = TIMEOUTS
    return "" if amount(least) <= amount(value) <= amount(most) else f"is {value}, want {least} to {most}"


def deadline(value: str) -> str:
    """A duration of a millisecond to 31 years.

    >>> deadline("90s"), deadline("-5s")
    ('', 'is -5s, want a duration above 0')
    """
    if wrong := duration(value):
        return wrong
    return "" if 1 <= amount(value) <= LONGEST_DEADLINE_MS else f"is {value}, want a duration above 0"


def one_of(*allowed: str) -> Reading:
    """One of these words.

    >>> one_of("keep", "kill")("maybe")
    'is maybe, want keep or kill'
    """
    wanted = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
    return lambda value: "" if value in allowed else f"is {value}, want {wanted}"


def flag(value: str) -> str:
    """True or false, and nothing else.

    >>> flag("yes")
    'is yes, which is neither true nor false'
    """
    return "" if value in ("true", "false") else f"is {value}, which is neither true nor false"


def address(value: str) -> str:
    """An address of http or https. It is not repeated, because it may contain a secret.

    >>> address("127.0.0.1:7272"), address("ftp://plane"), address("http://plane:7272")
    ('is not an address: no protocol', 'is not an address of http or https', '')
    """
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError as error:
        return f"is not an address: {error}"
    if not parts.scheme or "://" not in value:
        return "is not an address: no protocol"
    return "" if parts.scheme in ("http", "https") else "is not an address of http or https"


def anything(_value: str) -> str:
    """Any text."""
    return ""


READINGS: Mapping[str, Reading] = {
    "connect.timeout": timeout,
    "copies.max": number,
    "enabled": flag,
    "late.job": one_of("keep", "kill"),
    "mode": one_of("off", "shadow", "control"),
    "progress.interval": duration,
    "queue.capacity": number,
    "server": address,
    "timeout": timeout,
    "token": anything,
    "token.file": anything,
}
"""By key under the host's prefix; the file of `token.file` is read where the server is asked."""


def unknown(prefix: str, name: str, known: Mapping[str, Reading]) -> Finding:
    """A key under the prefix that the shim does not read."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    fix = f"did you mean {prefix}{near[0]}?" if near else f"known are {', '.join(known)}"
    return Finding(ERROR, "settings", f"{prefix}{name} is no setting, and nobody reads it", fix)


def misread(prefix: str, given: Mapping[str, str], known: Mapping[str, Reading], unit: str) -> Iterator[Finding]:
    """Values of known keys that the shim cannot read, so that it stays out of the `unit`, or that count as others."""
    for name, value in given.items():
        if fault := known[name](value):
            message = f"{prefix}{name} {fault}; the shim stays out of the {unit}"
            yield Finding(ERROR, "settings", message, "correct it, or leave it out")
        elif odd := out_of_range(name, value):
            yield Finding(WARNING, "settings", f"{prefix}{name} {odd}", "use a value in this range, or leave it out")


def out_of_range(key: str, value: str) -> str:
    """The value used for a readable one outside its key's range; empty if it is in the range.

    >>> out_of_range("copies.max", "500"), out_of_range("progress.interval", "1s"), out_of_range("mode", "off")
    ('is 500, want 0 to 100; it counts as 100', '', '')
    """
    if key not in RANGES:
        return ""
    least, most = RANGES[key]
    if amount(least) <= amount(value) <= amount(most):
        return ""
    return f"is {value}, want {least} to {most}; it counts as {least if amount(value) < amount(least) else most}"


def amount(value: str) -> int:
    """The number that can be read; of a duration, its milliseconds.

    >>> amount("100"), amount("60min")
    (100, 3600000)
    """
    digits, unit = _split(value)
    return int(digits) * UNITS_MS[unit]


def _split(value: str) -> tuple[str, str]:
    """A duration's digits and its unit."""
    digits = value.rstrip("abcdefghijklmnopqrstuvwxyz")
    return digits, value[len(digits) :]
