"""Which hosts are slow, how sure is that, and where should a copy go?

A host is measured by its attempts' seconds per unit of work against those of the same stage on other hosts.
Ended attempts are remembered and fade with a half-life; running attempts count as they are
now, once their rates are believed, because those of a sick host may never end.
"""

from math import inf, isfinite, isnan, log, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from controlplane.compiled import kernel, rule
from controlplane.estimators.lateness import fresh_startup_s
from controlplane.estimators.work_done import SHORTEST_S
from controlplane.model.columns import Flags, Floats, Ints, Records
from controlplane.model.writers import Estimated, Reported, Scratch

HALF_LIFE_S = 300.0
"""After this long, an ended attempt's evidence counts half."""
PRIOR_ATTEMPTS = 2.0
"""Attempts of typical speed that every host is assumed to have run, so that one straggler does not make it sick."""
MOST_LOG = log(8.0)
"""The evidence of one attempt is clipped to a factor of eight either way."""
SLOW_TIMES = 1.25
"""From this slowness on a host ranks after the others."""
N_RANKED = 4
"""Hosts that are compared in the record of a copy."""
SICK_TIMES = 1.5
"""A host that is surely this many times slower is sick."""
SPREAD = 0.7
"""Standard deviation of one attempt's log slowness: that of a Pareto with tail index 1.4. Healthy hosts have crawling
attempts, too.
"""
DEVIATIONS = 1.5
"""Standard errors that are attributed to chance."""


def waves_worth_waiting(slowness: Floats, patience: float) -> Floats:
    """While fewer than this many times a job's target wait, an original ends sooner by waiting than on the slow host.

    There a task takes `slowness` task times; elsewhere `target` slots serve n waiting originals in n / target task
    times, and one more ends the last. The same comparison gives the thresholds of the slow-server problem (Lin and
    Kumar 1984): a long queue uses every server, a short one none that is slow.

    >>> waves_worth_waiting(np.array([4.0, 1.0]), patience=1.0)
    array([3., 0.])
    """
    return patience * np.maximum(slowness - 1.0, 0.0)


@kernel
def log_slowness(stage: Ints, host: Ints, log_cost: Floats, finished_n: Ints, finished_log_sum: Floats) -> Floats:
    """Log of each attempt's seconds per unit over its stage's siblings' on other hosts; nan if unknown.

    Shapes: (n_attempts,), the last two (n_stages,): how many attempts of the stage have finished, anywhere,
    and the sum of the logs of their seconds per unit. Siblings are taken by their geometric mean.

    >>> stage, host, log_cost = np.array([0, 0, 0]), np.array([0, 0, 1]), np.log([8.0, 8.0, 2.0])
    >>> np.exp(log_slowness(stage, host, log_cost, np.zeros(1, dtype=np.int64), np.zeros(1)))
    array([4.  , 4.  , 0.25])
    """
    n_of_stage = np.bincount(stage, minlength=len(finished_n))
    end = np.cumsum(n_of_stage)
    place, by_stage = end - n_of_stage, np.empty(len(stage), dtype=np.int64)
    for row in range(len(stage)):
        by_stage[place[stage[row]]] = row
        place[stage[row]] += 1
    n_hosts = host.max() + 1 if len(host) else 0
    host_n, host_sum = np.zeros(n_hosts), np.zeros(n_hosts)
    slowness = np.full(len(stage), np.nan)
    for group in range(len(end)):
        rows = by_stage[end[group - 1] if group else 0 : end[group]]
        stage_n, stage_sum = float(finished_n[group]), finished_log_sum[group]
        for row in rows:
            if not np.isnan(log_cost[row]):
                stage_n += 1
                stage_sum += log_cost[row]
                host_n[host[row]] += 1
                host_sum[host[row]] += log_cost[row]
        for row in rows:
            n_elsewhere = stage_n - host_n[host[row]]
            if n_elsewhere > 0.5:
                slowness[row] = log_cost[row] - (stage_sum - host_sum[host[row]]) / n_elsewhere
        for row in rows:
            host_n[host[row]] = host_sum[host[row]] = 0.0
    return slowness


