"""How much of its work has a running attempt done, how fast, and how much is there in total?

A task reads, and works on after it has read: its *tail*. Bytes or records read are compared with the total. In
the tail, rows that have come out count if an operator counts them, else the tail that siblings had.
Source: Hopper (SIGCOMM'15) section 2.2, durations normalised by input.
"""

import math

from controlplane.compiled import rule
from controlplane.model.cluster import UNIT_BYTES, UNIT_RECORDS
from controlplane.model.writers import Estimated, Reported

REPORT_GAP_S = 0.5
"""Silence shorter than this is only the time between two reports."""
OBSERVED_S = 0.3
"""A rate is believed after progress has been seen for this long."""
NEARLY_DONE = 0.99
"""From this share on everything is read, and the rest is the tail."""
NEARLY_DONE_BY_SIBLINGS = 0.8
"""The same if siblings' records say how much there is to read."""
BEGINNING = 0.1
"""Until this share is done the first batch may have been slow, or fast, by chance."""
LEAST_SIZE = 0.1
"""Share of its stage's mean input below which a task is small."""
SLACK = 1e-3
"""Share by which an attempt may exceed the predicted total before the total counts as unknown."""
SHORTEST_S = 1e-3


@rule
def share_done(work: float, total: float) -> float:
    """Progress, 0 to 1; nan where the total is unknown.

    >>> [share_done(work=work, total=4.0) for work in (1.0, 5.0)]
    [0.25, 1.0]
    """
    if total > 0:
        return min(work / total, 1.0)
    return 1.0 if total == 0 and work > 0 else math.nan


@rule
def running_cost(now_s: float, total: float, attempt: Reported) -> float:
    """Seconds per unit of work since progress began, or since launch where that is too short or cheaper; nan before.

    Silence counts while there is more to read. By its age, a report may be older than what was seen before.
    """
    if math.isnan(attempt["first_s"]) or not attempt["work"] > 0:
        return math.nan
    gained, seen_s = attempt["work"] - attempt["first_work"], max(attempt["advanced_s"] - attempt["first_s"], 0.0)
    if not has_read(attempt, total):
        seen_s += silence_s(now_s, attempt)
    since_launch = (max(attempt["first_s"] - attempt["start_s"], SHORTEST_S) + seen_s) / attempt["work"]
    if seen_s < OBSERVED_S or gained <= 0:
        return since_launch
    is_beginning = gained < BEGINNING * total
    return min(seen_s / gained, since_launch) if is_beginning else seen_s / gained


@rule
def has_read(attempt: Reported, total: float) -> bool:
    """Whether an attempt has read its whole input; False if that is not known."""
    return attempt["work"] >= total * (NEARLY_DONE_BY_SIBLINGS if attempt["unit"] == UNIT_RECORDS else NEARLY_DONE)


@rule
def observed_s(now_s: float, attempt: Reported) -> float:
    """How long progress has been seen: from the first to the latest, plus any silence since then."""
    return attempt["advanced_s"] - attempt["first_s"] + silence_s(now_s, attempt)


@rule
def silence_s(now_s: float, attempt: Reported) -> float:
    """How long an attempt has been silent, beyond the time between two reports."""
    return max(now_s - attempt["advanced_s"] - REPORT_GAP_S, 0.0)


@rule
def size_of(task: Reported) -> float:
    """A task's input over the mean of its stage; 1 if it is not known."""
    return 1.0 if math.isnan(task["relative_size"]) else task["relative_size"]


@rule
def seen_size(attempt: Reported, task: Reported, stage: Estimated) -> float:
    """A task's size by its input, or by the records or bytes that it has read, whichever is most, over its stage's.

    Records alone do not tell: a Python task reads batches, and a group of any size may be one.
    """
    size = size_of(task)
    if stage["records_sum"] > 0:
        size = max(size, attempt["records_read"] * stage["size_sum"] / stage["records_sum"])
    if stage["bytes_sum"] > 0:
        size = max(size, attempt["bytes_read"] * stage["size_sum"] / stage["bytes_sum"])
    return size


@rule
def counts_as_work(attempt: Reported, task: Reported) -> bool:
    """Whether an attempt's work is in the unit of its siblings': records are not where the input's bytes are known."""
    return attempt["unit"] != UNIT_RECORDS or math.isnan(task["input_bytes"])


@rule
def is_small(relative_size: float) -> bool:
    """Whether a task, by its input over the mean of its stage, is too small to show what work costs: most is overhead.

    >>> [is_small(relative_size) for relative_size in (0.05, 0.5, math.nan)]
    [True, False, False]
    """
    return relative_size < LEAST_SIZE


@rule
def shows_cost(attempt: Reported, task: Reported) -> bool:
    """Whether an attempt's time per unit of work can be compared with its siblings'."""
    return counts_as_work(attempt, task) and not is_small(task["relative_size"])


@rule
def total_work(attempt: Reported, task: Reported, stage: Estimated) -> float:
    """An attempt's total work, in its own unit; nan if that is unknown.

    Records are those of finished siblings, by size; for an attempt that has read more, the rest is unknown. Where
    the input's bytes are known, records only say that its first bytes have not been reported yet.
    """
    if attempt["unit"] <= UNIT_BYTES:
        return task["input_bytes"]
    if not counts_as_work(attempt, task):
        return math.nan
    if attempt["unit"] != UNIT_RECORDS:
        return 1.0
    if not stage["size_sum"] > 0:
        return math.nan
    total = stage["records_sum"] / stage["size_sum"] * size_of(task)
    return total if attempt["work"] <= total * (1.0 + SLACK) else math.nan


@rule
def tail_of(attempt: Reported, task: Reported, stage: Estimated) -> float:
    """Time that a task needs after reading, as siblings of its size did; nan if that is not known. Units: seconds."""
    if stage["n_tails"] > 0:
        return stage["tail_sum_s"] / stage["n_tails"] * seen_size(attempt, task, stage)
    return stage["prior_tail_s"]


@rule
def rows_left_s(now_s: float, attempt: Reported, task: Reported, stage: Estimated) -> tuple[float, float]:
    """(seconds until all its rows have come out, their share that has), by siblings' number of rows; nan if unknown."""
    if stage["n_outs"] == 0 or math.isnan(attempt["first_out_s"]):
        return math.nan, math.nan
    total = stage["rows_out_sum"] / stage["n_outs"] * size_of(task)
    gained = attempt["rows_out"] - attempt["first_out"]
    seen_s = attempt["out_s"] - attempt["first_out_s"] + max(now_s - attempt["out_s"] - REPORT_GAP_S, 0.0)
    share = share_done(work=attempt["rows_out"], total=total)
    if share >= 1.0 or seen_s < OBSERVED_S or gained <= 0:
        return 0.0, share
    return (total - attempt["rows_out"]) * seen_s / gained, share
