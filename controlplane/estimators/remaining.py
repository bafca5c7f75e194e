"""How much longer will an attempt run (t_rem), and how long would a fresh one take (t_new)?

Two ways to know. *By work*: bytes or records done, against what there is to do and what a unit costs siblings; a
bigger task is then no straggler. *By time*: where work says nothing, elapsed time against the siblings' durations,
running ones counted as censored. What has shown no progress yet has all of its work before it. Durations and
costs of the task itself are left out of what it is compared with.
Source: GRASS (NSDI'14) sections 3.1 and 5; Hopper (SIGCOMM'15) section 2.2.
"""

import math

import numpy as np

from controlplane.compiled import kernel, rule
from controlplane.estimators.stage_history import StageHistory
from controlplane.model.cluster import UNIT_BYTES, UNIT_NONE, UNIT_RECORDS, Cluster, EndedAttempt
from controlplane.model.columns import Floats, Pools, Record, Records
from controlplane.model.facts import Outcome

REPORT_GAP_S = 0.5
"""Silence shorter than this is only the time between two reports."""
OBSERVED_S = 0.3
"""A rate is believed after progress has been seen for this long."""
NEARLY_DONE = 0.99
"""From this share on the rest is not reading: what remains shows only as silence."""
SHORTEST_S = 1e-3
LATE_DEVIATIONS = 4.0
"""An attempt that shows no progress is late when it is older than the mean start-up by so many mean deviations,"""
LATE_DEVIATIONS_WHEN_IDLE = 1.0
"""or by so many while slots are idle: a needless copy then costs no other task its slot."""


@rule
def residual_s(elapsed_s: float, typical_s: float, tail_index: float) -> float:
    """Time still needed by something `elapsed_s` old among things that take `typical_s`.

    Up to the typical duration what is missing from it; past it, the mean residual life of a Pareto tail.
    Source: GRASS section 3.1 and formulas of its theorem: w / (tail_index - 1).  Units: seconds.

    >>> [residual_s(elapsed_s=elapsed_s, typical_s=4.0, tail_index=1.5) for elapsed_s in (1.0, 6.0)]
    [3.0, 12.0]
    """
    if elapsed_s < typical_s:
        return typical_s - elapsed_s
    return elapsed_s / min(max(tail_index - 1.0, 0.1), 10.0)


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
def typical_s(duration_sum_s: float, n_finished: int, others_s: float, own_prior_s: float, prior_s: float) -> float:
    """Mean duration with the others' running time counted as censored: total time on test over ends seen.

    The same stage's past counts as one end, or else, before anything has finished, the prior of all stages.

    >>> typical_s(duration_sum_s=6.0, n_finished=2, others_s=3.0, own_prior_s=float("nan"), prior_s=9.0)
    4.5
    """
    if not math.isnan(own_prior_s):
        return (duration_sum_s + others_s + own_prior_s) / (n_finished + 1)
    if n_finished > 0:
        return (duration_sum_s + others_s) / n_finished
    return others_s + prior_s


@rule
def patience_s(is_cold: bool, warm_late_s: float, cold_late_s: float, startup_prior_s: float) -> float:
    """Age until which an attempt may show no progress: by what was seen on executors like its own, else the prior.

    >>> [patience_s(is_cold, 1.0, math.nan, startup_prior_s=5.0) for is_cold in (False, True)]
    [1.0, 5.0]
    """
    if not is_cold and not math.isnan(warm_late_s):
        return warm_late_s
    return startup_prior_s if math.isnan(cold_late_s) else cold_late_s


def seconds_per_unit(duration_s: float, startup_s: float, units: float) -> float:
    """What one unit of work cost a finished attempt, its start-up left out; at least a tenth of its time was work.

    >>> [seconds_per_unit(duration_s=2.0, startup_s=startup_s, units=10.0) for startup_s in (0.5, 5.0)]
    [0.15, 0.02]
    """
    return max(duration_s - startup_s, duration_s / 10) / units


