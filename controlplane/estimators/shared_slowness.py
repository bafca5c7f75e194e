"""Does a copy leave its original's slowness behind, or is the work itself slow?

A straggler's seconds per unit of work exceed its siblings' because of its host, by bad luck, or because of its data.
A copy elsewhere sheds the first two and meets the third again. So each pair of an original and its copy shows which
part of the log by which the original is slower than its siblings, apart from a sick host's, the copy does not show.
"""

import math

from msgspec import Struct

from controlplane.compiled import rule
from controlplane.estimators.stored import NotNegative

LEAST_LOG = math.log(1.5)
"""An original that was hardly slower teaches nothing."""
PRIOR_LOG = 1.0
"""Prior slowness, all of it shed: until copies have run, slowness counts as independent."""
MOST_LOG = 100.0
"""Most slowness that is remembered, of some fifty pairs; older evidence fades."""
ENDS_KEPT = 2000.0
"""Evidence fades to a third over this many tasks: who has stopped copying, and sees no more races, tries again."""
LEAST_SPREAD = 0.1
"""Two attempts on the same data differ by this much, as a standard deviation of logs, however good estimates are."""
MOST_TAIL = 50.0
"""No tail is told from a lighter one."""
MOST_EVIDENCE = 5.0
"""No pair is stronger evidence about its task than these log odds."""


@rule
def race_seen(
    seen_log: float, kept_log: float, original_log: float, copy_log: float, real: float
) -> tuple[float, float]:
    """The sums of slowness seen and kept after one more pair: logs of how much slower than siblings each was.

    Sick hosts aside; nan where unknown. Of the original's, a share is real.

    >>> race_seen(0.0, 0.0, 3.0, copy_log=3.0, real=1.0), race_seen(3.0, 3.0, 2.0, copy_log=0.0, real=0.5)
    ((3.0, 3.0), (4.0, 3.0))
    """
    if math.isnan(copy_log) or not original_log >= LEAST_LOG:
        return seen_log, kept_log
    seen_log, kept_log = seen_log + real * original_log, kept_log + min(max(copy_log, -original_log), original_log)
    fading = min(MOST_LOG / seen_log, 1.0)
    return fading * seen_log, fading * kept_log


@rule
def faded(log: float) -> float:
    """A sum of slowness, less what one ended task lets fade.

    >>> round(faded(2000.0), 6)
    1999.0
    """
    return log * (1.0 - 1.0 / ENDS_KEPT)


@rule
def kept_share(seen_log: float, kept_log: float) -> float:
    """Share of a straggler's own slowness that a copy of it would show again, 0 to 1.

    >>> kept_share(seen_log=3.0, kept_log=3.0)
    0.75
    """
    return min(max(kept_log, 0.0) / (PRIOR_LOG + seen_log), 1.0)


@rule
def real_share(tail_index: float, error: float, left: float) -> float:
    """Share of a straggler's seeming slowness, as a logarithm, that is real: it was chosen because it seemed slow.

    The log of a Pareto time has the variance 1 / tail_index^2. Estimates of the time to go, which is a share `left` of
    the whole and has the mean absolute log error `error`, add theirs.  Source: regression towards the mean.

    >>> [round(real_share(1.5, error, left=1.0), 2) for error in (0.0, 0.24, 0.48)], real_share(1.5, 0.48, left=0.0)
    ([1.0, 0.83, 0.55], 1.0)
    """
    return 1.0 / (1.0 + 0.5 * math.pi * (min(tail_index, MOST_TAIL) * left * error) ** 2)


@rule
def pair_evidence(original_log: float, copy_log: float, tail_index: float, error: float) -> float:
    """Log odds that two attempts of a task share their slowness, by how much slower than siblings each is.

    If they do, the logs differ by errors of estimates alone, whose mean absolute value is `error`; if not, the copy's
    own is exponential, as that of any Pareto law.

    >>> [round(pair_evidence(1.0, copy_log, tail_index=1.5, error=0.0), 1) for copy_log in (1.0, 0.8, 0.0)]
    [3.5, 1.2, -5.0]
    """
    tail_index = min(tail_index, MOST_TAIL)
    spread = max(math.sqrt(math.pi) * error, LEAST_SPREAD)
    if_shared = -0.5 * ((copy_log - original_log) / spread) ** 2 - math.log(math.sqrt(2.0 * math.pi) * spread)
    if_own = math.log(tail_index) - max(tail_index * copy_log + 1.0, 0.0)
    return min(max(if_shared - if_own, -MOST_EVIDENCE), MOST_EVIDENCE)


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
        """Take one pair, as `race_seen` does; logs of measured paces hold no estimate of time to go, so all is real."""
        self.seen_log, self.kept_log = race_seen(self.seen_log, self.kept_log, original_log, copy_log, real=1.0)

    def task_ended(self) -> None:
        """Let the evidence fade."""
        self.seen_log, self.kept_log = faded(self.seen_log), faded(self.kept_log)

    @property
    def kept(self) -> float:
        """`kept_share` of all pairs."""
        return kept_share(self.seen_log, self.kept_log)
