"""Is a running attempt still starting, too old, or silent for too long? By what its siblings did, or its stage's past.

Start-up counts in no age. An attempt is late once few known ones took as long; silence matters if it is
rare among siblings.
"""

import math

from controlplane.compiled import rule
from controlplane.estimators.spread import Counts, count_from, is_rare
from controlplane.estimators.work_done import OBSERVED_S, SHORTEST_S, observed_s, seen_size
from controlplane.model.columns import Record
from controlplane.model.writers import Estimated, Reported

STARTUP_DEVIATIONS = 4.0
"""Mean deviations beyond the mean start-up at which an attempt without progress is late."""
STARTUP_DEVIATIONS_WHEN_IDLE = 1.0
"""The same while slots are idle: a needless copy then costs no other task its slot."""
LEAST_SILENCE_S = 1.5
"""Silence shorter than this is never unusual."""
LONGER_TIMES = 1.35
"""A time counts as longer than a sibling's only beyond this multiple of it."""
LONGER_TIMES_WHEN_IDLE = 1.2
"""The same while slots are idle."""
FEW_FINISHED = 0.5
"""Added to the multiple, divided by the number of finished siblings."""
BUSY_TIMES = 1.5
"""The multiple grows by this factor while the attempt's thread computes, unless siblings have finished and slots are
idle.
"""
BUSY_WITHIN_S = 1.0
"""CPU time that grew within this time shows that a thread computes."""
WHOLE_LOOK_ERROR = 0.5
"""Mean absolute log error of first estimates from which on a rate must be watched for its full time."""
STEADY_S = 3.0
"""A rate that has been watched for this long is believed, however long tasks are."""
LATE_BY_S = 1.0
"""Least margin by which an attempt that is late exceeds the usual age, or the usual time to first progress."""
LEAST_LATE_BY_S = 0.25
"""The same while slots are idle: stages of short tasks are soon over. For an age it is half the typical time, but never
less than this and never more than `LATE_BY_S`.
"""
FEWEST_RUNNING = 3
"""Running siblings that must be known before silence can be unusual in a stage where none has finished."""


@rule
def late_after_s(mean_s: float, deviation_s: float, deviations: float) -> float:
    """Age past which an attempt without progress is no longer just starting.

    >>> late_after_s(mean_s=0.5, deviation_s=0.25, deviations=4.0)
    1.5
    """
    return mean_s + deviations * deviation_s


@rule
def patience_s(is_cold: bool, warm_late_s: float, cold_late_s: float, startup_prior_s: float) -> float:
    """Age until which an attempt may show no progress: by what was seen on executors like its own, else the prior.

    >>> [patience_s(is_cold, 1.0, math.nan, startup_prior_s=5.0) for is_cold in (False, True)]
    [1.0, 5.0]
    """
    if not is_cold and not math.isnan(warm_late_s):
        return warm_late_s
    return startup_prior_s if math.isnan(cold_late_s) else cold_late_s


@rule
def fresh_startup_s(pool: Estimated) -> float:
    """Usual time that a fresh attempt takes to start: as cold ones do while no other has been seen."""
    return usual_startup_s(math.isnan(pool["startup_mean_s"]), pool)


@rule
def usual_startup_s(is_cold: bool, pool: Estimated) -> float:
    """Time to first progress on executors of a kind; 0 if none was seen."""
    startup_s = pool["cold_startup_mean_s"] if is_cold else pool["startup_mean_s"]
    return 0.0 if math.isnan(startup_s) else startup_s


@rule
def net_age_s(now_s: float, attempt: Reported, pool: Estimated, idle: bool) -> float:
    """How long an attempt has run since it began to work, by its own start-up, or else by the usual one.

    While slots are idle, start-up beyond the usual counts as age. While none is idle, the start-up of a cold attempt
    takes at least the usual time, even after its first rows: a Python worker starts only when there are rows for it.
    """
    startup_s = usual_startup_s(attempt["cold"], pool)
    if not math.isnan(attempt["first_s"]):
        own_s = attempt["first_s"] - attempt["start_s"]
        if startup_s > 0 and idle:
            startup_s = min(own_s, startup_s)
        else:
            startup_s = max(own_s, startup_s) if attempt["cold"] else own_s
    return max(now_s - attempt["start_s"] - startup_s, SHORTEST_S)


@rule
def is_starting(now_s: float, startup_prior_s: float, attempt: Reported, pool: Estimated, idle: bool) -> bool:
    """Whether an attempt may still be starting, or has only just shown progress.

    Progress is reported several times a second, so short tasks often show none before they end.
    """
    if not math.isnan(attempt["first_s"]):
        return observed_s(now_s, attempt) < OBSERVED_S
    deviations = STARTUP_DEVIATIONS_WHEN_IDLE if idle else STARTUP_DEVIATIONS
    late_s = patience_s(
        is_cold=attempt["cold"],
        warm_late_s=late_after_s(pool["startup_mean_s"], pool["startup_deviation_s"], deviations),
        cold_late_s=late_after_s(pool["cold_startup_mean_s"], pool["cold_startup_deviation_s"], deviations),
        startup_prior_s=startup_prior_s,
    )
    least_s = usual_startup_s(attempt["cold"], pool) + (LEAST_LATE_BY_S if idle else LATE_BY_S)
    return now_s - attempt["start_s"] < max(late_s, least_s)


