"""How much longer will an attempt run (t_rem), and how long would a fresh one take (t_new)?

A task reads, and works on after it has read: its *tail*. While it reads, bytes or records done stand against what
there is to do and what a unit costs siblings; a bigger task is then no straggler. Reading alone never means done: in
the tail, rows that have come out count where an operator counts them, else the tail that siblings had. Where nothing is
counted, its age stands against the siblings' durations. Silence matters where it is rare among siblings. What has shown
no progress yet has all of its work before it. Start-up counts in none of this, and what the task itself took is left
out of what it is compared with.
Source: GRASS (NSDI'14) sections 3.1 and 5; Hopper (SIGCOMM'15) section 2.2.
"""

import math

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.estimators.spread import BINS, RARE_SHARE, Counts, bin_of, count_from, is_rare, rows_for
from controlplane.estimators.stage_history import StageHistory
from controlplane.model.cluster import UNIT_BYTES, UNIT_NONE, UNIT_RECORDS, Cluster, EndedAttempt
from controlplane.model.columns import Floats, Pools, Record, Records
from controlplane.model.facts import Outcome

REPORT_GAP_S = 0.5
"""Silence shorter than this is only the time between two reports."""
OBSERVED_S = 0.3
"""A rate is believed after progress has been seen for this long."""
NEARLY_DONE = 0.99
"""From this share on all is read, and what remains is the tail."""
NEARLY_DONE_BY_SIBLINGS = 0.8
"""The same where siblings' records say how much there is to read."""
BEGINNING = 0.1
"""Until this share is done the first batch may have been slow, or fast, by chance."""
LEAST_SILENCE_S = 1.0
"""Shorter silence is never unusual."""
LONGER_TIMES = 1.25
"""What lasts no more than this many times as long as siblings has lasted as long as they."""
FEW_FINISHED = 0.5
"""Added to that for a single finished sibling, a half of it for two, and so on."""
BUSY_TIMES = 1.5
"""An attempt whose thread computes may run, or be silent, this many times as long before that counts against it."""
BUSY_WITHIN_S = 1.0
"""CPU time that grew within this time shows that it computes."""
LATE_BY_S = 0.5
"""An attempt that is late by its age is older than the typical one by at least this."""
STALL_TAIL_INDEX = 1.25
"""Of silence that is unusual, at most: what has stopped may never go on, however light the tail of durations is."""
FEWEST_RUNNING = 3
"""Running siblings that it takes to say what silence is unusual before any has finished."""
LATE_PRIORS = 4.0
"""A stage without past, whose class has none, is late at this many start-up priors at the earliest."""
SHORTEST_S = 1e-3
SLACK = 1e-3
"""By this share an attempt may have read more than was foretold before its total counts as unknown."""
LATE_DEVIATIONS = 4.0
"""An attempt that shows no progress is late when it is older than the mean start-up by so many mean deviations,"""
LATE_DEVIATIONS_WHEN_IDLE = 1.0
"""or by so many while slots are idle: a needless copy then costs no other task its slot."""


@rule
def residual_s(elapsed_s: float, tail_index: float) -> float:
    """Time still needed by something that is late: the mean residual life of a Pareto tail.

    Source: GRASS section 3.1 and formulas of its theorem: w / (tail_index - 1).  Units: seconds.

    >>> residual_s(elapsed_s=6.0, tail_index=1.5)
    12.0
    """
    return elapsed_s / min(max(tail_index - 1.0, 0.1), 10.0)


@rule
def starting_s(elapsed_s: float, startup_s: float, tail_index: float) -> float:
    """Time to the first progress of an attempt that has shown none: what is missing from the usual, or the residual.

    >>> [starting_s(elapsed_s=elapsed_s, startup_s=4.0, tail_index=1.5) for elapsed_s in (1.0, 6.0)]
    [3.0, 12.0]
    """
    return startup_s - elapsed_s if elapsed_s < startup_s else residual_s(elapsed_s=elapsed_s, tail_index=tail_index)


