"""Who follows decisions as they are recorded? Each listener has a bounded queue; a slow one is cut off."""

import asyncio

from controlplane.runtime.parameters import RuntimeSettings
from controlplane.runtime.sources import Busy
from controlplane.store.recent import RecordedDecision


class Listener:
    """A listener. `cut` is set if it did not keep up: the decisions that it missed will not come."""

    def __init__(self, backlog: int) -> None:
        self.cut = asyncio.Event()
        self._queue: asyncio.Queue[RecordedDecision | None] = asyncio.Queue(backlog)

    async def next(self) -> RecordedDecision | None:
        """The next decision, as soon as there is one; None at the end."""
        return await self._queue.get()

    def put(self, decision: RecordedDecision | None) -> bool:
        """Queues it; False if the queue is full, which ends this listener."""
        try:
            self._queue.put_nowait(decision)
        except asyncio.QueueFull:
            self.cut.set()
        return not self.cut.is_set()


class Feed:
    """All listeners. Publishing never waits for any of them."""

    def __init__(self, settings: RuntimeSettings) -> None:
        self._settings = settings
        self._listeners: set[Listener] = set()
        self.n_cut = 0

    def __len__(self) -> int:
        return len(self._listeners)

    def join(self) -> Listener:
        """A new listener; raises `Busy`."""
        if len(self) >= self._settings.event_clients:
            raise Busy("the number of event streams", self._settings.event_clients)
        listener = Listener(self._settings.event_backlog)
        self._listeners.add(listener)
        return listener

    def leave(self, listener: Listener) -> None:
        """Removes a listener."""
        self._listeners.discard(listener)

    def publish(self, decisions: list[RecordedDecision]) -> None:
        """Tells all listeners."""
        for listener in list(self._listeners):
            if not all(map(listener.put, decisions)):
                self.leave(listener)
                self.n_cut += 1

    def close(self) -> None:
        """Tells all listeners that this is the end."""
        for listener in self._listeners:
            listener.put(None)