@kernel
def compare_running(
    attempts: NDArray[Reported],
    attempts_estimated: NDArray[Estimated],
    tasks: NDArray[Reported],
    stages_estimated: NDArray[Estimated],
    pools_estimated: NDArray[Estimated],
    pools_scratch: NDArray[Scratch],
) -> tuple[Ints, Floats]:
    """Write the log slowness of the live attempts in pools that are due; one that cannot be compared keeps its last.

    Returns (host, log slowness) of all live attempts, those of other pools as they were last seen.
    """
    rows, stage = np.empty(len(attempts), dtype=np.int64), np.empty(len(attempts), dtype=np.int64)
    host, log_cost, n = np.empty(len(attempts), dtype=np.int64), np.empty(len(attempts)), 0
    for row in range(len(attempts)):
        attempt = attempts[row]
        if attempt["alive"] and pools_scratch[attempt["pool"]]["due"]:
            rows[n], stage[n], host[n] = row, attempt["stage"], attempt["host"]
            input_bytes, pool = tasks[attempt["task"]]["input_bytes"], pools_estimated[attempt["pool"]]
            log_cost[n] = seen_or_foreseen(attempts_estimated[row], attempt["work"], input_bytes, pool)
            n += 1
    finished_n, finished_log_sum = stages_estimated["n_costs"].copy(), stages_estimated["log_cost_sum"].copy()
    slowness = log_slowness(stage[:n], host[:n], log_cost[:n], finished_n, finished_log_sum)
    for place in range(n):
        estimates = attempts_estimated[rows[place]]
        if not isnan(slowness[place]):
            estimates["log_slowness"] = slowness[place]
        log_cost[place] = estimates["log_slowness"]
    for row in range(len(attempts)):
        attempt = attempts[row]
        if attempt["alive"] and not pools_scratch[attempt["pool"]]["due"]:
            host[n], log_cost[n] = attempt["host"], attempts_estimated[row]["log_slowness"]
            n += 1
    return host[:n], log_cost[:n]


@rule
def seen_or_foreseen(attempt: Estimated, work: float, input_bytes: float, pool: Estimated) -> float:
    """Log of an attempt's seconds per byte or record; nan while it is too new, because start-up is part of its rate.

    Predicted for an attempt that should long have begun to read: its siblings' cost, times its whole predicted time
    over that of a fresh attempt. Both times include start-up.
    """
    if attempt["too_new"]:
        return nan
    if not isnan(attempt["log_cost"]) or work > 0 or isnan(input_bytes):
        return attempt["log_cost"]
    if not attempt["rate"] > 0:
        return inf
    reads_s = max(attempt["t_fresh_s"] - fresh_startup_s(pool), SHORTEST_S)
    return log(reads_s / max(attempt["t_fresh_s"], SHORTEST_S)) - log(attempt["rate"])


HOST_COSTS = np.dtype([("host", np.int64), ("n", np.float64), ("log_sum", np.float64)], align=True)
"""Attempts of one stage that finished on one host: how many, and the sum of the logs of their costs."""


class FinishedCosts:
    """Costs of one stage's finished attempts, by host."""

    def __init__(self) -> None:
        self.by_host = np.zeros(0, dtype=HOST_COSTS)

    def place(self, host: int) -> int:
        """Place of a host's record, which is made if there is none."""
        if host not in self.by_host["host"]:
            self.by_host = np.append(self.by_host, np.array([(host, 0.0, 0.0)], dtype=HOST_COSTS))
        return int(np.flatnonzero(self.by_host["host"] == host)[0])


class HostHealth(NamedTuple):
    """Estimates for hosts at one moment; shapes (n_hosts,)."""

    slowness: Floats
    """Seconds of work per second of the same work elsewhere, shrunk towards 1."""
    sick: Flags
    """Hosts that get no copies."""

    @property
    def certain_log(self) -> Floats:
        """Logs of the slowness that chance does not explain: 0 for hosts that are not sick."""
        return np.where(self.sick, np.log(self.slowness), 0.0)


