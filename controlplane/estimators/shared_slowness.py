"""Does a copy leave its original's slowness behind, or is the work itself slow?

A straggler's seconds per unit of work exceed its siblings' because of its host, by bad luck, or because of its data.
The first two a copy elsewhere sheds, the third it meets again. So each pair of an original and its copy tells: of the
log by which the original is slower than its siblings, a sick host's slowness aside, which part does the copy not show?
"""

import math
from collections.abc import Mapping

LEAST_LOG = math.log(1.5)
"""An original that was hardly slower tells nothing."""
PRIOR_LOG = 1.0
"""As if so much slowness had been seen, all of it shed: until copies have run, slowness counts as independent."""
MOST_LOG = 100.0
"""So much slowness is remembered, of some fifty pairs; what is older fades."""


class SharedSlowness:
    """What the races of one application's originals with their copies have shown.

    >>> shared = SharedSlowness()
    >>> shared.kept
    0.0
    >>> shared.observe(original_log=3.0, copy_log=3.0)
    >>> shared.kept
    0.75
    """

    def __init__(self) -> None:
        self._seen_log = self._shed_log = 0.0

    def observe(self, original_log: float, copy_log: float) -> None:
        """Take one pair: logs of how much slower than siblings each was, sick hosts aside; nan where unknown."""
        if math.isnan(copy_log) or not original_log >= LEAST_LOG:
            return
        self._seen_log += original_log
        self._shed_log += original_log - copy_log
        fading = min(MOST_LOG / self._seen_log, 1.0)
        self._seen_log *= fading
        self._shed_log *= fading

    @property
    def kept(self) -> float:
        """Share of a straggler's own slowness that a copy of it would show again, 0 to 1."""
        return min(max((self._seen_log - self._shed_log) / (PRIOR_LOG + self._seen_log), 0.0), 1.0)

    def dump(self) -> dict[str, float]:
        """JSON-able state."""
        return {"seen_log": self._seen_log, "shed_log": self._shed_log}

    def load(self, state: Mapping[str, float]) -> None:
        """Take back what `dump` gave."""
        self._seen_log, self._shed_log = state.get("seen_log", 0.0), state.get("shed_log", 0.0)
