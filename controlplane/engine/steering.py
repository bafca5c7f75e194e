"""How much may we do for this pool and this job, by which policy, with how many copies?"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from controlplane.model.cluster import Cluster, SourceState
from controlplane.model.columns import Flags
from controlplane.model.errors import BadSetting
from controlplane.model.facts import Mode, lowest
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import STRANGERS
from controlplane.policies import registry
from controlplane.policies.policy import Policy
from controlplane.policies.row import COPYING

_BY_RANK = sorted(Mode, key=lambda mode: mode.rank)


class Steering:
    """The settings, and what operators chose for single pools: a mode, a policy."""

    def __init__(self, settings: EngineSettings) -> None:
        self.mode_of_source: dict[str, Mode] = {}
        self.policy_of_source: dict[str, str] = {}
        self.configure(settings)

    def configure(self, settings: EngineSettings) -> None:
        """Take new settings whole, or raise BadSetting and keep the old ones."""
        registry.allocator(settings.allocator).complete(settings.allocator_settings)
        registry.speculator(settings.speculator).complete(settings.speculator_settings)
        if budget := registry.copy_budget(settings.copy_budget):
            budget.complete(settings.copy_budget_settings)
        for name, value in {} if budget else settings.copy_budget_settings.items():
            raise BadSetting(f"engine.copy_budget_settings.{name}", got=value, want="a copy budget to be set")
        self.settings = settings

    def set_mode(self, mode: Mode, source: str = "") -> None:
        """Set the mode of one pool, or everywhere if `source` is empty; pools' own modes stay."""
        if source:
            self.mode_of_source[source] = mode
        else:
            self.settings = replace(self.settings, mode=mode)

    def set_policy(self, source: str, policy: str) -> None:
        """Give a pool its own "allocator+speculator", or remove it. Raises BadSetting for unknown names."""
        if policy:
            registry.parse_policy(policy)
            self.policy_of_source[source] = policy
        else:
            self.policy_of_source.pop(source, None)

    def mode(self, source: SourceState) -> Mode:
        """Effective mode of a pool: the lower of its user's and the server's. Off everywhere overrides all others.

        A driver whose queue contradicts it gets no orders, nor does one whose policy breaks a law.
        """
        server = self.mode_of_source.get(source.name, self.settings.mode)
        if self.settings.mode is Mode.OFF:
            server = Mode.OFF
        mode = lowest(server, source.attached.mode)
        return lowest(mode, Mode.SHADOW) if source.membership in STRANGERS or source.laws_broken else mode

    def mode_of_job(self, cluster: Cluster, source: SourceState, job: int) -> Mode:
        """Effective mode of one job, by its row."""
        return _BY_RANK[min(self.mode(source).rank, int(cluster.jobs.mode_rank[job]))]

    def shadow_jobs(self, cluster: Cluster, sources: Iterable[SourceState]) -> Flags:
        """Whether copies of each job, by its row, are recorded and not ordered; for the jobs of these sources."""
        rank_of_pool = np.zeros(cluster.pools.size, dtype=np.int64)
        for source in sources:
            rank_of_pool[source.row] = self.mode(source).rank
        jobs, n_jobs = cluster.jobs, cluster.jobs.size
        return np.minimum(rank_of_pool[jobs.pool[:n_jobs]], jobs.mode_rank[:n_jobs]) < Mode.CONTROL.rank

    def allocator(self, source: str) -> tuple[Policy, dict[str, float]]:
        """A pool's allocator with its settings: its defaults if it is not the configured one."""
        own = self.policy_of_source.get(source)
        policy = registry.parse_policy(own)[0] if own else registry.allocator(self.settings.allocator)
        return policy, dict(self.settings.allocator_settings) if policy.name == self.settings.allocator else {}

    def speculator(self, source: str) -> tuple[Policy, dict[str, float]]:
        """The speculator of a pool's jobs with its settings: its defaults if it is not the configured one."""
        own = self.policy_of_source.get(source)
        policy = registry.parse_policy(own)[1] if own else registry.speculator(self.settings.speculator)
        return policy, dict(self.settings.speculator_settings) if policy.name == self.settings.speculator else {}

    def by_speculator(self, sources: Iterable[SourceState]) -> list[tuple[Policy, dict[str, float], list[SourceState]]]:
        """Each speculator of these pools with its settings, and the pools that share both: one call serves them all."""
        shared: dict[tuple[str, tuple[tuple[str, float], ...]], list[SourceState]] = {}
        for source in sources:
            policy, settings = self.speculator(source.name)
            shared.setdefault((policy.name, tuple(settings.items())), []).append(source)
        return [(registry.speculator(name), dict(given), pools) for (name, given), pools in shared.items()]

    def copy_budget(self) -> tuple[Policy | None, Mapping[str, float]]:
        """The policy that shares copies among all drivers' jobs, None for no such policy, and its settings."""
        return registry.copy_budget(self.settings.copy_budget), self.settings.copy_budget_settings

    def policy_name(self, source: str) -> str:
        """Both as "allocator+speculator"."""
        own = self.policy_of_source.get(source)
        return own or f"{self.settings.allocator}+{self.settings.speculator}"

    def max_copies(self, source: SourceState) -> int:
        """Extra attempts of one task that both the settings and the host allow."""
        return min(self.settings.max_copies_per_task, source.attached.capabilities.max_copies)

    def claimed(self, cluster: Cluster, source: SourceState) -> Flags:
        """For which jobs of the pool we speculate, so that the host's own speculation is paused; by job row.

        Not for jobs with an attempt that we cannot judge: if we decide nothing, the host must be free to.
        """
        jobs, speculator = cluster.jobs, self.speculator(source.name)[0]
        speculates = speculator.needs >= COPYING and self.max_copies(source) > 0 and self.mode(source) is Mode.CONTROL
        return speculates & ~jobs.ended & jobs.copies_enabled & ~jobs.unjudged & (jobs.mode_rank == Mode.CONTROL.rank)