@rule
def late_after_s(mean_s: float, deviation_s: float, deviations: float) -> float:
    """Age past which an attempt without progress is no longer just starting.

    >>> late_after_s(mean_s=0.5, deviation_s=0.25, deviations=4.0)
    1.5
    """
    return mean_s + deviations * deviation_s


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
def typical_s(sum_s: float, n: float, prior_s: float) -> float:
    """Mean of n durations, with what is believed without them as one more; a prior of nan is none.

    >>> [typical_s(sum_s=6.0, n=2, prior_s=prior_s) for prior_s in (9.0, math.nan)]
    [5.0, 3.0]
    """
    return sum_s / n if math.isnan(prior_s) else (sum_s + prior_s) / (n + 1)


@rule
def patience_s(is_cold: bool, warm_late_s: float, cold_late_s: float, startup_prior_s: float) -> float:
    """Age until which an attempt may show no progress: by what was seen on executors like its own, else the prior.

    >>> [patience_s(is_cold, 1.0, math.nan, startup_prior_s=5.0) for is_cold in (False, True)]
    [1.0, 5.0]
    """
    if not is_cold and not math.isnan(warm_late_s):
        return warm_late_s
    return startup_prior_s if math.isnan(cold_late_s) else cold_late_s


def seconds_per_unit(duration_s: float, other_s: float, units: float) -> float:
    """What reading one unit cost a finished attempt, start-up and tail left out; at least a tenth of its time was that.

    >>> [seconds_per_unit(duration_s=2.0, other_s=other_s, units=10.0) for other_s in (0.5, 5.0)]
    [0.15, 0.02]
    """
    return max(duration_s - other_s, duration_s / 10) / units


@rule
def times_longer(n_finished: float, busy: bool) -> float:
    """How many times as long as siblings something must last to have lasted longer, by how many of them are known.

    >>> [times_longer(n_finished, busy) for n_finished, busy in ((1, False), (5, False), (1, True))]
    [1.75, 1.35, 2.625]
    """
    return (LONGER_TIMES + FEW_FINISHED / max(n_finished, 1.0)) * (BUSY_TIMES if busy else 1.0)


