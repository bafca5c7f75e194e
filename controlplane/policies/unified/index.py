"""Is a copy worth more than what it costs those that wait? One index for originals and copies, in job-seconds.

Originals go to the job with the least work left. A copy is worth the time by which its job ends sooner, less the price
of the slot time that it adds; it may add less than none. How much it helps depends on whether it meets the original's
slowness again, which is learned for the application, and for the task once two of its attempts have been compared.
A job with a deadline gains by being in time alone: missing it costs the whole deadline, in job-seconds. A job with an
error bound ends once that is met: tasks that it does not need get no copy, and run no longer than until then.
"""

import math
from dataclasses import replace

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.estimators.shared_slowness import MOST_TAIL
from controlplane.estimators.tail_index import LEAST_TAIL, service_time_s
from controlplane.model.columns import Flags, Floats, Ints, Record, Records
from controlplane.model.reasons import Reason
from controlplane.policies.baselines import srpt
from controlplane.policies.beaten import END_BEATEN, may_start
from controlplane.policies.copy_priority import keep_to_idle
from controlplane.policies.grass.gs import SOONER, gs_gain_s
from controlplane.policies.row import COPYING, Kind, Row, Setting
from controlplane.policies.seen import Seen
from controlplane.policies.shed_plus.forecast import forecast
from controlplane.policies.skew import has_more_to_do
from controlplane.policies.whole_slots import TOLERANCE

MOST_SHARE = 0.9
"""No share of slowness is believed to be larger before a task's own attempts have been compared."""


@rule
def mean_end_s(t_rem_s: float, t_fresh_s: float, startup_s: float, tail_index: float) -> float:
    """Mean time to the first end, of the running attempt and of a copy that takes its own time: E[min(T, t_rem)].

    The copy starts up and then takes a Pareto time whose geometric mean is what siblings take.  Units: seconds.

    >>> round(mean_end_s(t_rem_s=4.5, t_fresh_s=0.5 + math.exp(0.5), startup_s=0.5, tail_index=2.0), 6)
    2.25
    >>> mean_end_s(t_rem_s=1.2, t_fresh_s=0.5 + math.exp(0.5), startup_s=0.5, tail_index=2.0)
    1.2
    """
    least_s, left_s = service_time_s(t_fresh_s, startup_s, tail_index), t_rem_s - startup_s
    if left_s <= least_s or not least_s > 0.0:
        return min(t_rem_s, max(t_fresh_s, startup_s))
    return startup_s + least_s * (tail_index - (least_s / left_s) ** (tail_index - 1.0)) / (tail_index - 1.0)


@rule
def copy_ends_s(
    task: Record, t_rem_s: float, startup_s: float, tail_index: float, again: float, by_ras: bool
) -> tuple[float, float, float]:
    """Mean time to a task's first end with a copy of its own pace, with an equally slow one, and that one's own time.

    By RAS's rule all are one time, which lies between both by the odds `again`.  Units: seconds.

    >>> task = {"t_fresh_s": 2.0, "slowness": 4.0}
    >>> copy_ends_s(task, t_rem_s=5.0, startup_s=1.0, tail_index=2.0, again=0.5, by_ras=True)
    (3.0, 3.0, 3.0)
    >>> copy_ends_s(task, t_rem_s=4.5, startup_s=1.0, tail_index=2.0, again=0.5, by_ras=False)[1:]
    (4.5, 5.0)
    """
    work_s = task["t_fresh_s"] - startup_s
    if by_ras:
        between_s = startup_s + work_s * task["slowness"] ** again
        return between_s, between_s, between_s
    again_s = startup_s + work_s * task["slowness"]
    return mean_end_s(t_rem_s, task["t_fresh_s"], startup_s, tail_index), min(again_s, t_rem_s), again_s


