"""What do ended attempts teach about durations, the cost of work, tails and start-up?

Start-up is left out of durations and costs, the tail out of costs. `running.py` estimates from what is learned here.
Source: GRASS (NSDI'14) section 5.
"""

import math

import numpy as np

from controlplane.estimators.lateness import STARTUP_DEVIATIONS, late_after_s
from controlplane.estimators.running import estimate
from controlplane.estimators.spread import BINS, Counts, bin_of, rows_for
from controlplane.estimators.stage_history import StageHistory
from controlplane.estimators.work_done import REPORT_GAP_S, SHORTEST_S, is_small
from controlplane.model.changes import EndedAttempt
from controlplane.model.cluster import UNIT_BYTES, UNIT_NONE, UNIT_RECORDS, Cluster
from controlplane.model.columns import Floats, Pools
from controlplane.model.facts import Outcome

SMOOTHED_OVER = 8
"""Approximate number of samples in a smoothed mean."""
WORST_ERROR = 1.0
"""Most that one error counts, as a log: a factor of e either way is as good as no estimate."""
LATE_PRIORS = 4.0
"""A stage without a past, whose class has none either, is late at this many start-up priors at the earliest."""


def seconds_per_unit(duration_s: float, other_s: float, units: float) -> float:
    """Cost of one unit to a finished attempt: its time without start-up and tail, but at least a tenth of it.

    >>> [seconds_per_unit(duration_s=2.0, other_s=other_s, units=10.0) for other_s in (0.5, 5.0)]
    [0.15, 0.02]
    """
    return max(duration_s - other_s, duration_s / 10) / units


class RemainingTimes:
    """Learns durations, costs, tails and start-up times from ended attempts; estimates for running ones."""

    def __init__(self, startup_prior_s: float) -> None:
        self.startup_prior_s = startup_prior_s
        self.history = StageHistory()
        self.forget_rows()

    def forget_rows(self) -> None:
        """The cluster starts again: state by rows is void."""
        self._durations: Counts = np.zeros((0, BINS), dtype=np.uint32)
        """By stage row, durations without start-up of finished attempts on warm executors."""
        self._cold_durations: Counts = np.zeros((0, BINS), dtype=np.uint32)
        """Those of the first attempts of the stage on their executors."""
        self._gaps: Counts = np.zeros((0, BINS), dtype=np.uint32)
        """By stage row, the longest silence of each finished attempt that showed progress."""

    def stage_submitted(self, cluster: Cluster, row: int) -> None:
        """Give a new stage the history of the same stage in earlier jobs."""
        stages, fact = cluster.stages, cluster.stage_infos[row].fact
        self._grow(cluster)
        self._durations[row], self._cold_durations[row], self._gaps[row] = 0, 0, 0
        prior = self.history.get(fact)
        if prior is not None:
            stages.prior_duration_s[row] = prior.duration_s
            stages.prior_log_cost[row], stages.prior_tail_s[row] = prior.log_cost, prior.tail_s
        stages.prior_late_s[row] = self.history.late_s(fact, LATE_PRIORS * self.startup_prior_s)

    def startup_seen(self, pools: Pools, pool: int, delay_s: float, is_cold: bool) -> None:
        """Time from launch to first progress, kept as smoothed mean and deviation, separately for cold executors.

        A delay that would have made its attempt late counts as just late, so a sick host lengthens no patience.
        """
        means_s = pools.cold_startup_mean_s if is_cold else pools.startup_mean_s
        deviations_s = pools.cold_startup_deviation_s if is_cold else pools.startup_deviation_s
        mean_s, deviation_s = means_s[pool], deviations_s[pool]
        if np.isnan(mean_s):
            means_s[pool], deviations_s[pool] = delay_s, delay_s / 4
            return
        delay_s = min(delay_s, late_after_s(mean_s, deviation_s, STARTUP_DEVIATIONS))
        deviations_s[pool] += (abs(delay_s - mean_s) - deviation_s) / 4
        means_s[pool] += (delay_s - mean_s) / 8

    def started_within(self, pools: Pools, pool: int, duration_s: float, is_cold: bool) -> None:
        """An attempt ended before its first report: it started within its time, which teaches if that is short."""
        means_s = pools.cold_startup_mean_s if is_cold else pools.startup_mean_s
        if duration_s < means_s[pool]:
            self.startup_seen(pools, pool, duration_s, is_cold)

    def foretold_seen(self, pools: Pools, pool: int, foretold_s: float, came_s: float, is_cold: bool) -> None:
        """Error of first estimates of an attempt's time to go: the mean of all, later a smoothed one.

        The prior counts as one more. Cold attempts are kept separately. Errors of less than the time between
        two reports hardly count, and a single one counts as `WORST_ERROR` at most.
        """
        errors = pools.cold_foretold_error if is_cold else pools.foretold_error
        counts = pools.n_cold_foretold if is_cold else pools.n_foretold
        error = abs(math.log((max(foretold_s, 0.0) + REPORT_GAP_S) / (max(came_s, 0.0) + REPORT_GAP_S)))
        counts[pool] += 1
        errors[pool] += (min(error, WORST_ERROR) - errors[pool]) / min(counts[pool] + 1, SMOOTHED_OVER)

    def attempt_ended(self, cluster: Cluster, ended: EndedAttempt) -> None:
        """Learn a finished attempt's duration, cost and tail; attempts that were killed or lost teach nothing here."""
        fact, stages, stage = ended.fact, cluster.stages, ended.stage
        if fact.outcome is not Outcome.SUCCESS or not stages.alive[stage]:
            return
        self._grow(cluster)
        duration_s = max(fact.duration_ms / 1000, SHORTEST_S)
        net_s = self.net_s(cluster, ended, duration_s)
        stages.n_finished[stage] += 1
        stages.net_sum_s[stage] += net_s
        stages.records_sum[stage] += max(fact.records_read, 0)
        stages.bytes_sum[stage] += max(fact.bytes_read, 0)
        stages.size_sum[stage] += 1.0 if np.isnan(ended.relative_size) else ended.relative_size
        stages.shuffle_bytes[stage] += max(fact.shuffle_bytes_written, 0)
        (self._cold_durations if ended.cold else self._durations)[stage, bin_of(net_s)] += 1
        stages.n_cold[stage] += ended.cold
        stages.cold_sum_s[stage] += net_s * ended.cold
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
        if fact.told:
            return
        self.history.learn(
            cluster.stage_infos[stage].fact,
            net_s,
            float(stages.net_sum_s[stage] / stages.n_finished[stage]),
            float(stages.log_cost_sum[stage] / stages.n_costs[stage]) if stages.n_costs[stage] else math.nan,
            float(stages.tail_sum_s[stage] / stages.n_tails[stage]) if stages.n_tails[stage] else math.nan,
        )

    @staticmethod
    def units(ended: EndedAttempt) -> float:
        """The work that a finished attempt has done, in the unit by which it was followed; 0 if it says nothing."""
        if is_small(ended.relative_size):
            return 0.0
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
        self._durations = rows_for(self._durations, len(cluster.stages.alive))
        self._cold_durations = rows_for(self._cold_durations, len(cluster.stages.alive))
        self._gaps = rows_for(self._gaps, len(cluster.stages.alive))

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
            cluster.attempts.reported[: cluster.attempts.size],
            cluster.attempts.estimated,
            cluster.tasks.reported,
            cluster.stages.reported,
            cluster.stages.estimated,
            cluster.pools.estimated,
            cluster.pools.scratch,
            self._durations,
            self._cold_durations,
            self._gaps,
        )