class RemainingTimes:
    """Learns durations, costs, tails and start-up times from ended attempts; estimates for running ones."""

    def __init__(self, startup_prior_s: float) -> None:
        self.startup_prior_s = startup_prior_s
        self.history = StageHistory()
        self.forget_rows()

    def forget_rows(self) -> None:
        """The cluster starts again: what is known by rows is void."""
        self._durations: Counts = np.zeros((0, BINS), dtype=np.uint32)
        """By stage row, of finished attempts without start-up."""
        self._cold_durations: Counts = np.zeros((0, BINS), dtype=np.uint32)
        """Those of them that were the first on their executors."""
        self._gaps: Counts = np.zeros((0, BINS), dtype=np.uint32)
        """By stage row, the longest silence of each finished attempt that showed progress."""

    def stage_submitted(self, cluster: Cluster, row: int) -> None:
        """Give a new stage what the same stage of earlier jobs has taught."""
        stages, fact = cluster.stages, cluster.stage_infos[row].fact
        self._grow(cluster)
        self._durations[row], self._cold_durations[row], self._gaps[row] = 0, 0, 0
        prior = self.history.get(fact)
        if prior is not None:
            stages.prior_duration_s[row] = prior.duration_s
            stages.prior_log_cost[row], stages.prior_tail_s[row] = prior.log_cost, prior.tail_s
        stages.prior_late_s[row] = self.history.late_s(fact, LATE_PRIORS * self.startup_prior_s)

    def startup_seen(self, pools: Pools, pool: int, delay_s: float, is_cold: bool) -> None:
        """Time from launch to first progress, kept as smoothed mean and deviation, cold executors apart.

        A delay that would have made its attempt late counts as just late: a sick host shall not teach patience.
        """
        means_s = pools.cold_startup_mean_s if is_cold else pools.startup_mean_s
        deviations_s = pools.cold_startup_deviation_s if is_cold else pools.startup_deviation_s
        mean_s, deviation_s = means_s[pool], deviations_s[pool]
        if np.isnan(mean_s):
            means_s[pool], deviations_s[pool] = delay_s, delay_s / 4
            return
        delay_s = min(delay_s, late_after_s(mean_s, deviation_s, LATE_DEVIATIONS))
        deviations_s[pool] += (abs(delay_s - mean_s) - deviation_s) / 4
        means_s[pool] += (delay_s - mean_s) / 8

    def attempt_ended(self, cluster: Cluster, ended: EndedAttempt) -> None:
        """Learn a finished attempt's duration, cost and tail; attempts that were killed or lost teach nothing here."""
        fact, stages, stage = ended.fact, cluster.stages, ended.stage
        if fact.outcome is not Outcome.SUCCESS or not stages.alive[stage]:
            return
        self._grow(cluster)
        duration_s = max(fact.duration_ms / 1000, SHORTEST_S)
        net_s = self.net_s(cluster, ended, duration_s)
        stages.n_finished[stage] += 1
        stages.duration_sum_s[stage] += duration_s
        stages.net_sum_s[stage] += net_s
        stages.records_sum[stage] += max(fact.records_read, 0)
        stages.size_sum[stage] += 1.0 if np.isnan(ended.relative_size) else ended.relative_size
        stages.shuffle_bytes[stage] += max(fact.shuffle_bytes_written, 0)
        self._durations[stage, bin_of(net_s)] += 1
        self._cold_durations[stage, bin_of(net_s)] += ended.cold
        stages.n_cold[stage] += ended.cold
        if ended.tail_s >= 0:
            stages.n_tails[stage] += 1
            stages.tail_sum_s[stage] += ended.tail_s
            self._gaps[stage, bin_of(max(ended.gap_s, ended.tail_s))] += 1
        if ended.rows_out > 0:
            stages.n_outs[stage] += 1
            stages.rows_out_sum[stage] += ended.rows_out
        units = self.units(ended)
        if units > 0:
            stages.n_costs[stage] += 1
            stages.log_cost_sum[stage] += np.log(self.cost(cluster, ended, duration_s, units))
        self.history.learn(
            cluster.stage_infos[stage].fact,
            float(stages.net_sum_s[stage] / stages.n_finished[stage]),
            float(stages.log_cost_sum[stage] / stages.n_costs[stage]) if stages.n_costs[stage] else math.nan,
            float(stages.tail_sum_s[stage] / stages.n_tails[stage]) if stages.n_tails[stage] else math.nan,
        )

    @staticmethod
    def units(ended: EndedAttempt) -> float:
        """The work that a finished attempt has done, in the unit that it was followed by; 0 where it says nothing."""
        if ended.input_bytes > 0 and ended.fact.bytes_read > 0:
            return ended.input_bytes
        if ended.unit == UNIT_RECORDS:
            return float(ended.fact.records_read)
        return 1.0 if ended.unit not in (UNIT_NONE, UNIT_BYTES) else 0.0

    def net_s(self, cluster: Cluster, ended: EndedAttempt, duration_s: float) -> float:
        """A finished attempt's time without its start-up: its own, or the usual one on executors like its own."""
        return max(duration_s - self._startup_s(cluster, ended), duration_s / 10)

    def cost(self, cluster: Cluster, ended: EndedAttempt, duration_s: float, units: float) -> float:
        """Seconds per unit of a finished attempt while it read."""
        other_s = self._startup_s(cluster, ended) + (ended.tail_s if ended.tail_s > 0 else 0.0)
        return seconds_per_unit(duration_s=duration_s, other_s=other_s, units=units)

    @staticmethod
    def _startup_s(cluster: Cluster, ended: EndedAttempt) -> float:
        if not np.isnan(ended.startup_s):
            return ended.startup_s
        pools = cluster.pools
        usual_s = pools.cold_startup_mean_s if ended.cold else pools.startup_mean_s
        return float(np.nan_to_num(usual_s[ended.pool], nan=0.0))

    def _grow(self, cluster: Cluster) -> None:
        self._durations = rows_for(self._durations, len(cluster.stages.records))
        self._cold_durations = rows_for(self._cold_durations, len(cluster.stages.records))
        self._gaps = rows_for(self._gaps, len(cluster.stages.records))

    def estimate(self, cluster: Cluster, host_log: Floats, now_s: float) -> None:
        """Write times to go, rates and progress of all live attempts in pools that are due into their columns.

        `host_log` is the log of hosts' slowness, shape (n_hosts,).
        """
        self._grow(cluster)
        estimate(
            now_s,
            self.startup_prior_s,
            self.history.duration_s(2 * self.startup_prior_s),
            host_log,
            cluster.attempts.records[: cluster.attempts.size],
            cluster.tasks.records,
            cluster.stages.records,
            cluster.pools.records,
            self._durations,
            self._cold_durations,
            self._gaps,
        )


