"""Which mode and which policy have operators chosen, for everybody and for single pools, and why?

Choices survive a restart. Until those made before the start have been read, the mode is shadow at most. The same
holds if one was read but not understood, until an operator chooses a mode for everybody.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
import structlog
from msgspec import Struct

from controlplane.engine.steering import Steering
from controlplane.model.errors import BadSetting
from controlplane.model.facts import Mode, lowest
from controlplane.store.store import Store

_log = structlog.get_logger()

CHOICES = "choices"
"""Their key in the store, next to the changed engine settings."""

MOST_CHOICES = 1000
"""Beyond this many the oldest policy of a single source is forgotten; without one, the oldest mode."""


class Choice(Struct, frozen=True, kw_only=True):
    """An operator's choice; an empty source means everywhere."""

    what: Literal["mode", "policy"]
    """What was chosen."""
    source: str = ""
    """Empty for everybody."""
    value: str
    """The mode, or the policy as in `hopper+ras`."""
    reason: str
    """Why, in the operator's words."""
    at_unix_ms: int


class Choices:
    """The newest choice for each place, oldest first. They are stored, and hold until others are made."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_place: dict[tuple[str, str], Choice] = {}
        self._unmerged: list[Choice] | None = []
        """Choices made before the earlier ones were recalled, oldest first; None from then on."""
        self._not_understood: list[Any] = []
        """Other stored entries, unchanged: another version's choices, one of which may be a kill switch."""

    def __iter__(self) -> Iterator[Choice]:
        return iter(self._by_place.values())

    @property
    def mode(self) -> Mode | None:
        """The mode chosen for everybody, if one was."""
        chosen = self._by_place.get(("mode", ""))
        return Mode(chosen.value) if chosen else None

    @property
    def doubt(self) -> str:
        """Why the mode is shadow at most although the store was read; empty if it need not be."""
        if not self._not_understood:
            return ""
        return f"{len(self._not_understood)} stored choices are not understood; a mode for everybody replaces them"

    def allowed(self, mode: Mode) -> Mode:
        """A mode, lowered to shadow if the earlier choices are not recalled or not understood."""
        is_known = self._unmerged is None and not self._not_understood
        return mode if is_known else lowest(mode, Mode.SHADOW)

    def make(self, what: Literal["mode", "policy"], source: str, value: str, *, reason: str, role: str) -> None:
        """Replaces the previous choice, stored and audited; an empty value only removes that one.

        A mode for everybody also replaces choices that were not understood.
        """
        at_ms = self._store.wall_ms()
        choice = Choice(what=what, source=source, value=value, reason=reason, at_unix_ms=at_ms)
        self._add(choice)
        if what == "mode" and not source:
            self._not_understood = []
        if self._unmerged is None:
            self._save()
        else:
            self._unmerged.append(choice)
        self._store.audit(role=role, action=what, reason=reason, details={what: value, "source": source})

    def recall(self, stored: Any, steering: Steering) -> None:
        """Recalls what operators had chosen before the start, each choice by itself.

        Later choices are newer, and are stored only here: never in place of choices that were not read.
        """
        unmerged, self._unmerged, self._by_place = self._unmerged or [], None, {}
        for row in stored if isinstance(stored, list) else [stored]:
            self._load(row)
        for choice in unmerged:
            self._add(choice)
        if unmerged:
            self._save()
        self.hold(steering)

    def hold(self, steering: Steering) -> None:
        """Puts choices for single sources in force, as far as allowed; a policy that is gone is left out."""
        for choice in self:
            try:
                if choice.what == "policy":
                    steering.set_policy(choice.source, choice.value)
                elif choice.source:
                    steering.set_mode(self.allowed(Mode(choice.value)), choice.source)
            except BadSetting as error:
                _log.warning("choice_not_restored", source=choice.source, error=str(error))

    def _add(self, choice: Choice) -> None:
        place = (choice.what, choice.source)
        self._by_place.pop(place, None)
        if choice.value:
            self._by_place[place] = choice
        if len(self._by_place) > MOST_CHOICES:
            of_sources = (place for place in self._by_place if place[1])
            forgotten = self._by_place.pop(min(of_sources, key=lambda place: place[0] == "mode"))
            _log.warning("choice_forgotten", source=forgotten.source, **{forgotten.what: forgotten.value})

    def _load(self, row: Any) -> None:
        """Adopts a stored choice, or keeps it as it is."""
        try:
            choice = msgspec.convert(row, Choice)
            if choice.what == "mode":
                Mode(choice.value)
        except (msgspec.ValidationError, ValueError) as error:
            _log.error("choice_not_understood", row=row, error=str(error), mode_at_most=Mode.SHADOW.value)
            self._not_understood.append(row)
        else:
            self._add(choice)

    def _save(self) -> None:
        self._store.save_settings({CHOICES: [*self._not_understood, *msgspec.to_builtins(list(self))]})
