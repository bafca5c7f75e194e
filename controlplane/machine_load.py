"""How busy was the machine while something was timed, and are the times to be trusted?"""

import os
from collections.abc import Collection


def machine_load() -> float:
    """How many processes ran or waited to, on average over the last minute."""
    return os.getloadavg()[0]


def caution(loads: Collection[float], cores: int) -> str:
    """A warning for times measured at these loads one after the other; none if loads were low and similar.

    >>> caution([1.5, 1.9], cores=2)
    ''
    >>> caution([3.1, 34.0], cores=2)
    "The machine's load was 3.1 to 34.0 on 2 cores: times reflect that load as well as the scheduler."
    """
    low, high = min(loads), max(loads)
    if high <= cores and high <= 2 * low:
        return ""
    on = f"{cores} core{'s' * (cores > 1)}"
    return f"The machine's load was {low:.1f} to {high:.1f} on {on}: times reflect that load as well as the scheduler."
