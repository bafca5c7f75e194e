"""How do a task's live attempts add up to one record, and do they rule out a copy? For live and simulated tasks."""

from math import inf, nan

from controlplane.compiled import rule
from controlplane.model.columns import Record
from controlplane.model.reasons import Reason

OPTED_OUT, MODE, HOST_CANNOT = int(Reason.OPTED_OUT), int(Reason.MODE), int(Reason.HOST_CANNOT)
TOO_NEW, ALREADY_COPIED = int(Reason.TOO_NEW), int(Reason.ALREADY_COPIED)


@rule
def without_attempts(task: Record) -> None:
    """Reset a `RUNNING_TASK` before its first attempt."""
    task["elapsed_s"], task["progress_rate"], task["t_rem_s"], task["worst_rem_s"] = 0.0, 0.0, inf, 0.0
    task["youngest_s"], task["progress"], task["too_new"] = inf, nan, True


@rule
def see_attempt(task: Record, elapsed_s: float, t_rem_s: float, rate: float, progress: float) -> None:
    """Add one attempt: a task has the oldest and the youngest age, the least and the greatest time left, the best rate,
    and the progress of the attempt that ends first.

    >>> task = {}
    >>> without_attempts(task)
    >>> see_attempt(task, elapsed_s=5.0, t_rem_s=9.0, rate=0.1, progress=0.25)
    >>> see_attempt(task, elapsed_s=2.0, t_rem_s=3.0, rate=0.2, progress=0.5)
    >>> [task[name] for name in ("elapsed_s", "youngest_s", "t_rem_s", "worst_rem_s", "progress_rate", "progress")]
    [5.0, 2.0, 3.0, 9.0, 0.2, 0.5]
    """
    task["elapsed_s"] = max(task["elapsed_s"], elapsed_s)
    task["youngest_s"] = min(task["youngest_s"], elapsed_s)
    if t_rem_s < task["t_rem_s"]:
        task["progress"] = progress
    task["t_rem_s"] = min(task["t_rem_s"], t_rem_s)
    task["worst_rem_s"] = max(task["worst_rem_s"], t_rem_s)
    task["progress_rate"] = max(task["progress_rate"], rate)


@rule
def forbidden_reason(verdict: int, copies_enabled: bool, is_off: bool, max_copies: int) -> int:
    """Why no task of a stage may be copied, as `Reason`; 0 if it may.

    `verdict` is the stage's own reason, `copies_enabled` what the job's user chose, `is_off` the effective mode.

    >>> [Reason(forbidden_reason(0, enabled, is_off=False, max_copies=0)).label for enabled in (False, True)]
    ['opted_out', 'host_cannot']
    """
    if verdict:
        return int(verdict)
    if not copies_enabled:
        return OPTED_OUT
    if is_off:
        return MODE
    return HOST_CANNOT if max_copies == 0 else 0


@rule
def attempts_reason(is_too_new: bool, at_start: bool, running_attempts: int, max_copies: int) -> int:
    """Why a task's attempts rule out a copy, as `Reason`; 0 if they do not.

    `is_too_new`: one of them cannot be judged yet. A speculator that copies `at_start` copies it anyway.

    >>> [attempts_reason(True, at_start, running_attempts=2, max_copies=1) for at_start in (False, True)] == [
    ...     Reason.TOO_NEW, Reason.ALREADY_COPIED]
    True
    """
    if is_too_new and not at_start:
        return TOO_NEW
    return ALREADY_COPIED if running_attempts > max_copies else 0
