"""Which tasks does a job's bound need? Those that end before its deadline, or the earliest for its error bound.

A bound is that of a stage that reads input; later stages run whole. A job without a bound is exact: it needs all tasks.
Source: GRASS (NSDI'14), sections 2.1 and 3.1.
"""

import math

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.estimators.tail_index import service_time_s
from controlplane.model.columns import Floats, Record
from controlplane.model.reasons import Reason
from controlplane.policies.row import Setting
from controlplane.policies.seen import Seen
from controlplane.policies.shed_plus.pocd import attempts_pocd


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


LEAST_CHANCE = Setting(
    name="least_chance",
    default=0.05,
    low=0.0,
    high=1.0,
    about="Before a deadline, the least probability with which a copy must end in time.",
)


@rule
def chance_in_time(t_new_s: float, deadline_s: float, pool: Record) -> float:
    """Probability that a fresh attempt, which usually takes `t_new_s`, ends by the deadline.

    Its times are Pareto with the pool's tail index, from its launch on, and `t_new_s` is their geometric mean; with
    no such index it takes that time. The paper draws t_new from finished attempts, so that it is at times a short one.
    Source: GRASS (NSDI'14), section 5.1.  Units: seconds.

    >>> pool = {"tail_index": 1.5, "startup_s": 0.0}
    >>> [round(chance_in_time(4.0, deadline_s, pool), 2) for deadline_s in (2.0, 4.0, 8.0)]
    [0.0, 0.63, 0.87]
    >>> pool["tail_index"] = 0.0
    >>> [chance_in_time(4.0, deadline_s, pool) for deadline_s in (3.9, 4.0, math.inf)]
    [0.0, 1.0, 1.0]
    """
    launch_s, tail_index = pool["startup_s"], pool["tail_index"]
    if not deadline_s < math.inf:
        return 1.0
    if not (0.0 < tail_index < math.inf and 0.0 <= launch_s < t_new_s):
        return 1.0 if t_new_s <= deadline_s else 0.0
    return attempts_pocd(service_time_s(t_new_s, launch_s, tail_index), deadline_s - launch_s, tail_index, 1)


@rule
def bound_reason(t_rem_s: float, t_new_s: float, deadline_s: float, is_likely: bool, last_s: float) -> Reason:
    """Why the job's bound asks for no copy of a running task; none if it may.

    `is_likely`: a copy is in time with enough probability. `last_s` is `windows_s` of the stage.  Units: seconds.
    Source: GRASS (NSDI'14), section 3.1, Pseudocode 1, lines 3 to 6, and Pseudocode 2, lines 2 to 8.

    >>> [bound_reason(9.0, 4.0, 3.0, is_likely, last_s=math.inf).label for is_likely in (False, True)]
    ['beyond_deadline', 'none']
    >>> bound_reason(9.0, 4.0, deadline_s=math.inf, is_likely=True, last_s=3.0).label
    'not_needed'
    """
    if not (t_rem_s < math.inf and t_new_s < math.inf):
        return Reason.UNKNOWN_DEMAND
    if deadline_s < math.inf:
        return Reason.NONE if is_likely else Reason.BEYOND_DEADLINE
    return Reason.NOT_NEEDED if min(t_rem_s, t_new_s) > last_s else Reason.NONE


@rule
def reason_of_task(seen: Seen, settings: Record, row: int, last_s: Floats) -> Reason:
    """`bound_reason` of a running task by its row; `last_s` is `windows_s`, of all stages."""
    task = seen.tasks[row]
    t_rem_s, t_new_s, deadline_s = task["t_rem_s"], task["t_new_s"], seen.stages[task["stage"]]["deadline_s"]
    is_likely = chance_in_time(t_new_s, deadline_s, seen.pools[task["pool"]]) >= settings["least_chance"]
    return bound_reason(t_rem_s, t_new_s, deadline_s, is_likely, last_s=last_s[task["stage"]])
