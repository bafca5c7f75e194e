"""How does a test wait for what comes in its own time?"""

import time
from collections.abc import Callable


def eventually(holds: Callable[[], object], timeout_s: float = 10.0) -> object:
    """What `holds` says at last: as soon as it is true, or when the time is up."""
    end_s = time.monotonic() + timeout_s
    while not holds() and time.monotonic() < end_s:
        time.sleep(0.01)
    return holds()
