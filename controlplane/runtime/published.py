"""How do many readers share what one thread has told of the state? It is told at most once in a while, off the loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Generic, TypeVar

from controlplane.engine.snapshot import Moment

Told = TypeVar("Told")

SHARE = 10
"""Telling takes at most one part in so many of the time."""


class Published(Generic[Told]):
    """What `tell` makes of a moment that `take` has taken: told on `thread`, once for all who ask meanwhile."""

    def __init__(
        self,
        take: Callable[[float], Moment],
        tell: Callable[[Moment], Told],
        *,
        clock: Callable[[], float],
        thread: Executor,
    ) -> None:
        self._take = take
        self._tell = tell
        self._clock = clock
        self._thread = thread
        self._told: Told | None = None
        self._told_s = self._took_s = 0.0
        self._changes = self._told_changes = 0
        self._telling = asyncio.Lock()

    def outdate(self) -> None:
        """Who asks from now on wants to see what has just been done."""
        self._changes += 1

    async def at_most(self, age_s: float, *, strictly: bool = False) -> Told:
        """What was told at most `age_s` seconds ago, longer where telling takes long and the age is not strict."""
        async with self._telling:
            limit_s = age_s if strictly else max(age_s, SHARE * self._took_s)
            now_s, changes = self._clock(), self._changes
            if self._told is None or now_s - self._told_s >= limit_s or changes != self._told_changes:
                moment = self._take(now_s)
                told = await asyncio.get_running_loop().run_in_executor(self._thread, self._tell, moment)
                self._told, self._told_changes = told, changes
                self._told_s, self._took_s = now_s, self._clock() - now_s
            return self._told
