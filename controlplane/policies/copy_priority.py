"""May a copy start while originals wait? At its job's priority yes; last in line only if none waits in its pool."""

import numpy as np

from controlplane.compiled import kernel
from controlplane.model.columns import Ints, Records
from controlplane.model.reasons import Reason
from controlplane.policies.row import Setting
from controlplane.policies.seen import Seen

JOB, LAST = 0.0, 1.0
COPY_PRIORITY = Setting(
    name="copy_priority",
    default=JOB,
    low=JOB,
    high=LAST,
    about="0: a copy competes at its job's priority; 1: it starts only when no original waits in the pool.",
    switch=True,
)
"""A row that has this setting needs no code for it: the caller of the policy calls `hold_back` on its answer."""


@kernel
def hold_back(seen: Seen, copy_priority: float, answer: Records) -> None:
    """With `copy_priority` 1 (last), want only as many copies in a pool as it has slots that no original waits for.

    With 0 (job) a copy competes at its job's priority, so nothing is held back. A restart gives a slot back, and never
    is.
    """
    if copy_priority <= JOB:
        return
    keep_to_idle(seen, np.flatnonzero((answer["copies"] > 0) & ~answer["kill"] & (seen.tasks["standing"] == 0)), answer)


@kernel
def keep_to_idle(seen: Seen, rows: Ints, answer: Records) -> None:
    """Keep at most as many of these tasks' copies in each pool as it has idle slots; want the others no more.

    The highest scores first; among equal ones, the task that ends later.
    """
    tasks = seen.tasks
    rows = rows[np.argsort(-tasks["t_rem_s"][rows], kind="mergesort")]
    n_started = np.zeros(len(seen.pools), dtype=np.int64)
    for row in rows[np.argsort(-answer["score"][rows], kind="mergesort")]:
        pool = tasks[row]["pool"]
        wanted = min(answer["copies"][row], tasks[row]["copies_left"])
        copies = min(wanted, seen.pools[pool]["idle"] - n_started[pool])
        if copies > 0:
            n_started[pool] += copies
            answer["copies"][row] = copies
        else:
            answer["copies"][row], answer["reason"][row] = 0, Reason.ORIGINALS_WAIT