RUNNING = np.dtype(
    [
        ("n", np.float64),
        ("n_costs", np.float64),
        ("log_cost_sum", np.float64),
        ("n_older", np.float64),  # older than the mean finished one
        ("older_sum_s", np.float64),
        ("work_sum", np.float64),
        ("out_sum", np.float64),
    ],
    align=True,
)
"""What the running attempts of a stage add up to."""


@kernel
def estimate(
    now_s: float,
    startup_prior_s: float,
    duration_prior_s: float,
    host_log: Floats,
    attempts: Records,
    tasks: Records,
    stages: Records,
    pools: Records,
    durations: Counts,
    cold_durations: Counts,
    gaps: Counts,
) -> None:
    """Estimates for the live attempts in pools that are due, all running attempts of their stages among them.

    An attempt is compared with the others of its stage, finished and running. `durations`, those of them on cold
    executors, and `gaps` are those of finished ones, shape (n_stages, BINS).
    """
    running = np.zeros(len(stages), dtype=RUNNING)
    ages, silences = np.zeros_like(durations), np.zeros_like(gaps)
    for attempt in attempts:
        if attempt["alive"] and pools[attempt["pool"]]["due"]:
            stage, task, pool = stages[attempt["stage"]], tasks[attempt["task"]], pools[attempt["pool"]]
            age_s = net_age_s(now_s, attempt, pool)
            attempt["log_cost"] = math.log(running_cost(now_s, total_work(attempt, task, stage), attempt))
            add_running(age_s, age_s > believed_s(stage, duration_prior_s), attempt, 1.0, running[attempt["stage"]])
            ages[attempt["stage"], bin_of(age_s)] += 1
            if attempt["moved_s"] > attempt["start_s"]:
                silences[attempt["stage"], bin_of(max(attempt["gap_s"], now_s - attempt["moved_s"]))] += 1
    for attempt in attempts:
        if attempt["alive"] and pools[attempt["pool"]]["due"]:
            row = attempt["stage"]
            stage, task, pool, others = stages[row], tasks[attempt["task"]], pools[attempt["pool"]], running[row]
            age_s, believed = net_age_s(now_s, attempt, pool), believed_s(stage, duration_prior_s)
            add_running(age_s, age_s > believed, attempt, -1.0, others)
            n = others["n_costs"] + stage["n_costs"]
            sibling_log = (others["log_cost_sum"] + stage["log_cost_sum"]) / n if n > 0 else stage["prior_log_cost"]
            usual_s = typical_s(
                sum_s=stage["net_sum_s"] + others["older_sum_s"],
                n=stage["n_finished"] + others["n_older"],
                prior_s=believed if stage["n_finished"] == 0 else stage["prior_duration_s"],
            )
            is_cold = attempt["cold"] and stage["n_cold"] > 0
            siblings = cold_durations[row] if is_cold else durations[row]
            worked_s = age_s - startup_prior_s if attempt["cold"] and not is_cold else age_s
            is_late = is_old(now_s, worked_s, usual_s, attempt, task, stage, siblings, ages[row])
            is_stuck = is_silent(now_s, attempt, task, stage, others, gaps[row], silences[row])
            own_log = attempt["log_cost"] - sibling_log - host_log[attempt["host"]]
            again = math.exp(pool["kept_slowness"] * own_log) if own_log > 0 else 1.0
            write_times(now_s, age_s, usual_s, is_late, is_stuck, sibling_log, again, attempt, task, stage, pool)
            judge_age(now_s, startup_prior_s, attempt, pool)
            add_running(age_s, age_s > believed, attempt, 1.0, others)


