"""How does a test wait for what comes in its own time?"""

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any

EVENTUALLY_S = 90.0
"""Most of this is for a machine that has much else to do."""


def eventually(
    what: Callable[[], Any],
    *,
    within_s: float = EVENTUALLY_S,
    every_s: float = 0.02,
    about: Callable[[], Any] | None = None,
) -> Any:
    """The first true answer of `what`.

    Raises AssertionError, with what was waited for and what `about` says, if none comes in time.
    """
    limit_s = time.monotonic() + within_s
    while not (answer := what()):
        _check_time(what, limit_s, within_s, about)
        time.sleep(every_s)
    return answer


async def in_time(what: Callable[[], Any], *, within_s: float = EVENTUALLY_S, every_s: float = 0.01) -> Any:
    """The same on an event loop, which goes on meanwhile."""
    limit_s = time.monotonic() + within_s
    while not (answer := what()):
        _check_time(what, limit_s, within_s)
        await asyncio.sleep(every_s)
    return answer


def _check_time(
    what: Callable[[], Any], limit_s: float, within_s: float, about: Callable[[], Any] | None = None
) -> None:
    if time.monotonic() >= limit_s:
        told = f": {about()}" if about else ""
        raise AssertionError(f"not within {within_s:g} s: {_source(what)}{told}")


def _source(what: Callable[[], Any]) -> str:
    """The condition as it is written; its name where it is written nowhere."""
    try:
        return " ".join(inspect.getsource(what).split())
    except (OSError, TypeError):
        return repr(what)
