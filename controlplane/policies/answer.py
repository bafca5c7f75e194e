"""What does a policy answer? One record for each claimant, running task or waiting task that it saw."""

import numpy as np

ALLOCATION = np.dtype(
    [
        ("target", np.int64),  # of a pool, they never add up to more than its slots
        ("virtual_size", np.float64),  # slots it could use well; its remaining tasks if there is no such notion
        ("cap", np.int64),  # the most it may hold, which keeps slots free; -1 for no cap
        ("originals", np.int64),  # the most of them that originals may hold; -1 for no such limit
        ("precedence", np.float64),  # of two claimants that are below their targets, or both not, the lower goes first
    ],
    align=True,
)
"""One for each `CLAIMANT`, by an allocator."""

COPY_BUDGET = np.dtype(
    [
        ("copies", np.int64),  # the most that a job may have, running or ordered; -1 for no limit
    ],
    align=True,
)
"""One for each `CLAIMANT` of all drivers, in each cycle, by the policy that the setting `copy_budget` names. It holds
within the engine's limits. None of our policies answers it; one of another package may."""

SPECULATION = np.dtype(
    [
        ("copies", np.int64),  # further attempts wanted at once, each on its own host
        ("kill", np.bool_),  # once the one copy runs, the attempt that it was made of ends; only where it is wanted
        ("end_last", np.bool_),  # its attempt that would end last is ended now; it has another
        ("keep", np.int64),  # all of its attempts are ended now but the `SOONEST` or the `FURTHEST`; 0 to end none
        ("score", np.float64),  # the gain: higher first within a job; finite, and > 0 for copies (a law)
        ("reason", np.int64),  # why, or why not, as a `Reason`; meaningless if a task was not eligible
        ("gain", np.float64),  # what further attempts are worth, in the unit of `reason`, which is one of `PRICED`
        ("price", np.float64),  # and what they cost
    ],
    align=True,
)
"""One for each `RUNNING_TASK`, by a speculator."""

SOONEST, FURTHEST = 1, 2
"""Values of `keep`: the attempt that ends first, and the one that has done most."""

PRECEDENCE = np.dtype(
    [
        ("named", np.bool_),  # whether it goes before those of its stage that are not named, which the host orders
        ("score", np.float64),  # higher first among the named ones of its stage, the lower index among equal ones
    ],
    align=True,
)
"""One for each `WAITING_TASK` that is seen, by a speculator whose row has `order_waiting`."""
