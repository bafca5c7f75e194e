"""How much longer will an attempt run (t_rem), and how long would a fresh one take (t_new)?

Two ways to know. *By work*: bytes or records done, against what there is to do and what a unit costs siblings; a
bigger task is then no straggler. *By time*: where work says nothing, elapsed time against the siblings' durations,
running ones counted as censored. What has shown no progress yet has all of its work before it. Durations and
costs of the task itself are left out of what it is compared with.
Source: GRASS (NSDI'14) sections 3.1 and 5; Hopper (SIGCOMM'15) section 2.2.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from controlplane.estimators.stage_history import StageHistory
from controlplane.model.cluster import UNIT_BYTES, UNIT_NONE, UNIT_RECORDS, Cluster, EndedAttempt
from controlplane.model.columns import Flags, Floats, Ints, Pools
from controlplane.model.facts import Outcome

REPORT_GAP_S = 0.5
"""Silence shorter than this is only the time between two reports."""
OBSERVED_S = 0.3
"""A rate is believed after progress has been seen for this long."""
NEARLY_DONE = 0.99
"""From this share on the rest is not reading: what remains shows only as silence."""
SHORTEST_S = 1e-3

Number = TypeVar("Number", float, Floats)


def residual_s(elapsed_s: Floats, typical_s: Floats, tail_index: Floats) -> Floats:
    """Time still needed by something `elapsed_s` old among things that take `typical_s`.

    Up to the typical duration what is missing from it; past it, the mean residual life of a Pareto tail.
    Source: GRASS section 3.1 and formulas of its theorem: w / (tail_index - 1).  Units: seconds.

    >>> residual_s(np.array([1.0, 6.0]), np.array([4.0, 4.0]), np.array([1.5, 1.5]))
    array([ 3., 12.])
    """
    tail = elapsed_s / np.clip(tail_index - 1.0, 0.1, 10.0)
    return np.where(elapsed_s < typical_s, typical_s - elapsed_s, tail)


def late_after_s(mean_s: Number, deviation_s: Number) -> Number:
    """Age past which an attempt without progress is no longer just starting.

    >>> late_after_s(mean_s=0.5, deviation_s=0.25)
    1.5
    """
    return mean_s + 4.0 * deviation_s


def seconds_per_unit(duration_s: float, startup_s: float, units: float) -> float:
    """What one unit of work cost a finished attempt, its start-up left out; at least a tenth of its time was work.

    >>> [seconds_per_unit(duration_s=2.0, startup_s=startup_s, units=10.0) for startup_s in (0.5, 5.0)]
    [0.15, 0.02]
    """
    return max(duration_s - startup_s, duration_s / 10) / units


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """Columns of shape (n_attempts,), one row for each row asked about."""

    elapsed_s: Floats
    t_rem_s: Floats
    t_new_s: Floats
    rate: Floats
    """Work per second from launch to foreseen end; comparable with `sibling_rate`, which a fresh attempt would have."""
    sibling_rate: Floats
    cost: Floats
    """Seconds per unit of work since progress began; nan before."""
    too_new: Flags
    """It could not have made its first progress yet, or its rate has been seen too briefly."""


class RemainingTimes:
    """Learns durations, costs and start-up times from ended attempts; estimates for running ones."""

    def __init__(self, startup_prior_s: float, history: StageHistory | None = None) -> None:
        self.startup_prior_s = startup_prior_s
        self.history = history or StageHistory()

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
            means_s[pool], deviations_s[pool] = delay_s, delay_s / 2
            return
        delay_s = min(delay_s, late_after_s(mean_s, deviation_s))
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

    def estimate(self, cluster: Cluster, rows: Ints, now_s: float, tail_index: Floats) -> Estimates:
        """Estimates for live attempts `rows`, all running attempts of their stages among them.

        `tail_index` has one value a row. One vectorised pass; also writes t_rem, t_new and progress into the columns.
        """
        attempts, stages, pools = cluster.attempts, cluster.stages, cluster.pools
        stage, pool = attempts.stage[rows], attempts.pool[rows]
        work, unit, first_s = attempts.work[rows], attempts.unit[rows], attempts.first_s[rows]
        elapsed_s = np.maximum(now_s - attempts.start_s[rows], SHORTEST_S)
        started = ~np.isnan(first_s)
        observed_s = np.where(started, now_s - first_s, 0.0)

        gained = work - attempts.first_work[rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            overall = np.where(started, elapsed_s / work, np.nan)
            cost = np.where((observed_s >= OBSERVED_S) & (gained > 0), observed_s / gained, overall)
            records = stages.records_sum[stage] / stages.n_finished[stage]
        input_bytes = cluster.tasks.input_bytes[attempts.task[rows]]
        total = np.where(unit <= UNIT_BYTES, input_bytes, np.where(unit == UNIT_RECORDS, records, 1.0))

        sibling_cost = self._sibling_cost(cluster, stage, cost)
        typical_s = self._typical_s(cluster, stage, elapsed_s)
        startup_s = np.nan_to_num(pools.startup_mean_s[pool], nan=0.0)
        by_work = total * sibling_cost
        t_new_s = np.where(np.isnan(by_work), typical_s, startup_s + by_work)
        silent_s = np.where(
            np.isnan(by_work),
            residual_s(elapsed_s, typical_s, tail_index),
            residual_s(elapsed_s, startup_s, tail_index) + by_work,
        )

        with np.errstate(divide="ignore", invalid="ignore"):
            progress = np.clip(work / total, 0.0, 1.0)
        silence_s = np.maximum(now_s - attempts.advanced_s[rows] - REPORT_GAP_S, 0.0)
        reading = started & (progress < NEARLY_DONE)
        t_rem_s = np.select(
            [reading, started & (progress >= NEARLY_DONE)],
            [np.maximum((1.0 - progress) * total * cost, silence_s), silence_s],
            silent_s,
        )
        warm_late_s = late_after_s(pools.startup_mean_s[pool], pools.startup_deviation_s[pool])
        cold_late_s = late_after_s(pools.cold_startup_mean_s[pool], pools.cold_startup_deviation_s[pool])
        is_warm = ~attempts.cold[rows] & ~np.isnan(warm_late_s)
        late_s = np.where(is_warm, warm_late_s, np.where(np.isnan(cold_late_s), self.startup_prior_s, cold_late_s))
        too_new = np.where(started, observed_s < OBSERVED_S, elapsed_s < late_s)

        attempts.t_rem_s[rows], attempts.t_new_s[rows], attempts.progress[rows] = t_rem_s, t_new_s, progress
        fresh = rows[~too_new & np.isnan(attempts.estimated_s[rows])]
        attempts.estimated_s[fresh] = now_s
        attempts.foretold_end_s[fresh] = now_s + attempts.t_rem_s[fresh]
        size = np.where(np.isnan(by_work), 1.0, total)
        return Estimates(
            elapsed_s=elapsed_s,
            t_rem_s=t_rem_s,
            t_new_s=t_new_s,
            rate=size / (elapsed_s + t_rem_s),
            sibling_rate=size / t_new_s,
            cost=cost,
            too_new=too_new,
        )

    def _sibling_cost(self, cluster: Cluster, stage: Ints, cost: Floats) -> Floats:
        """Geometric mean of the other attempts' seconds per unit, finished and running; the prior where none is."""
        stages = cluster.stages
        seen = np.isfinite(cost) & (cost > 0)
        log_cost = np.where(seen, np.log(np.where(seen, cost, 1.0)), 0.0)
        running = np.bincount(stage, weights=seen, minlength=stages.size)[stage] - seen
        running_sum = np.bincount(stage, weights=log_cost, minlength=stages.size)[stage] - log_cost
        n = stages.n_costs[stage] + running
        prior = stages.prior_log_cost[stage]
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.where(n > 0, (stages.log_cost_sum[stage] + running_sum) / n, prior)
        return np.exp(mean)

    def _typical_s(self, cluster: Cluster, stage: Ints, elapsed_s: Floats) -> Floats:
        """Mean duration with the others' running time counted as censored: total time on test over ends seen.

        The same stage's past, or else the prior of all stages, counts as one end.
        """
        stages = cluster.stages
        others_s = np.bincount(stage, weights=elapsed_s, minlength=stages.size)[stage] - elapsed_s
        own_prior = stages.prior_duration_s[stage]
        prior_s = np.where(np.isnan(own_prior), self.history.duration_s(2 * self.startup_prior_s), own_prior)
        counted = np.where(np.isnan(own_prior) & (stages.n_finished[stage] > 0), 0.0, 1.0)
        ends = stages.n_finished[stage] + counted
        return (stages.duration_sum_s[stage] + others_s + counted * prior_s) / ends
