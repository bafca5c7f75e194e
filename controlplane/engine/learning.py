"""What does the engine learn from a cycle's facts? Owns every estimator, and its state that survives a restart."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from controlplane.engine.seeing import mean_s
from controlplane.estimators.accuracy import Accuracy
from controlplane.estimators.host_slowness import FinishedCosts, HostHealth, HostSlowness, compare_running
from controlplane.estimators.later_time import LaterTimes
from controlplane.estimators.remaining import RemainingTimes
from controlplane.estimators.samples import Samples
from controlplane.estimators.shared_slowness import SharedSlowness
from controlplane.estimators.stored import NotNegative, fit
from controlplane.estimators.tail_index import Siblings, TailIndex, TailSamples, relative_ages
from controlplane.estimators.transfer_ratio import TransferRatios
from controlplane.estimators.work_done import is_small
from controlplane.model.changes import Changes, EndedAttempt
from controlplane.model.cluster import Cluster, SourceState
from controlplane.model.columns import Ints
from controlplane.model.facts import Outcome
from controlplane.model.parameters import EngineSettings

HOST_REVIEW_S = 0.2
"""Running attempts are compared with siblings on other hosts at most this often."""
TAIL_REVIEW_S = 1.0
"""The ages of running attempts are read, and their application's tail index updated, at most this often."""
TAIL_WINDOW = 512
"""Durations kept per application: all of them are dumped into the store now and then."""
APPLICATIONS_KEPT = 100
"""Applications that are remembered after their end."""


STARTUP = ("startup_mean_s", "startup_deviation_s", "cold_startup_mean_s", "cold_startup_deviation_s")
"""Columns of a pool that its application's next run begins with."""


class StoredHabits(Struct, frozen=True, kw_only=True):
    """Habits as they survive a restart."""

    tail: TailSamples = msgspec.field(default_factory=TailSamples)
    shared_slowness: SharedSlowness = msgspec.field(default_factory=SharedSlowness)
    startup: dict[str, NotNegative] = msgspec.field(default_factory=dict)
    """Start-up times that are known, in seconds, by the names in `STARTUP`."""


class Habits:
    """How an application's tasks behave, whoever runs it: recurring applications share it."""

    def __init__(self) -> None:
        self.tail = TailIndex(window=TAIL_WINDOW)
        self.shared = SharedSlowness()
        self.startup: dict[str, float] = {}

    def load(self, stored: StoredHabits) -> None:
        """Recall the output of `dump`, below what was learned since."""
        if not self.tail.seen:
            self.tail.load(stored.tail)
        if not self.shared.seen_log:
            self.shared = stored.shared_slowness
        self.startup = stored.startup | self.startup

    def dump(self) -> StoredHabits:
        """The state that a restart recalls."""
        return StoredHabits(tail=self.tail.dump(), shared_slowness=self.shared, startup=self.startup)


