"""How does a host become sick without its jobs' help? Its processes are stopped and continued in turn."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable


class SickHost:
    """Duty-cycles processes with SIGSTOP and SIGCONT, as a context manager; afterwards all of them run.

    The pids are read again in each period, because executors come and go.  Stopped processes do no work at
    all, so what they work on progresses at `duty` times its speed, and their reports pause with them.
    """

    def __init__(self, pids: Callable[[], list[int]], *, duty: float, period_s: float = 1.0) -> None:
        if not 0 < duty < 1:
            raise ValueError(f"duty: got {duty}, want a share between 0 and 1")
        self._pids = pids
        self._running_s = duty * period_s
        self._stopped_s = period_s - self._running_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._cycle, name="sick-host", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _cycle(self) -> None:
        while not self._ended.wait(self._running_s):
            pids = self._pids()
            try:
                signal_all(pids, signal.SIGSTOP)
                self._ended.wait(self._stopped_s)
            finally:
                signal_all(pids, signal.SIGCONT)


def signal_all(pids: list[int], signum: signal.Signals) -> None:
    """Send a signal to those of the processes that are still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signum)
