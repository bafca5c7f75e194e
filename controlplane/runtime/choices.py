"""Which mode and which policy have operators chosen, for everybody and for single pools, and why?"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from controlplane.model.facts import Mode

MOST_CHOICES = 1000
"""Sources come and go; beyond this many choices the oldest of a single source is forgotten."""


class Choice(Struct, frozen=True, kw_only=True):
    """What an operator set; an empty source means everywhere."""

    what: Literal["mode", "policy"]
    source: str = ""
    value: str
    reason: str
    at_unix_ms: int


class Choices:
    """The newest choice for each place, oldest first. They are stored, and hold until others are made."""

    def __init__(self) -> None:
        self._by_place: dict[tuple[str, str], Choice] = {}

    def __iter__(self) -> Iterator[Choice]:
        return iter(self._by_place.values())

    @property
    def mode(self) -> Mode | None:
        """The mode chosen for everybody, if one was."""
        chosen = self._by_place.get(("mode", ""))
        return Mode(chosen.value) if chosen else None

    def add(self, choice: Choice) -> None:
        """Takes in a choice in place of the one before; an empty value only takes that one back."""
        place = (choice.what, choice.source)
        self._by_place.pop(place, None)
        if choice.value:
            self._by_place[place] = choice
        if len(self._by_place) > MOST_CHOICES:
            del self._by_place[next(place for place in self._by_place if place[1])]

    def load(self, stored: Any) -> None:
        """Takes in what was stored; raises `msgspec.ValidationError`, or ValueError for a mode that is none."""
        for choice in msgspec.convert(stored, list[Choice]):
            if choice.what == "mode":
                Mode(choice.value)
            self.add(choice)
