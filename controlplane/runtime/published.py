"""How do many readers share one description of the state? It is made at most once in a while, off the loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Generic, TypeVar

from controlplane.engine.moment import Moment

Description = TypeVar("Description")

SHARE = 10
"""Describing takes at most one part in this many of the time."""


class Published(Generic[Description]):
    """The result of `describe`, on `thread`, for a moment that `take` has taken; shared by all who ask meanwhile."""

    def __init__(
        self,
        take: Callable[[float], Moment],
        describe: Callable[[Moment], Description],
        *,
        clock: Callable[[], float],
        thread: Executor,
    ) -> None:
        self._take = take
        self._describe = describe
        self._clock = clock
        self._thread = thread
        self._description: Description | None = None
        self._described_s = self._took_s = 0.0
        self._changes = self._described_changes = 0
        self._describing = asyncio.Lock()

    def outdate(self) -> None:
        """Makes later readers see what has just been done."""
        self._changes += 1

    async def at_most(self, age_s: float, *, strictly: bool = False) -> Description:
        """A description at most `age_s` seconds old, or older if one takes long and the age is not strict."""
        async with self._describing:
            limit_s = age_s if strictly else max(age_s, SHARE * self._took_s)
            now_s, changes = self._clock(), self._changes
            if self._description is None or now_s - self._described_s >= limit_s or changes != self._described_changes:
                moment = self._take(now_s)
                description = await asyncio.get_running_loop().run_in_executor(self._thread, self._describe, moment)
                self._description, self._described_changes = description, changes
                self._described_s, self._took_s = now_s, self._clock() - now_s
            return self._description