@rule
def add_running(age_s: float, is_older: bool, attempt: Record, sign: float, running: Record) -> None:
    """Count an attempt among those of its stage that run, or, with a sign of -1, leave it out."""
    running["n"] += sign
    running["work_sum"] += sign * attempt["work"]
    running["out_sum"] += sign * max(attempt["rows_out"], 0.0)
    if is_older:
        running["n_older"] += sign
        running["older_sum_s"] += sign * age_s
    if not math.isnan(attempt["log_cost"]):
        running["n_costs"] += sign
        running["log_cost_sum"] += sign * attempt["log_cost"]


@rule
def net_age_s(now_s: float, attempt: Record, pool: Record) -> float:
    """For how long an attempt has run since it began to work, by its own start-up, or else by the usual one."""
    if math.isnan(attempt["first_s"]):
        return max(now_s - attempt["start_s"] - usual_startup_s(attempt["cold"], pool), SHORTEST_S)
    return max(now_s - attempt["first_s"], SHORTEST_S)


@rule
def usual_startup_s(is_cold: bool, pool: Record) -> float:
    """Time to first progress on executors of a kind; 0 where none was seen."""
    startup_s = pool["cold_startup_mean_s"] if is_cold else pool["startup_mean_s"]
    return 0.0 if math.isnan(startup_s) else startup_s


@rule
def believed_s(stage: Record, duration_prior_s: float) -> float:
    """What a task of a stage takes by those that have finished, else by its past, else by that of all stages."""
    if stage["n_finished"] > 0:
        return stage["net_sum_s"] / stage["n_finished"]
    return duration_prior_s if math.isnan(stage["prior_duration_s"]) else stage["prior_duration_s"]


@rule
def running_cost(now_s: float, total: float, attempt: Record) -> float:
    """Seconds per unit of work since progress began, or since launch where that is too short or cheaper; nan before.

    Silence counts while there is more to read.
    """
    if math.isnan(attempt["first_s"]) or not attempt["work"] > 0:
        return math.nan
    gained, seen_s = attempt["work"] - attempt["first_work"], attempt["advanced_s"] - attempt["first_s"]
    if not has_read(attempt, total):
        seen_s += silence_s(now_s, attempt)
    since_launch = (max(attempt["first_s"] - attempt["start_s"], SHORTEST_S) + seen_s) / attempt["work"]
    if seen_s < OBSERVED_S or gained <= 0:
        return since_launch
    is_beginning = gained < BEGINNING * total
    return min(seen_s / gained, since_launch) if is_beginning else seen_s / gained


@rule
def has_read(attempt: Record, total: float) -> bool:
    """Whether an attempt has read all that there is to read, as far as that is known; False where it is not."""
    return attempt["work"] >= total * (NEARLY_DONE_BY_SIBLINGS if attempt["unit"] == UNIT_RECORDS else NEARLY_DONE)


@rule
def observed_s(now_s: float, attempt: Record) -> float:
    """For how long progress has been seen: from the first to the latest, and any silence since then."""
    return attempt["advanced_s"] - attempt["first_s"] + silence_s(now_s, attempt)


@rule
def silence_s(now_s: float, attempt: Record) -> float:
    """For how long an attempt has been silent, past what is only the time between two reports."""
    return max(now_s - attempt["advanced_s"] - REPORT_GAP_S, 0.0)


@rule
def size_of(task: Record) -> float:
    """A task's input over the mean of its stage; 1 where it is not known."""
    return 1.0 if math.isnan(task["relative_size"]) else task["relative_size"]


