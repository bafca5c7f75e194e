"""Which attempt of a task has another one beaten? The one that will end much later, by more than estimates err."""

from math import exp, inf

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Record, Records
from controlplane.model.reasons import Reason
from controlplane.policies.row import Setting
from controlplane.policies.seen import Seen

END_BEATEN = Setting(
    name="end_beaten",
    default=0.0,
    low=0.0,
    high=1.0,
    about="1: attempts that another one of their task beats by far are ended, and a task has at most four in all.",
    switch=True,
)
"""A row that has this setting needs no code for it: the caller of the policy calls `end_beaten` on its answer."""
LEAST_TIMES = 1.15
"""By this factor an attempt must need longer than another one, were estimates exact."""
LEAST_SHARE = 0.1
"""And by this share of a fresh attempt's duration, lest those be ended that would end by themselves at once."""
MOST_ATTEMPTS = 4
"""Attempts of one task in all, the ended ones included: each one that is slow, too, makes slow data more likely."""


@rule
def is_beaten(worst_rem_s: float, best_rem_s: float, t_new_s: float, error: float) -> bool:
    """Whether an attempt will end long after another one of its task; an unknown time is no evidence.

    `error` is the mean absolute log error of estimates of time to go.  Units: seconds.

    >>> [is_beaten(worst_rem_s, best_rem_s=10.0, t_new_s=9.0, error=0.0) for worst_rem_s in (12.3, 12.5, inf)]
    [False, True, False]
    >>> is_beaten(12.5, best_rem_s=10.0, t_new_s=9.0, error=0.3)
    False
    """
    return worst_rem_s < inf and worst_rem_s > LEAST_TIMES * exp(error) * best_rem_s + LEAST_SHARE * t_new_s


@rule
def may_start(task: Record, switch: float) -> bool:
    """Whether a task may have one more attempt, by the bound that comes with `end_beaten`."""
    return switch <= 0.0 or task["attempts_started"] < MOST_ATTEMPTS


@kernel
def end_beaten(seen: Seen, switch: float, answer: Records) -> None:
    """With `end_beaten` 1, end attempts that are beaten, and bound the attempts of a task in all."""
    if switch <= 0.0:
        return
    for row in range(len(answer)):
        task, one = seen.tasks[row], answer[row]
        error = seen.pools[task["pool"]]["foretold_error"]
        if task["running_attempts"] > 1 and is_beaten(task["worst_rem_s"], task["t_rem_s"], task["t_new_s"], error):
            one["end_last"] = True
        if one["copies"] > MOST_ATTEMPTS - task["attempts_started"]:
            one["copies"] = max(MOST_ATTEMPTS - task["attempts_started"], 0)
            one["reason"] = one["reason"] if one["copies"] > 0 else Reason.MOST_ATTEMPTS
