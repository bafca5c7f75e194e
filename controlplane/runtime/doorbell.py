"""How does a source hear at once that orders wait for it? It asks, and the answer waits until they do.

Nothing is looked at again and again: who waits sleeps on its outbox's event, so a thousand waiting drivers cost nothing
but their connections. The orders themselves stay where they are until an exchange fetches them.
"""

import asyncio
import contextlib

from controlplane.runtime.sources import Outbox


class Doorbell:
    """All who wait."""

    def __init__(self) -> None:
        self._waits: set[asyncio.Timeout] = set()

    def __len__(self) -> int:
        return len(self._waits)

    async def wait(self, outbox: Outbox, wait_s: float) -> int:
        """How many orders wait: as soon as there are any, else 0 when the time is over."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s) as wait:
                self._waits.add(wait)
                try:
                    await outbox.filled()
                finally:
                    self._waits.discard(wait)
        return len(outbox)

    def close(self) -> None:
        """Everybody's time is over."""
        for wait in self._waits:
            wait.reschedule(asyncio.get_running_loop().time())
