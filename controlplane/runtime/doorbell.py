"""How does a source hear at once that orders wait for it? It asks, and the answer waits until they do.

Nothing is polled: a waiting source sleeps on its outbox's event, so a thousand waiting drivers cost only
their connections. The orders themselves stay where they are until an exchange fetches them.
"""

import asyncio
import contextlib

from controlplane.runtime.sources import KnownSource


class Doorbell:
    """All waiting requests, one per source."""

    def __init__(self) -> None:
        self._waits: dict[str, asyncio.Timeout] = {}

    def __len__(self) -> int:
        return len(self._waits)

    async def wait(self, source: KnownSource, wait_s: float) -> int:
        """How many orders wait: as soon as there are any, else 0 when the time is over, or the source asks again."""
        if older := self._waits.get(source.key):
            _end(older)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s) as wait:
                self._waits[source.key] = wait
                try:
                    await source.outbox.filled()
                finally:
                    if self._waits.get(source.key) is wait:
                        del self._waits[source.key]
        return len(source.outbox)

    def close(self) -> None:
        """Ends all waits."""
        for wait in self._waits.values():
            _end(wait)


def _end(wait: asyncio.Timeout) -> None:
    """Ends a wait; one that is just running out ends by itself, and must not be ended twice."""
    if not wait.expired():
        wait.reschedule(asyncio.get_running_loop().time())