class HostSlowness:
    """Evidence about hosts by row; rows appear when they are first mentioned."""

    def __init__(self) -> None:
        self._n, self._log_sum, self._at_s = np.zeros(0), np.zeros(0), np.zeros(0)
        self._running_n, self._running_log_sum = np.zeros(0), np.zeros(0)

    def attempt_ended(self, host: int, log_ratio: float, now_s: float) -> None:
        """Remember one that took exp(log_ratio) times as long for its work as siblings on other hosts."""
        if np.isfinite(log_ratio):
            self._grow(host + 1)
            remember(self._n, self._log_sum, self._at_s, host, 1.0, clipped(log_ratio), now_s)

    def attempt_finished(self, host: int, log_cost: float, earlier: FinishedCosts, now_s: float) -> None:
        """Add an attempt, by the log of its cost, to its stage's `earlier` ones, and compare the hosts again."""
        if np.isfinite(log_cost):
            self._grow(host + 1)
            place = earlier.place(host)
            compare_finished(earlier.by_host, place, log_cost, self._n, self._log_sum, self._at_s, now_s)

    def review(self, host: Ints, log_ratio: Floats) -> None:
        """Take the running attempts' evidence, all of it, instead of what the last review gave."""
        self._grow(int(host.max(initial=-1)) + 1)
        self._running_n[:], self._running_log_sum[:] = 0.0, 0.0
        add_evidence(host, log_ratio, self._running_n, self._running_log_sum)

    def forget(self, hosts: list[int]) -> None:
        """Forget these hosts, whose rows may be given to others."""
        self._grow(max(hosts, default=-1) + 1)
        for column in (self._n, self._log_sum, self._running_n, self._running_log_sum):
            column[hosts] = 0.0

    def health(self, now_s: float, n_hosts: int) -> HostHealth:
        """The current estimates for every host."""
        n, log_sum = self._evidence(now_s, n_hosts)
        n += PRIOR_ATTEMPTS
        sick = log_sum / n - DEVIATIONS * SPREAD / np.sqrt(n) >= np.log(SICK_TIMES)
        return HostHealth(slowness=np.exp(log_sum / n), sick=sick)

    def confidence(self, now_s: float, n_hosts: int) -> Floats:
        """Weight of the evidence against the prior of any host, 0 to 1; shape (n_hosts,)."""
        n, _ = self._evidence(now_s, n_hosts)
        return n / (n + PRIOR_ATTEMPTS)

    def _evidence(self, now_s: float, n_hosts: int) -> tuple[Floats, Floats]:
        self._grow(n_hosts)
        kept = _kept(now_s, self._at_s)
        n = self._n * kept + self._running_n
        log_sum = self._log_sum * kept + self._running_log_sum
        return n[:n_hosts], log_sum[:n_hosts]

    def _grow(self, n_hosts: int) -> None:
        missing = n_hosts - len(self._n)
        if missing > 0:
            for name in ("_n", "_log_sum", "_at_s", "_running_n", "_running_log_sum"):
                setattr(self, name, np.append(getattr(self, name), np.zeros(missing)))


def _kept(now_s: float, at_s: Floats) -> Floats:
    """The share of evidence that is left since it was updated at `at_s`."""
    return np.exp2(-np.maximum(now_s - at_s, 0.0) / HALF_LIFE_S)


@rule
def clipped(log_ratio: float) -> float:
    """A log ratio, limited to a factor of eight either way."""
    return min(max(log_ratio, -MOST_LOG), MOST_LOG)


@kernel
def remember(
    n: Floats, log_sum: Floats, at_s: Floats, host: int, added_n: float, added_log: float, now_s: float
) -> None:
    """Add attempts and a sum of log ratios to the evidence about a host, which has faded since its last update."""
    kept = 2.0 ** (-max(now_s - at_s[host], 0.0) / HALF_LIFE_S)
    n[host] = n[host] * kept + added_n
    log_sum[host] = log_sum[host] * kept + added_log
    at_s[host] = now_s


@rule
def counted(n: float, all_n: float) -> float:
    """Attempts of a host that can be compared: all, or none where no other host has any."""
    return n if all_n > n else 0.0


