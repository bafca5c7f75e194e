"""Which running tasks deserve one more attempt, or start again? Mantri: where it likely saves slot time.

Where the finished attempts or the task's input are not known, the estimate `t_new_s` stands for the distribution of a
fresh attempt's duration.
"""

from math import inf

from controlplane.compiled import kernel, rule
from controlplane.model.columns import Record, Records
from controlplane.model.reasons import Reason
from controlplane.policies.copy_priority import COPY_PRIORITY
from controlplane.policies.row import COPYING, Kind, Row, Setting
from controlplane.policies.seen import Seen
from controlplane.policies.whole_slots import TOLERANCE


@rule
def undercut_rank(n_finished: int, confidence: float) -> int:
    """Which finished attempt decides, counted from 0 in ascending order: P(t_new < x) > confidence iff it is below x.

    More than confidence * n of the n finished attempts are below x exactly if the one of this rank is.

    >>> [undercut_rank(n_finished=n, confidence=0.25) for n in (1, 4, 7, 8)]
    [0, 1, 1, 2]
    """
    return int(confidence * n_finished + TOLERANCE)


@rule
def break_even_s(running_attempts: float, t_rem_s: float) -> float:
    """A copy that takes less than this saves slot time: t_rem * c / (c + 1).

    c attempts that run for t_rem cost as much as c + 1 that run for this long.
    Source: Mantri (OSDI'10), section 5.1, resource-aware restart.  Units: seconds.

    >>> [break_even_s(running_attempts=c, t_rem_s=12.0) for c in (1, 2)]
    [6.0, 8.0]
    """
    return t_rem_s * running_attempts / (running_attempts + 1)


@rule
def is_far_slower(t_rem_s: float, other_s: float, margin_s: float) -> bool:
    """Whether an attempt is killed, because it needs much longer than another, or than a fresh one would.

    An unknown time is no evidence.
    Source: Mantri (OSDI'10), section 5.1.  Units: seconds.

    >>> [is_far_slower(t_rem_s=t_rem_s, other_s=20.0, margin_s=60.0) for t_rem_s in (80.0, 81.0, inf)]
    [False, True, False]
    """
    return t_rem_s < inf and t_rem_s > (other_s + margin_s) * (1.0 + TOLERANCE)


@rule
def mean_new_s(task: Record, stage: Record, finished: Records) -> float:
    """E[t_new]: finished siblings' mean time for this much work; the estimate if they are not known."""
    first, last = stage["finished_from"], stage["finished_to"]
    if first < 0 or not task["work"] > 0:
        return task["t_new_s"]
    total, n = 0.0, 0
    for row in range(first, last):
        if finished[row]["unit_s"] < inf:
            total, n = total + finished[row]["unit_s"], n + 1
    return task["work"] * total / n if n else inf


@kernel
def mantri(seen: Seen, settings: Record, answer: Records) -> None:
    """Duplicates where P(t_new < t_rem c / (c + 1)) > `confidence`, the longest to run first.

    P is over finished siblings, normalised by their input. At most `max_attempts` of a task run. While all slots are
    busy, a task with one attempt starts again instead, if that one needs a margin more than a fresh one would on
    average, up to `max_attempts` times in all. An attempt that another of its task beats by as much ends.
    Source: Mantri (OSDI'10), section 5.1.
    """
    tasks, finished = seen.tasks, seen.finished
    confidence, max_attempts = settings["confidence"], settings["max_attempts"]
    for row in range(len(tasks)):
        task, stage = tasks[row], seen.stages[tasks[row]["stage"]]
        attempts, t_rem_s, t_new_s = task["running_attempts"], task["t_rem_s"], task["t_new_s"]
        margin_s = min(settings["kill_margin_s"], settings["kill_margin_times"] * t_new_s)
        is_full = seen.pools[task["pool"]]["idle"] <= 0
        may_restart = is_full and attempts == 1 and task["attempts_started"] < max_attempts
        mean_s = mean_new_s(task, stage, finished) if may_restart else inf
        if stage["finished_from"] >= 0 and task["work"] > 0:
            rank = stage["finished_from"] + undercut_rank(
                n_finished=stage["finished_to"] - stage["finished_from"], confidence=confidence
            )
            t_new_s = task["work"] * finished[rank]["unit_s"] if rank < stage["finished_to"] else inf
        bound_s = break_even_s(running_attempts=attempts, t_rem_s=t_rem_s) * (1.0 - TOLERANCE)
        known = t_rem_s < inf and t_new_s < inf
        if not known:
            too_few = t_rem_s < inf and stage["finished_from"] >= 0
            reason = Reason.TOO_FEW_FINISHED if too_few else Reason.UNKNOWN_DEMAND
        elif is_far_slower(t_rem_s=t_rem_s, other_s=mean_s, margin_s=margin_s):
            reason = Reason.ENDS_SOONER_ANEW
        elif t_new_s >= bound_s:
            reason = Reason.CHEAPER_TO_WAIT
        else:
            reason = Reason.LIKELY_SAVES if attempts < max_attempts else Reason.ALREADY_COPIED
        answer["score"][row], answer["reason"][row] = t_rem_s if known else 0.0, reason
        answer["kill"][row] = reason == Reason.ENDS_SOONER_ANEW and task["eligible"]
        answer["copies"][row] = answer["kill"][row] or (reason == Reason.LIKELY_SAVES and task["eligible"])
        answer["end_last"][row] = attempts > 1 and is_far_slower(
            t_rem_s=task["worst_rem_s"], other_s=t_rem_s, margin_s=margin_s
        )


ROW = Row(
    name="mantri",
    kind=Kind.SPECULATOR,
    kernel=mantri,
    about="Tasks whose copy likely saves slot time judging by finished siblings, the longest to run first.",
    source="Mantri (OSDI'10), section 5.1",
    needs=COPYING,
    settings=(
        Setting(
            name="confidence",
            default=0.25,
            low=0.0,
            high=1.0,
            about="A copy must save slot time with more than this probability.",
        ),
        Setting(
            name="max_attempts",
            default=3.0,
            low=1.0,
            high=16.0,
            about="The most attempts of one task at once, and for a task that starts again the most ever.",
        ),
        COPY_PRIORITY,
        Setting(
            name="kill_margin_s",
            default=60.0,
            low=0.0,
            high=1e9,
            about="Seconds by which an attempt ends after another, or in a full pool after a fresh one, to be killed.",
        ),
        Setting(
            name="kill_margin_times",
            default=1.5,
            low=0.0,
            high=1e9,
            about="The same in times of a fresh attempt; the smaller margin counts.",
        ),
    ),
    by_finished=True,
)