@rule
def shared_odds(kept_slowness: float, likeness: float) -> float:
    """Probability that a copy meets the task's slowness again, by its application and by the task's own attempts.

    Source: Bayes' rule.

    >>> [round(shared_odds(0.5, likeness), 2) for likeness in (-5.0, 0.0, 2.0)]
    [0.01, 0.5, 0.88]
    """
    kept = min(max(kept_slowness, 0.0), MOST_SHARE)
    odds = kept * math.exp(likeness)
    return odds / (odds + 1.0 - kept)


@rule
def added_slot_s(attempts: int, t_rem_s: float, end_s: float, tell_s: float, kills: bool) -> float:
    """Slot time that one more attempt adds if the task then ends after `end_s`; negative if it saves some.

    With kills, one of two attempts ends once both can be told apart; otherwise, all run until the task's end.
    Units: slot-seconds.

    >>> [added_slot_s(1, t_rem_s=4.0, end_s=1.5, tell_s=0.5, kills=kills) for kills in (True, False)]
    [-2.0, -1.0]
    """
    if attempts > 1 or not kills:
        return (attempts + 1) * end_s - attempts * t_rem_s
    return end_s + min(tell_s, end_s) - t_rem_s


@rule
def slot_price_s(pool: Record, jobs_behind: float) -> float:
    """Job-seconds that one slot-second costs: the waiting jobs, each of which stands for `jobs_behind`.

    >>> [slot_price_s({"waiting_jobs": waiting_jobs, "slots": 24}, jobs_behind=3.0) for waiting_jobs in (2, 0)]
    [0.25, 0.0]
    """
    return jobs_behind * pool["waiting_jobs"] / max(pool["slots"], 1)


@rule
def averaged(own: float, same: float, again: float) -> float:
    """Mean of a number that is `own` for a copy of its own pace, and `same` for an equally slow one.

    >>> averaged(own=1.0, same=3.0, again=0.25)
    1.5
    """
    return (1.0 - again) * own + again * same


@rule
def saved_s(t_rem_s: float, end_s: float, others_s: float) -> float:
    """Time by which a job ends sooner if a task ends at `end_s`, its last other one at `others_s`.  Units: seconds.

    >>> [saved_s(t_rem_s=9.0, end_s=2.0, others_s=others_s) for others_s in (1.0, 6.0, 10.0)]
    [7.0, 3.0, 0.0]
    """
    return max(t_rem_s - max(end_s, others_s), 0.0)


@rule
def pays(gain: float, price: float, again: float, worth_times: float) -> bool:
    """Whether a copy that adds slot time while originals wait gains enough.

    The more likely it is as slow, and its slot time is lost, the more times its price it has to gain.

    >>> [pays(gain=2.0, price=1.0, again=again, worth_times=4.0) for again in (0.0, 0.3, 0.5)]
    [True, True, False]
    """
    return (1.0 - again) * gain > worth_times * again * price


@rule
def waiting_end_s(waiting: int, t_fresh_s: float, waiting_jobs: int, slots: int) -> float:
    """When the waiting originals of a job will have ended at the soonest, on its part of the slots.  Units: seconds.

    >>> waiting_end_s(waiting=6, t_fresh_s=2.0, waiting_jobs=4, slots=12), waiting_end_s(0, 2.0, 4, 12)
    (6.0, 0.0)
    """
    return t_fresh_s * (1.0 + waiting * max(waiting_jobs, 1) / max(slots, 1)) if waiting > 0 else 0.0


@rule
def late_odds(t_rem_s: float, time_left_s: float, error: float) -> float:
    """Probability that an attempt ends late, by how wrong estimates are: a Laplace law of their logarithms.

    `error` is the mean absolute log error of estimates of time to go.  Source: ours.  Units: seconds.

    >>> [late_odds(t_rem_s, time_left_s=4.0, error=0.5) for t_rem_s in (2.0, 4.0, 8.0)]
    [0.125, 0.5, 0.875]
    >>> [late_odds(t_rem_s, 4.0, error=0.0) for t_rem_s in (4.0, 4.1)], late_odds(1.0, -1.0, 0.5)
    ([0.0, 1.0], 1.0)
    """
    if time_left_s <= 0.0 or error <= 0.0:
        return 1.0 if t_rem_s > time_left_s else 0.0
    if t_rem_s > time_left_s:
        return 1.0 - 0.5 * (time_left_s / t_rem_s) ** (1.0 / error)
    return 0.5 * (t_rem_s / time_left_s) ** (1.0 / error)