@rule
def excess(n: float, log_sum: float, all_n: float, all_log_sum: float) -> float:
    """Sum of the logs by which one host's attempts took longer than the mean of those on all others; 0 without any.

    >>> excess(2.0, 3.0, all_n=6.0, all_log_sum=5.0), excess(2.0, 3.0, 2.0, 3.0), excess(0.0, 0.0, 4.0, 2.0)
    (2.0, 0.0, 0.0)
    """
    if n == 0.0 or all_n == n:
        return 0.0
    return n * clipped(log_sum / n - (all_log_sum - log_sum) / (all_n - n))


@kernel
def compare_finished(
    finished: Records, place: int, log_cost: float, n: Floats, log_sum: Floats, at_s: Floats, now_s: float
) -> None:
    """Add an attempt to a stage's `finished` (n_hosts,), at its host's `place`, and update the evidence about all.

    Each host is compared with all others by everything that has finished. Of attempts that start together the slow ones
    end last, whatever their hosts: by comparisons with earlier ones alone, equal hosts would all be slow.
    """
    before_n, before_sum = 0.0, 0.0
    for other in range(len(finished)):
        before_n += finished[other]["n"]
        before_sum += finished[other]["log_sum"]
    elsewhere_n = before_n - finished[place]["n"]
    if elsewhere_n > 0.0:
        elsewhere = (before_sum - finished[place]["log_sum"]) / elsewhere_n
        log_cost = elsewhere + clipped(log_cost - elsewhere)
    all_n, all_sum = before_n + 1.0, before_sum + log_cost
    for other in range(len(finished)):
        one = finished[other]
        was_n, was = counted(one["n"], before_n), excess(one["n"], one["log_sum"], before_n, before_sum)
        if other == place:
            one["n"] += 1.0
            one["log_sum"] += log_cost
        is_n, is_now = counted(one["n"], all_n), excess(one["n"], one["log_sum"], all_n, all_sum)
        remember(n, log_sum, at_s, one["host"], is_n - was_n, is_now - was, now_s)


@kernel
def add_evidence(host: Ints, log_ratio: Floats, n: Floats, log_sum: Floats) -> None:
    """Add attempts to the evidence about their hosts; those of unknown slowness say nothing."""
    for row in range(len(host)):
        if isfinite(log_ratio[row]):
            n[host[row]] += 1.0
            log_sum[host[row]] += clipped(log_ratio[row])


@kernel
def rank_hosts(slots_free: Ints, running: Ints, slowness: Floats, sick: Flags, local: Flags, forbidden: Flags) -> Ints:
    """Rows of the `N_RANKED` hosts that may best take a copy, best first. Shapes: (n_hosts,).

    Never a forbidden host (the straggler's own), a sick one, or one without a free slot. Of equal ones the upper row.

    >>> free, running = np.array([2, 2, 1, 0, 2]), np.array([0, 2, 1, 0, 0])
    >>> sick, local = np.array([0, 0, 0, 0, 1], dtype=bool), np.array([0, 1, 1, 0, 0], dtype=bool)
    >>> rank_hosts(free, running, np.ones(5), sick, local, np.zeros(5, dtype=bool))
    array([0, 1, 2])
    """
    ranked, n = np.zeros(N_RANKED, dtype=np.int64), 0
    is_sole = np.count_nonzero(local) == 1
    for row in range(len(sick)):
        if slots_free[row] <= 0 or sick[row] or forbidden[row]:
            continue
        key, at = host_key(row, slots_free, running, slowness, local, is_sole), n
        while at > 0 and key < host_key(ranked[at - 1], slots_free, running, slowness, local, is_sole):
            at -= 1
            if at + 1 < N_RANKED:
                ranked[at + 1] = ranked[at]
        if at < N_RANKED:
            ranked[at], n = row, min(n + 1, N_RANKED)
    return ranked[:n]


@rule
def host_key(
    row: int, slots_free: Ints, running: Ints, slowness: Floats, local: Flags, is_sole: bool
) -> tuple[bool, bool, float, bool, float]:
    """The keys by which hosts are ranked for a copy, least first.

    Not a slow one; not the only holder of the input, which may be what the straggler waits for; the least loaded; one
    that holds the input; the faster one.
    """
    load = running[row] / (running[row] + slots_free[row])
    return slowness[row] >= SLOW_TIMES, local[row] and is_sole, load, not local[row], slowness[row]