@rule
def seen_size(attempt: Record, task: Record, stage: Record) -> float:
    """A task's size by its input or by the records that it has read, whichever is more, over those of its stage."""
    if not stage["records_sum"] > 0:
        return size_of(task)
    return max(size_of(task), attempt["records_read"] * stage["size_sum"] / stage["records_sum"])


@rule
def total_work(attempt: Record, task: Record, stage: Record) -> float:
    """What an attempt has to do, in its own unit; nan where that is unknown.

    Records are those of finished siblings, by size; who has read more has, by the same token, an unknown rest.
    """
    if attempt["unit"] <= UNIT_BYTES:
        return task["input_bytes"]
    if attempt["unit"] != UNIT_RECORDS:
        return 1.0
    if not stage["size_sum"] > 0:
        return math.nan
    total = stage["records_sum"] / stage["size_sum"] * size_of(task)
    return total if attempt["work"] <= total * (1.0 + SLACK) else math.nan


@rule
def is_busy(now_s: float, attempt: Record) -> bool:
    """Whether an attempt's own thread has computed lately; False where nobody counts its CPU time."""
    return now_s - attempt["busy_s"] < BUSY_WITHIN_S


@rule
def is_old(
    now_s: float,
    age_s: float,
    usual_s: float,
    attempt: Record,
    task: Record,
    stage: Record,
    durations: Counts,
    ages: Counts,
) -> bool:
    """Whether an attempt is late by its age: few siblings have taken as long for their size.

    Running siblings count as soon as they are as old. Before any has finished the stage's past speaks, or its class's,
    unless siblings are as old: then it is the stage that takes longer.
    On a cold executor work is slow, too, at first: there an attempt is compared with those on other cold ones.
    """
    busy, own_s = is_busy(now_s, attempt), age_s / max(seen_size(attempt, task, stage), 1.0)
    if own_s < usual_s + LATE_BY_S:
        return False
    if stage["n_finished"] == 0:
        n_as_old = count_from(ages, own_s / LONGER_TIMES) - 1
        is_alone = n_as_old <= RARE_SHARE * (count_from(ages, 0.0) - 1)
        return is_alone and own_s > stage["prior_late_s"] * (BUSY_TIMES if busy else 1.0)
    n_finished = count_from(durations, 0.0)
    least_s = own_s / times_longer(n_finished=n_finished, busy=busy)
    n_running = count_from(ages, least_s) - 1
    return is_rare(n_as_long=count_from(durations, least_s) + n_running, n_known=n_finished + n_running)


@rule
def is_silent(
    now_s: float, attempt: Record, task: Record, stage: Record, others: Record, gaps: Counts, silences: Counts
) -> bool:
    """Whether an attempt that has moved has been silent for longer, for its size, than all but a few siblings were.

    Before any has finished, running siblings speak against one that does not compute and is behind them: they have
    come past the point where it stands.
    """
    busy, silent_s = is_busy(now_s, attempt), now_s - attempt["moved_s"]
    if silent_s < LEAST_SILENCE_S or not attempt["moved_s"] > attempt["start_s"]:
        return False
    least_s = silent_s / max(seen_size(attempt, task, stage), 1.0)
    least_s /= times_longer(n_finished=stage["n_tails"], busy=busy)
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


@rule
def tail_of(task: Record, stage: Record) -> float:
    """What a task needs after it has read, as siblings of its size did; nan where that is not known. Units: seconds."""
    if stage["n_tails"] > 0:
        return stage["tail_sum_s"] / stage["n_tails"] * size_of(task)
    return stage["prior_tail_s"]


@rule
def rows_left_s(now_s: float, attempt: Record, task: Record, stage: Record) -> tuple[float, float]:
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


