"""With how many clones do all tasks of a job start? Dolly: enough that the job is seldom late."""

import math

from controlplane.compiled import kernel
from controlplane.model.columns import Record, Records
from controlplane.model.reasons import Reason
from controlplane.policies.row import COPYING, Kind, Row, Setting
from controlplane.policies.seen import Seen
from controlplane.policies.shed_plus.forecast import is_usual, least_s, unknown_reason
from controlplane.policies.shed_plus.pocd import dolly_attempts, new_job_pocd

BY_FORMULA = -1.0
"""The `job_miss` that is computed, as is any below 0."""


@kernel
def dolly(seen: Seen, settings: Record, answer: Records) -> None:
    """Clones for every task of a job with a deadline, the task with fewest attempts first.

    Source: Dolly (NSDI'13), section 4, with a job's probability of being late in place of a task's, as Shed+, section
    VI.A, has it.
    """
    for row in range(len(seen.tasks)):
        task, one = seen.tasks[row], answer[row]
        stage, pool = seen.stages[task["stage"]], seen.pools[task["pool"]]
        deadline_s, miss = stage["deadline_s"] + seen.jobs[task["job"]]["age_s"], settings["job_miss"]
        if not deadline_s < math.inf or not is_usual(task, pool):
            one["reason"] = unknown_reason(deadline_s)
            continue
        if miss < 0.0:
            work_s = deadline_s - pool["startup_s"]
            miss = 1.0 - new_job_pocd(stage["tasks"], least_s(task, seen), work_s, pool["tail_index"])
        attempts = dolly_attempts(stage["tasks"], miss, settings["late_share"], 1 + int(settings["most_copies"]))
        one["gain"], one["price"], one["score"] = miss, attempts, 1.0 / max(task["running_attempts"], 1)
        one["copies"] = max(min(attempts - task["running_attempts"], task["copies_left"]), 0) * task["eligible"]
        one["reason"] = Reason.CLONED if one["copies"] > 0 else Reason.ENOUGH_CLONES


ROW = Row(
    name="dolly",
    kind=Kind.SPECULATOR,
    kernel=dolly,
    about="Clones of all tasks of a job with a deadline from the start, as many as make it late seldom enough.",
    source="Dolly (NSDI'13), section 4; Shed+, section VI.A",
    needs=COPYING,
    settings=(
        Setting(
            name="late_share",
            default=0.05,
            low=1e-6,
            high=1.0 - 1e-6,
            about="Share of jobs that may be late (the paper's epsilon).",
        ),
        Setting(
            name="job_miss",
            default=BY_FORMULA,
            low=BY_FORMULA,
            high=1.0,
            about="Probability that a job without clones is late; -1 computes it from its tasks and deadline.",
        ),
        Setting(
            name="most_copies",
            default=5.0,
            low=0.0,
            high=100.0,
            about="The most further attempts of one task.",
        ),
    ),
    at_start=True,
    by_finished=True,
)