@rule
def in_time_gain(miss: float, copy_miss: float, again: float, same_s: float, time_left_s: float) -> float:
    """By how much a copy raises the probability that a task ends before its job's deadline.

    An equally slow copy is in time if `same_s` is.  Source: Shed+, equation (9).  Units: seconds.

    >>> [in_time_gain(0.5, 0.25, again, same_s=9.0, time_left_s=5.0) for again in (0.0, 0.5, 1.0)]
    [0.375, 0.1875, 0.0]
    """
    return miss * ((1.0 - again) * (1.0 - copy_miss) + again * (same_s <= time_left_s))


@rule
def further_copies(miss: float, copy_miss: float, again: float, least_gain: float, most: int) -> int:
    """How many copies a task gets at once beside a first one: each raises the probability by more than `least_gain`.

    Source: ours; equation (9) of Shed+ for each further copy.  Units: probabilities, copies.

    >>> [further_copies(1.0, 0.25, 0.0, least_gain=least_gain, most=5) for least_gain in (0.2, 0.1, 0.01)]
    [0, 1, 3]
    """
    gain, further = miss * (1.0 - again) * (1.0 - copy_miss) * copy_miss, 0
    while gain > least_gain and further + 1 < most:
        gain, further = gain * copy_miss, further + 1
    return further


@rule
def needless_reason(t_rem_s: float, t_fresh_s: float, startup_s: float, tail_index: float, met_s: float) -> Reason:
    """Why a task gets no copy, whatever that would be worth; none if it may.

    Its job's error bound is met after `met_s`, unless a copy ends sooner, whose least time is that of the Pareto law in
    `mean_end_s`.  Units: seconds.

    >>> [needless_reason(9.0, 2.0, 0.0, tail_index=2.0, met_s=met_s).label for met_s in (1.2, 1.3, math.inf)]
    ['not_needed', 'none', 'none']
    >>> needless_reason(1.2, 2.0, 0.0, tail_index=2.0, met_s=1.2).label
    'none'
    """
    if not (t_rem_s < math.inf and t_fresh_s < math.inf):
        return Reason.UNKNOWN_DEMAND
    least_s = startup_s + service_time_s(t_fresh_s, startup_s, tail_index)
    return Reason.NOT_NEEDED if t_rem_s > met_s and least_s >= met_s else Reason.NONE


@rule
def index_reason(is_worth: bool, has_more: bool, t_rem_s: float, t_fresh_s: float, score: float) -> Reason:
    """Why a task deserves one more attempt, or why not.

    >>> index_reason(is_worth=False, has_more=False, t_rem_s=2.0, t_fresh_s=3.0, score=1.0).label
    'on_schedule'
    >>> [index_reason(False, False, t_rem_s=4.0, t_fresh_s=3.0, score=score).label for score in (-1.0, 0.0)]
    ['price_too_high', 'saves_too_little']
    """
    if is_worth:
        return Reason.WORTH_ITS_PRICE
    if has_more:
        return Reason.SKEW_NOT_STRAGGLER
    if t_rem_s <= t_fresh_s * (1.0 + TOLERANCE):
        return Reason.ON_SCHEDULE
    return Reason.SAVES_TOO_LITTLE if score >= 0.0 else Reason.PRICE_TOO_HIGH


@rule
def usual_tail_index(pool: Record) -> float:
    """A pool's tail index, within what copies are predicted by.

    >>> [usual_tail_index({"tail_index": tail_index}) for tail_index in (0.0, 1.5, math.inf)] == [
    ...     LEAST_TAIL, 1.5, MOST_TAIL]
    True
    """
    return min(max(pool["tail_index"], LEAST_TAIL), MOST_TAIL)


