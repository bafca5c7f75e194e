"""Which tasks does a job's bound need? Those that end before its deadline, or the earliest for its error bound.

A bound is that of a stage that reads input; later stages run whole. A job without a bound is exact: it needs all tasks.
Source: GRASS (NSDI'14), sections 2.1 and 3.1.
"""

import math

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Floats
from controlplane.model.reasons import Reason
from controlplane.policies.seen import Seen


@kernel
def windows_s(seen: Seen) -> Floats:
    """By stage, when the last of the earliest tasks that are needed can end, from now; (n_stages,).

    -1 where none is needed, inf where all are. Of several tasks that end with that one, all count.
    Source: GRASS (NSDI'14), Pseudocode 2, lines 3 to 5.
    """
    stages = seen.stages
    is_bounded, last_s = stages["needed"] < stages["tasks"] - stages["done"], np.full(len(stages), math.inf)
    last_s[is_bounded] = -1.0
    if not is_bounded.any():
        return last_s
    stage = np.append(seen.tasks["stage"], seen.waiting["stage"])
    soonest_s = np.append(np.minimum(seen.tasks["t_rem_s"], seen.tasks["t_new_s"]), seen.waiting["t_new_s"])
    counted = np.zeros(len(stages), dtype=np.int64)
    for row in np.argsort(soonest_s, kind="mergesort"):
        at = stage[row]
        if is_bounded[at] and counted[at] < stages[at]["needed"]:
            counted[at] += 1
            last_s[at] = soonest_s[row]
    return last_s


@kernel
def shortest_waiting_s(seen: Seen) -> Floats:
    """By stage, the least time that an original takes which waits and would end before the deadline; inf if none does.

    (n_stages,), in seconds.
    """
    least_s = np.full(len(seen.stages), math.inf)
    for row in range(len(seen.waiting)):
        task = seen.waiting[row]
        if task["t_new_s"] <= seen.stages[task["stage"]]["deadline_s"] < math.inf:
            least_s[task["stage"]] = min(least_s[task["stage"]], task["t_new_s"])
    return least_s


@rule
def bound_reason(t_rem_s: float, t_new_s: float, deadline_s: float, last_s: float) -> Reason:
    """Why the job's bound asks for no copy of a running task; none if it may.

    A copy that would end at the deadline is in time. `last_s` is `windows_s` of the stage.  Units: seconds.
    Source: GRASS (NSDI'14), section 3.1, Pseudocode 1, lines 3 to 6, and Pseudocode 2, lines 2 to 8.

    >>> [bound_reason(9.0, 4.0, deadline_s, last_s=math.inf).label for deadline_s in (3.0, 4.0)]
    ['beyond_deadline', 'none']
    >>> bound_reason(9.0, 4.0, deadline_s=math.inf, last_s=3.0).label
    'not_needed'
    """
    if not (t_rem_s < math.inf and t_new_s < math.inf):
        return Reason.UNKNOWN_DEMAND
    if deadline_s < math.inf:
        return Reason.BEYOND_DEADLINE if t_new_s > deadline_s else Reason.NONE
    return Reason.NOT_NEEDED if min(t_rem_s, t_new_s) > last_s else Reason.NONE
