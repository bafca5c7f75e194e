"""How many jobs may be passed over for the sake of data locality? Hopper's relaxation of Guideline 2."""

from controlplane.compiled import rule
from controlplane.policies.whole_slots import whole_up

LOCALITY_PERCENT = 3.0
"""The paper's k."""


@rule
def n_allowed(n_jobs: int, locality_percent: float) -> int:
    """How many of the smallest waiting jobs may have a slot; the first with a task local to it gets it.

    ceil(k % of all jobs): at least the smallest one, except for k = 0, which leaves the order alone.
    Source: Hopper (SIGCOMM'15), section 4.4; "any k subsequent jobs (as a % of total jobs)", section 7.4.

    >>> [n_allowed(n_jobs=100, locality_percent=k) for k in (0.0, 0.5, 3.0, 3.5)]
    [0, 1, 3, 4]
    """
    return whole_up(slots=n_jobs * locality_percent / 100.0)