@rule
def write_times(
    now_s: float,
    age_s: float,
    usual_s: float,
    is_late: bool,
    is_stuck: bool,
    sibling_log: float,
    again: float,
    attempt: Record,
    task: Record,
    stage: Record,
    pool: Record,
) -> None:
    """Fill in t_rem, t_new, rates and progress. A late start's work is still to do.

    `usual_s` is what siblings take after start-up, `sibling_log` the log of their seconds per unit of work. A copy
    takes `again` times as long as siblings do.
    """
    total, tail_index, elapsed_s = total_work(attempt, task, stage), pool["tail_index"], now_s - attempt["start_s"]
    startup_s = 0.0 if math.isnan(pool["startup_mean_s"]) else pool["startup_mean_s"]
    tail_s = tail_of(task, stage)
    by_work_s = total * math.exp(sibling_log) + (0.0 if math.isnan(tail_s) else tail_s)
    work_known = not math.isnan(by_work_s)
    attempt["relative_size"] = seen_size(attempt, task, stage)
    needed_s = by_work_s if work_known else usual_s * max(attempt["relative_size"], 1.0)
    if stage["n_done"] == 0 and not work_known and not is_late and not is_stuck and age_s > needed_s:
        # No task has ended, and others are as old: the stage takes longer than was believed, and so would a copy.
        needed_s = age_s + residual_s(elapsed_s=age_s, tail_index=tail_index)
    silent_s, (rows_s, rows_share) = now_s - attempt["moved_s"], rows_left_s(now_s, attempt, task, stage)
    progress = share_done(work=attempt["work"], total=total)
    if math.isnan(attempt["first_s"]) and work_known:
        t_rem_s = needed_s + starting_s(elapsed_s=elapsed_s, startup_s=startup_s, tail_index=tail_index)
    elif attempt["work"] > 0 and not math.isnan(total) and not has_read(attempt, total):
        left_s = (1.0 - progress) * total * running_cost(now_s, total, attempt)
        t_rem_s = max(left_s, silence_s(now_s, attempt)) + (0.0 if math.isnan(tail_s) else tail_s)
        progress = rows_share if rows_share < progress else progress
    else:
        progress = rows_share
        in_tail = has_read(attempt, total) and not math.isnan(tail_s)
        t_rem_s = max(tail_s - silent_s if in_tail else needed_s - age_s, 0.0)
        t_rem_s = rows_s if rows_s > t_rem_s else t_rem_s
        t_rem_s = max(t_rem_s, residual_s(elapsed_s=age_s, tail_index=tail_index)) if is_late else t_rem_s
    if is_stuck:
        t_rem_s = max(t_rem_s, residual_s(elapsed_s=silent_s, tail_index=min(tail_index, STALL_TAIL_INDEX)))
    typical_s = startup_s + needed_s
    size = total if work_known else 1.0
    attempt["t_rem_s"], attempt["t_new_s"], attempt["progress"] = t_rem_s, startup_s + needed_s * again, progress
    attempt["rate"] = size / (max(elapsed_s, SHORTEST_S) + t_rem_s)
    attempt["sibling_rate"] = size / max(typical_s, SHORTEST_S)


@rule
def judge_age(now_s: float, startup_prior_s: float, attempt: Record, pool: Record) -> None:
    """Say whether an attempt is too new to be judged; when it no longer is, keep what was foretold."""
    if math.isnan(attempt["first_s"]):
        deviations = LATE_DEVIATIONS if pool["idle"] <= 0 else LATE_DEVIATIONS_WHEN_IDLE
        attempt["too_new"] = now_s - attempt["start_s"] < patience_s(
            is_cold=attempt["cold"],
            warm_late_s=late_after_s(pool["startup_mean_s"], pool["startup_deviation_s"], deviations),
            cold_late_s=late_after_s(pool["cold_startup_mean_s"], pool["cold_startup_deviation_s"], deviations),
            startup_prior_s=startup_prior_s,
        )
    else:
        attempt["too_new"] = observed_s(now_s, attempt) < OBSERVED_S
    if not attempt["too_new"] and math.isnan(attempt["estimated_s"]):
        attempt["estimated_s"], attempt["foretold_end_s"] = now_s, now_s + attempt["t_rem_s"]