class RemainingTimes:
    """Learns durations, costs and start-up times from ended attempts; estimates for running ones."""

    def __init__(self, startup_prior_s: float) -> None:
        self.startup_prior_s = startup_prior_s
        self.history = StageHistory()

    def stage_submitted(self, cluster: Cluster, row: int) -> None:
        """Give a new stage what the same stage of earlier jobs has taught."""
        prior = self.history.get(cluster.stage_infos[row].fact.name)
        if prior is not None:
            cluster.stages.prior_duration_s[row] = prior.duration_s
            cluster.stages.prior_log_cost[row] = prior.log_cost

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
        """Learn a finished attempt's duration and cost; attempts that were killed or lost teach nothing here."""
        fact, stages, stage = ended.fact, cluster.stages, ended.stage
        if fact.outcome is not Outcome.SUCCESS or not stages.alive[stage]:
            return
        duration_s = max(fact.duration_ms / 1000, SHORTEST_S)
        stages.n_finished[stage] += 1
        stages.duration_sum_s[stage] += duration_s
        stages.records_sum[stage] += max(fact.records_read, 0)
        stages.shuffle_bytes[stage] += max(fact.shuffle_bytes_written, 0)
        if ended.input_bytes > 0 and fact.bytes_read > 0:
            units = ended.input_bytes
        elif ended.unit == UNIT_RECORDS:
            units = float(fact.records_read)
        else:
            units = 1.0 if ended.unit not in (UNIT_NONE, UNIT_BYTES) else 0.0
        if units > 0:
            stages.n_costs[stage] += 1
            stages.log_cost_sum[stage] += np.log(self.cost(cluster, ended.pool, duration_s, units))
        self.history.learn(
            cluster.stage_infos[stage].fact.name,
            float(stages.duration_sum_s[stage] / stages.n_finished[stage]),
            float(stages.log_cost_sum[stage] / stages.n_costs[stage]) if stages.n_costs[stage] else float("nan"),
        )

    def cost(self, cluster: Cluster, pool: int, duration_s: float, units: float) -> float:
        """Seconds per unit of a finished attempt, by the pool's start-up time as far as it is known."""
        startup_s = float(np.nan_to_num(cluster.pools.startup_mean_s[pool], nan=0.0))
        return seconds_per_unit(duration_s=duration_s, startup_s=startup_s, units=units)

    def estimate(self, cluster: Cluster, host_log: Floats, now_s: float) -> None:
        """Write times to go, rates and progress of all live attempts in pools that are due into their columns.

        `host_log` is the log of hosts' slowness, shape (n_hosts,).
        """
        estimate(
            now_s,
            self.startup_prior_s,
            self.history.duration_s(2 * self.startup_prior_s),
            host_log,
            cluster.attempts.records[: cluster.attempts.size],
            cluster.tasks.records,
            cluster.stages.records,
            cluster.pools.records,
        )


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
) -> None:
    """Estimates for the live attempts in pools that are due, all running attempts of their stages among them.

    An attempt is compared with the others of its stage, finished and running: by the geometric mean of their seconds
    per unit of work, or by their durations where work says nothing.
    """
    n_costs, log_cost_sum = np.zeros(len(stages)), np.zeros(len(stages))
    elapsed_sum_s = np.zeros(len(stages))
    for attempt in attempts:
        if attempt["alive"] and pools[attempt["pool"]]["due"]:
            elapsed_s = max(now_s - attempt["start_s"], SHORTEST_S)
            attempt["log_cost"] = math.log(running_cost(now_s, elapsed_s, attempt))
            elapsed_sum_s[attempt["stage"]] += elapsed_s
            if not math.isnan(attempt["log_cost"]):
                n_costs[attempt["stage"]] += 1
                log_cost_sum[attempt["stage"]] += attempt["log_cost"]
    for attempt in attempts:
        if attempt["alive"] and pools[attempt["pool"]]["due"]:
            stage, pool = stages[attempt["stage"]], pools[attempt["pool"]]
            elapsed_s = max(now_s - attempt["start_s"], SHORTEST_S)
            n, log_sum = n_costs[attempt["stage"]], log_cost_sum[attempt["stage"]]
            if not math.isnan(attempt["log_cost"]):
                n, log_sum = n - 1, log_sum - attempt["log_cost"]
            n, log_sum = n + stage["n_costs"], log_sum + stage["log_cost_sum"]
            mean_s = typical_s(
                duration_sum_s=stage["duration_sum_s"],
                n_finished=stage["n_finished"],
                others_s=elapsed_sum_s[attempt["stage"]] - elapsed_s,
                own_prior_s=stage["prior_duration_s"],
                prior_s=duration_prior_s,
            )
            total = total_work(attempt, tasks[attempt["task"]]["input_bytes"], stage)
            sibling_log = log_sum / n if n > 0 else stage["prior_log_cost"]
            own_log = attempt["log_cost"] - sibling_log - host_log[attempt["host"]]
            again = math.exp(pool["kept_slowness"] * own_log) if own_log > 0 else 1.0
            write_times(now_s, elapsed_s, total, total * math.exp(sibling_log), again, mean_s, attempt, pool)
            judge_age(now_s, elapsed_s, startup_prior_s, attempt, pool)


