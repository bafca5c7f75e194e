"""Which stored entries can be recalled? An unusable one must not fail every cycle from then on."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

Positive = Annotated[float, Meta(gt=0)]
NotNegative = Annotated[float, Meta(ge=0)]


def fit(entries: Any, kind: Any) -> tuple[dict[str, Any], list[str]]:
    """Entries by name as values of a kind, and the names of those that are not.

    >>> fit({"a": 1.5, "b": -1.0, "c": None}, Positive)
    ({'a': 1.5}, ['b', 'c'])
    >>> fit([1.5], Positive)
    ({}, ['[1.5]'])
    """
    if not isinstance(entries, dict):
        return {}, [repr(entries)[:100]]
    found: dict[str, Any] = {}
    left_out = []
    for name, entry in entries.items():
        try:
            found[name] = msgspec.convert(entry, kind)
        except msgspec.ValidationError:
            left_out.append(name)
    return found, left_out
