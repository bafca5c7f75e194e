"""How are refusals told without filling the log? One line per kind in ten seconds, which says how many it left out."""

import time
from collections.abc import Callable
from typing import Any

import structlog

_log = structlog.get_logger()

COMPLAIN_EVERY_S = 10.0
"""Time between two lines of one kind: callers decide how often they are refused, not how much is logged."""


class Complaints:
    """Warnings by event; of those that follow within `COMPLAIN_EVERY_S` only the number is kept."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._quiet_until_s: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def warn(self, event: str, **facts: Any) -> None:
        """Logs the event, with `left_out` of its kind since the last line, or counts it."""
        now_s = self._clock()
        if now_s < self._quiet_until_s.get(event, 0.0):
            self._left_out[event] = self._left_out.get(event, 0) + 1
            return
        self._quiet_until_s[event] = now_s + COMPLAIN_EVERY_S
        _log.warning(event, left_out=self._left_out.pop(event, 0), **facts)