class Learning:
    """All estimators; habits by application name."""

    def __init__(self, settings: EngineSettings) -> None:
        self.remaining = RemainingTimes(settings.startup_prior_s)
        self.transfer = TransferRatios()
        self.later = LaterTimes()
        self.samples = Samples()
        self.hosts = HostSlowness()
        self.accuracy = Accuracy()
        self._habits: dict[str, Habits] = {}
        self._habits_of_pool: dict[int, Habits] = {}
        self._siblings: dict[tuple[int, bool], Siblings] = {}
        """By stage row, whether its attempts are compared separately by their work."""
        self._costs: dict[int, defaultdict[tuple[bool, bool], FinishedCosts]] = {}
        """By stage row, those compared by work, those by the time of cold attempts, and those by that of warm ones."""
        self._hosts_reviewed_s = -np.inf

    def configure(self, settings: EngineSettings) -> None:
        """Take new settings; learned state stays."""
        self.remaining.startup_prior_s = settings.startup_prior_s

    def learn(self, cluster: Cluster, changes: Changes, now_s: float) -> None:
        """Take in everything that ended, started or first moved in one batch."""
        for name in [source.name for source in cluster.sources.values() if source.row in changes.pools]:
            source = cluster.sources[name]
            self._take_up(cluster, source.row, source.attached.name or source.attached.application)
        for row in changes.stages_submitted:
            self._forget_siblings(row)
            if row in cluster.stage_infos:
                self.remaining.stage_submitted(cluster, row)
        for pool, delay_s, is_cold in changes.startups:
            if cluster.pools.alive[pool]:
                self.remaining.startup_seen(cluster.pools, pool, max(delay_s, 0.0), is_cold)
        for ended in changes.ended:
            self._attempt_ended(cluster, ended, now_s)
        for pool in {pool for pool, _, _ in changes.startups} | {ended.pool for ended in changes.ended}:
            if cluster.pools.alive[pool]:
                known = {name: float(getattr(cluster.pools, name)[pool]) for name in STARTUP}
                self._habits_of_pool[pool].startup = {name: value for name, value in known.items() if value == value}
        self.weigh_transfer(cluster, changes.jobs)
        for info, fact in changes.stages_ended:
            for siblings in self._forget_siblings(info.row):
                siblings.settle()
            if info.row in cluster.stage_infos:
                job = cluster.job_infos[int(cluster.stages.job[info.row])]
                if fact.stage in job.parents:
                    work_s = float(cluster.stages.net_sum_s[info.row])
                    self._output_seen(job.name, info.fact.name, fact.shuffle_write_bytes, work_s)
        self._time_later_stages(cluster, changes, now_s)
        self._take_samples(cluster, changes)

    def _take_samples(self, cluster: Cluster, changes: Changes) -> None:
        """Tally what has ended of jobs' input; jobs that end and were steered throughout become samples."""
        self.samples.forget(changes.forgotten)
        jobs, pools = cluster.jobs, cluster.pools
        for ended in changes.ended:
            info, tried = cluster.job_infos.get(ended.job), int(jobs.explores[ended.job])
            if info is None or not cluster.stages.reads_input[ended.stage]:
                continue
            came_again = jobs.submitted_s[ended.job] > ended.ended_s
            if came_again or not jobs.is_steered[ended.job]:
                tried = -1
            tally = self.samples.tally((info.source, info.key), tried, int(jobs.open_tasks[ended.job]))
            if tally.policy < 0:
                continue
            duration_s = ended.fact.duration_ms / 1000
            tally.slot_s += duration_s
            task_s = ended.t_new_s if 0.0 < ended.t_new_s < np.inf else duration_s
            if ended.won and task_s > 0.0:
                used = 1.0 - pools.idle[ended.pool] / max(pools.slots[ended.pool], 1)
                tally.task_ended(ended.ended_s - float(jobs.submitted_s[ended.job]), task_s, used)
        for job in sorted(changes.jobs_ended & cluster.job_infos.keys()):
            info, within_s = cluster.job_infos[job], jobs.deadline_s[job] - jobs.later_s[job] - jobs.submitted_s[job]
            error = float(pools.foretold_error[jobs.pool[job]])
            self.samples.job_ended((info.source, info.key), float(within_s), error)

    def _time_later_stages(self, cluster: Cluster, changes: Changes, now_s: float) -> None:
        """Learn of jobs that have succeeded how long they took after their input, and foretell it for others."""
        jobs = cluster.jobs
        for info, fact in changes.stages_ended:
            job = int(cluster.stages.job[info.row])
            if info.row in cluster.stage_infos and cluster.job_infos[job].reads_input(fact.stage):
                jobs.input_ended_s[job] = now_s
        for job in sorted(changes.jobs_done & cluster.job_infos.keys()):
            if not np.isnan(jobs.input_ended_s[job]):
                self.later.observe(cluster.job_infos[job].name, now_s - float(jobs.input_ended_s[job]))
        jobs.input_ended_s[list(changes.jobs_ended)] = np.nan
        for job in changes.jobs & cluster.job_infos.keys():
            jobs.later_s[job] = self.later.estimate_s(cluster.job_infos[job].name)

    def _attempt_ended(self, cluster: Cluster, ended: EndedAttempt, now_s: float) -> None:
        fact, stages, stage = ended.fact, cluster.stages, ended.stage
        finished = fact.outcome is Outcome.SUCCESS
        duration_s = fact.duration_ms / 1000
        if stages.alive[stage] and duration_s > 0 and (finished or fact.outcome is Outcome.KILLED):
            cost = self.remaining.net_s(cluster, ended, duration_s)
            by_work = ended.input_bytes > 0 and not is_small(ended.relative_size)
            if by_work:
                cost /= ended.input_bytes
            if finished:
                self._compare_hosts(cluster, ended, duration_s, now_s)
                shared = self._habits_of_pool[ended.pool].shared
                shared.task_ended()
                cluster.pools.kept_slowness[ended.pool] = shared.kept
            if (stage, by_work) not in self._siblings:
                self._siblings[stage, by_work] = Siblings(self._habits_of_pool[ended.pool].tail)
            self._siblings[stage, by_work].observe(cost, finished, is_sample=not fact.told)
        if fact.outcome is Outcome.KILLED:
            # A sick host's attempts seldom finish: what beat them must not wipe out what they have shown.
            self.hosts.attempt_ended(ended.host, ended.log_slowness, now_s)
        if finished:
            if np.isnan(ended.startup_s) and not fact.told:
                self.remaining.started_within(cluster.pools, ended.pool, duration_s, ended.cold)
            foretold_s, came_s = ended.foretold_end_s - ended.estimated_s, ended.ended_s - ended.estimated_s
            self.accuracy.observe("t_rem", foretold_s, came_s)
            had_begun = came_s <= duration_s - ended.startup_s
            if had_begun and not np.isnan(foretold_s) and not ended.on_new_executor:
                self.remaining.foretold_seen(cluster.pools, ended.pool, foretold_s, came_s, ended.cold)
            self.accuracy.observe("t_new", ended.t_new_s, duration_s)
        self.remaining.attempt_ended(cluster, ended)

    def _compare_hosts(self, cluster: Cluster, ended: EndedAttempt, duration_s: float, now_s: float) -> None:
        """Compare one with those of its stage that finished elsewhere: by its work, else by its time."""
        units = self.remaining.units(ended)
        if units > 0:
            cost = self.remaining.cost(cluster, ended, duration_s, units)
        else:
            cost = self.remaining.net_s(cluster, ended, duration_s)
        costs = self._costs.setdefault(ended.stage, defaultdict(FinishedCosts))
        earlier = costs[units > 0, units == 0 and ended.cold]
        self.hosts.attempt_finished(ended.host, float(np.log(cost)), earlier, now_s)

    def _forget_siblings(self, stage: int) -> list[Siblings]:
        """Forget the entries of a row that another stage has, or will have."""
        self._costs.pop(stage, None)
        found = [self._siblings.pop((stage, by_work), None) for by_work in (False, True)]
        return [siblings for siblings in found if siblings]

    def _output_seen(self, job: str, stage: str, shuffled_bytes: float, work_s: float) -> None:
        """A stage that feeds another has ended: was its ratio predicted, and what does it teach?"""
        if self.transfer.known(job, stage) and shuffled_bytes >= 0:
            foretold = self.transfer.estimate(job, stage, work_s)
            self.accuracy.observe("transfer_ratio", foretold, self.transfer.ratio(shuffled_bytes, work_s))
        self.transfer.observe(job, stage, shuffled_bytes, work_s)

    def learn_of_races(self, cluster: Cluster, tasks: Ints) -> None:
        """Originals and copies show how much of the slowness lies in the work as soon as both can be read.

        Copies that shed it win early. If races counted when they end, those of slow work would count last, and make the
        slowness of an application seem to lie in its work.
        """
        attempts = cluster.attempts
        for task in tasks.tolist():
            copy = original = int(cluster.tasks.newest[task])
            while attempts.older[original] >= 0:
                original = int(attempts.older[original])
            pool = int(attempts.pool[copy])
            shared = self._habits_of_pool[pool].shared
            shared.observe(float(attempts.own_log[original]), float(attempts.own_log[copy]))
            cluster.pools.kept_slowness[pool] = shared.kept

    def forget_rows(self) -> None:
        """The cluster starts again: state of hosts, pools and stages by their rows is void."""
        self.hosts = HostSlowness()
        self.remaining.forget_rows()
        self._habits_of_pool.clear()
        self._siblings.clear()
        self._costs.clear()

    def host_health(self, cluster: Cluster, now_s: float) -> HostHealth:
        """The estimates for every host of the cluster."""
        return self.hosts.health(now_s, cluster.hosts.size)

    def estimate(self, cluster: Cluster, health: HostHealth, now_s: float) -> None:
        """Estimate every live attempt of the pools that are due, and compare hosts by them."""
        self.remaining.estimate(cluster, health.certain_log, now_s)
        self.watch_hosts(cluster, now_s)

    def watch_hosts(self, cluster: Cluster, now_s: float) -> None:
        """From time to time, compare running attempts of pools that are due, and judge hosts by all that run."""
        if now_s - self._hosts_reviewed_s < HOST_REVIEW_S:
            return
        self._hosts_reviewed_s = now_s
        host, slowness = compare_running(
            cluster.attempts.reported[: cluster.attempts.size],
            cluster.attempts.estimated,
            cluster.tasks.reported,
            cluster.stages.estimated,
            cluster.pools.estimated,
            cluster.pools.scratch,
        )
        self.hosts.review(host, slowness)

    def weigh_transfer(self, cluster: Cluster, jobs: Iterable[int]) -> None:
        """Write the ratio of these jobs: what their open stages leave to fetch, over their work, each summed.

        Source: Hopper (SIGCOMM'15), section 4.2, "summing over all the running and their respective downstream phases".
        """
        stages = cluster.stages
        for job in [job for job in jobs if job in cluster.job_infos and cluster.job_infos[job].edges]:
            info = cluster.job_infos[job]
            parents = {parent for parent, _ in info.edges}
            to_fetch_bytes = work_s = 0.0
            for row in info.stage_rows:
                fact = cluster.stage_infos[row].fact
                left = int(stages.left(row))
                if left and fact.stage in parents and not stages.closing[row]:
                    left_s = left * self._task_s(cluster, row)
                    written = float(stages.shuffle_bytes[row])
                    to_fetch_bytes += self.transfer.to_fetch_bytes(info.name, fact.name, left_s, written)
                    work_s += left_s
            cluster.jobs.transfer_ratio[job] = self.transfer.ratio(to_fetch_bytes, work_s)

    def _task_s(self, cluster: Cluster, stage: int) -> float:
        """Expected duration of a task of this stage: by finished ones, else by earlier runs, else as in any stage."""
        known_s = float(mean_s(cluster.stages, stage))
        return self.remaining.history.duration_s(1.0) if np.isnan(known_s) else known_s

    def review_tails(self, cluster: Cluster, due: Iterable[SourceState], now_s: float) -> None:
        """From time to time, let the ages of running attempts count for the tail of their application."""
        pools = cluster.pools
        rows = [source.row for source in due if now_s - pools.tail_reviewed_s[source.row] >= TAIL_REVIEW_S]
        if not rows:
            return
        pools.tail_reviewed_s[rows] = now_s
        attempts = cluster.attempts
        first, ages = relative_ages(now_s, attempts.reported[: attempts.size], attempts.estimated, pools.estimated)
        for row in rows:
            running = ages[first[row] : first[row + 1]]
            pools.tail_index[row] = self._habits_of_pool[row].tail.estimate(running).tail_index

    def tail_samples(self, pool: int) -> int:
        """Number of durations behind a pool's tail index."""
        return self._habits_of_pool[pool].tail.estimate().samples

    def _take_up(self, cluster: Cluster, pool: int, application: str) -> None:
        """A pool that is new, or runs another application now, continues with that application's habits."""
        known = self._habits.pop(application, None) or Habits()
        self._habits[application] = self._habits_of_pool[pool] = known
        cluster.pools.kept_slowness[pool] = known.shared.kept
        for name in STARTUP:
            if name in known.startup:
                getattr(cluster.pools, name)[pool] = known.startup[name]
        if len(self._habits) <= APPLICATIONS_KEPT + len(self._habits_of_pool):
            return
        in_use = {id(habits) for row, habits in self._habits_of_pool.items() if cluster.pools.alive[row]}
        gone = [name for name, habits in self._habits.items() if id(habits) not in in_use]
        for name in gone[: max(len(gone) - APPLICATIONS_KEPT, 0)]:
            del self._habits[name]

    def dump(self) -> dict[str, Any]:
        """JSON-able state that survives a restart; hosts are learned again."""
        return {
            "stages": self.remaining.history.dump(),
            "transfer": self.transfer.dump(),
            "later": self.later.dump(),
            "samples": self.samples.dump(),
            "applications": {name: msgspec.to_builtins(habits.dump()) for name, habits in self._habits.items()},
        }

    def load(self, state: dict[str, Any]) -> list[str]:
        """Recall the output of `dump`, below what was learned since; returns the names of unusable parts."""
        stored, left_out = fit(state.get("applications", {}), StoredHabits)
        for name, habits in stored.items():
            self._habits.setdefault(name, Habits()).load(habits)
        parts = {
            "stages": self.remaining.history.load,
            "transfer": self.transfer.load,
            "later": self.later.load,
            "samples": self.samples.load,
        }
        for part, recall in parts.items():
            known = state.get(part, {})
            left_out += recall(known) if isinstance(known, dict) else [part]
        return left_out
