"""How does a test wait for what comes in its own time?"""

import asyncio
import time
from collections.abc import Callable


def eventually(holds: Callable[[], object], timeout_s: float = 10.0) -> object:
    """What `holds` says at last: as soon as it is true, or when the time is up."""
    end_s = time.monotonic() + timeout_s
    while not (found := holds()) and time.monotonic() < end_s:
        time.sleep(0.01)
    return found


async def in_time(holds: Callable[[], object], timeout_s: float = 10.0) -> object:
    """The same on an event loop, which goes on meanwhile."""
    end_s = time.monotonic() + timeout_s
    while not (found := holds()) and time.monotonic() < end_s:
        await asyncio.sleep(0.01)
    return found
