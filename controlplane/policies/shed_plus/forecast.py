"""How likely is each running task to be late, by itself and with a further attempt? What Shed+, Shed and Dolly go by.

The theorems are about one wave of tasks that run. Tasks that wait and later stages are left out.
"""

import math

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.estimators.tail_index import service_time_s
from controlplane.model.columns import Floats, Record, Records
from controlplane.model.reasons import Reason
from controlplane.policies.seen import Seen
from controlplane.policies.shed_plus.pocd import (
    attempts_pocd,
    done_after,
    is_straggler,
    tail_index_of_attempt,
    unjudged_pocd,
)

FORECAST = np.dtype(
    [
        ("is_known", np.bool_),  # its job has a deadline, and its times are known; otherwise the rest means nothing
        ("is_straggler", np.bool_),
        ("miss", np.float64),  # probability that all its attempts end after the deadline
        ("copy_miss", np.float64),  # the same of one further attempt
        ("copy_least_s", np.float64),  # the least time that this one works, after its launch
    ],
    align=True,
)


@kernel
def forecast(seen: Seen) -> Records:
    """A `FORECAST` for each running task, (n_tasks,).

    One that needs less than the least that its siblings have shown needs just that. Attempts beside the one that ends
    first count as further ones. A further attempt has the pool's tail index, and less
    time, for it is launched first; where the host resumes, it has less to do.
    """
    found = np.zeros(len(seen.tasks), dtype=FORECAST)
    for row in range(len(seen.tasks)):
        task, one = seen.tasks[row], found[row]
        pool, left_s, t_rem_s = seen.pools[task["pool"]], seen.stages[task["stage"]]["deadline_s"], task["t_rem_s"]
        one["is_known"] = left_s < math.inf and t_rem_s < math.inf and is_usual(task, pool)
        if not one["is_known"]:
            continue
        whole_s, progress, launch_s = least_s(task, seen), progress_of(task), pool["startup_s"]
        least_left_s = min((1.0 - progress) * whole_s, t_rem_s)
        tail_index = tail_index_of_attempt(t_rem_s=t_rem_s, least_left_s=least_left_s)
        if pool["resumes"]:
            whole_s *= 1.0 - done_after(progress=progress, t_rem_s=t_rem_s, launch_s=launch_s)
        one["is_straggler"] = is_straggler(t_rem_s=t_rem_s, time_left_s=left_s)
        one["copy_least_s"], one["copy_miss"] = whole_s, 1.0
        if left_s > launch_s:
            one["copy_miss"] = 1.0 - attempts_pocd(whole_s, left_s - launch_s, pool["tail_index"], 1)
        one["miss"] = 1.0 - attempts_pocd(least_left_s, left_s, tail_index, 1)
        one["miss"] *= one["copy_miss"] ** float(max(task["running_attempts"] - 1, 0))
    return found


@rule
def is_usual(task: Record, pool: Record) -> bool:
    """Whether it is known what a fresh attempt takes, to launch and to work, and how its times spread."""
    return task["t_fresh_s"] < math.inf and pool["startup_s"] < math.inf and pool["tail_index"] > 0.0


@rule
def unknown_reason(deadline_s: float) -> Reason:
    """Why nothing is foretold of a task of a stage with this deadline.

    >>> unknown_reason(math.inf).label, unknown_reason(5.0).label
    ('no_deadline', 'unknown_demand')
    """
    return Reason.UNKNOWN_DEMAND if deadline_s < math.inf else Reason.NO_DEADLINE


@rule
def least_s(task: Record, seen: Seen) -> float:
    """The least time that a whole attempt of a task takes to work: at the best pace of a finished sibling.

    Before one has finished, that of a Pareto law with the pool's tail index and the siblings' geometric mean.
    Source: Shed+, section II, t_min.  Units: seconds.
    """
    stage, pool = seen.stages[task["stage"]], seen.pools[task["pool"]]
    first, launch_s = stage["finished_from"], pool["startup_s"]
    if 0 <= first < stage["finished_to"] and task["work"] * seen.finished[first]["unit_s"] < math.inf:
        return max(task["work"] * seen.finished[first]["unit_s"] - launch_s, 0.0)
    return service_time_s(task["t_fresh_s"], launch_s, pool["tail_index"])


@rule
def is_learned(task: Record) -> bool:
    """Whether ended attempts of its stage, in this job or in earlier ones, tell how long a task takes."""
    return not math.isnan(task["expected_s"])


@rule
def unjudged_miss(task: Record, mine: Record, seen: Seen) -> float:
    """Probability that all attempts of a task are late whose pace cannot be judged, by what is learned of its stage.

    Attempts beside the oldest one count as further ones.
    """
    pool, left_s = seen.pools[task["pool"]], seen.stages[task["stage"]]["deadline_s"]
    miss = 1.0 - unjudged_pocd(least_s(task, seen), task["elapsed_s"], left_s, pool["startup_s"], pool["tail_index"])
    return miss * mine["copy_miss"] ** float(max(task["running_attempts"] - 1, 0))


@rule
def progress_of(task: Record) -> float:
    """Share of its work that a task's first attempt to end has done; at an even pace where that is unknown."""
    if not math.isnan(task["progress"]):
        return min(max(task["progress"], 0.0), 1.0)
    whole_s = task["elapsed_s"] + task["t_rem_s"]
    return task["elapsed_s"] / whole_s if 0.0 < whole_s < math.inf else 0.0


@kernel
def stage_progress(seen: Seen) -> Floats:
    """Mean progress of each stage's tasks, 0 to 1; (n_stages,)."""
    done = seen.stages["done"].astype(np.float64)
    for row in range(len(seen.tasks)):
        done[seen.tasks[row]["stage"]] += progress_of(seen.tasks[row])
    return done / np.maximum(seen.stages["tasks"], 1)


@rule
def log_of(probability: float) -> float:
    """The logarithm of a probability; minus infinity for 0.

    >>> log_of(1.0), log_of(0.0)
    (0.0, -inf)
    """
    return math.log(probability) if probability > 0.0 else -math.inf