@kernel
def unified(seen: Seen, settings: Record, answer: Records) -> None:
    """Copies by their worth, gain less price: such as save slot time, and on idle slots such as end sooner.

    Either counts from a margin on. On idle slots, which cost nothing, the gain is the task's own. While originals wait,
    a copy that adds slot time must gain many times its price. Where most of a task's slowness would be met again, a
    copy is predicted to take one time, the geometric mean of both, and to run on: GRASS's RAS.
    Before a deadline that may be kept and may be missed, what counts is the probability that a task is in time. With an
    error bound, every attempt ends once that is met.
    """
    tasks, foretold = seen.tasks, forecast(seen)
    counts, met_s, optional = needed_ends(seen)
    last_s, second_s = last_ends_s(seen, counts)
    has_more, is_extra = has_more_to_do(tasks), np.zeros(len(tasks), dtype=np.bool_)
    for row in range(len(tasks)):
        task, one = tasks[row], answer[row]
        pool, job = seen.pools[task["pool"]], seen.jobs[task["job"]]
        attempts, t_fresh_s, tail_index = task["running_attempts"], task["t_fresh_s"], usual_tail_index(pool)
        t_rem_s, startup_s = min(task["t_rem_s"], met_s[task["stage"]]), min(pool["startup_s"], t_fresh_s)
        one["reason"] = needless_reason(task["t_rem_s"], t_fresh_s, startup_s, tail_index, met_s[task["stage"]])
        if one["reason"] != Reason.NONE:
            continue
        again = shared_odds(pool["kept_slowness"], task["likeness"])
        by_ras, is_idle, rest_s = again > settings["ras_above"], pool["idle"] > 0, 0.0
        kills = settings["end_beaten"] > 0.0 and not by_ras
        own_s, same_s, again_s = copy_ends_s(task, t_rem_s, startup_s, tail_index, again, by_ras)
        if not is_idle:
            running_s = second_s[task["job"]] if t_rem_s == last_s[task["job"]] else last_s[task["job"]]
            needed = job["waiting"] - optional[task["job"]]
            rest_s = max(running_s, waiting_end_s(needed, t_fresh_s, pool["waiting_jobs"], pool["slots"]))
        added_s = averaged(
            added_slot_s(attempts, t_rem_s, own_s, pool["tell_s"], kills),
            added_slot_s(attempts, t_rem_s, same_s, pool["tell_s"], kills),
            again,
        )
        one["gain"] = averaged(saved_s(t_rem_s, own_s, rest_s), saved_s(t_rem_s, same_s, rest_s), again)
        mine, left_s, wanted, more_likely = foretold[row], seen.stages[task["stage"]]["deadline_s"], 1, 0.0
        is_bound = mine["is_known"] and mine["copy_miss"] < 1.0
        if is_bound:
            miss = late_odds(t_rem_s, left_s, pool["foretold_error"]) * mine["copy_miss"] ** float(attempts - 1)
            more_likely = in_time_gain(miss, mine["copy_miss"], again, again_s, left_s)
            one["gain"] = more_likely * (left_s + job["age_s"])
            wanted += further_copies(miss, mine["copy_miss"], again, settings["least_more_likely"], task["copies_left"])
        one["price"] = added_s * slot_price_s(pool, settings["jobs_behind"])
        one["score"] = one["gain"] - one["price"]
        saves = added_s < -max(0.0 if by_ras else settings["least_saving"], TOLERANCE) * t_rem_s
        sooner_s = gs_gain_s(
            task["t_rem_s"], own_s if by_ras else t_fresh_s, settings["sooner_by_s"], settings["sooner_times"]
        )
        is_cheap = is_idle or (not by_ras and pays(one["gain"], one["price"], again, settings["worth_times"]))
        may_add = is_cheap and sooner_s > 0.0 and not has_more[row]
        if is_bound:
            may_add = more_likely > settings["least_more_likely"]
        is_worth = one["score"] > TOLERANCE * t_rem_s and (saves or may_add)
        one["reason"] = index_reason(is_worth, has_more[row], task["t_rem_s"], t_fresh_s, one["score"])
        one["copies"] = wanted * (is_worth and task["eligible"])
        is_extra[row] = (
            is_idle and one["copies"] > 0 and not (saves or is_bound) and may_start(task, settings["end_beaten"])
        )
    keep_to_idle(seen, np.flatnonzero(is_extra), answer)


