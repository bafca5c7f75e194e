"""Does a copy leave its original's slowness behind, or is the work itself slow?

A straggler's seconds per unit of work exceed its siblings' because of its host, by bad luck, or because of its data.
A copy elsewhere sheds the first two and meets the third again. So each pair of an original and its copy shows which
part of the log by which the original is slower than its siblings, apart from a sick host's, the copy does not show.
"""

import math

from msgspec import Struct

from controlplane.estimators.stored import NotNegative

LEAST_LOG = math.log(1.5)
"""An original that was hardly slower teaches nothing."""
PRIOR_LOG = 1.0
"""Prior slowness, all of it shed: until copies have run, slowness counts as independent."""
MOST_LOG = 100.0
"""Most slowness that is remembered, of some fifty pairs; older evidence fades."""


class SharedSlowness(Struct):
    """Evidence from the races of one application's originals with their copies.

    >>> shared = SharedSlowness()
    >>> shared.kept
    0.0
    >>> shared.observe(original_log=3.0, copy_log=3.0)
    >>> shared.kept
    0.75
    """

    seen_log: NotNegative = 0.0
    """Sum of the logs by which originals were slower than their siblings."""
    kept_log: float = 0.0
    """The part of it that their copies showed, too."""

    def __post_init__(self) -> None:
        if not abs(self.kept_log) <= self.seen_log:
            raise ValueError("no more can be kept than was seen")

    def observe(self, original_log: float, copy_log: float) -> None:
        """Take one pair: logs of how much slower than siblings each was, sick hosts aside; nan where unknown."""
        if math.isnan(copy_log) or not original_log >= LEAST_LOG:
            return
        seen_log = self.seen_log + original_log
        kept_log = self.kept_log + min(max(copy_log, -original_log), original_log)
        fading = min(MOST_LOG / seen_log, 1.0)
        self.seen_log, self.kept_log = fading * seen_log, fading * kept_log

    @property
    def kept(self) -> float:
        """Share of a straggler's own slowness that a copy of it would show again, 0 to 1."""
        return max(self.kept_log, 0.0) / (PRIOR_LOG + self.seen_log)
