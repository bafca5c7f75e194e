"""How are refusals and faults logged without filling the log? One line per kind in ten seconds, the rest counted."""

import time
from collections.abc import Callable
from typing import Any

import structlog

_log = structlog.get_logger()

COMPLAIN_EVERY_S = 10.0
"""Time between two lines of one kind: callers decide how often they are refused, not how much is logged."""


class Complaints:
    """Log lines by event; those that follow within `COMPLAIN_EVERY_S` are only counted."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._quiet_until_s: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def warn(self, event: str, **facts: Any) -> None:
        """Logs the event, with `left_out` of its kind since the last line, or counts it."""
        self._tell(_log.warning, event, facts)

    def fault(self, event: str, **facts: Any) -> None:
        """The same for an exception that is being handled, with its traceback."""
        self._tell(_log.exception, event, facts)

    def _tell(self, log: Callable[..., Any], event: str, facts: dict[str, Any]) -> None:
        now_s = self._clock()
        if now_s < self._quiet_until_s.get(event, 0.0):
            self._left_out[event] = self._left_out.get(event, 0) + 1
            return
        self._quiet_until_s[event] = now_s + COMPLAIN_EVERY_S
        log(event, left_out=self._left_out.pop(event, 0), **facts)
