"""What does a policy answer? One record for each claimant, or for each running task, that it saw."""

import numpy as np

ALLOCATION = np.dtype(
    [
        ("target", np.int64),  # of a pool, they never add up to more than its slots
        ("virtual_size", np.float64),  # slots it could use well; its remaining tasks where there is no such notion
        ("cap", np.int64),  # the most it may hold, which keeps slots free; -1 for no cap
        ("originals", np.int64),  # the most of them that originals may hold; -1 for no such limit
    ],
    align=True,
)

COPY_BUDGET = np.dtype([("copies", np.int64)], align=True)
"""Most copies of a job, running or ordered; -1 for no limit."""

SPECULATION = np.dtype(
    [
        ("copies", np.int64),  # further attempts wanted at once, each on its own host
        ("kill", np.bool_),  # once the one copy runs, the attempt that it was made of ends; only where it is wanted
        ("end_last", np.bool_),  # of its attempts, the one that ends last ends now; it has another
        ("score", np.float64),  # the gain: higher first within a job; finite; > 0 for copies, or the cycle fails
        ("reason", np.int64),  # why, or why not, as a `Reason`; of no meaning where a task was not eligible
    ],
    align=True,
)
