"""Whose messages does the next cycle take? First those of the sources that have sent least, while it has room.

So a noisy source makes only itself wait. A message that is larger than a cycle has its turn, too: a cycle takes it
with all messages before it, and then no other such one for four times that cycle's length, or ten seconds.
"""

import math
from asyncio import Future
from typing import Any

from msgspec import Struct

from controlplane.model.costs import cost_of_lists
from controlplane.model.decisions import Stimulus
from controlplane.runtime.parameters import RuntimeSettings
from controlplane.runtime.sources import Busy, KnownSource, Sources
from controlplane.wire.envelope import SyncRequest

UPDATES_PER_FACT = 50
"""This many progress updates cost as much as one other fact."""
LARGE_REST = 4.0
"""After a cycle with a message beyond `cycle_facts`, none is taken for this many times that cycle's length."""
LONGEST_REST_S = 10.0
"""Longest time for which none is taken: large messages of others wait, too."""


class Message(Struct, gc=False):
    """A stimulus that waits for a cycle. `source` is set for a shim's report; an operator's request has none."""

    stimulus: Stimulus
    done: Future[Any]
    source: KnownSource | None = None
    cost: float = 0.0
    """In facts."""


def cost_of(request: SyncRequest) -> float:
    """The cost of a report, in facts."""
    n_updates = len(request.progress.attempt)
    return len(request.facts) + cost_of_lists(request.facts) + n_updates / UPDATES_PER_FACT


class FairQueue:
    """Messages that wait for a cycle, in order of arrival. `KnownSource.waiting` counts those of each source."""

    def __init__(self, settings: RuntimeSettings, sources: Sources) -> None:
        self._settings = settings
        self._sources = sources
        self._messages: list[Message] = []
        self._cost = 0.0
        self._took_large = False
        self._large_after_s = 0.0

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def everybody_waits(self) -> bool:
        """Whether as many messages wait as there are sources, so that no more are to be expected."""
        return len(self._messages) >= len(self._sources)

    def check_room(self) -> None:
        """Raises `Busy` if too many messages wait to add a report; operators' requests may always be added."""
        if len(self._messages) >= self._settings.queue_reports:
            raise Busy("the queue of reports", self._settings.queue_reports)

    def add(self, message: Message) -> None:
        """Adds a message, behind all others of its source."""
        self._messages.append(message)
        self._cost += message.cost
        if message.source is not None:
            message.source.waiting += 1

    def take(self, now_s: float) -> list[Message]:
        """The messages of this cycle: all, as long as they cost no more than `cycle_facts`.

        Else those of sources that have sent least go first, and the rest waits. Messages of one source stay in order.
        """
        room = float(self._settings.cycle_facts)
        if self._cost <= room:
            taken, self._messages = self._messages, []
        else:
            taken, left, behind = [], [], set[str]()
            for message in sorted(self._messages, key=lambda each: each.source.paid_s if each.source else -math.inf):
                key = message.source.key if message.source else ""
                is_turn = message.cost > self._settings.cycle_facts and now_s >= self._large_after_s and room > 0
                if key not in behind and (message.cost <= room or is_turn):
                    room -= message.cost
                    taken.append(message)
                else:
                    behind.add(key)
                    left.append(message)
            self._messages = left
        for message in taken:
            self._cost -= message.cost
            if message.source is not None:
                (self._sources.get(message.source.key) or message.source).waiting -= 1
        self._took_large = room < 0
        return taken

    def rest(self, start_s: float, took_s: float) -> None:
        """Notes that the last taken messages' cycle began at `start_s` and took `took_s`: after a large message, no
        other has its turn for a while.
        """
        if self._took_large:
            self._large_after_s = start_s + took_s + min(LARGE_REST * took_s, LONGEST_REST_S)

    def cancel(self) -> None:
        """Ends all waits for a cycle."""
        for message in self._messages:
            message.done.cancel()
