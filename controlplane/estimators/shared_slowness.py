"""Does a copy leave its original's slowness behind, or is the work itself slow?

A straggler's seconds per unit of work exceed its siblings' because of its host, by bad luck, or because of its data.
The first two a copy elsewhere sheds, the third it meets again. So each pair of an original and its copy tells: of the
log by which the original is slower than its siblings, a sick host's slowness aside, which part does the copy not show?
"""

import math

from controlplane.compiled import rule

LEAST_LOG = math.log(1.5)
"""An original that was hardly slower tells nothing."""
PRIOR_LOG = 1.0
"""As if so much slowness had been seen, all of it shed: until copies have run, slowness counts as independent."""


def shed(original_log: float, copy_log: float) -> tuple[float, float]:
    """(slowness of an original, the part of it that its copy does not show), as logs; zeros where that tells nothing.

    >>> shed(original_log=2.0, copy_log=0.5), shed(original_log=0.1, copy_log=0.0), shed(2.0, math.nan)
    ((2.0, 1.5), (0.0, 0.0), (0.0, 0.0))
    """
    if math.isnan(copy_log) or not original_log >= LEAST_LOG:
        return 0.0, 0.0
    return original_log, original_log - copy_log


@rule
def kept_share(copied_slowness: float, shed_slowness: float) -> float:
    """Share of a straggler's own slowness that a copy of it would show again, 0 to 1.

    >>> kept_share(copied_slowness=0.0, shed_slowness=0.0), kept_share(copied_slowness=6.0, shed_slowness=0.0)
    (0.0, 0.8571428571428571)
    """
    return min(max((copied_slowness - shed_slowness) / (PRIOR_LOG + copied_slowness), 0.0), 1.0)
