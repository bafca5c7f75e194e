"""How can targets take effect where no jar may be added? As application priorities, set over the RM's REST.

The CapacityScheduler's stock order looks at priority first, so an application below its target goes before one that
has reached it.  That is all: priorities keep no slot free and move no running container.  Each change is written to
the resource manager's state store, so changes are few: three levels, and a limit per minute.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from controlplane.rest import RestError
from yarn_bridge.examination import PRIORITY_KEY
from yarn_bridge.rm_client import Application, RmClient

MINUTE_S = 60.0


class CannotDrive(RuntimeError):
    """Applications of the ResourceManager have no priorities that could be driven; says what to set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One application's priority, changed or refused (`fault` says why)."""

    application: str
    before: int
    after: int
    fault: str = ""

    def __str__(self) -> str:
        return f"{self.application}: priority {self.before} -> {self.after}{self.fault and f', refused: {self.fault}'}"


def wanted_priority(running: int, target: int, highest: int) -> int:
    """The priority of an application by its containers without its master's: the more are due, the higher.

    >>> [wanted_priority(running=running, target=3, highest=10) for running in (2, 3, 4)]
    [10, 5, 0]
    """
    if running < target:
        return highest
    return highest // 2 if running == target else 0


def read_targets(path: Path) -> dict[str, int]:
    """Containers by application id, from a JSON file.  Raises ValueError if it is anything else."""
    try:
        said = json.loads(path.read_text())
    except (OSError, ValueError) as broken:
        raise ValueError(f"{path}: {broken}") from broken
    if not isinstance(said, dict) or not all(type(target) is int and target >= 0 for target in said.values()):
        raise ValueError(f"{path}: want an object of application ids and numbers of containers")
    return said


def highest_priority(rm: RmClient) -> int:
    """The highest priority that the site allows.  Raises CannotDrive, RestError."""
    kind = rm.scheduler().type
    if kind != "capacityScheduler":
        raise CannotDrive(f"{kind} has no application priorities; only the CapacityScheduler has")
    highest = int(rm.conf(PRIORITY_KEY) or 0)
    if highest < 1:
        raise CannotDrive(f"{PRIORITY_KEY} is {highest}; set it to 2 or more and restart the resource manager")
    return highest


class PriorityDriver:
    """Brings priorities close to the targets, a few changes a minute, and can restore the original ones."""

    def __init__(
        self,
        rm: RmClient,
        *,
        highest: int,
        changes_per_minute: int = 6,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rm = rm
        self._highest = highest
        self._changes_per_minute = changes_per_minute
        self._clock = clock
        self._changed_at_s: deque[float] = deque()
        self._found: dict[str, int] = {}
        self._refused: set[str] = set()

    def step(self, targets: Mapping[str, int]) -> list[Change]:
        """Make the most urgent changes that the limit allows.

        `targets` are containers besides the master's, by application id; an application that lost its target gets
        back the priority it was found with, and one whose change was refused is left alone.  Raises RestError if the
        applications cannot be listed.
        """
        live = {application.id: application for application in self._rm.apps()}
        self._found = {id: priority for id, priority in self._found.items() if id in live}
        self._refused &= live.keys()
        wishes = [
            (abs(application.held - targets.get(id, application.held)), application, wanted)
            for id, application in live.items()
            if id not in self._refused and (wanted := self._wanted(application, targets)) != application.priority
        ]
        wishes.sort(key=lambda wish: (-wish[0], wish[1].id))
        return [self._change(application, wanted) for _, application, wanted in wishes[: self._allowance()]]

    def restore(self) -> list[Change]:
        """Give every live application back the priority it was found with, without a limit.

        One that was refused and still has it is left alone.
        """
        live = {application.id: application for application in self._rm.apps()}
        found, self._found = self._found, {}
        return [
            self._set(live[id], priority)
            for id, priority in found.items()
            if id in live and not (id in self._refused and live[id].priority == priority)
        ]

    def _wanted(self, application: Application, targets: Mapping[str, int]) -> int:
        if application.id not in targets:
            return self._found.get(application.id, application.priority)
        return wanted_priority(running=application.held, target=targets[application.id], highest=self._highest)

    def _allowance(self) -> int:
        """How many changes the last minute leaves."""
        while self._changed_at_s and self._changed_at_s[0] <= self._clock() - MINUTE_S:
            self._changed_at_s.popleft()
        return self._changes_per_minute - len(self._changed_at_s)

    def _change(self, application: Application, wanted: int) -> Change:
        """What was found is noted before the call, because a change without an answer may have been made."""
        self._changed_at_s.append(self._clock())
        found = self._found.setdefault(application.id, application.priority)
        change = self._set(application, wanted)
        if not change.fault and change.after == found:
            del self._found[application.id]
        return change

    def _set(self, application: Application, priority: int) -> Change:
        try:
            after = self._rm.set_priority(application.id, priority)
        except RestError as refused:
            if refused.status is not None:
                self._refused.add(application.id)
            return Change(
                application=application.id, before=application.priority, after=application.priority, fault=str(refused)
            )
        return Change(application=application.id, before=application.priority, after=after)