@rule
def running_cost(now_s: float, elapsed_s: float, attempt: Record) -> float:
    """Seconds per unit of work since progress began, or since launch where that is too short; nan before."""
    if math.isnan(attempt["first_s"]) or not attempt["work"] > 0:
        return math.nan
    gained, seen_s = attempt["work"] - attempt["first_work"], observed_s(now_s, attempt)
    if seen_s >= OBSERVED_S and gained > 0:
        return seen_s / gained
    return elapsed_s / attempt["work"]


@rule
def observed_s(now_s: float, attempt: Record) -> float:
    """For how long progress has been seen: from the first to the latest, and any silence since then."""
    return attempt["advanced_s"] - attempt["first_s"] + silence_s(now_s, attempt)


@rule
def silence_s(now_s: float, attempt: Record) -> float:
    """For how long an attempt has been silent, past what is only the time between two reports."""
    return max(now_s - attempt["advanced_s"] - REPORT_GAP_S, 0.0)


@rule
def total_work(attempt: Record, input_bytes: float, stage: Record) -> float:
    """What an attempt has to do, in its own unit; nan where that is unknown."""
    if attempt["unit"] <= UNIT_BYTES:
        return input_bytes
    if attempt["unit"] == UNIT_RECORDS:
        return stage["records_sum"] / stage["n_finished"] if stage["n_finished"] > 0 else math.nan
    return 1.0


@rule
def write_times(
    now_s: float,
    elapsed_s: float,
    total: float,
    by_work_s: float,
    again: float,
    mean_s: float,
    attempt: Record,
    pool: Record,
) -> None:
    """Fill in t_rem, t_new, rates and progress. A late start's work is still to do; silence needs as long again.

    A copy takes `again` times as long as siblings do.
    """
    work_known = not math.isnan(by_work_s)
    startup_s = 0.0 if math.isnan(pool["startup_mean_s"]) else pool["startup_mean_s"]
    progress = share_done(work=attempt["work"], total=total)
    if math.isnan(attempt["first_s"]) or math.isnan(progress):
        usual_s = startup_s if work_known else mean_s
        t_rem_s = residual_s(elapsed_s=elapsed_s, typical_s=usual_s, tail_index=pool["tail_index"])
        t_rem_s += by_work_s if work_known else 0.0
    elif progress < NEARLY_DONE:
        t_rem_s = max((1.0 - progress) * total * running_cost(now_s, elapsed_s, attempt), silence_s(now_s, attempt))
    else:
        t_rem_s = silence_s(now_s, attempt)
    t_new_s = startup_s + by_work_s * again if work_known else mean_s
    typical = startup_s + by_work_s if work_known else mean_s
    size = total if work_known else 1.0
    attempt["t_rem_s"], attempt["t_new_s"], attempt["progress"] = t_rem_s, t_new_s, progress
    attempt["rate"], attempt["sibling_rate"] = size / (elapsed_s + t_rem_s), size / max(typical, SHORTEST_S)


@rule
def judge_age(now_s: float, elapsed_s: float, startup_prior_s: float, attempt: Record, pool: Record) -> None:
    """Say whether an attempt is too new to be judged; when it no longer is, keep what was foretold."""
    if math.isnan(attempt["first_s"]):
        deviations = LATE_DEVIATIONS if pool["idle"] <= 0 else LATE_DEVIATIONS_WHEN_IDLE
        attempt["too_new"] = elapsed_s < patience_s(
            is_cold=attempt["cold"],
            warm_late_s=late_after_s(pool["startup_mean_s"], pool["startup_deviation_s"], deviations),
            cold_late_s=late_after_s(pool["cold_startup_mean_s"], pool["cold_startup_deviation_s"], deviations),
            startup_prior_s=startup_prior_s,
        )
    else:
        attempt["too_new"] = observed_s(now_s, attempt) < OBSERVED_S
    if not attempt["too_new"] and math.isnan(attempt["estimated_s"]):
        attempt["estimated_s"], attempt["foretold_end_s"] = now_s, now_s + attempt["t_rem_s"]