@kernel
def needed_ends(seen: Seen) -> tuple[Flags, Floats, Ints]:
    """Which running tasks count, when they meet their stage's error bound, and how many originals need not start.

    A task counts if it is among the earliest that its stage needs, no task being copied, (n_tasks,). The bound is met
    when the last of these ends, in seconds, (n_stages,): inf where all that run are needed, -1 where none is. Originals
    that wait and are not needed, by job, (n_jobs,).
    """
    tasks, stages = seen.tasks, seen.stages
    is_bounded = stages["needed"] < stages["tasks"] - stages["done"]
    counts, met_s = np.ones(len(tasks), dtype=np.bool_), np.full(len(stages), math.inf)
    optional, running = np.zeros(len(seen.jobs), dtype=np.int64), np.zeros(len(stages), dtype=np.int64)
    if not is_bounded.any():
        return counts, met_s, optional
    for row in np.argsort(tasks["t_rem_s"], kind="mergesort"):
        at, job = tasks[row]["stage"], tasks[row]["job"]
        if not is_bounded[at]:
            continue
        stage = stages[at]
        if running[at] == 0:
            optional[job] += stage["tasks"] - stage["done"] - stage["needed"]
            met_s[at] = math.inf if stage["needed"] > 0 else -1.0
        running[at] += 1
        if running[at] > stage["needed"]:
            counts[row] = False
            optional[job] -= 1
        elif running[at] == stage["needed"]:
            met_s[at] = tasks[row]["t_rem_s"]
    return counts, met_s, optional


@kernel
def last_ends_s(seen: Seen, counts: Flags) -> tuple[Floats, Floats]:
    """By job, when its last running task that counts ends, and when the one before does; (n_jobs,) each."""
    last_s, second_s = np.zeros(len(seen.jobs)), np.zeros(len(seen.jobs))
    for row in range(len(seen.tasks)):
        if not counts[row]:
            continue
        job, t_rem_s = seen.tasks[row]["job"], seen.tasks[row]["t_rem_s"]
        if t_rem_s > last_s[job]:
            last_s[job], second_s[job] = t_rem_s, last_s[job]
        elif t_rem_s > second_s[job]:
            second_s[job] = t_rem_s
    return last_s, second_s


ALLOCATOR = replace(
    srpt.ROW,
    name="unified",
    about="The job with the least work left first; together with the speculator, one index for originals and copies.",
    foreseeing="",
)
ROW = Row(
    name="unified",
    kind=Kind.SPECULATOR,
    kernel=unified,
    about="Tasks whose copy is worth its price to those that wait, the highest worth first.",
    needs=COPYING,
    settings=(
        Setting(
            name="jobs_behind",
            default=3.0,
            low=0.0,
            high=100.0,
            about="Jobs that each waiting one stands for in the price of slot time; 1 to 8 make no difference.",
        ),
        Setting(
            name="worth_times",
            default=4.0,
            low=0.0,
            high=100.0,
            about="Least gain over price of a copy that adds slot time while originals wait, if as likely slow as not.",
        ),
        Setting(
            name="ras_above",
            default=0.75,
            low=0.0,
            high=1.0,
            about="RAS's rule decides where slowness is shared with a probability above this.",
        ),
        Setting(
            name="least_saving",
            default=0.05,
            low=0.0,
            high=1.0,
            about="Slot time that a copy must save, in shares of what the running attempt still needs; less is chance.",
        ),
        Setting(
            name="least_more_likely",
            default=0.05,
            low=0.0,
            high=1.0,
            about="Probability that a task ends before its job's deadline which a copy must add; less is chance.",
        ),
        *SOONER,
        replace(END_BEATEN, default=1.0),
    ),
    before_waiting=True,
)