@rule
def is_steady(
    now_s: float, usual_s: float, attempt: Reported, task: Reported, stage: Estimated, pool: Estimated
) -> bool:
    """Whether a rate has been seen long enough to be believed; True for an attempt that has shown none.

    Programs read in fits and starts, and the first tasks of a stage on an executor become faster as they go. The more
    the pool's first estimates have been wrong, the longer it observes, up to the siblings' whole duration. If those
    of first tasks predicted well, so do those of later ones. On a new executor none predicts anything.
    """
    if math.isnan(attempt["first_s"]):
        return True
    whole_s, error = STEADY_S, WHOLE_LOOK_ERROR if attempt["on_new_executor"] else pool["cold_foretold_error"]
    if not attempt["cold"]:
        whole_s = min(usual_s * max(seen_size(attempt, task, stage), 1.0), STEADY_S)
        error = min(error, pool["foretold_error"])
    return observed_s(now_s, attempt) >= whole_s * min(error / WHOLE_LOOK_ERROR, 1.0)


@rule
def times_longer(n_finished: float, busy: bool, idle: bool) -> float:
    """The multiple of siblings' times that counts as longer than theirs, by how many of them are known.

    >>> [round(times_longer(n_finished, busy, idle=False), 3) for n_finished, busy in ((5, False), (1, True))]
    [1.45, 2.775]
    >>> round(times_longer(n_finished=5, busy=True, idle=True), 3)
    1.3
    """
    longer_times = LONGER_TIMES_WHEN_IDLE if idle else LONGER_TIMES
    return (longer_times + FEW_FINISHED / max(n_finished, 1.0)) * (BUSY_TIMES if busy and not idle else 1.0)


@rule
def is_busy(now_s: float, attempt: Reported) -> bool:
    """Whether an attempt's own thread has computed recently; False if nothing counts its CPU time."""
    return now_s - attempt["busy_s"] < BUSY_WITHIN_S


@rule
def is_old(
    now_s: float,
    age_s: float,
    usual_s: float,
    attempt: Reported,
    task: Reported,
    stage: Estimated,
    others: Record,
    idle: bool,
    durations: Counts,
    ages: Counts,
) -> bool:
    """Whether an attempt is late by its age: few siblings have taken as long for their size.

    Running siblings count as soon as they are as old. Before any has finished, the stage's past decides, or its
    class's, unless siblings are as old: then the stage itself takes longer.
    The first of a stage on an executor loads, compiles and forks: it is compared with those on other executors.
    """
    busy, own_s = is_busy(now_s, attempt), age_s / max(seen_size(attempt, task, stage), 1.0)
    late_by_s = min(max(usual_s / 2, LEAST_LATE_BY_S), LATE_BY_S) if idle else LATE_BY_S
    if own_s < usual_s + late_by_s:
        return False
    if stage["n_finished"] == 0:
        is_alone = (now_s - attempt["start_s"]) * others["n"] > LONGER_TIMES * others["elapsed_sum_s"]
        return (is_alone or others["n"] == 0) and own_s > stage["prior_late_s"] * (BUSY_TIMES if busy else 1.0)
    n_finished = count_from(durations, 0.0)
    least_s = own_s / times_longer(n_finished=n_finished, busy=busy, idle=idle)
    n_running = count_from(ages, least_s) - 1
    return is_rare(n_as_long=count_from(durations, least_s) + n_running, n_known=n_finished + n_running)


@rule
def is_silent(
    now_s: float,
    attempt: Reported,
    task: Reported,
    stage: Estimated,
    pool: Estimated,
    others: Record,
    gaps: Counts,
    silences: Counts,
) -> bool:
    """Whether an attempt that has moved has been silent for longer, for its size, than all but a few siblings were.

    Before any has finished, running siblings are evidence against one that does not compute and is behind them: they
    have passed the point where it is. The usual start-up is no silence, even after the first rows.
    """
    busy, started_s = is_busy(now_s, attempt), attempt["start_s"] + usual_startup_s(attempt["cold"], pool)
    silent_s = now_s - max(attempt["moved_s"], started_s)
    if silent_s < LEAST_SILENCE_S or not attempt["moved_s"] > attempt["start_s"]:
        return False
    least_s = silent_s / max(seen_size(attempt, task, stage), 1.0)
    least_s /= times_longer(n_finished=stage["n_tails"], busy=busy, idle=False)
    n_running = count_from(silences, least_s) - 1
    if stage["n_tails"] > 0:
        return is_rare(n_as_long=count_from(gaps, least_s) + n_running, n_known=stage["n_tails"] + n_running)
    if busy or math.isnan(attempt["busy_s"]) or others["n"] < FEWEST_RUNNING:
        return False
    if others["out_sum"] > 0:
        is_behind = attempt["rows_out"] * others["n"] < others["out_sum"]
    else:
        is_behind = attempt["work"] * others["n"] < others["work_sum"]
    return is_behind and is_rare(n_as_long=n_running, n_known=others["n"])
