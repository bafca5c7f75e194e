"""How much may we do for this pool and this job, by which policy, with how many copies?"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from controlplane.model.cluster import Cluster, SourceState
from controlplane.model.columns import Flags
from controlplane.model.errors import BadSetting
from controlplane.model.facts import Mode, lowest
from controlplane.model.parameters import EngineSettings
from controlplane.model.reasons import STRANGERS, Reason
from controlplane.policies import registry
from controlplane.policies.policy import Policy
from controlplane.policies.row import COPYING, Kind

_BY_RANK = sorted(Mode, key=lambda mode: mode.rank)


class Steering:
    """The settings, and what operators chose for single pools: a mode, a policy."""

    nameable: dict[str, Policy]
    """The speculators that jobs may name, by name."""

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
        self.nameable = _nameable(settings.job_speculators)
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
        return policy, self._speculator_settings(policy)

    def speculator_of(self, cluster: Cluster, source: SourceState, job: int) -> tuple[Policy, dict[str, float]]:
        """The speculator that decides about a job, by its row, with its settings: its pool's, if it names none."""
        return self.named(int(cluster.jobs.speculator[job])) or self.speculator(source.name)

    def named(self, code: int) -> tuple[Policy, dict[str, float]] | None:
        """The speculator with this number that jobs name, with its settings; None for -1."""
        policy = next((each for each in self.nameable.values() if each.code == code), None)
        return None if policy is None else (policy, self._speculator_settings(policy))

    def note_named(self, cluster: Cluster, jobs: Iterable[int]) -> None:
        """Note which of these jobs, by their rows, have the speculators that they name."""
        for row in jobs:
            if row in cluster.job_infos:
                policy = self.nameable.get(cluster.job_infos[row].speculator)
                cluster.jobs.speculator[row] = policy.code if policy else -1

    def refusal(self, speculator: str) -> Reason:
        """Why a job does not have the speculator that it names; `NONE` if it has."""
        if speculator in self.nameable:
            return Reason.NONE
        is_known = speculator in registry.names(Kind.SPECULATOR)
        return Reason.SPECULATOR_NOT_ALLOWED if is_known else Reason.SPECULATOR_UNKNOWN

    def _speculator_settings(self, policy: Policy) -> dict[str, float]:
        return dict(self.settings.speculator_settings) if policy.name == self.settings.speculator else {}

    def copy_budget(self) -> tuple[Policy | None, Mapping[str, float]]:
        """The policy that shares copies among all drivers' jobs, None for no such policy, and its settings."""
        return registry.copy_budget(self.settings.copy_budget), self.settings.copy_budget_settings

    def policy_name(self, source: str, speculator: str = "") -> str:
        """Both as "allocator+speculator": the pool's, or its allocator with a speculator that jobs of it name."""
        own = self.policy_of_source.get(source) or f"{self.settings.allocator}+{self.settings.speculator}"
        return f"{own.partition('+')[0].strip()}+{speculator}" if speculator else own

    def policy_name_of(self, cluster: Cluster, source: SourceState, job: int) -> str:
        """The pair that decides about a job, by its row."""
        named = self.named(int(cluster.jobs.speculator[job]))
        return self.policy_name(source.name, named[0].name if named else "")

    def max_copies(self, source: SourceState) -> int:
        """Extra attempts of one task that both the settings and the host allow."""
        return min(self.settings.max_copies_per_task, source.attached.capabilities.max_copies)

    def claimed(self, cluster: Cluster, source: SourceState) -> Flags:
        """For which jobs of the pool we speculate, so that the host's own speculation is paused; by job row.

        Not for jobs with an attempt that we cannot judge: if we decide nothing, the host must be free to.
        """
        jobs, may_copy = cluster.jobs, self.max_copies(source) > 0 and self.mode(source) is Mode.CONTROL
        claimed = ~jobs.ended & jobs.copies_enabled & ~jobs.unjudged & (jobs.mode_rank == Mode.CONTROL.rank)
        speculates = self.speculator(source.name)[0].needs >= COPYING
        if not self.nameable:
            return claimed & (may_copy and speculates)
        copying = [policy.code for policy in self.nameable.values() if policy.needs >= COPYING]
        return claimed & may_copy & np.where(jobs.speculator < 0, speculates, np.isin(jobs.speculator, copying))


def _nameable(names: str) -> dict[str, Policy]:
    """The speculators of a list with commas, by name. Raises BadSetting, naming the known ones."""
    known = registry.names(Kind.SPECULATOR)
    found = [name.strip() for name in names.split(",") if name.strip()]
    for name in found:
        if name not in known:
            raise BadSetting("engine.job_speculators", got=name, want=" or ".join(known))
    return {name: registry.speculator(name) for name in found}
