"""Which speculator decides about which jobs? A pool's own, but for jobs that name one that the operator allows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from controlplane.engine.steering import Steering
from controlplane.model.cluster import Cluster, SourceState
from controlplane.model.columns import Flags, Ints, Records
from controlplane.policies.policy import Policy


@dataclass(frozen=True, slots=True)
class Part:
    """Jobs of one source about which the same speculator decides."""

    source: SourceState
    jobs: Ints
    """Their rows."""

    def stages(self, cluster: Cluster) -> Ints:
        """Rows of their stages."""
        rows = self.source.stages.rows
        return rows if self.jobs is self.source.jobs.rows else rows[np.isin(cluster.stages.job[rows], self.jobs)]


@dataclass(frozen=True, slots=True)
class Remit:
    """One speculator with its settings, and the jobs about which it decides in one call."""

    policy: Policy
    settings: dict[str, float]
    parts: list[Part]
    """One of each source with such jobs."""

    @property
    def sources(self) -> list[SourceState]:
        """The sources of its jobs."""
        return [part.source for part in self.parts]

    @property
    def jobs(self) -> Ints:
        """Rows of its jobs."""
        return np.concatenate([part.jobs for part in self.parts])

    def covers(self, tasks: Records) -> Flags:
        """Which of these `RUNNING_TASK` records are of its jobs."""
        return np.isin(tasks["job"], self.jobs)


def remits(steering: Steering, cluster: Cluster, sources: Iterable[SourceState]) -> list[Remit]:
    """Each speculator of these sources: those that share it and its settings are one remit."""
    shared: dict[tuple[str, tuple[tuple[str, float], ...]], Remit] = {}
    for source in sources:
        for remit in remits_of(steering, cluster, source):
            key = (remit.policy.name, tuple(remit.settings.items()))
            if key in shared:
                shared[key].parts.extend(remit.parts)
            else:
                shared[key] = remit
    return list(shared.values())


def remits_of(steering: Steering, cluster: Cluster, source: SourceState) -> Iterator[Remit]:
    """The speculators of one source: its own, and those that jobs of it name."""
    rows = source.jobs.rows
    named = cluster.jobs.speculator[rows] if steering.nameable else np.zeros(0, dtype=np.int64)
    if not (named >= 0).any():
        yield Remit(*steering.speculator(source.name), [Part(source, rows)])
        return
    own = steering.speculator(source.name)
    codes = np.where(named < 0, own[0].code, named)
    for code in np.unique(codes).tolist():
        yield Remit(*(steering.named(code) or own), [Part(source, rows[codes == code])])
